"""The law of AboveThreshold with gaps, in cells, by quadrature; no code of the mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.mechanisms.selection.laws import Law, laplace_cdf

EDGES = np.array([0, 0.3, 0.75, 1.25, 2, 3, 4.5, 6, 9, 14, np.inf])
CELLS = len(EDGES) - 1
Later: TypeAlias = Callable[[int, int], ArrayLike]
"""The queries after a first answer at a position, with its gap in a cell."""


def gap_law(
    queries: ArrayLike, scales: tuple[float, float], later: Later | None = None, *, grid: int = 601
) -> Law:
    """Return P(position, cell of its gap), of none last; of two answers if there are later queries.

    The threshold's noise takes the values of a trapezoid rule, as in ``laws.above_threshold``.
    """
    z = np.linspace(-35, 35, grid)
    weight = np.exp(-np.abs(z))
    weight /= weight.sum()
    found: list[float] = []

    def answers(values: ArrayLike, reach: NDArray[np.float64], after: Later | None) -> None:
        for i, value in enumerate(np.asarray(values, dtype=np.float64)):
            up_to = laplace_cdf((scales[0] * z[:, None] + EDGES - value) / scales[1])
            for k, cell in enumerate(np.diff(up_to, axis=1).T):
                if after is None:
                    found.append(float(weight @ (reach * cell)))
                else:
                    answers(after(i, k), reach * cell, None)
            reach = reach * up_to[:, 0]
        found.append(float(weight @ reach))

    answers(queries, np.ones(grid), later)
    return np.array(found)
