"""What is known of a base's profile: bounds of H_t(P || Q) at ratios t on both sides of 1.

For neighbours D, D' with laws P, Q the facts about the pairs of one direction bound H_t(P || Q) for
t >= 1, those of the other direction H_t(Q || P), hence H_t(P || Q) for t < 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from flint import arb

from proofs.balls.arithmetic import ball
from proofs.errors import RefusedError
from proofs.logic.rule import Application
from proofs.logic.statement import Points
from proofs.rules.convert import split

Levels: TypeAlias = list[tuple[arb, arb]]
"""Ratios t, increasing, each with a bound of H_t(P || Q)."""


def known(step: Application) -> dict[str, Points]:
    """For each different direction log t, increasing, with the delta that bounds H there."""
    pairs, facts = split(step)
    products = {fact.product for fact in facts} | {pairs.forward, pairs.backward}
    if products != {pairs.forward, pairs.backward} or len(set(facts)) < len(facts):
        raise RefusedError("the rule takes bounds of the products of the pairs, each once")
    ways = {"forward": (pairs.forward, pairs.backward)}
    if pairs.forward != pairs.backward:
        ways["backward"] = (pairs.backward, pairs.forward)
    found = {}
    for name, (ahead, behind) in ways.items():
        points = {-x: y for fact in facts if fact.product == behind for x, y in fact.points}
        points |= {x: y for fact in facts if fact.product == ahead for x, y in fact.points}
        if not points:
            raise RefusedError("the rule takes bounds of the profile")
        found[name] = tuple(sorted(points.items()))
        step.budget.spend(8 * len(points))
    return found


def level(log_ratio: Fraction, delta: Fraction) -> tuple[arb, arb]:
    """A ratio t and a bound of H_t(P || Q), which for t < 1 is 1 - t + t H_{1/t}(Q || P)."""
    t = ball(log_ratio).exp()
    return t, ball(delta) if log_ratio >= 0 else 1 - t + t * ball(delta)


def levels(points: Points) -> Levels:
    """All that is known, beginning with H_0 = 1."""
    return [(arb(0), arb(1)), *(level(*point) for point in points)]


def height(listed: Levels, t: arb) -> arb:
    """A bound of H_t: it falls, and as a convex function is below its chords."""
    place, end = 0, len(listed)
    while end - place > 1:
        middle = (place + end) // 2
        place, end = (middle, end) if listed[middle][0] <= t else (place, middle)
    left, start = listed[place]
    if place + 1 == len(listed):
        return start
    right, stop = listed[place + 1]
    return start + (stop - start) * ((t - left) / (right - left)).min(1)
