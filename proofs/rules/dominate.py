"""The pairs that dominate every mechanism of a notion."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate, pairwise

from flint import ctx

from dpproof.proofs.core.arithmetic import ball, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import FinitePair, LaplacePair
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.rules import both
from dpproof.proofs.core.statements import Pairs, Points
from dpproof.proofs.limits import PRECISIONS
from dpproof.proofs.logic.statement import BoundedRange, MetricDP, Profile, TradeOff
from dpproof.proofs.pairs.core_pairs import corners as corners_of
from dpproof.proofs.pairs.logistic import LogisticPair
from dpproof.proofs.rules.prices import corners_work


def bounded_range(step: Application) -> tuple[str, ...]:
    """Check two logistic distributions. Proof: proofs/theory/bounded_range.md."""
    epsilon = step.only(BoundedRange).epsilon
    step.expect(both(LogisticPair(epsilon) if epsilon else None))
    return ()


def metric_dp(step: Application) -> tuple[str, ...]:
    """Check two Laplace distributions of scale 1.

    Proof: proofs/theory/path.md, Theorem 1.
    """
    epsilon = step.only(MetricDP).epsilon
    step.expect(both(LaplacePair(epsilon) if epsilon else None))
    return ()


def privacy_profile(step: Application) -> tuple[str, ...]:
    """Check a finite pair whose profile is above every point's, at its corners.

    A mechanism's profile g(t), t = e^eps, is convex, falls, and is 1 at t = 0; the pair's F is
    linear between its corners, 1 at 0 and constant after the last. So g <= F at the corners
    proves g <= F. There g(t) <= delta_j for t >= e^{eps_j}, and g(t) = 1 - t + t g'(1/t) <=
    1 - t + t delta_j for 1/t >= e^{eps_j}, g' the profile of the swapped neighbours.
    """
    points, claim = lowest(step.only(Profile).points), step.concludes(Pairs)
    if len(claim.forward) != 1 or claim.forward != claim.backward:
        raise RefusedError("the rule concludes one pair, the same in both directions")
    ((pair, count),) = claim.forward
    if not isinstance(pair, FinitePair) or count != 1:
        raise RefusedError("the rule concludes one finite pair, once")
    step.budget.spend(corners_work(pair) + 4 * len(points))
    for corner, above in corners_of(pair):
        if not certainly_below(points, corner, above):
            what = f"the pair's profile is not above the points at ratio {show(corner)}"
            raise RefusedError(what)
    return ()


def trade_off(step: Application) -> tuple[str, ...]:
    """Check the finite pair whose tests walk along the polygon.

    Source: arXiv:1905.02383, Prop. 2.2.

    Each segment is one outcome: its extent is the mass under Q, its fall the mass under P.
    """
    points, one = step.only(TradeOff).points, Fraction(1)
    masses = [(one - points[0][1], Fraction(0))] if points[0][1] < 1 else []
    masses += [(high - low, right - left) for (left, high), (right, low) in pairwise(points)]
    if points[-1][0] < 1:
        masses.append((Fraction(0), one - points[-1][0]))
    step.expect(both(FinitePair(tuple(p for p, _ in masses), tuple(q for _, q in masses))))
    return ()


def lowest(points: Points) -> Points:
    """Return the same epsilons, each with the least delta up to it."""
    epsilons, deltas = zip(*points, strict=True)
    return tuple(zip(epsilons, accumulate(deltas, min), strict=True))


def certainly_below(points: Points, t: Fraction, height: Fraction) -> bool:
    """Return whether one of the lowest points bounds a profile by this height at a ratio t > 0."""
    with ctx.workprec(PRECISIONS[-1]):
        reach = abs(ball(t).log())
        place = bisect_left(points, True, key=lambda one: one[0] > 0 and not ball(one[0]) <= reach)
    delta = points[place - 1][1] if place else Fraction(1)
    return (delta if t >= 1 else 1 - t + t * delta) <= height
