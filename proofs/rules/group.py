"""Group privacy: datasets that several steps between neighbours connect."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeVar

from flint import arb

from dpproof.proofs.core.arithmetic import ball, exact_sum, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair, Product
from dpproof.proofs.core.rule import Application, Rule
from dpproof.proofs.core.statements import GDP, ApproxDP, Claim, Pairs, Points, PureDP
from dpproof.proofs.limits import MAX_CHAIN, sum_of_rationals_work
from dpproof.proofs.logic.statement import RDP, ZCDP, BoundedRange, MetricDP, TradeOff
from dpproof.proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.proofs.pairs.laplace import DiscreteLaplacePair
from dpproof.proofs.pairs.logistic import LogisticPair
from dpproof.proofs.rules.compose import divergences, longest, look_up

C = TypeVar("C")


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
    """Check delta (e^{k eps} - 1)/(e^eps - 1).

    Source: Vadhan (2017), Lemma 2.2.
    """
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
    chained = tuple((order, _chain(curve, order, size)) for order, _ in points)
    step.budget.spend(len(points) * look_up(chained))
    least = divergences(chained)
    if any(value < least(order) for order, value in points):
        raise RefusedError("a listed divergence is below what is known")
    return ()


def _chain(curve: Callable[[Fraction], Fraction], order: Fraction, size: int) -> Fraction:
    """Return R_k(a), the sum, at one order."""
    top = size * order
    return exact_sum(top / (top - j) * curve(top - j) for j in range(size))


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

    Here h <= g(1 - f).

    g(1 - f) is a convex polygon; a convex polygon is below it if it is at its corners.
    Source: Dong, Roth & Su (arXiv:1905.02383), Theorem 2.14.
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
        case LogisticPair(epsilon):
            return LogisticPair(size * epsilon)
        case DiscreteLaplacePair(scale, shift):
            return DiscreteLaplacePair(scale, size * shift)
        case DiscreteGaussianPair(sigma_squared, shift):
            return DiscreteGaussianPair(sigma_squared, size * shift)
    raise RefusedError(f"no theorem shifts {one.describe()}")
