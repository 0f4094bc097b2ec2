"""Lower bounds of the hockey-stick divergence of a product, and attackers' tests.

Proofs: proofs/theory/contour.md.

They say how much two outputs with exactly these laws differ. No rule takes them as a premise:
nothing about privacy follows from them but that it cannot be better. A trapezoid sum is H_eps -
p_inf plus aliases, so that subtracting bounds of the aliases and of what was cut leaves less. Where
losses are rough a virtual Gaussian makes the sum finite, and Lemma (tent) takes it out again.

Proof: proofs/theory/shuffled.md, section 4. Cells are post-processing. Masses under P are rounded
down and those under Q up, to whole units, and the loss of a cell down to a lattice. Sums of
products of such masses over any set of losses are at most the divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from typing import Final, TypeAlias

from flint import arb, fmpz_poly

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import lower_units
from dpproof.proofs.balls.run_counts import Tent
from dpproof.proofs.core import pairs as core_pairs
from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair, Product
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.statements import HockeyStick, merged
from dpproof.proofs.fields import alike, wholes
from dpproof.proofs.logic.statement import AtLeast, PowerAtLeast, RenyiAtLeast
from dpproof.proofs.pairs import gaussian_above_floor, pair as kinds
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.gaussian_above_floor import FlooredGaussianPair, LargestOfGaussiansPair
from dpproof.proofs.rules.hockey_stick import folded, read_period
from dpproof.proofs.rules.prices import allocated_line, profile_making, profile_work, spend
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair
from dpproof.proofs.sampled.sampled import Direction, SampledPair
from dpproof.proofs.sampled.table import TabulatedPair
from dpproof.proofs.sums.contour import Line, closed_profile, read_line, total

EXACT: Final = (
    GaussianPair,
    LaplacePair,
    kinds.LogisticPair,
    RandomizedResponsePair,
    FinitePair,
    kinds.DiscreteLaplacePair,
    kinds.DiscreteGaussianPair,
    core_pairs.SubsampledGaussianPair,
    gaussian_above_floor.OppositeGaussiansPair,
    FlooredGaussianPair,
    gaussian_above_floor.FoldedGaussianPair,
    CountedGaussiansPair,
    AllocatedGaussianPair,
)
"""Pairs whose M, infinite mass and profile are enclosed, not bounded from above."""


Side: TypeAlias = tuple[Fraction, list[object]]
"""An abscissa, and what M of every pair needs there."""


def closed(step: Application) -> tuple[str, ...]:
    """Check a closed profile: of one pair, of Gaussians, which are one, or a few bounded pairs."""
    claim = _fact(step, _is_exact)
    profile = closed_profile(claim.product)
    if profile is None:
        raise RefusedError("the rule takes one pair, once, Gaussian pairs, or a few bounded ones")
    step.budget.spend(profile_work(claim.product) + profile_making(claim.product))
    return _at_least(lambda: profile(ball(claim.epsilon)), claim)


def contour(step: Application) -> tuple[str, ...]:
    """Check the sum of hockey-stick/contour less its truncation and less the aliases."""
    claim = _fact(step, _has_moments)
    line, witnesses = _line(step, claim.product)
    sides = _sides(step, claim.product, line.c, witnesses)

    def bound() -> arb:
        epsilon = ball(claim.epsilon)
        body, cut, infinite = line.parts(_moments(claim.product, witnesses), claim.product)
        aliases = _aliases(claim.product, epsilon, line.c, 2 * arb.pi() / ball(line.step), sides)
        return infinite + (-ball(line.c) * epsilon).exp() * (body(epsilon) - cut) - aliases

    return _at_least(bound, claim)


def smoothed(step: Application) -> tuple[str, ...]:
    """Sum beside a virtual Gaussian, taken out by its bounds at epsilon - w and epsilon + w.

    With g the profile beside it, delta E[T] >= g(t) - g(ut) E[T_u] - g(vt) E[T_v] - outside.
    """
    claim = _fact(step, _has_moments)
    tent = Tent(step.witness.positive("tau"), step.witness.positive("width"))
    product = ((GaussianPair(tent.tau * tent.tau), 1), *claim.product)
    line, listed = _line(step, claim.product)
    step.budget.spend(limits.formula_work("gaussian", 1, line.nodes))
    step.budget.spend(limits.line_work(line.nodes, 3))
    sides = [(b, [None, *own]) for b, own in _sides(step, claim.product, line.c, listed)]
    witnesses = [None, *listed]

    def bound() -> arb:
        epsilon, w = ball(claim.epsilon), ball(tent.width)
        factors = _moments(product, witnesses)
        body, cut, infinite = line.parts(factors, product)
        below, at, above = tent.hats()

        def near(place: arb, error: arb) -> arb:
            return (-ball(line.c) * place).exp() * (body(place) + error)

        least = near(epsilon, -cut)
        least -= _aliases(product, epsilon, line.c, 2 * arb.pi() / ball(line.step), sides)
        least -= below * near(epsilon - w, cut) + above * near(epsilon + w, cut)
        least -= tent.outside(line.c) * _chernoff(factors, product, line.c, epsilon)
        return infinite + least / at

    return _at_least(bound, claim)


def lattice(step: Application) -> tuple[str, ...]:
    """Check the sum of hockey-stick/lattice, which truncates nothing, less the aliases."""
    claim, period = _fact(step, _has_moments), read_period(step.witness)
    witnesses = alike(step.witness)
    spend(step, period.half, claim.product, witnesses)
    step.budget.spend(2 * limits.line_work(period.half, 1))
    sides = _sides(step, claim.product, period.c, witnesses)
    length = period.span * (2 * period.half + 1)

    def bound() -> arb:
        factors = _moments(claim.product, witnesses)
        aliases = _aliases(claim.product, ball(claim.epsilon), period.c, ball(length), sides)
        return folded(factors, claim.product, witnesses, period)(claim.epsilon) - aliases

    return _at_least(bound, claim)


def renyi(step: Application) -> tuple[str, ...]:
    """Check that (a - 1) times the claimed divergence is at most log M(a - 1).

    Only finite losses count in M. The divergence of order a is log E_P[e^{(a-1)L}]/(a - 1), and
    losses of +inf only add to it.
    """
    claim, witnesses = step.concludes(RenyiAtLeast), alike(step.witness)
    _without_premises(step, claim.product, _has_moments)
    order = claim.order - 1
    spend(step, 1, claim.product, witnesses)

    def bound() -> arb:
        (moment,) = total(_moments(claim.product, witnesses), claim.product, order, arb(0), 1)
        return moment.real.log()

    require_at_most(
        lambda: ball(order * claim.value), bound, "(a - 1) times the claimed divergence"
    )
    return ()


def allocated(step: Application) -> tuple[str, ...]:
    """Check one allocated pair, once, by a line without a Gaussian."""
    claim, line = step.concludes(AtLeast), read_line(step.witness)
    _without_premises(step, claim.product, _has_moments)
    pairs = [one for one, n in claim.product if isinstance(one, AllocatedGaussianPair) and n == 1]
    if len(pairs) != len(claim.product) or len(pairs) != 1:
        raise RefusedError("the rule takes one allocated pair, once")
    (pair,) = pairs
    step.budget.spend(allocated_line(pair, line.nodes) + limits.line_work(line.nodes, 2))

    def bound() -> arb:
        return pair.enclosed_profile([line]).bound(ball(claim.epsilon), 0).lower()

    return _at_least(bound, claim)


def _fact(step: Application, takes: Callable[[Pair], bool]) -> AtLeast:
    claim = step.concludes(AtLeast)
    _without_premises(step, claim.product, takes)
    return claim


def _without_premises(step: Application, product: Product, takes: Callable[[Pair], bool]) -> None:
    if step.premises:
        raise RefusedError("the rule takes no premise")
    if not all(takes(pair) for pair, _ in product):
        raise RefusedError("the rule takes pairs that are known exactly")


def _is_exact(pair: Pair) -> bool:
    """Return whether the profile is enclosed: of a sample only if it is a Poisson sample."""
    if not isinstance(pair, SampledPair):
        return isinstance(pair, EXACT)
    return pair.direction is not Direction.REPLACEMENT and _has_moments(pair)


def _has_moments(pair: Pair) -> bool:
    """Return whether M is enclosed, or that of a table below."""
    if not isinstance(pair, SampledPair):
        return isinstance(pair, EXACT)
    return all(_is_exact(one) for one, _ in pair.base)


def _moments(product: Product, witnesses: Sequence[object]) -> list[kinds.Moments]:
    """Return M of every pair, of a sample that of a table below."""
    return [
        pair.moments_below(hint) if isinstance(pair, TabulatedPair) else kinds.moments(pair, hint)
        for (pair, _), hint in zip(product, witnesses, strict=True)
    ]


def _at_least(bound: Callable[[], arb], claim: AtLeast) -> tuple[str, ...]:
    require_at_most(partial(ball, claim.delta), bound, "the claimed divergence")
    return ()


def _line(step: Application, product: Product) -> tuple[Line, list[object]]:
    """Return a line without tau, and the witnesses that M of every pair needs on it."""
    c, h = step.witness.positive("c"), step.witness.positive("step")
    count, witnesses = (step.witness.whole("nodes", most=limits.MAX_NODES), alike(step.witness))
    spend(step, count, product, witnesses)
    return Line(c, h, count, Fraction(0)), witnesses


def _sides(step: Application, product: Product, c: Fraction, made: Sequence[object]) -> list[Side]:
    """Return an abscissa before c and one after it, at which aliases are bounded."""
    sides = []
    for name in ("before", "after"):
        fields = Fields(step.witness.take(name), name)
        other, witnesses = fields.positive("c"), alike(fields)
        fields.close()
        if other == c or (other < c) is not (name == "before"):
            raise RefusedError(f"{name}: c must be on that side of the sum's")
        spend(step, 1, product, witnesses, made)
        sides.append((other, witnesses))
    return sides


def _aliases(product: Product, epsilon: arb, c: Fraction, period: arb, sides: list[Side]) -> arb:
    """Bound from above the sum over m != 0 of e^{cmR} (H_{eps + mR} - p_inf), R the period.

    By Chernoff: b after c serves m > 0, b before c serves m < 0, each a geometric series of ratio
    e^{-|b - c| R}.
    """
    total = arb(0)
    for b, witnesses in sides:
        ratio = (-ball(abs(b - c)) * period).exp()
        most = _chernoff(_moments(product, witnesses), product, b, epsilon)
        total += most * ratio / (1 - ratio)
    return total


def _chernoff(factors: Sequence[kinds.Moments], product: Product, b: Fraction, epsilon: arb) -> arb:
    """Bound H_eps - p_inf at every real epsilon by M(b) e^{-b eps} b^b/(1+b)^{1+b}, b > 0."""
    power = ball(b)
    (moment,) = total(factors, product, b, arb(0), 1)
    size = power * power.log() - (1 + power) * (1 + power).log() - power * epsilon
    return moment.real * size.exp()


_POINTS = 3
_Bounds = dict[Fraction, Fraction]


@frozen
class _Known:
    """H_t at three ratios t = e^epsilon."""

    places: list[Fraction]  # epsilon, increasing
    low: list[Fraction]  # H is at least these at the places above 0, and that of (Q, P) below 0
    high: list[Fraction]  # H is at most these, likewise

    def ratios(self) -> list[arb]:
        """Return the three odds t1 < t2 < t3, e to the power of each place."""
        return [ball(one).exp() for one in self.places]

    def heights(self, bounds: list[Fraction]) -> list[arb]:
        """Return bounds of H_t: below t = 1 it is 1 - t + t times that of (Q, P) at 1/t."""
        both = zip(self.places, self.ratios(), bounds, strict=True)
        return [ball(one) if x >= 0 else 1 - t + t * ball(one) for x, t, one in both]

    def falls(self) -> tuple[arb, arb]:
        """Return rates a below the first, above the second, with H_t + a t least between."""
        low, high = self.heights(self.low), self.heights(self.high)
        first, second, third = self.ratios()
        return (low[0] - high[1]) / (second - first), (high[1] - low[2]) / (third - second)

    def power(self, rate: arb) -> arb:
        """Return a lower bound of H_t + rate t between the outer ratios."""
        low, high = self.heights(self.low), self.heights(self.high)
        first, second, third = self.ratios()
        share = (second - first) / (third - second)
        before = low[1] - (high[2] - low[1]) * share + rate * first
        after = low[1] - (high[0] - low[1]) / share + rate * third
        return before.min(low[1] + rate * second).min(after.max(low[2] + rate * second))


def true_positive_rate(step: Application) -> tuple[str, ...]:
    """Accept a rate b at the false-positive rate a if H_t + a t >= b at every t > 0.

    Take l_i <= H_t <= u_i at t1 < t2 < t3, l_i = 0 if no premise says more.
    1. (u2 - l3)/(t3 - t2) <= a <= (l1 - u2)/(t2 - t1): the convex H_t + a t is no less at t1 and at
       t3 than at t2, so outside it is at least what it is at t2, which is at least l2 + a t2.
    2. Between t1 and t2, H is above the line through its points at t2 and t3, and between t2 and t3
       above that through t1 and t2. So it is above the polygon of heights
       c1 = l2 - (u3 - l2)(t2 - t1)/(t3 - t2), l2 and c3 = l2 - (u1 - l2)(t3 - t2)/(t2 - t1).
       And H never grows: between t2 and t3 it is at least l3.
    3. b is at most c1 + a t1, l2 + a t2 and the larger of c3 + a t3 and l3 + a t2.
    Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.12. Proof: section 12 of
    proofs/theory/conversions.md.
    """
    claim, places = step.concludes(PowerAtLeast), list(step.witness.rationals("places"))
    rate, power = _exactly(claim.false_positive_rate), _exactly(claim.true_positive_rate)
    if len(places) != _POINTS or places != sorted(set(places)):
        raise RefusedError("the rule takes bounds at three epsilons, increasing")
    facts = _known(step, claim.product, places)
    require_at_most(rate, lambda: facts.falls()[0], "the false-positive rate")
    require_at_most(lambda: facts.falls()[1], rate, "how fast the divergence falls")
    require_at_most(power, lambda: facts.power(rate()), "the true-positive rate")
    return ()


def _exactly(value: Fraction) -> Callable[[], arb]:
    """Return an exact number as a ball at any precision."""
    return lambda: ball(value)


def _known(step: Application, product: Product, places: list[Fraction]) -> _Known:
    """Return the premises' bounds at some places; those from below are 0 by default."""
    swapped: Product = ()
    if places[0] < 0:
        swapped = merged(tuple((kinds.swapped(pair), count) for pair, count in product))
    low: dict[bool, _Bounds] = {True: {}, False: {}}
    high: dict[bool, _Bounds] = {True: {}, False: {}}
    for premise in step.premises:
        fact = premise.claim
        if not isinstance(fact, HockeyStick | AtLeast):
            raise RefusedError("the rule takes bounds of a hockey-stick divergence")
        sides = ((True, product), (False, swapped))
        about = [side for side, one in sides if dict(one) == dict(fact.product)]
        if not about:
            raise RefusedError("the rule takes bounds of this product's divergence, or its swap's")
        for side in about:
            if isinstance(fact, AtLeast):
                low[side][fact.epsilon] = fact.delta
            else:
                high[side].update(fact.points)
    if not all(abs(x) in high[x >= 0] for x in places):
        raise RefusedError("the rule takes a bound from above at each of the three epsilons")
    least = [low[x >= 0].get(abs(x), Fraction(0)) for x in places]
    return _Known(places, least, [high[x >= 0][abs(x)] for x in places])


