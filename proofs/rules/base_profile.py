"""Bounds of a base's profile: of H_t(P || Q) at ratios t on both sides of 1.

For neighbours D, D' with laws P, Q the facts about the pairs of one direction bound H_t(P || Q) for
t >= 1, those of the other direction H_t(Q || P), hence H_t(P || Q) for t < 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.rules import split
from dpproof.proofs.core.statements import HockeyStick, Pairs, Points

RatioBounds: TypeAlias = list[tuple[arb, arb]]
"""Ratios t, increasing, each with a bound of H_t(P || Q)."""


def profile_bounds(step: Application) -> dict[str, Points]:
    """Return, for each different direction, pairs (log t, delta) by increasing t.

    At t >= 1 delta bounds H_t of that direction, at t < 1 it bounds H_{1/t} of the other.

    Raises:
        RefusedError: a fact is about another product, is listed twice, or there is none.
    """
    pairs, facts = split(step)
    required_facts([pairs], facts)
    return bounds_of(step, pairs, facts)


def required_facts(pairs: Sequence[Pairs], facts: Sequence[HockeyStick]) -> None:
    """Refuse facts about other products than those of the pairs, and a fact that is repeated."""
    products = {product for one in pairs for product in (one.forward, one.backward)}
    if not {fact.product for fact in facts} <= products or len(set(facts)) < len(facts):
        raise RefusedError("the rule takes bounds of the products of the pairs, each once")


def bounds_of(step: Application, pairs: Pairs, facts: Sequence[HockeyStick]) -> dict[str, Points]:
    """Return the bounds of ``profile_bounds`` for some pairs, by those facts that are about them.

    Raises:
        RefusedError: a direction has none.
    """
    ways = {"forward": (pairs.forward, pairs.backward)}
    if pairs.forward != pairs.backward:
        ways["backward"] = (pairs.backward, pairs.forward)
    bounds = {}
    for name, (ahead, behind) in ways.items():
        points = {-x: y for fact in facts if fact.product == behind for x, y in fact.points}
        points |= {x: y for fact in facts if fact.product == ahead for x, y in fact.points}
        if not points:
            raise RefusedError("the rule takes bounds of the profile")
        bounds[name] = tuple(sorted(points.items()))
        step.budget.spend(8 * len(points))
    return bounds


def bound_at_ratio(log_ratio: Fraction, delta: Fraction) -> tuple[arb, arb]:
    """Return t and a bound of H_t(P || Q), which for t < 1 is 1 - t + t H_{1/t}(Q || P)."""
    t = ball(log_ratio).exp()
    return t, ball(delta) if log_ratio >= 0 else 1 - t + t * ball(delta)


def bounds_at_ratios(points: Points) -> RatioBounds:
    """Return every ratio with its bound, preceded by H_0 = 1."""
    return [(arb(0), arb(1)), *(bound_at_ratio(*point) for point in points)]


def chord_bound(listed: RatioBounds, t: arb) -> arb:
    """Return a bound of H_t at any t >= 0: H falls, and is convex, so below its chords."""
    place, end = 0, len(listed)
    while end - place > 1:
        middle = (place + end) // 2
        place, end = (middle, end) if listed[middle][0] <= t else (place, middle)
    left, start = listed[place]
    if place + 1 == len(listed):
        return start
    right, stop = listed[place + 1]
    return start + (stop - start) * ((t - left) / (right - left)).min(1)
