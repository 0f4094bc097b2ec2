"""Rules of one-number notions and of group privacy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Final

from flint import arb

from dpproof.proofs.balls.arithmetic import exact_sum
from dpproof.proofs.core import pairs as core_pairs
from dpproof.proofs.core.arithmetic import ball, normal_tail, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair, Product
from dpproof.proofs.core.rule import Application, Rule
from dpproof.proofs.core.rules import directions
from dpproof.proofs.core.statements import GDP, ApproxDP, C, Claim, Pairs, Points, PureDP, merged
from dpproof.proofs.fields import alike
from dpproof.proofs.limits import MAX_CHAIN, sum_of_rationals_work
from dpproof.proofs.logic.statement import RDP, ZCDP, BoundedRange, MetricDP, Profile, TradeOff
from dpproof.proofs.pairs import pair as kinds
from dpproof.proofs.pairs.gaussian_above_floor import OppositeGaussiansPair
from dpproof.proofs.rules.compose import divergences, longest, look_up
from dpproof.proofs.rules.hockey_stick import finite_moment, largest_loss
from dpproof.proofs.rules.prices import profile_making, profile_work, spend
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair
from dpproof.proofs.sampled.sampled import SampledPair
from dpproof.proofs.sums.contour import closed_profile

_TANGENTS: Final = 128  # approximate work of two tangents of a Gaussian's profile; no soundness


def pair_to_gdp(step: Application) -> tuple[str, ...]:
    """Check mu^2 >= sum n_i mu_i^2 if pair i is mu_i-GDP; or that a closed profile is below mu's.

    Source: Dong, Roth & Su (arXiv:1905.02383), Corollaries 2.13 and 3.3.
    Proof: proofs/theory/conversions.md, section 6.
    """
    squared = step.concludes(GDP).mu_squared
    parts, epsilons = step.witness.rationals("parts"), step.witness.rationals("epsilons")
    for product in directions(step.only(Pairs)):
        if any(pair.infinite for pair, _ in product):
            raise RefusedError("no Gaussian has a profile above that of infinite losses")
        if parts:
            _by_parts(product, parts, squared)
        else:
            _by_cells(step, product, epsilons, squared)
    return ()


def profile_to_gdp(step: Application) -> tuple[str, ...]:
    """Check that chords between the points, from epsilon = 0 to delta = 0, are below mu's tangents.

    Source: Dong, Roth & Su (arXiv:1905.02383), Corollary 2.13.
    Proof: proofs/theory/conversions.md, section 6.
    """
    points, squared = step.only(Profile).points, step.concludes(GDP).mu_squared
    if not squared or points[0][0] or points[-1][1]:
        raise RefusedError("the rule takes mu above 0 and points from epsilon = 0 to delta = 0")
    step.budget.spend(_TANGENTS * len(points))
    for (left, high), (right, low) in pairwise(points):
        for end, height in ((left, high), (right, low)):
            require_at_most(
                partial(ball, height),
                partial(_tangent, squared, (left + right) / 2, end),
                f"the chord at {end}",
            )
    return ()


def pair_to_zcdp(step: Application) -> tuple[str, ...]:
    """Check K(s) <= rho s(s+1) for s > 0: between listed s by convexity.

    Beyond them the pairs' own bounds hold. Source: Bun & Steinke (arXiv:1605.02065), Definition
    1.1. Proof: proofs/theory/conversions.md, section 7.
    """
    rho, pairs = step.concludes(ZCDP).rho, step.only(Pairs)
    listed = [Fields(item, "an order's witness") for item in step.witness.items("orders")]
    excesses = [fields.positive("excess") for fields in listed]
    if excesses != sorted(set(excesses)):
        raise RefusedError("the orders must increase")
    for product, name in zip(directions(pairs), ("forward", "backward"), strict=False):
        if any(pair.infinite for pair, _ in product):
            raise RefusedError("a divergence is infinite where the loss can be")
        hints = [alike(fields, name) for fields in listed]
        for before, hint in pairwise([[], *hints]):
            spend(step, 2, product, hint, before)
        ends: list[tuple[Fraction, list[object]]] = [(Fraction(0), [])]
        ends.extend(zip(excesses, hints, strict=True))
        for left, right in pairwise(ends):
            over = partial(_over, product, left, right, rho)
            require_at_most(over, lambda: arb(0), f"K over rho s(s+1) before s = {right[0]}")
        far = partial(_beyond, product, ends[-1][0])
        require_at_most(far, lambda: ball(rho), "the zCDP parameter beyond the last order")
    for fields in listed:
        fields.close()
    return ()


def forget_samples(step: Application) -> tuple[str, ...]:
    """Replace every sampled pair by its base.

    Source: quasi-convexity of hockey-stick divergences; proof in proofs/theory/sampled.md, section
    7.
    """
    pairs = step.only(Pairs)
    step.expect(Pairs(_unsampled(pairs.forward), _unsampled(pairs.backward)))
    return ()


def _unsampled(product: Product) -> Product:
    """Return the bases in order, equal pairs counted together."""
    parts: list[Product] = []
    for pair, times in product:
        base: Product = ((pair, 1),)
        if isinstance(pair, SampledPair):
            base = pair.unsampled()
        parts.append(tuple((one, count * times) for one, count in base))
    return merged(*parts)


def _by_parts(product: Product, parts: tuple[Fraction, ...], squared: Fraction) -> None:
    """Accept if each pair is mu_i-GDP for its listed mu_i^2 and the sum is at most mu^2."""
    if len(parts) != len(product):
        raise RefusedError("the rule takes one part for each pair")
    if min(parts) < 0:
        raise RefusedError("a part is the square of a mu")
    if exact_sum(n * part for part, (_, n) in zip(parts, product, strict=True)) > squared:
        raise RefusedError("mu^2 is below the sum of the parts")
    for part, (pair, _) in zip(parts, product, strict=True):
        own = _own_squared(pair)
        if own is not None:
            if part < own:
                raise RefusedError("a part is below the mu^2 of its Gaussians")
        else:
            tail = partial(_half_tail, part)
            guess = partial(_least_error, pair)
            require_at_most(tail, guess, "Phi(-mu/2) of a part")


def _own_squared(pair: Pair) -> Fraction | None:
    """Return mu^2 of a pair's farthest Gaussians, which may be revealed; None if it has none."""
    gaussian = GaussianPair | core_pairs.SubsampledGaussianPair | AllocatedGaussianPair
    if isinstance(pair, gaussian):  # proofs/theory/allocation.md, section 1, of rounds
        return pair.mu_squared
    if isinstance(pair, OppositeGaussiansPair):
        return 4 * pair.mu_squared
    if isinstance(pair, CountedGaussiansPair):
        return pair.most**2 * pair.mu_squared
    return None


