"""Witnesses for stopping at a threshold: cells of the accepted mass (proofs/threshold.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from accountant.certify.hockey import Point
from accountant.certify.json_form import run_law
from accountant.certify.known import MARGIN, Known, Shown, known, proved
from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.rounding import short_up
from accountant.numerics.enclosure import Reals
from accountant.numerics.selection.outcomes import curve
from accountant.numerics.selection.threshold import least_runs, most_runs
from accountant.pairs.product import Product
from accountant.runs.law import RunLaw
from proofs.certificate import Json, show_rational

_CELLS = 4000
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


def _top(base: Product, least: float) -> Reals:
    """Losses beyond which little mass is left: what is refused when nearly all is accepted."""
    found = curve(base)
    outcomes = found.above(*found.size)
    at = np.searchsorted(np.cumsum(outcomes.p), np.geomspace(least, 0.5, _TOP))
    losses = outcomes.loss[np.minimum(at, outcomes.loss.size - 1)]
    return np.asarray(np.unique(losses[np.isfinite(losses)]))


def _cells(base: Known, runs: RunLaw, least: float) -> Cells:
    """Each with the known point that allows the least mass on the other dataset."""
    kept = {short_up(float(one), _BITS) for one in np.geomspace(0.5, least, _REFUSED)}
    masses = sorted({*base.cells(runs, _CELLS), *(1 - one for one in kept)})
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
