"""Composition of Renyi divergences, parallel parts and choices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from dpproof.proofs.core.arithmetic import exact_sum, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application
from dpproof.proofs.core.rules import compose_gdp, compose_pair, composed, same_data
from dpproof.proofs.core.statements import GDP, SYMMETRIC, ApproxDP, Claim, Pairs, Points, PureDP
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.limits import look_up_work, sum_of_rationals_work
from dpproof.proofs.logic.statement import RDP, ZCDP, BoundedRange, MetricDP, Profile

CHOSEN: Final = (
    "looking at no data and independently of everything else, and runs it; its result is a "
    "function of the draw and of its output alone"
)


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


def parallel(step: Application) -> tuple[str, ...]:
    """Check disjoint parts: the whole satisfies what every part satisfies.

    Proof: proofs/theory/parallel.md.

    A record that is added or removed changes one part only, one that is blanked as well if the
    blank stays in its part; and the outputs of the other parts say nothing of that part's.
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

    Proof: proofs/theory/choice.md.

    The divergence of the choice is the mean of its parts', so what dominates all parts dominates
    it. A bounded range does not carry over: its interval may differ from part to part.
    """
    if _notion(step) not in (GDP, PureDP, ZCDP, Pairs):
        raise RefusedError("a choice is known of pure-dp, gdp, zcdp and dominating-pair only")
    step.expect(_worst(step))
    names = openable(" and ".join(step.mechanisms))
    drawn = f"draws one of {names} by a law that is the same for all datasets, {CHOSEN}"
    return drawn, FIXED, FRESH, ALONE


def parallel_positions(step: Application) -> tuple[str, ...]:
    """Check disjoint positions: one record has changed, in place.

    Proof: proofs/theory/margins.md, 6.

    Given the split, one part changes by one record, and the others look at its output alone; the
    split is a public draw.
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
        while len(hull) > 1 and _above(hull[-2], hull[-1], (x, y)):
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


def _above(
    first: tuple[Fraction, Fraction],
    middle: tuple[Fraction, Fraction],
    last: tuple[Fraction, Fraction],
) -> bool:
    """Return whether the middle point lies on or above the chord of the others."""
    run, rise = last[0] - first[0], last[1] - first[1]
    return (middle[1] - first[1]) * run >= rise * (middle[0] - first[0])


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