def _half_tail(squared: Fraction) -> arb:
    return normal_tail(ball(squared).sqrt() / 2)


def _least_error(pair: Pair) -> arb:
    """Return the error at which the trade-off of (epsilon, 0)-DP meets its diagonal."""
    return 1 / (1 + _largest_both_ways(pair).exp())


def _largest_both_ways(pair: Pair) -> arb:
    """Return at least every loss of a pair and of its swap; refuse infinite losses."""
    other = kinds.swapped(pair)
    if pair.infinite or other.infinite:
        raise RefusedError(f"some losses of {pair.describe()} are infinite")
    return ball(kinds.largest_of(pair)).max(ball(kinds.largest_of(other)))


def _by_cells(
    step: Application, product: Product, epsilons: tuple[Fraction, ...], squared: Fraction
) -> None:
    """Accept if on every cell the profile's chord is below a tangent of the Gaussian's."""
    profile = closed_profile(product)
    if profile is None:
        raise RefusedError("without parts the rule takes a profile in closed form")
    if not squared or epsilons[:1] != (Fraction(0),) or epsilons != tuple(sorted(set(epsilons))):
        raise RefusedError("the rule takes mu above 0 and epsilons that increase from 0")
    step.budget.spend(len(epsilons) * (2 * profile_work(product) + _TANGENTS))
    step.budget.spend(profile_making(product))
    for left, right in pairwise(epsilons):
        for end in (left, right):
            require_at_most(
                partial(lambda x: profile(ball(x)), end),
                partial(_tangent, squared, (left + right) / 2, end),
                f"the profile at {end}",
            )
    require_at_most(
        partial(largest_loss, product), partial(Fraction, epsilons[-1]), "the largest loss"
    )


def _tangent(squared: Fraction, middle: Fraction, end: Fraction) -> arb:
    """Return the tangent in t = e^eps of the Gaussian profile at one epsilon, at another."""
    mu, at = ball(squared).sqrt(), ball(middle)
    slope = normal_tail(mu / 2 + at / mu)
    return GaussianPair(squared).profile(at) - slope * at.exp() * ball(end - middle).expm1()


