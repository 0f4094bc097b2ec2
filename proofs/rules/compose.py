"""Composition of Renyi divergences, parallel parts and choices; pairs that dominate a notion."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final

from flint import ctx

from dpproof.proofs.balls.arithmetic import exact_sum
from dpproof.proofs.core.arithmetic import ball, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import LaplacePair, Pair
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application, Rule
from dpproof.proofs.core.rules import both, compose_pair, composed, described, same_data
from dpproof.proofs.core.statements import GDP, SYMMETRIC, ApproxDP, C, Claim, Pairs, Points, PureDP
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.limits import PRECISIONS, look_up_work, sum_of_rationals_work
from dpproof.proofs.logic.statement import RDP, ZCDP, BoundedRange, MetricDP, Profile, TradeOff
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair, told_with
from dpproof.proofs.pairs.pair import LogisticPair, corners as corners_of
from dpproof.proofs.rules.prices import corners_work

CHOSEN: Final = (
    "looking at no data and independently of everything else, and runs it; its result is a "
    "function of the draw and of its output alone"
)


def compose_gdp(step: Application) -> tuple[str, ...]:
    """Check that mu^2 adds up. Source: Dong, Roth & Su (arXiv:1905.02383), Corollary 3.3."""
    parts, count = composed(step, GDP)
    step.expect(GDP(count * exact_sum(part.mu_squared for part in parts)))
    return same_data(step, count)


def zcdp(step: Application) -> tuple[str, ...]:
    """Check that rho adds up. Source: Bun & Steinke (arXiv:1605.02065), Lemma 2.3."""
    parts, count = composed(step, ZCDP)
    step.expect(ZCDP(count * exact_sum(part.rho for part in parts)))
    return same_data(step, count)


def rdp(step: Application) -> tuple[str, ...]:
    """Check that divergences add up at every order.

    Source: Mironov (arXiv:1702.07476), Proposition 1.
    """
    parts, count = composed(step, RDP)
    orders = [order for order, _ in step.concludes(RDP).points]
    step.budget.spend(len(orders) * sum(look_up(part.points) for part in parts))
    bits = sum(longest(part.points) for part in parts)
    step.budget.spend(len(orders) * sum_of_rationals_work(len(parts), bits))
    curves = [divergences(part.points) for part in parts]
    sums = [(a, count * exact_sum(curve(a) for curve in curves)) for a in orders]
    _at_least(step, tuple(sums))
    return same_data(step, count)


def concurrent(step: Application) -> tuple[str, ...]:
    """Check that interactive mechanisms compose as if one ran after the other.

    Source: Vadhan & Zhang (arXiv:2207.08335); of Renyi divergences Lyu (arXiv:2207.09397).
    """
    same = {GDP: compose_gdp, Pairs: compose_pair, ZCDP: zcdp, RDP: rdp}
    rule = same.get(type(step.conclusion.claim))
    if rule is None:
        raise RefusedError("the rule is about gdp, zcdp, rdp and dominating-pair only")
    ran, *shared = rule(step)
    asked = (
        "any question to one of them depending on all answers before; what is stated of each holds "
        "towards every analyst who asks it alone, its questions and answers being finitely many, "
        "from finite sets"
    )
    return f"{ran}, where one analyst asks them at the same time, {asked}", *shared


def map_records(step: Application) -> tuple[str, ...]:
    """Check the same on records mapped one by one. Proof: proofs/theory/map_records.md."""
    name, said = described(step)
    alone = "to one that depends on that record alone, a blank one to a blank one"
    features = "features without looking at labels"
    return f"runs {name} on records of which each is mapped {alone}, and {features}, {said}", ALONE


def parallel(step: Application) -> tuple[str, ...]:
    """Check disjoint parts: the whole satisfies what every part satisfies.

    Proof: proofs/theory/parallel.md. A record that is added or removed changes one part only, one
    that is blanked as well if the blank stays in its part; and the outputs of the other parts say
    nothing of that part's.
    """
    if step.conclusion.relation in SYMMETRIC:
        raise RefusedError("a replaced record may move from one part to another")
    if step.conclusion.steps != 1:
        raise RefusedError("several records may fall in several parts")
    if _notion(step) is RDP:
        orders = [order for order, _ in step.concludes(RDP).points]
        tables = [part.points for part in step.every(RDP)]
        step.budget.spend(len(orders) * sum(map(look_up, tables)))
        _at_least(step, tuple((a, max(divergence(table, a) for table in tables)) for a in orders))
    else:
        step.expect(_worst(step))
    names = " and ".join(step.mechanisms)
    split = "every record going to a part that depends on that record alone"
    if step.conclusion.relation == "zero-out":
        split += " or its position, and on nothing of it that blanking it changes"
    if isinstance(step.conclusion.claim, BoundedRange):
        split += ", none of which looks at what another releases"
    return (f"runs {names} on disjoint parts of the records, {split}", FIXED, FRESH, ALONE)


def choice(step: Application) -> tuple[str, ...]:
    """Check a choice of one of several, drawn by a public law.

    Proof: proofs/theory/choice.md. The divergence of the choice is the mean of its parts', so what
    dominates all parts dominates it. A bounded range does not carry over: its interval may differ
    from part to part.
    """
    if _notion(step) not in (GDP, PureDP, ZCDP, Pairs):
        raise RefusedError("a choice is known of pure-dp, gdp, zcdp and dominating-pair only")
    step.expect(_worst(step))
    names = openable(" and ".join(step.mechanisms))
    drawn = f"draws one of {names} by a law that is the same for all datasets, {CHOSEN}"
    return drawn, FIXED, FRESH, ALONE


def parallel_positions(step: Application) -> tuple[str, ...]:
    """Check disjoint positions: one record has changed, in place.

    Proof: proofs/theory/margins.md, 6. Given the split, one part changes by one record, and the
    others look at its output alone; the split is a public draw.
    """
    if step.conclusion.relation == "add-remove":
        raise RefusedError("without a record the others move up to other positions")
    if step.conclusion.steps != 1:
        raise RefusedError("several records may fall in several parts")
    if _notion(step) not in (GDP, PureDP, ZCDP, Pairs):
        raise RefusedError("the rule is about pure-dp, gdp, zcdp and dominating-pair only")
    step.expect(_worst(step))
    names = openable(" and ".join(step.mechanisms))
    split = "split by a law that looks at no record and is independent of everything else"
    return (
        f"runs {names} on the records at disjoint sets of positions, {split}",
        FIXED,
        FRESH,
        ALONE,
    )


def look_up(points: Points) -> int:
    """Return the approximate work of ``divergence``; long rationals count as several operations."""
    bits = sum(x.denominator.bit_length() + y.denominator.bit_length() for x, y in points)
    return look_up_work(len(points), bits)


def longest(points: Points) -> int:
    """Return the approximate bits of what two neighbours among some points imply between them."""
    return 4 * max((x.denominator.bit_length() + y.denominator.bit_length() for x, y in points))


def divergence(points: Points, order: Fraction) -> Fraction:
    """Return the divergence that listed Renyi divergences imply at one order."""
    return divergences(points)(order)


def divergences(points: Points) -> Callable[[Fraction], Fraction]:
    """Return the divergence that listed Renyi divergences imply, as a function of the order.

    (a - 1) R(a) is convex in a and 0 at a = 1, so below the lower hull of the listed points
    (van Erven & Harremoes, arXiv:1206.2459, Corollary 2).
    """
    scaled = [(Fraction(0), Fraction(0)), *((a - 1, (a - 1) * value) for a, value in points)]
    hull: list[tuple[Fraction, Fraction]] = []
    for x, y in scaled:
        while len(hull) > 1 and _above((hull[-2], (x, y)), hull[-1]):
            hull.pop()
        hull.append((x, y))

    def at(order: Fraction) -> Fraction:
        if not 1 < order <= points[-1][0]:
            raise RefusedError("a Renyi order lies above all that are listed")
        excess = order - 1
        place = bisect_left(hull, excess, key=lambda corner: corner[0])
        (left, low), (right, high) = hull[place - 1], hull[place]
        return (low + (high - low) * (excess - left) / (right - left)) / excess

    return at


def _above(first: Points, middle: tuple[Fraction, Fraction]) -> bool:
    """Return whether a point lies on or above the chord of two others."""
    (x, y), (right, high) = first
    return (middle[1] - y) * (right - x) >= (high - y) * (middle[0] - x)


def _at_least(step: Application, implied: Points) -> None:
    """Accept Renyi points at or above what is implied."""
    claimed = step.concludes(RDP).points
    for (order, value), (_, least) in zip(claimed, implied, strict=True):
        if value < least:
            raise RefusedError(
                f"at order {show(order)} the divergence is only known to be at most {show(least)}"
            )


def _notion(step: Application) -> type[object]:
    """Return the one notion of all parts."""
    first, *others = {type(part) for part in step.every(object)}
    if others:
        raise RefusedError("the parts are of different notions")
    return first


def _worst(step: Application) -> Claim:
    """Return the largest parameter of parts of one notion; other notions must be equal."""
    first = step.premises[0].claim
    if isinstance(first, PureDP):
        return PureDP(max(part.epsilon for part in step.every(PureDP)))
    if isinstance(first, BoundedRange):
        return BoundedRange(max(part.epsilon for part in step.every(BoundedRange)))
    if isinstance(first, MetricDP):
        return MetricDP(max(part.epsilon for part in step.every(MetricDP)))
    if isinstance(first, GDP):
        return GDP(max(part.mu_squared for part in step.every(GDP)))
    if isinstance(first, ZCDP):
        return ZCDP(max(part.rho for part in step.every(ZCDP)))
    if isinstance(first, ApproxDP):
        parts = step.every(ApproxDP)
        return ApproxDP(max(p.epsilon for p in parts), max(p.delta for p in parts))
    if isinstance(first, Profile):
        tables = [part.points for part in step.every(Profile)]
        if any([x for x, _ in table] != [x for x, _ in tables[0]] for table in tables):
            raise RefusedError("the profiles are listed at different epsilons")
        columns = zip(*tables, strict=True)
        return Profile(tuple((column[0][0], max(y for _, y in column)) for column in columns))
    if any(premise.claim != first for premise in step.premises):
        raise RefusedError("the parts are not equal")
    return first


def implied(kind: type[C], conclude: Callable[[C], Claim]) -> Rule:
    """Return the rule that the one premise, of this notion, implies what a function says."""

    def check(step: Application) -> tuple[str, ...]:
        step.expect(conclude(step.only(kind)))
        return ()

    return check


def _pair_if(of: Callable[[Fraction], Pair]) -> Callable[[PureDP | BoundedRange | MetricDP], Pairs]:
    """Return the pair of an epsilon, in both directions; of 0 that of two equal laws."""
    return lambda one: both(of(one.epsilon) if one.epsilon else None)


pure_dp: Final = implied(PureDP, _pair_if(lambda e: RandomizedResponsePair(e, 2, Fraction(0))))
"""Binary randomised response. Source: arXiv:1905.02383, Proposition 2.5."""

bounded_range: Final = implied(BoundedRange, _pair_if(LogisticPair))
"""Two logistic distributions. Proof: proofs/theory/bounded_range.md."""

metric_dp: Final = implied(MetricDP, _pair_if(LaplacePair))
"""Two Laplace distributions of scale 1. Proof: proofs/theory/path.md, Theorem 1."""


def approx_dp(step: Application) -> tuple[str, ...]:
    """Check randomised response beside a telling outcome.

    Source: arXiv:1905.02383, Proposition 2.5.
    """
    claim, pair = step.only(ApproxDP), None
    if claim.epsilon > 0 and claim.delta < 1:
        pair = RandomizedResponsePair(claim.epsilon, 2, claim.delta)
    step.expect(both(pair or told_with(claim.delta) if claim.epsilon or claim.delta else None))
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

    Source: arXiv:1905.02383, Prop. 2.2. Each segment is one outcome: its extent is the mass under
    Q, its fall the mass under P.
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