_BITS: Final = 256  # A unit of mass is 2^-256.


@frozen
class Masses:
    """At most the masses under P of losses offset + (first + k) span, in units.

    The mass under Q of the same outcomes is at most that, times e^-loss.
    """

    offset: Fraction
    first: int
    units: fmpz_poly

    def times(self, other: Masses) -> Masses:
        """Return the masses of both together, rounded down."""
        product = [int(one) >> _BITS for one in (self.units * other.units).coeffs()]
        return Masses(self.offset + other.offset, self.first + other.first, fmpz_poly(product))

    def power(self, count: int) -> Masses:
        """Return the masses of so many together."""
        if count == 1:
            return self
        half = self.power(count // 2)
        square = half.times(half)
        return square.times(self) if count % 2 else square


def cells(step: Application) -> tuple[str, ...]:
    """Check a divergence of a product of largest normal variables and Gaussians from below."""
    claim, span = step.concludes(AtLeast), step.witness.positive("span")
    hints = alike(step.witness)
    if step.premises:
        raise RefusedError("the rule takes no premise")
    if not claim.product or len(hints) != len(claim.product):
        raise RefusedError("the rule takes one hint for each pair of a product that is not empty")

    def bound() -> arb:
        parts = []
        for (pair, count), hint in zip(claim.product, hints, strict=True):
            masses = _masses(step, _largest(pair), hint, span)
            size = masses.units.length() * count
            if size > limits.MAX_CELL_SUMS:
                raise RefusedError(f"a sum has more than {limits.MAX_CELL_SUMS} losses")
            step.budget.spend(limits.cell_sums_work(size))
            parts.append(masses.power(count))
        return divergence(reduce(Masses.times, parts), span, ball(claim.epsilon))

    require_at_most(lambda: ball(claim.delta), bound, "the claimed divergence")
    return ()


def divergence(masses: Masses, span: Fraction, epsilon: arb) -> arb:
    """Return at most the sum of (p - e^eps q)_+, by the losses above epsilon."""
    start = masses.offset + masses.first * span
    skipped = max(lower_units((epsilon - ball(start)) / ball(span), 0) + 1, 0)
    units = [int(one) for one in masses.units.coeffs()[skipped:]]
    ratio, without = (-ball(span)).exp(), arb(0)
    for one in reversed(units):
        without = without * ratio + one
    within = (epsilon - ball(start + skipped * span)).exp() * without
    return (arb(sum(units)) - within) / (1 << _BITS)


def _largest(pair: Pair) -> LargestOfGaussiansPair:
    """Return the largest normal variables that a pair dominates, of a Gaussian pair one alone."""
    if isinstance(pair, AllocatedGaussianPair):
        return pair.coordinate
    if isinstance(pair, GaussianPair):
        return LargestOfGaussiansPair(pair.mu_squared, 1, replaced=True, removal=True)
    if not isinstance(pair, LargestOfGaussiansPair):
        raise RefusedError("the rule takes largest normal variables, allocated and Gaussian pairs")
    return pair


def _masses(
    step: Application, pair: LargestOfGaussiansPair, hint: object, span: Fraction
) -> Masses:
    """Return the masses of the cells of one pair, their losses rounded down."""
    fields = Fields(hint, "the cells of a pair")
    unit, offset, ends = fields.positive("unit"), fields.rational("offset"), wholes(fields, "ends")
    fields.close()
    if not 1 <= len(ends) <= limits.MAX_ENDS or list(ends) != sorted(set(ends)):
        raise RefusedError(f"ends of cells must be 1 to {limits.MAX_ENDS}, increasing")
    step.budget.spend(limits.CELL * (len(ends) + 1))
    nested = [pair.events(ball(unit * one)) for one in (ends if pair.removal else ends[::-1])]
    units: dict[int, int] = {}
    for larger, smaller in pairwise([(arb(1), arb(1)), *nested, (arb(0), arb(0))]):
        least = lower_units(larger[0] - smaller[0], _BITS)
        most = -lower_units(smaller[1] - larger[1], _BITS)
        if least > 0:
            loss = ball(Fraction(least, max(most, 1))).log()
            place = lower_units((loss - ball(offset)) / ball(span), 0)
            units[place] = units.get(place, 0) + least
    first, last = min(units, default=0), max(units, default=0)
    if last - first >= limits.MAX_CELL_SUMS:
        raise RefusedError(f"a sum has more than {limits.MAX_CELL_SUMS} losses")
    listed = [units.get(place, 0) for place in range(first, last + 1)]
    return Masses(offset, first, fmpz_poly(listed))
