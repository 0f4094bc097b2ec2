"""Witnesses for private selection: a polygon below phi' o tau, and points of the base's profile.

The checker verifies the polygon cell by cell (proofs/selection.md, Section 6). Its corners lie
evenly where phi' and phi' o tau change; at every corner it is as high as the tangents at the known
points allow, then made convex, which makes the mixture of shifts smallest.
Nothing here is trusted: a poor polygon makes a larger bound, or a certificate that is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from accountant.certify.curve import facts
from accountant.certify.hockey import Point
from accountant.certify.json_form import Object, run_law
from accountant.errors import NotCertified
from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.rounding import short_down, short_up
from accountant.numerics.enclosure import Reals
from accountant.numerics.selection.outcomes import curve
from accountant.numerics.selection.profile import selection
from accountant.numerics.selection.shifts import lower_hull
from accountant.pairs.product import Product
from accountant.runs.law import RunLaw
from proofs.certificate import Json, Step, show_rational

_CELLS = 1200
_TANGENTS, _SHIFTED = 160, 240
_FINE = 4_000
_SMALLEST = 1e-15
_FAINT = 1e-8  # of phi'(1): smaller values need no fine cells
_TAIL = 1e-9  # of the mixture
_POSITION_BITS, _HEIGHT_BITS = 20, 40
_LOG_BITS = 40
_MARGIN = 1e-9
_FARTHEST = 500.0


@final
@dataclass(frozen=True, slots=True)
class Selected:
    """What proves a point of a selection's profile.

    Attributes:
        epsilon: of the point.
        delta: of the point.
        facts: bounds of the base's profile.
        witness: the polygon of each direction.
    """

    epsilon: Fraction
    delta: Fraction
    facts: list[Step]
    witness: Object


@final
@dataclass(frozen=True, slots=True)
class Polygon:
    """One direction's polygon.

    Attributes:
        a: 1 minus the masses of the corners, falling, exactly.
        height: of the corners, exactly.
        places: of the known points that the cells use, 0 for none.
        ratio: t of the known points, increasing, and before them 0.
        level: the profile's bounds there.
    """

    a: list[Fraction]
    height: list[Fraction]
    places: list[int]
    ratio: Reals
    level: Reals

    def delta(self, runs: RunLaw, epsilon: float) -> float:
        """The mixture of shifts."""
        top = runs.derivative(1.0 - np.array([float(one) for one in self.a]))
        length = np.diff(top, prepend=0.0)
        rise = np.diff([float(one) for one in self.height], prepend=0.0)
        slope = np.divide(rise, length, out=np.zeros_like(rise), where=rise > 0.0)
        found = np.interp(math.exp(epsilon) * slope, self.ratio, self.level)
        return float(length @ found) * (1 + _MARGIN)

    def witness(self) -> Json:
        """In the certificate's JSON."""
        corners: list[Json] = [
            [show_rational(1 - a), show_rational(height)]
            for a, height in zip(self.a, self.height, strict=True)
        ]
        return {"corners": corners, "tangents": list(self.places)}


def selected(base: DominatingPair[Any], runs: RunLaw, point: Point) -> Selected:
    """The best (epsilon, delta) near a point that the checker's bound proves."""
    ways = {"forward": (base.forward, base.backward)}
    if base.forward != base.backward:
        ways["backward"] = (base.backward, base.forward)
    near = max(_start(ahead, runs, point) for ahead, _ in ways.values())
    wanted: dict[Product, set[Fraction]] = {base.forward: set(), base.backward: set()}
    for ahead, behind in ways.values():
        for log_ratio in _places(ahead, runs, near):
            product = ahead if log_ratio >= 0 else behind
            wanted[product].add(abs(log_ratio))
    steps, heights = [], {}
    for product, places in wanted.items():
        points, shown = facts(product, sorted(places))
        heights[product] = dict(points)
        steps.extend(shown)
    witness: Object = {"runs": run_law(runs)}
    polygons = []
    for name, (ahead, behind) in ways.items():
        known = {-x: y for x, y in heights[behind].items()} | heights[ahead]
        polygons.append(_polygon(known, runs))
        witness[name] = polygons[-1].witness()
    epsilon, delta = _proved(polygons, runs, point, near)
    return Selected(epsilon, delta, steps, witness)


def _start(base: Product, runs: RunLaw, point: Point) -> float:
    """About where the mixture proves the point."""
    if not point.moves or not point.delta:
        return point.epsilon
    shifts, low, high = selection(base, runs).shifts, 0.0, max(2.0 * point.epsilon, 1.0)
    while shifts.upper(np.array([high]))[0] > point.delta and high < _FARTHEST:
        high *= 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = shifts.upper(np.array([middle]))[0] > point.delta
        low, high = (middle, high) if above else (low, middle)
    return high


