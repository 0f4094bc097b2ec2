"""Private selection from a base with a dominating pair: a finite mixture of shifted profiles.

proofs/selection.md, Section 6. With tau(c) the least mass under Q of a set of mass c under P, let L
be piecewise linear with L(0) = 0 and L(phi'(c)) <= phi'(tau(c)) for every c in [0, 1]. Then the
profile of the selection at epsilon >= 0 is at most the sum over the pieces of L of their length
times H_t(P || Q), t = e^epsilon times their slope. The certificate lists the corners of L.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from flint import arb

from proofs.arithmetic import ball, require_at_most
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.rules.convert import split
from proofs.rules.rule import Application
from proofs.rules.select import selects
from proofs.runs import Runs, read_runs
from proofs.statement import Points, Profile

Levels: TypeAlias = list[tuple[arb, arb]]
"""Ratios t, increasing, each with a bound of H_t(P || Q)."""


def profile(step: Application) -> tuple[str, ...]:
    """Pairs and bounds of their profiles -> bounds of the selection's profile.

    Source: proofs/selection.md, Theorem 2 and Section 6.
    """
    runs, points = read_runs(step.witness.take("runs")), step.concludes(Profile).points
    pairs, facts = split(step)
    products = {fact.product for fact in facts} | {pairs.forward, pairs.backward}
    if products != {pairs.forward, pairs.backward} or len(set(facts)) < len(facts):
        raise RefusedError("the rule takes bounds of the products of the pairs, each once")
    ways = {"forward": (pairs.forward, pairs.backward)}
    if pairs.forward != pairs.backward:
        ways["backward"] = (pairs.backward, pairs.forward)
    for name, (ahead, behind) in ways.items():
        fields = Fields(step.witness.take(name), name)
        corners, places = fields.points("corners"), fields.wholes("tangents")
        fields.close()
        known = _glued(
            {x: y for fact in facts if fact.product == ahead for x, y in fact.points},
            {x: y for fact in facts if fact.product == behind for x, y in fact.points},
        )
        step.budget.spend(len(corners) * (8 * runs.work + 32 * len(points)))
        step.budget.spend(8 * len(known) * (len(points) + 1))
        _require_below(runs, corners, places, known)
        for epsilon, delta in points:
            mixture = partial(_mixture, runs, corners, known, epsilon)
            require_at_most(mixture, partial(ball, delta), f"delta at epsilon = {epsilon}")
    return selects(step, runs)


def _glued(ahead: dict[Fraction, Fraction], behind: dict[Fraction, Fraction]) -> Points:
    """Bounds of both directions by log t, t of either side of 1."""
    points = {-epsilon: delta for epsilon, delta in behind.items()} | ahead
    if not points:
        raise RefusedError("the rule takes bounds of the profile")
    return tuple(sorted(points.items()))


def _level(log_ratio: Fraction, delta: Fraction) -> tuple[arb, arb]:
    """A ratio t and a bound of H_t(P || Q), which for t < 1 is 1 - t + t H_{1/t}(Q || P)."""
    t = ball(log_ratio).exp()
    return t, ball(delta) if log_ratio >= 0 else 1 - t + t * ball(delta)


def _require_below(runs: Runs, corners: Points, places: tuple[int, ...], known: Points) -> None:
    """Refuse corners (c, L(phi'(c))) unless L(phi'(c)) <= phi'(tau(c)) for every c in [0, 1].

    On a cell tau(c) >= (c - H_t)/t for one of the known t (or 0, at place 0), and the convex phi'
    is above its tangent at any z in [0, 1]. What results is linear in c, and L(phi'(c)), convex
    there, is below its chord, so both ends decide.
    """
    heights = [height for _, height in corners]
    if corners[0][0] != 0 or corners[-1][0] != 1 or heights[0] < 0 or heights != sorted(heights):
        raise RefusedError("the corners must go from mass 0 to mass 1 and not fall")
    if len(places) + 1 != len(corners) or not 0 <= min(places) <= max(places) <= len(known):
        raise RefusedError("the rule takes the place of a bound, or 0, for each cell")
    for cell, place in zip(pairwise(corners), places, strict=True):
        what = f"the polygon less its limit after {cell[0][0]}"
        require_at_most(partial(_excess, runs, known, place, *cell), partial(arb, 0), what)


def _excess(
    runs: Runs,
    known: Points,
    place: int,
    start: tuple[Fraction, Fraction],
    end: tuple[Fraction, Fraction],
) -> arb:
    """The largest height above the tangent, which is linear in c, at the ends of a cell."""
    if not place:
        return ball(end[1]) - runs.phi(1, arb(0))
    t, level = _level(*known[place - 1])
    z = ((ball((start[0] + end[0]) / 2) - level) / t).max(0).min(1)
    value, slope = runs.phi(1, z), runs.phi(2, z)
    over = [
        ball(height) - value - slope * ((ball(c) - level) / t - z) for c, height in (start, end)
    ]
    return over[0].max(over[1])


def _mixture(runs: Runs, corners: Points, known: Points, epsilon: Fraction) -> arb:
    """The sum over the pieces of L."""
    levels = [(arb(0), arb(1)), *(_level(*point) for point in known)]
    t, total, before, low = ball(epsilon).exp(), arb(0), arb(0), Fraction(0)
    for c, height in corners:
        after = runs.phi(1, ball(c))
        length = after - before
        slope = ball(height - low) / length if height > low else arb(0)
        total += length * _height(levels, t * slope)
        before, low = after, height
    return total


def _height(levels: Levels, t: arb) -> arb:
    """A bound of H_t: it falls, and as a convex function is below its chords."""
    place, end = 0, len(levels)
    while end - place > 1:
        middle = (place + end) // 2
        place, end = (middle, end) if levels[middle][0] <= t else (place, middle)
    left, start = levels[place]
    if place + 1 == len(levels):
        return start
    right, stop = levels[place + 1]
    return start + (stop - start) * ((t - left) / (right - left)).min(1)
