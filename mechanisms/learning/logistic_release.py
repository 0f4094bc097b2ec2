"""Release an approximate minimum: close to the exact one by proof, and hidden by output noise.

If ||grad F(w)|| <= g and F is c-strongly convex, w is within g/c of the minimum. The linear term is
a rounded noise vector, at most beta from the ideal one, which moves the minimum by beta/c. So what
the solver returns is within r = (g + beta)/c of the exact minimum of the ideal objective, and its
difference from that minimum has sensitivity 2 r given the minimum (proofs/theory/logistic.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.bounded_updates import learned
from dpproof.mechanisms.learning.halfspace import signed, signs
from dpproof.mechanisms.learning.logistic_minimum import GRADIENT, Objective
from dpproof.mechanisms.learning.records import Matrix, on_grid as labelled
from dpproof.mechanisms.noise.broadcast import on_grid
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers import default_granularity
from dpproof.mechanisms.samplers.rng import Rng

# The noise is rounded to 2^-14 of the default grid. Only the output noise depends on it.
_FINER: Final = 2**14
# Parts of the output grid in which exact minima are counted, few enough for a float.
_PARTS: Final = 2**50
# Soundness of nothing, but the exact minimisation ends, whatever the data (at most 2^29 records).
_MOST_RECORDS: Final = 2**29
# Batches of runs: entries of the largest temporary array. Heuristic.
_ENTRIES: Final = 2**22

Noise = Callable[[NDArray[np.float64], Fraction, Fraction, Rng], NDArray[Any]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The release of a perturbed minimum, in units in which records have norm at most 1.

    Attributes:
        decay: weight of ||w||^2 / 2.
        scale: of the noise in the linear term.
        perturb: adds noise of a scale to values and rounds to a grid, exactly.
        share: the output noise's scale is the sensitivity over this share of the budget.
        blur: as ``perturb``, for the output noise.
        by_coordinates: true if the output noise asks for an L1 sensitivity, not a Euclidean one.
    """

    decay: Fraction
    scale: Fraction
    perturb: Noise
    share: Fraction
    blur: Noise
    by_coordinates: bool

    def runs(
        self,
        datasets: Sequence[object],
        count: int,
        rng: Rng,
        *,
        norm: Fraction | None,
        features: int | None,
    ) -> Outputs:
        """Release ``count`` minima of each of labelled rows, clipped to the norm, in data units."""
        clip = None if norm is None else float(norm)
        released = []
        for data in datasets:
            rows = signed(labelled(data, signs, norm=clip, features=features, compact=True))
            batch = max(1, _ENTRIES // max(1, rows.shape[0]))
            sizes = [min(batch, count - start) for start in range(0, count, batch)]
            weights = np.concatenate([self.draw(rows, size, rng) for size in sizes])
            flags, steps = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.int64)
            released.append(learned(flags, steps, weights / (clip or 1.0)))
        return np.stack(released)

    def draw(self, rows: Matrix, runs: int, rng: Rng) -> NDArray[np.float64]:
        """Release ``runs`` perturbed minima of one dataset, shape (runs, features)."""
        width = rows.shape[1]
        grain = default_granularity(self.scale) / _FINER
        steps = self.perturb(np.zeros((runs, width)), self.scale, grain, rng)
        scale = self.output_scale(width)
        out = default_granularity(scale) / _FINER
        self._ends(width, out)
        objective = Objective(rows, self.decay)
        minima = objective.minima(on_grid(steps, grain))
        whole = np.zeros(minima.shape, dtype=np.object_)
        for run in np.flatnonzero(np.isnan(minima).any(axis=1)):
            tilt = [int(k) * grain for k in steps[run]]
            exact = objective.exact_minimum(minima[run], tilt, out / _PARTS)
            whole[run] = [k // _PARTS for k in exact]
            minima[run] = [float(Fraction(k % _PARTS, _PARTS) * out) for k in exact]
        return on_grid(whole + self.blur(minima, scale, out, rng), out)

    def output_scale(self, width: int) -> Fraction:
        """Return the scale of the output noise: it hides twice the radius r."""
        grain = default_granularity(self.scale) / _FINER
        radius = (GRADIENT + grain / 2 * _root_up(width)) / self.decay
        return 2 * radius * (_root_up(width) if self.by_coordinates else 1) / self.share

    def _ends(self, width: int, out: Fraction) -> None:
        """Refuse parameters at which a multiple of the smallest unit may miss the gradient.

        Raises:
            ParameterError: it depends on the parameters and the number of features alone.
        """
        if (self.decay + _MOST_RECORDS) * _root_up(width) * out / _PARTS > GRADIENT / 4:
            raise ParameterError(
                "regulariser",
                self.decay,
                "larger for so much noise and so many features",
                "the exact minimum could not be computed for every dataset",
            )


def _root_up(width: int) -> int:
    """Return an integer at or above the square root."""
    return math.isqrt(width - 1) + 1
