"""Lower convex hulls: of listed points, exactly for rationals, and of arrays of floats."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

X = TypeVar("X", float, Fraction)


def lower_hull(points: Iterable[tuple[X, X]]) -> tuple[tuple[X, X], ...]:
    """Return the vertices of the lower convex hull, first coordinates increasing."""
    hull: list[tuple[X, X]] = []
    for x, y in sorted(points):
        if hull and hull[-1][0] == x:
            continue  # sorted: the earlier one is lower
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append((x, y))
    return tuple(hull)


def hull_positions(x: NDArray[Any], y: NDArray[Any], *, passes: int | None = 0) -> NDArray[np.intp]:
    """Return positions of the lower convex hull, from the first point to the largest x.

    An x that does not grow counts if it is lower. Each of the ``passes``, of growing x alone, drops
    all points on or above the segment of their neighbours; None stands for as many as drop any.
    """
    left = np.arange(x.size)
    while passes is None or passes > 0:
        run, rise = np.diff(x[left]), np.diff(y[left])
        corner = rise[:-1] * run[1:] < rise[1:] * run[:-1]
        if corner.all():
            return left
        left = left[np.concatenate([[True], corner, [True]])]
        passes = None if passes is None else passes - 1
    return np.asarray(left[_chain(x[left].tolist(), y[left].tolist())])


def _chain(x: list[float], y: list[float]) -> list[int]:
    """Return the places of the hull's points, one after another (Andrew's monotone chain)."""
    stack = [0]
    for k in range(1, len(x)):
        if x[k] <= x[stack[-1]]:
            if len(stack) == 1 or y[k] >= y[stack[-1]]:
                continue
            stack.pop()
        while len(stack) > 1:
            i, j = stack[-2], stack[-1]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):
                break
            stack.pop()
        stack.append(k)
    return stack
