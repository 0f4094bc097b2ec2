"""Make witnesses for private selection: a polygon below phi' o tau, for the mixture of shifts.

The checker verifies the polygon cell by cell (proofs/theory/selection.md, Section 6). Its corners
lie evenly where phi' and phi' o tau change; at every corner it is as high as the tangents at the
known points allow, then made convex, which makes the mixture of shifts smallest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.certificates.format.serialize import run_law
from dpproof.accountant.certificates.hockey_stick.choose import Point
from dpproof.accountant.certificates.selection.base_profile import (
    MARGIN,
    BaseProfile,
    SelectionProof,
    base_facts,
    proved_point,
)
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import short_down
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.profile import selection
from dpproof.proofs.core.certificate import Json, show_rational

_CELLS = 1200  # Cells of the polygon. Heuristic.
_SHIFTED = 240  # Points of the base's profile. Heuristic.
_TAIL = 1e-9  # Share of the mixture outside those points. Heuristic.
_HEIGHT_BITS = 40  # Bits of a corner's height. Heuristic.
_FARTHEST = 500.0  # Largest epsilon that is tried. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Polygon:
    """One direction's polygon: 1 minus its corners' masses, falling, and their heights, exactly.

    ``places`` of the known points that the cells use count from 1, 0 for none. ``lengths`` and
    ``slopes`` are about those of its pieces.
    """

    a: list[Fraction]
    height: list[Fraction]
    places: list[int]
    base: BaseProfile
    lengths: Reals
    slopes: Reals

    def delta(self, epsilon: float) -> float:
        """Return the mixture of shifts at epsilon."""
        heights = self.base.height(math.exp(epsilon) * self.slopes)
        return float(self.lengths @ heights) * (1 + MARGIN)

    def witness(self) -> Json:
        """Return the polygon in the certificate's JSON."""
        corners: list[Json] = [
            [show_rational(1 - a), show_rational(height)]
            for a, height in zip(self.a, self.height, strict=True)
        ]
        return {"corners": corners, "tangents": list(self.places)}


def prove_by_shifted_mixture(
    base: DominatingPair[Any], runs: RunLaw, point: Point
) -> SelectionProof:
    """Return the best (epsilon, delta) near a point that the checker's bound proves."""
    near = max(_start(product, runs, point) for product in (base.forward, base.backward))
    facts, ways = base_facts(base, runs, lambda product: _shifted(product, runs, near))
    polygons = {name: _polygon(one, runs) for name, one in ways.items()}
    epsilon, delta = proved_point(
        lambda at: max(one.delta(at) for one in polygons.values()), point, near
    )
    witness = {name: one.witness() for name, one in polygons.items()}
    return SelectionProof(
        "select/profile", epsilon, delta, facts, {"runs": run_law(runs), **witness}
    )


def _start(base: Product, runs: RunLaw, point: Point) -> float:
    """Estimate the epsilon at which the mixture proves the point."""
    if not point.moves or not point.delta:
        return point.epsilon
    shifts, high = selection(base, runs).shifts, max(2.0 * point.epsilon, 1.0)

    def above(epsilon: float) -> bool:
        return bool(shifts.upper(np.array([epsilon]))[0] > point.delta)

    while above(high) and high < _FARTHEST:
        high *= 2.0
    return bisect(above, 0.0, high, rounds=40)[1]


def _shifted(base: Product, runs: RunLaw, epsilon: float) -> Reals:
    """Return the logs of ratios at which the mixture uses the base's profile."""
    chosen = selection(base, runs)
    mixture = chosen.shifts
    parts = np.cumsum(mixture.weights * mixture.base.at(epsilon + mixture.shifts))
    ends = np.searchsorted(parts, parts[-1] * np.array([_TAIL, 1.0 - _TAIL]))
    first, last = mixture.shifts[np.minimum(ends, parts.size - 1)]
    return epsilon + np.linspace(max(first, -chosen.curve.end - epsilon), last, _SHIFTED)


def _polygon(base: BaseProfile, runs: RunLaw) -> Polygon:
    """Return the highest convex polygon that the checker's tangents allow."""
    exact = base.cells(runs, _CELLS)
    a = np.array([float(one) for one in exact])
    middle = 0.5 * (a[1:] + a[:-1])
    lines = base.lines(middle, 1.0 - middle)
    best = lines.argmax(axis=1)
    centre = lines[np.arange(best.size), best]
    z = np.clip(centre, 0.0, 1.0)
    value = runs.derivative(z)
    tilt = 0.5 * (a[:-1] - a[1:]) / base.ratio[best] * value * runs.growth(z)
    floor = float(runs.derivative(np.zeros(1))[0])  # phi'(0), below phi' whatever tau is
    flat = (centre <= 0.0) | (value - tilt <= floor)
    start, end = (np.where(flat, floor, one) for one in (value - tilt, value + tilt))
    height = np.minimum(np.append(start, end[-1]), np.insert(end, 0, start[0])) * (1 - MARGIN)
    height = np.maximum(np.minimum.accumulate(height[::-1])[::-1], 0.0)
    top = runs.derivative(1.0 - a)
    x, y = np.insert(top, 0, 0.0), np.insert(height, 0, 0.0)
    keep = hull_positions(x, y)
    convex = np.interp(x, x[keep], y[keep])[1:]
    heights = [short_down(float(one), _HEIGHT_BITS) for one in convex]
    lengths, rises = (np.diff(one, prepend=0.0) for one in (top, [float(y) for y in heights]))
    slopes = np.divide(rises, lengths, out=np.zeros_like(rises), where=rises > 0.0)
    places = np.where(flat, 0, best + 1).tolist()
    return Polygon(exact, heights, places, base, lengths, slopes)
