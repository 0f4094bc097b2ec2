"""Lower bounds of the hockey-stick divergence of a product of pairs.

Proofs: proofs/theory/contour.md.

They say how much two outputs with exactly these laws differ. No rule takes them as a premise:
nothing about privacy follows from them but that it cannot be better. A trapezoid sum is H_eps -
p_inf plus aliases, so that subtracting bounds of the aliases and of what was cut leaves less. Where
losses are rough a virtual Gaussian makes the sum finite, and Lemma (tent) takes it out again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from flint import arb

from dpproof.proofs import limits
from dpproof.proofs.balls.run_counts import Tent
from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import (
    FinitePair,
    GaussianPair,
    LaplacePair,
    Pair,
    Product,
    RandomizedResponsePair,
    SubsampledGaussianPair,
)
from dpproof.proofs.core.rule import Application
from dpproof.proofs.logic.lower_ends import RenyiAtLeast
from dpproof.proofs.logic.statement import AtLeast
from dpproof.proofs.pairs.core_pairs import moments as pair_moments
from dpproof.proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.proofs.pairs.gaussian_above_floor import FlooredGaussianPair, FoldedGaussianPair
from dpproof.proofs.pairs.laplace import DiscreteLaplacePair
from dpproof.proofs.pairs.logistic import LogisticPair
from dpproof.proofs.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import Moments
from dpproof.proofs.rules.hockey_stick import folded, read_period
from dpproof.proofs.rules.prices import allocated_line, profile_making, profile_work, spend
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair
from dpproof.proofs.sampled.sampled import Direction, SampledPair
from dpproof.proofs.sampled.tabulated import TabulatedPair
from dpproof.proofs.sums.contour import Line, closed_profile, read_line, total

EXACT: Final = (
    GaussianPair,
    LaplacePair,
    LogisticPair,
    RandomizedResponsePair,
    FinitePair,
    DiscreteLaplacePair,
    DiscreteGaussianPair,
    SubsampledGaussianPair,
    OppositeGaussiansPair,
    FlooredGaussianPair,
    FoldedGaussianPair,
    CountedGaussiansPair,
    AllocatedGaussianPair,
)
"""Pairs whose M, infinite mass and profile are enclosed, not bounded from above."""


Side: TypeAlias = tuple[Fraction, list[object]]
"""An abscissa, and what M of every pair needs there."""


def closed(step: Application) -> tuple[str, ...]:
    """Check a profile in closed form: of one pair, Gaussians, or a few bounded pairs.

    Several Gaussians are one.
    """
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
    witnesses = step.witness.items("factors")
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

    Only finite losses count in M.

    The divergence of order a is log E_P[e^{(a-1)L}]/(a - 1), and losses of +inf only add to it.
    """
    claim, witnesses = step.concludes(RenyiAtLeast), step.witness.items("factors")
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


def _moments(product: Product, witnesses: Sequence[object]) -> list[Moments]:
    """Return M of every pair, of a sample that of a table below."""
    return [
        pair.moments_below(hint) if isinstance(pair, TabulatedPair) else pair_moments(pair, hint)
        for (pair, _), hint in zip(product, witnesses, strict=True)
    ]


def _at_least(bound: Callable[[], arb], claim: AtLeast) -> tuple[str, ...]:
    require_at_most(partial(ball, claim.delta), bound, "the claimed divergence")
    return ()


def _line(step: Application, product: Product) -> tuple[Line, list[object]]:
    """Return a line without tau, and the witnesses that M of every pair needs on it."""
    c, h = step.witness.positive("c"), step.witness.positive("step")
    count, witnesses = (
        step.witness.whole("nodes", most=limits.MAX_NODES),
        step.witness.items("factors"),
    )
    spend(step, count, product, witnesses)
    return Line(c, h, count, Fraction(0)), witnesses


def _sides(step: Application, product: Product, c: Fraction, made: Sequence[object]) -> list[Side]:
    """Return an abscissa before c and one after it, at which aliases are bounded."""
    sides = []
    for name in ("before", "after"):
        fields = Fields(step.witness.take(name), name)
        other, witnesses = fields.positive("c"), fields.items("factors")
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


def _chernoff(factors: Sequence[Moments], product: Product, b: Fraction, epsilon: arb) -> arb:
    """Bound H_eps - p_inf at every real epsilon by M(b) e^{-b eps} b^b/(1+b)^{1+b}, b > 0."""
    power = ball(b)
    (moment,) = total(factors, product, b, arb(0), 1)
    size = power * power.log() - (1 + power) * (1 + power).log() - power * epsilon
    return moment.real * size.exp()
