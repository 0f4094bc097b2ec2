"""Witnesses for stopping at a threshold: cells of the accepted mass (proofs/threshold.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from accountant.certify.finite import FAINT, above, place, point, ratios
from accountant.certify.hockey import Point
from accountant.certify.json_form import Object, run_law
from accountant.certify.known import MARGIN, Known, Shown, known, proved
from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.points import Points
from accountant.guarantees.rounding import short_up
from accountant.numerics.enclosure import Reals
from accountant.numerics.selection.outcomes import curve
from accountant.numerics.selection.threshold import least_runs, most_runs
from accountant.pairs.finite import FinitePair
from accountant.pairs.product import Product
from accountant.runs.law import RunLaw
from proofs.certificate import Json, Step, show_rational

_CELLS, _FEWER = 4000, 1200
_COUNT = 160  # ratios
_REACH, _HALVED = (-10, 9), 20
_SHIFTED = 240
_TOP, _REFUSED = 60, 600
_FAINT, _LEAST = 1e-4, 1e-200
_BITS = 20


@final
@dataclass(frozen=True, slots=True)
class Cells:
    """One direction's cells.

    Attributes:
        masses: accepted, from 0 to 1.
        places: of the known points that the cells use, counted from 1.
        made: at most the mean number of runs made, g(a).
        least: at least that for the other dataset, g(b).
        released: at most 1 - phi(1 - a).
        none: at both ends, phi(1 - a) at most and phi(1 - b) at least: shape (2, 2, cells).
        base: what is known.
    """

    masses: list[Fraction]
    places: list[int]
    made: Reals
    least: Reals
    released: Reals
    none: Reals
    base: Known

    def delta(self, epsilon: float) -> float:
        """The largest bound of a cell."""
        t = math.exp(epsilon)
        event = self.made * self.base.height(t * self.least / self.made)
        none = np.maximum((self.none[0] - t * self.none[1]).max(axis=0), 0.0)
        return float((np.minimum(event, self.released) + none).max()) * (1 + MARGIN)

    def witness(self) -> Json:
        """In the certificate's JSON."""
        return {"masses": [show_rational(a) for a in self.masses], "tangents": list(self.places)}


def stopped(base: DominatingPair[Any], runs: RunLaw, point: Point) -> Shown:
    """The best (epsilon, delta) near a point that the checker's bound proves."""
    first = math.log1p(-runs.probability_of_none) - math.log(runs.mean)
    shifted = point.epsilon + np.linspace(min(first, 0.0), 0.0, _SHIFTED)
    least = max(_FAINT * point.delta / runs.mean, _LEAST)
    facts, ways = known(base, runs, lambda one: np.concatenate([shifted, _top(one, least)]))
    cells = {name: _cells(one, runs, least) for name, one in ways.items()}
    epsilon, delta = proved(
        lambda at: max(one.delta(at) for one in cells.values()), point, point.epsilon
    )
    witness = {name: one.witness() for name, one in cells.items()}
    return Shown("select/above", epsilon, delta, facts, {"runs": run_law(runs), **witness})


def pair_above(
    base: DominatingPair[Any], runs: RunLaw, tail: float
) -> tuple[FinitePair, Points, list[Step], Object]:
    """A finite pair above stopping at a threshold, in both directions.

    Args:
        base: what is run.
        runs: at most how often.
        tail: the mass of losses that may be counted as infinite.

    Returns:
        The pair, bounds of the profile that imply it, facts about the base and what shows them.
    """
    first = math.log1p(-runs.probability_of_none) - math.log(runs.mean)
    least = max(tail / runs.mean, _LEAST)

    def shifted(one: Product) -> Reals:
        side = curve(one).forward
        end = float(side.loss[int(np.argmax(side.upper <= side.upper[-1] + least))])
        return np.concatenate([np.linspace(min(first, 0.0), end, _SHIFTED), _top(one, least)])

    facts, ways = known(base, runs, shifted)
    cells = {name: _cells(one, runs, least, _FEWER) for name, one in ways.items()}

    def delta(epsilon: float) -> float:
        return max(one.delta(epsilon) for one in cells.values())

    def profile(t: Reals) -> Reals:
        found = np.array([delta(abs(math.log(one))) for one in t.tolist()])
        return np.where(t >= 1.0, found, 1.0 - t + t * found)

    end = _end(delta, tail)
    listed = ratios(profile, end, end, (-end, end), floor=tail / FAINT, count=_COUNT)
    points = {t: point(t, delta(abs(math.log(t)))) for t in listed}
    claims = {place(t): y if t >= 1 else (y - 1 + t) / t for t, y in points.values()}
    witness = {name: one.witness() for name, one in cells.items()}
    found = above(list(points.values()))
    return found, tuple(sorted(claims.items())), facts, {"runs": run_law(runs), **witness}


def _end(delta: Callable[[float], float], tail: float) -> float:
    """An epsilon beyond which delta falls by little more; far out roundings make it grow."""
    doubled = 2.0 ** np.arange(*_REACH)
    found = np.array([delta(one) for one in doubled.tolist()])
    least = float(found.min()) + tail
    low, high = 0.0, float(doubled[int(np.argmax(found <= least))])
    for _ in range(_HALVED):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta(middle) <= least else (middle, high)
    return high


def _top(base: Product, least: float) -> Reals:
    """Losses beyond which little mass is left: what is refused when nearly all is accepted."""
    found = curve(base)
    outcomes = found.above(*found.size)
    at = np.searchsorted(np.cumsum(outcomes.p), np.geomspace(least, 0.5, _TOP))
    losses = outcomes.loss[np.minimum(at, outcomes.loss.size - 1)]
    return np.asarray(np.unique(losses[np.isfinite(losses)]))


def _cells(base: Known, runs: RunLaw, least: float, count: int = _CELLS) -> Cells:
    """Each with the known point that allows the least mass on the other dataset."""
    kept = {short_up(float(one), _BITS) for one in np.geomspace(0.5, least, _REFUSED)}
    masses = sorted({*base.cells(runs, count), *(1 - one for one in kept)})
    a = np.array([float(one) for one in masses])
    left = np.array([float(1 - one) for one in masses])
    lines = base.lines(a, left)
    best = lines[1:].argmax(axis=1)
    row = np.arange(best.size)
    near, far = lines[row, best], lines[row + 1, best]
    z = np.clip(far, 0.0, 1.0)
    value, slope = runs.pgf(z) * (1 - 1e-11), runs.derivative(z) * (1 - 1e-11)
    refused = runs.pgf(left) * (1 + 1e-11)
    return Cells(
        masses,
        (best + 1).tolist(),
        most_runs(runs, a[:-1], left[:-1]),
        least_runs(runs, 1.0 - z, z),
        1.0 - runs.pgf(left[1:]) * (1 - 1e-11),
        np.stack(
            [
                np.stack([refused[:-1], refused[1:]]),
                np.stack([value + slope * (near - z), value + slope * (far - z)]),
            ]
        ),
        base,
    )