def _over(
    product: Product,
    left: tuple[Fraction, list[object]],
    right: tuple[Fraction, list[object]],
    rho: Fraction,
) -> arb:
    """Return a number that is at most 0 only if K(s) <= rho s(s+1) between two s."""
    (a, first), (b, second) = left, right
    line = ball(rho)
    end = finite_moment(product, second, b).log()
    flat = end - line * ball(b * (a + 1))
    if not a:
        return flat
    start = finite_moment(product, first, a).log()
    slope = (end - start) / ball(b - a)
    chord = (slope - line) ** 2 + 4 * line * (start - slope * ball(a))
    return flat.min(chord)


def _beyond(product: Product, last: Fraction) -> arb:
    """Return at least K(s)/(s(s+1)) for every s from the last on."""
    total = arb(0)
    for pair, count in product:
        total += count * _own_rho(pair, last)
    return total


def _own_rho(pair: Pair, last: Fraction) -> arb:
    """Bound K(s)/(s(s+1)) of one pair for every s from the last on.

    By mu^2/2 of Gaussians, (2 mu)^2/2 of opposite ones, the smaller of pure DP's and largest
    loss/(s + 1) of bounded losses, and by the bases of samples.
    """
    own = _own_squared(pair)
    if own is not None:
        return ball(own / 2)
    if isinstance(pair, kinds.DiscreteGaussianPair):
        return ball(pair.shift**2 / (2 * pair.sigma_squared))
    if isinstance(pair, SampledPair):
        try:
            return _by_losses(pair, last)
        except RefusedError:
            return _beyond(pair.unsampled(), last)
    return _by_losses(pair, last)


def _by_losses(pair: Pair, last: Fraction) -> arb:
    """Return such a bound from the largest losses of a pair and its swap, if there are any."""
    pure = _largest_both_ways(pair)
    return (pure * (pure / 2).tanh()).min(ball(kinds.largest_of(pair)) / ball(last + 1))


def _chained(kind: type[C], along: Callable[[C, int], Claim]) -> Rule:
    """Return the rule that a claim becomes this one along a chain of ``size`` steps."""

    def rule(step: Application) -> tuple[str, ...]:
        claim, size = _one(step, kind)
        step.expect(along(claim, size))
        return ()

    return rule


pure_dp: Final = _chained(PureDP, lambda one, size: PureDP(size * one.epsilon))
"""Epsilon times the size. Source: Dwork & Roth (2014), Theorem 2.2."""

bounded_range: Final = _chained(BoundedRange, lambda one, size: BoundedRange(size * one.epsilon))
"""Log ratios add up along a chain, and so do the intervals they stay in."""

metric_dp: Final = _chained(MetricDP, lambda one, size: MetricDP(size * one.epsilon))
"""Paths one after the other are a path as long as all of them."""

gdp: Final = _chained(GDP, lambda one, size: GDP(size * size * one.mu_squared))
"""Mu times the size. Source: Dong, Roth & Su (arXiv:1905.02383), Theorem 2.14."""

zcdp: Final = _chained(ZCDP, lambda one, size: ZCDP(size * size * one.rho))
"""Rho times the square of the size. Source: arXiv:1605.02065, Proposition 1.9."""


def approx_dp(step: Application) -> tuple[str, ...]:
    """Check delta (e^{k eps} - 1)/(e^eps - 1). Source: Vadhan (2017), Lemma 2.2."""
    claim, size = _one(step, ApproxDP)
    conclusion = step.concludes(ApproxDP)
    if conclusion.epsilon != size * claim.epsilon:
        raise RefusedError("epsilon is not the premise's times the size")
    if conclusion.delta == 1 or claim.delta == 0:
        return ()
    if claim.epsilon == 0 or size == 1:
        if conclusion.delta < size * claim.delta:
            raise RefusedError("delta is below the premise's times the size")
        return ()

    def sum_of_powers() -> arb:
        return ball(size * claim.epsilon).expm1() / ball(claim.epsilon).expm1()

    require_at_most(
        lambda: ball(claim.delta) * sum_of_powers(), lambda: ball(conclusion.delta), "delta"
    )
    return ()


def rdp(step: Application) -> tuple[str, ...]:
    """Accept what R_k(a) = sum_{j<k} k a/(k a - j) R(k a - j) at the listed orders implies.

    Proof: proofs/theory/conversions.md, section 4.
    """
    claim, size = _one(step, RDP)
    if size > MAX_CHAIN:
        raise RefusedError(f"the rule adds up at most {MAX_CHAIN} steps")
    points = step.concludes(RDP).points
    step.budget.spend(size * len(points) * look_up(claim.points))
    for order, _ in points:
        bits = size * (order.numerator.bit_length() + 2 * size.bit_length())
        step.budget.spend(sum_of_rationals_work(size, bits + longest(claim.points)))
    curve = divergences(claim.points)
    chained = tuple(
        (a, exact_sum(size * a / (size * a - j) * curve(size * a - j) for j in range(size)))
        for a, _ in points
    )
    step.budget.spend(len(points) * look_up(chained))
    least = divergences(chained)
    if any(value < least(order) for order, value in points):
        raise RefusedError("a listed divergence is below what is known")
    return ()