def _places(base: Product, runs: RunLaw, epsilon: float) -> list[Fraction]:
    """Logs of ratios at which to know the profile: where tau bends, and where shifts go."""
    found = curve(base)
    outcomes = found.above(*found.size)
    c, tau = np.cumsum(outcomes.p), np.cumsum(outcomes.q)
    along = _along(runs, np.minimum(c, 1.0), np.minimum(tau, 1.0))
    at = np.searchsorted(along, np.linspace(along[0], along[-1], _TANGENTS))
    bends = outcomes.loss[np.unique(np.minimum(at, along.size - 1))]
    mixture = selection(base, runs).shifts
    parts = np.cumsum(mixture.weights * mixture.base.at(epsilon + mixture.shifts))
    ends = np.searchsorted(parts, parts[-1] * np.array([_TAIL, 1.0 - _TAIL]))
    first, last = mixture.shifts[np.minimum(ends, parts.size - 1)]
    first = max(first, -found.end - epsilon)
    shifted = epsilon + np.linspace(first, last, _SHIFTED)
    ends = np.array([0.0, found.forward.loss[-1], -found.backward.loss[-1]])
    every = np.concatenate([bends[np.isfinite(bends)], shifted, ends])
    scaled = {math.ceil(math.ldexp(x, _LOG_BITS)) for x in every.tolist()}
    return sorted(Fraction(x, 1 << _LOG_BITS) for x in scaled)


def _along(runs: RunLaw, c: Reals, tau: Reals) -> Reals:
    """A coordinate that grows as log phi' and log phi' o tau do, where they are not negligible."""
    faint = _FAINT * runs.mean
    logs = [np.log(runs.derivative(np.clip(one, 0.0, 1.0)) + faint) for one in (c, tau)]
    return np.asarray(np.maximum.accumulate(logs[0]) + np.maximum.accumulate(logs[1]))


def _polygon(known: dict[Fraction, Fraction], runs: RunLaw) -> Polygon:
    """The highest convex polygon that the checker's tangents allow."""
    logs = np.array([float(x) for x in sorted(known)])
    delta = np.array([float(known[x]) for x in sorted(known)])
    ratio = np.exp(logs)
    level = np.where(logs >= 0.0, delta, -np.expm1(logs) + ratio * delta)
    # 1 - (c - level)/ratio is this plus (1 - c)/ratio, and keeps its digits
    missing = np.where(logs >= 0.0, -np.expm1(-logs) + level / ratio, delta)

    def tau(a: Reals) -> Reals:
        """The line of each known point, one row for each a = 1 - c."""
        return np.asarray(1.0 - missing - np.multiply.outer(a, 1.0 / ratio))

    exact = _corners(runs, lambda a: tau(a).max(axis=1))
    a = np.array([float(one) for one in exact])
    lines = tau(0.5 * (a[1:] + a[:-1]))
    best = lines.argmax(axis=1)
    centre = lines[np.arange(best.size), best]
    z = np.clip(centre, 0.0, 1.0)
    value = runs.derivative(z)
    tilt = 0.5 * (a[:-1] - a[1:]) / ratio[best] * value * runs.growth(z)
    floor = float(runs.derivative(np.zeros(1))[0])  # phi'(0), below phi' whatever tau is
    flat = (centre <= 0.0) | (value - tilt <= floor)
    start, end = (np.where(flat, floor, one) for one in (value - tilt, value + tilt))
    height = np.minimum(np.append(start, end[-1]), np.insert(end, 0, start[0])) * (1 - _MARGIN)
    height = np.maximum(np.minimum.accumulate(height[::-1])[::-1], 0.0)
    x, y = np.insert(runs.derivative(1.0 - a), 0, 0.0), np.insert(height, 0, 0.0)
    keep = lower_hull(x, y)
    height = np.interp(x, x[keep], y[keep])[1:]
    return Polygon(
        exact,
        [short_down(float(one), _HEIGHT_BITS) for one in height],
        np.where(flat, 0, best + 1).tolist(),
        np.insert(ratio, 0, 0.0),
        np.insert(level, 0, 1.0),
    )


def _corners(runs: RunLaw, tau: Callable[[Reals], Reals]) -> list[Fraction]:
    """1 minus the masses of the corners, from 1 to 0."""
    fine = np.geomspace(1.0, _SMALLEST, _FINE)
    along = _along(runs, 1.0 - fine, tau(fine))
    chosen = np.interp(np.linspace(along[0], along[-1], _CELLS), along, fine)
    inside = {short_up(float(one), _POSITION_BITS) for one in chosen}
    return [Fraction(1), *sorted(inside - {Fraction(1)}, reverse=True), Fraction(0)]


def _proved(
    polygons: list[Polygon], runs: RunLaw, point: Point, near: float
) -> tuple[Fraction, Fraction]:
    """The point that the polygons prove: delta at its epsilon, or epsilon at its delta."""

    def delta(epsilon: float) -> float:
        return max(one.delta(runs, epsilon) for one in polygons)

    if not point.moves:
        found = delta(point.epsilon)
        if not found < 1.0:
            raise _useless(point)
        return Fraction(point.epsilon), short_up(found, _LOG_BITS)
    low, high = 0.0, near + 1.0
    if delta(high) > point.delta:
        raise _useless(point)
    while high - low > _MARGIN * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta(middle) > point.delta else (low, middle)
    return short_up(high, _LOG_BITS), Fraction(point.delta)


def _useless(point: Point) -> NotCertified:
    return NotCertified(
        "the checker's bound of a selection says nothing near epsilon = "
        f"{point.epsilon:.6g}, delta = {point.delta:.6g}; ask at a smaller delta"
    )
