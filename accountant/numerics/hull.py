"""From values of a privacy profile on a grid to a finite pair above it, and one below.

In t = e^eps a profile is convex, non-increasing, 1 at t = 0 and at least 1 - t; a piecewise
linear function with these properties is the profile of a finite pair whose losses are the
logs of its corners (connect the dots: Doroshenko et al., arXiv:2207.04380, Section 3).

Above. Let u_j >= delta(t_j). The lower convex hull of (0, 1) and the (t_j, u_j) is at least
delta: at a point it is a mix of u's, which is at least that mix of deltas, which is at least
delta there by convexity. After the last point it stays constant.

Below. On a cell with chord slope b and neighbouring chord slopes a <= b <= c, delta is above
both neighbours' extensions, hence at most g = w (b-a)(c-b)/(c-a) below the chord (w the cell's
width). Lower both ends of each cell by the larger g of its two cells: the chords now lie below
delta, and so does their lower convex hull, whose corners are again grid points.
"""

from __future__ import annotations

import numpy as np

from accountant.numerics.atoms import Atoms
from accountant.numerics.enclosure import Reals

Positions = np.ndarray[tuple[int], np.dtype[np.intp]]

_SLACK = 1e-15  # the masses of a hull add up to 1 within this
_SAFETY = 1e-12  # relative; rounding in slopes and masses is below 1e-14


def above(loss: Reals, upper: Reals) -> tuple[Atoms, Positions]:
    """A finite pair whose profile is at least the one bounded by ``upper`` at the losses.

    Args:
        loss: shape (n,), increasing, nats.
        upper: shape (n,), upper ends of delta there.
    Returns:
        The pair's outcomes, and the positions in ``loss`` of those it uses.
    """
    t = np.exp(loss)
    raised = np.maximum(upper * (1 + _SAFETY), -np.expm1(loss))
    return _corners(loss, t, np.minimum(raised, 1.0), float(min(raised[-1], 1.0)))


def below(loss: Reals, lower: Reals, upper: Reals) -> tuple[Atoms, Positions]:
    """A finite pair whose profile is at most the one between ``lower`` and ``upper``."""
    t = np.exp(loss)
    width = np.diff(t)
    chord = np.diff(lower) / width
    before = np.concatenate([[-1.0], chord[:-1]])
    after = np.concatenate([chord[1:], [0.0]])
    spread = np.maximum(after - before, 1e-300)
    gap = width * np.maximum(chord - before, 0.0) * np.maximum(after - chord, 0.0) / spread
    noise = np.maximum(upper[:-1] - lower[:-1], upper[1:] - lower[1:])
    gap = gap * (1 + 1e-9) + 4.0 * noise + _SAFETY * upper[:-1]
    fall = np.maximum(np.append(gap, 0.0), np.insert(gap, 0, 0.0))
    raw, floor = lower - fall, -np.expm1(loss)
    flat, steep = raw < 0.0, raw < floor
    value = np.maximum(raw, np.maximum(floor, 0.0))
    value[flat | np.append(flat[1:], True)] = 0.0
    tied = steep | np.insert(steep[:-1], 0, False)
    value = np.where(tied & (floor > 0.0), floor, value)
    value[-1] = 0.0
    return _corners(loss, t, value, 0.0)


def _corners(loss: Reals, t: Reals, value: Reals, rest: float) -> tuple[Atoms, Positions]:
    """The finite pair of the lower convex hull of (0, 1) and the points."""
    keep = _hull(np.insert(t, 0, 0.0), np.insert(value, 0, 1.0))
    at, height = np.insert(t, 0, 0.0)[keep], np.insert(value, 0, 1.0)[keep]
    slope = np.append(np.diff(height) / np.diff(at), 0.0)
    slope = np.maximum(slope, -1.0)  # on the line 1 - t differences of heights lose their digits
    mass_q = np.diff(slope)
    used = mass_q > 0
    position = keep[1:][used] - 1
    log_p = np.log(mass_q[used]) + loss[position]
    missing = max(1.0 + float(slope[0]), 0.0)
    return Atoms(log_p, loss[position], rest, missing, slack=_SLACK), position


def _hull(x: Reals, y: Reals) -> Positions:
    """Positions of the lower convex hull's corners, by Andrew's scan."""
    xs, ys = x.tolist(), y.tolist()
    stack: list[int] = []
    for k in range(len(xs)):
        while len(stack) > 1:
            i, j = stack[-2], stack[-1]
            if (ys[j] - ys[i]) * (xs[k] - xs[j]) < (ys[k] - ys[j]) * (xs[j] - xs[i]):
                break
            stack.pop()
        stack.append(k)
    return np.array(stack, dtype=np.intp)