def pair(step: Application) -> tuple[str, ...]:
    """Check that shifts of log-concave noise multiply. Source: arXiv:1905.02383, Theorem 2.14.

    The best tests are half-lines, so the power 1 - f_s(a) = F(F^{-1}(a) + s), and shifts add.
    """
    claim, size = _one(step, Pairs)
    if claim.forward != claim.backward:
        raise RefusedError("the rule takes the same pair in both directions")
    scaled = _scaled(claim.forward, size)
    step.expect(Pairs(scaled, scaled))
    return ()


def trade_off(step: Application) -> tuple[str, ...]:
    """Check the power 1 - f(1 - g): f-DP for j and g-DP for k steps give h-DP for j + k.

    Here h <= g(1 - f). g(1 - f) is a convex polygon; a convex polygon is below it if it is at its
    corners. Source: Dong, Roth & Su (arXiv:1905.02383), Theorem 2.14.
    """
    names, apart = set(step.mechanisms), sum(premise.steps for premise in step.premises)
    curves = [p.claim.points for p in step.premises if isinstance(p.claim, TradeOff)]
    if not len(curves) == len(step.premises) == 2 or len(names) > 1:
        raise RefusedError("the rule takes two trade-offs of one mechanism")
    if step.conclusion.steps != apart:
        raise RefusedError("the conclusion is about another distance")
    inner, outer = curves
    claim = step.concludes(TradeOff).points
    step.budget.spend(16 * (len(inner) + len(outer)))
    for place, power in _corners(inner, [x for x, _ in outer]):
        if _at(claim, place) > _at(outer, power):
            raise RefusedError(
                f"the curve is not below the premises' at type-I error {show(place)}"
            )
    return ()


def _corners(inner: Points, places: list[Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield type-I errors with the power there: at the corners, and where power is a place."""
    for (left, high), (right, low) in pairwise(inner):
        yield left, 1 - high
        for power in places[bisect_right(places, 1 - high) : bisect_left(places, 1 - low)]:
            yield left + (right - left) * (high - 1 + power) / (high - low), power
    yield inner[-1][0], Fraction(1)


def _at(curve: Points, place: Fraction) -> Fraction:
    """Return the height of a polygon, 0 after its end."""
    after = bisect_left(curve, place, key=lambda point: point[0])
    if after == len(curve):
        return Fraction(0)
    (left, high), (right, low) = curve[max(after - 1, 0)], curve[after]
    return low if after == 0 else high + (low - high) * (place - left) / (right - left)


def _one(step: Application, kind: type[C]) -> tuple[C, int]:
    """Return the one premise, and the size: the conclusion's steps over the premise's."""
    size = step.witness.whole("size")
    if len(step.premises) != 1:
        raise RefusedError("the rule takes one premise")
    (premise,) = step.premises
    if not isinstance(premise.claim, kind):
        raise RefusedError(f"the premise is not {kind.__name__}")
    if step.conclusion.steps != size * premise.steps:
        raise RefusedError("the conclusion is about another distance")
    return premise.claim, size


def _scaled(product: Product, size: int) -> Product:
    if all(isinstance(one, GaussianPair) for one, _ in product):
        return tuple((_shifted(one, size), count) for one, count in product)
    if len(product) > 1 or product[0][1] > 1:
        raise RefusedError("the rule takes one pair, once, or Gaussian pairs")
    return ((_shifted(product[0][0], size), 1),)


def _shifted(one: Pair, size: int) -> Pair:
    match one:
        case GaussianPair(mu_squared):
            return GaussianPair(size * size * mu_squared)
        case LaplacePair(epsilon):
            return LaplacePair(size * epsilon)
        case kinds.LogisticPair(epsilon):
            return kinds.LogisticPair(size * epsilon)
        case kinds.DiscreteLaplacePair(scale, shift):
            return kinds.DiscreteLaplacePair(scale, size * shift)
        case kinds.DiscreteGaussianPair(sigma_squared, shift):
            return kinds.DiscreteGaussianPair(sigma_squared, size * shift)
    raise RefusedError(f"no theorem shifts {one.describe()}")
