"""Private selection from a base with a dominating pair: a finite mixture of shifted profiles.

proofs/theory/selection.md, Section 6. With tau(c) the least mass under Q of a set of mass c under
P, let L be piecewise linear with L(0) = 0 and L(phi'(c)) <= phi'(tau(c)) for every c in [0, 1].
Then the profile of the selection at epsilon >= 0 is at most the sum over the pieces of L of their
length times H_t(P || Q), t = e^epsilon times their slope. The certificate lists the corners of L.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise

from flint import arb

from dpproof.proofs.balls.run_counts import Runs, read_runs
from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.statements import Points
from dpproof.proofs.fields import wholes
from dpproof.proofs.logic.statement import Profile
from dpproof.proofs.rules.base_profile import (
    bound_at_ratio,
    bounds_at_ratios,
    chord_bound,
    profile_bounds,
)
from dpproof.proofs.rules.select import selects


def profile(step: Application) -> tuple[str, ...]:
    """Check bounds of the selection's profile, from pairs and bounds of their profiles.

    Source: proofs/theory/selection.md, Theorem 2 and Section 6.
    """
    runs, points = read_runs(step.witness.take("runs")), step.concludes(Profile).points
    for name, bounds in profile_bounds(step).items():
        fields = Fields(step.witness.take(name), name)
        corners, places = fields.points("corners"), wholes(fields, "tangents")
        fields.close()
        step.budget.spend(len(corners) * (8 * runs.work + 32 * len(points)))
        step.budget.spend(8 * len(bounds) * len(points))
        _require_below(runs, corners, places, bounds)
        for epsilon, delta in points:
            mixture = partial(_mixture, runs, corners, bounds, epsilon)
            require_at_most(mixture, partial(ball, delta), f"delta at epsilon = {epsilon}")
    return selects(step, runs)


def _require_below(runs: Runs, corners: Points, places: tuple[int, ...], bounds: Points) -> None:
    """Refuse corners (c, L(phi'(c))) unless L(phi'(c)) <= phi'(tau(c)) for every c in [0, 1].

    On a cell tau(c) >= (c - H_t)/t for one of the known t (or 0, at place 0), and the convex phi'
    is above its tangent at any z in [0, 1]. What results is linear in c, and L(phi'(c)), convex
    there, is below its chord, so both ends decide.
    """
    heights = [y for _, y in corners]
    if corners[0][0] != 0 or corners[-1][0] != 1 or heights[0] < 0 or heights != sorted(heights):
        raise RefusedError("the corners must go from mass 0 to mass 1 and not fall")
    if len(places) + 1 != len(corners) or not 0 <= min(places) <= max(places) <= len(bounds):
        raise RefusedError("the rule takes the place of a bound, or 0, for each cell")
    for cell, place in zip(pairwise(corners), places, strict=True):
        what = f"the polygon less its limit after {cell[0][0]}"
        require_at_most(partial(_excess, runs, bounds, place, *cell), partial(arb, 0), what)


def _excess(
    runs: Runs,
    bounds: Points,
    place: int,
    start: tuple[Fraction, Fraction],
    end: tuple[Fraction, Fraction],
) -> arb:
    """Return how far the polygon is above the tangent, which is linear in c, at most on a cell."""
    if not place:
        return ball(end[1]) - runs.phi(1, arb(0))
    t, bound = bound_at_ratio(*bounds[place - 1])
    z = ((ball((start[0] + end[0]) / 2) - bound) / t).max(0).min(1)
    value, slope = runs.phi(1, z), runs.phi(2, z)
    over = [ball(y) - value - slope * ((ball(c) - bound) / t - z) for c, y in (start, end)]
    return over[0].max(over[1])


def _mixture(runs: Runs, corners: Points, bounds: Points, epsilon: Fraction) -> arb:
    """Return the sum over the pieces of L."""
    listed = bounds_at_ratios(bounds)
    t, total, before, low = ball(epsilon).exp(), arb(0), arb(0), Fraction(0)
    for c, y in corners:
        after = runs.phi(1, ball(c))
        length = after - before
        slope = ball(y - low) / length if y > low else arb(0)
        total += length * chord_bound(listed, t * slope)
        before, low = after, y
    return total
