"""Bound a selection with a threshold from above by the largest of finitely many lines.

Write x, r for the accepted masses under P of largest and of lowest loss, T(x) and B(r) for those
under Q. Lemma 3 of proofs/theory/threshold.md bounds the divergence on a rectangle of (x, r) by
lines p - t q at its corners, t = e^epsilon, to second order in the rectangle's sides. It needs
chords above g and phi(1 - a), tangents below g and phi(1 - b), a line y at or below T and a line s
at or above B; lines that are further outside hold as well, so that each is moved outwards by more
than its rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, distinct
from dpproof.accountant.arithmetic.hull import hull_positions
from dpproof.accountant.run_counts.law import LAW_ERROR, RunLaw
from dpproof.accountant.selection.finite_base import Outcomes

# Above the relative error of sums of a few thousand masses that are 1e-14 wrong. Soundness depends
# on it.
_SUM_ERROR = 1e-11
# Above the rounding of a line's terms, relative to their sizes. Soundness depends on it.
_ROUNDED = 1e-13
# Above what a hull of at most 2**20 lines loses, each dropped by a comparison with two roundings.
# Soundness depends on it.
_DROPPED = 1e-9
_ULP = 3e-16  # Above the rounding of a number near 1. Soundness depends on it.
_LEAST_MASS = 1e-300  # Replaces 0 in quotients of masses. Heuristic.
_UNIT = 2.0**-50  # Cuts are multiples of it. Soundness depends on it.
_CUTS = 120  # Cells of either mass before they are split. Heuristic.
_ROUNDS, _MOST = 14, 60_000  # Rounds of splitting, and most rectangles. Heuristic.
# Rounds of splitting for one question, and most rectangles split at once. Heuristic.
_HALVINGS, _MANY = 40, 20_000
# Falls of the largest score below it down to which rectangles are split next, and the relative fall
# after which none is. Heuristic.
_BESIDE, _SETTLED = 3.0, 2e-6
_NEGLIGIBLE = 1e-13  # Divergence below which lines are not worth splitting. Heuristic.
_FINE = 4000  # Masses from which cuts are chosen. Heuristic.
_LEAST = 1e-12  # Least mass at which a cell ends. Heuristic.
_PASSES = 10  # Passes before a hull is made one by one. Heuristic.
_SHARES = (1.0, 1.0, 2.0, 2.0, 0.5)  # Weights of the coordinates along which cuts are even.
_FLAT = 1e-9  # Least growth that a coordinate is divided by. Heuristic.
_NEXT_TO_NONE = 2.0**-40  # Least mass at which a tangent of g is taken. Heuristic.

Places = np.ndarray[tuple[int], np.dtype[np.intp]]
Score = Callable[[Reals, Reals], Reals]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines p - t q, those that are largest somewhere at t >= 0; both grow."""

    p: Reals
    q: Reals

    @staticmethod
    def of(p: Reals, q: Reals) -> Lines:
        """Return the lines on the hull of some and of 0."""
        p, q = np.append(p, 0.0), np.append(q, 0.0)
        keep = _hull(p, q)
        return Lines(p[keep], q[keep])

    def lower(self, epsilon: Reals) -> Reals:
        """Return the largest value at epsilons up to 600, convex in e^epsilon and rounded down.

        That holds for lines below what they bound by ``_SUM_ERROR`` of their terms.
        """
        return np.asarray(self._at(epsilon)[0] * (1 - _SUM_ERROR))

    def upper(self, epsilon: Reals) -> Reals:
        """Return an upper bound of the largest line that there was before the hull."""
        value, size = self._at(epsilon)
        return np.asarray(value + _DROPPED * size)

    def _at(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the largest value and the size of its terms."""
        t = np.exp(epsilon)
        turns = np.diff(self.p) / np.diff(self.q)
        place = np.searchsorted(-turns, -t)
        around = np.clip(place + np.array([[-1], [0], [1]]), 0, self.p.size - 1)
        value = (self.p[around] - t * self.q[around]).max(axis=0)
        return value, np.abs(self.p[place]) + t * np.abs(self.q[place])


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Masses of a base's outcomes, added up from the largest and from the lowest loss.

    ``top`` and ``bottom`` are under P and under Q, from none to all; ``slopes`` Q's over P's.
    """

    top: tuple[Reals, Reals]
    bottom: tuple[Reals, Reals]
    slopes: Reals

    @staticmethod
    def of(above: Outcomes) -> _Sums:
        """Return the sums of masses."""
        top, bottom = (
            [np.insert(np.cumsum(one[::order]), 0, 0.0) for one in (above.p, above.q)]
            for order in (1, -1)
        )
        slopes = above.q / np.maximum(above.p, _LEAST_MASS)
        return _Sums((top[0], top[1]), (bottom[0], above.unseen + bottom[1]), slopes)

    def least(self, ends: Reals) -> Reals:
        """Return a line at or below T over each of some cells, at their ends, shape (2, n).

        T is convex and grows: of its tangents from the top, those of 1 - B(1 - x), and its slope at
        the start from its value there, the largest in the middle of those at or above 0.
        """
        (p, q), early = self.top, ends[0] * (1 - 4 * _SUM_ERROR)
        at, last = (_segments(p, x) for x in (ends.mean(axis=0), ends[1] * (1 + 4 * _SUM_ERROR)))
        lost = 4 * _SUM_ERROR * (q[last + 1] + self.slopes[last] * ends[1])
        tangent = q[at] + self.slopes[at] * (ends - p[at]) - lost
        first = _segments(p, early)
        slope = self.slopes[first] * (1 - 4 * _SUM_ERROR)
        begun = q[first] + slope * np.maximum(early - p[first], 0.0) - lost
        begun = np.maximum(begun, 1.0 - self.most(np.stack([1.0 - ends[0]] * 2))[0] - _ULP)
        begun = np.where(ends[0] > 0.0, np.maximum(begun, 0.0), 0.0)
        chord = np.stack([begun, begun + slope * (ends[1] - ends[0]) * (1 - _ROUNDED)])
        mirrored = 1.0 - self.most(1.0 - ends) - _ULP
        options = np.stack([chord, tangent, mirrored])
        middle = np.where((options[:, 0] < 0.0) | (ends[0] == 0.0), -1.0, options.mean(axis=1))
        return np.asarray(options[middle.argmax(axis=0), :, np.arange(ends.shape[1])].T)

    def most(self, ends: Reals) -> Reals:
        """Return a tangent of B, which is concave, over each of some cells, at their ends."""
        (p, q), middle = self.bottom, ends.mean(axis=0)
        at = _segments(p, middle)
        slope = self.slopes[::-1][at]
        height = q[at] + slope * (middle - p[at])
        tangent = height + slope * (ends - middle)
        return np.asarray(tangent + 8 * _SUM_ERROR * (height + slope * ends.max(axis=0) + q[at]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rectangles:
    """Rectangles of accepted masses, with Lemma 3's lines: p and q, shape (8, n).

    ``x`` and ``r``: starts and ends of the masses of largest and of lowest loss, shape (2, n).
    """

    sums: _Sums
    runs: RunLaw
    x: Reals
    r: Reals
    p: Reals
    q: Reals

    @staticmethod
    def cover(above: Outcomes, runs: RunLaw) -> Rectangles:
        """Return rectangles that hold all that can be accepted of a base."""
        best = _cuts(above.p, above.q, above.loss, runs)
        worst = _cuts(above.p[::-1], above.q[::-1], -above.loss[::-1], runs)
        i, j = np.nonzero(best[0][:, None] + worst[0] < 1.0)
        sums, x, r = _Sums.of(above), best[:, i], worst[:, j]
        return Rectangles(sums, runs, x, r, *_corner_lines(sums, runs, x, r))

    def quarters(self, at: Places) -> Rectangles:
        """Return the quarters of some rectangles, without those that hold nothing."""
        halves = [_halves(one[:, at]) for one in (self.x, self.r)]
        x, r = (
            np.concatenate([one[k // 2] if axis == 0 else one[k % 2] for k in range(4)], axis=1)
            for axis, one in enumerate(halves)
        )
        inside = (x[0] + r[0] < 1.0) & (x[1] > x[0]) & (r[1] > r[0])
        x, r = x[:, inside], r[:, inside]
        return Rectangles(self.sums, self.runs, x, r, *_corner_lines(self.sums, self.runs, x, r))

    def with_new(self, new: Rectangles, instead: Places) -> Rectangles:
        """Return the rectangles with others instead of some."""
        both = (self.x, new.x), (self.r, new.r), (self.p, new.p), (self.q, new.q)
        x, r, p, q = (
            np.concatenate([np.delete(one, instead, axis=1), other], axis=1) for one, other in both
        )
        return Rectangles(self.sums, self.runs, x, r, p, q)

    def worst(self, score: Score, aim: float) -> float:
        """Return at least the scores of all rules and the aim; the largest above it are split.

        A score of a line is at or above those of lines below it. The aim is known to be reached, or
        hardly more.
        """
        cells, scores = self, score(self.p, self.q).max(axis=0)
        top, fall = float(scores.max(initial=aim)), np.inf
        for _ in range(_HALVINGS):
            near = top - _BESIDE * fall if fall < np.inf else -np.inf
            active = np.flatnonzero(scores > max(aim, near))
            if not active.size or active.size > _MANY:
                break
            new = cells.quarters(active)
            cells = cells.with_new(new, active)
            scores = np.append(np.delete(scores, active), score(new.p, new.q).max(axis=0))
            before, top = top, float(scores.max(initial=aim))
            fall = before - top if before < np.inf else np.inf
            if top < np.inf and fall <= _SETTLED * abs(top):
                break
        return max(aim, top)


def lines_above(above: Outcomes, runs: RunLaw) -> Lines:
    """Return lines above every rule's divergence: rectangles largest somewhere are split again."""
    cells = Rectangles.cover(above, runs)
    for _ in range(_ROUNDS):
        active = _active(cells.p, cells.q)
        new = cells.quarters(active)
        if not new.x.size or cells.x.shape[1] + new.x.shape[1] > _MOST:
            break
        cells = cells.with_new(new, active)
    return Lines.of(cells.p.ravel(), cells.q.ravel())


def _active(p: Reals, q: Reals) -> Places:
    """Return the rectangles, columns of lines, that have one on the hull where that matters."""
    keep = _hull(p.ravel(), q.ravel())
    high, cost = p.ravel()[keep], q.ravel()[keep]
    turns = np.diff(high) / np.diff(cost)
    starts, ends = np.append(turns, 0.0), np.insert(turns, 0, np.inf)
    matters = (ends > 1.0) & (high - np.maximum(starts, 1.0) * cost > _NEGLIGIBLE)
    return distinct(keep[matters] % p.shape[1])


def _halves(ends: Reals) -> list[Reals]:
    """Return the halves of some cells, the second empty where a cell is too small."""
    middle = np.rint(ends.mean(axis=0) / _UNIT) * _UNIT
    return [np.stack([ends[0], middle]), np.stack([middle, ends[1]])]


def _hull(p: Reals, q: Reals) -> Places:
    """Return positions of the lines that are largest somewhere at t >= 0, growing."""
    order = np.lexsort((p, q))
    order = order[p[order] >= np.maximum.accumulate(p[order])]
    order = order[np.append(np.diff(q[order]) > 0.0, True)]
    # Most lines are below two neighbours, and quickly dropped.
    return np.asarray(order[hull_positions(q[order], -p[order], passes=_PASSES)])


def _segments(sums: Reals, x: Reals) -> Places:
    """Return between which of some sums each mass is."""
    return np.clip(np.searchsorted(sums, x, side="right") - 1, 0, sums.size - 2)


def _corner_lines(sums: _Sums, runs: RunLaw, x: Reals, r: Reals) -> tuple[Reals, Reals]:
    """Return Lemma 3's lines of rectangles, p and q, shape (8, n).

    Those of N at x = 0 are among those of A + N there, as A is 0.
    """
    start, length = x[0] + r[0], (x[1] - x[0]) + (r[1] - r[0])
    along = np.stack([0.0 * length, r[1] - r[0], x[1] - x[0], length])
    gain, drop, none, fall = _chords(runs, start, np.minimum(start + length, 1.0))
    across = np.stack([x[0], x[0], x[1], x[1]])
    bend = 0.25 * drop * (x[1] - x[0]) ** 2
    gains = across * (gain - drop * along) + bend
    gains += _ROUNDED * (across * (gain + drop * along) + bend)
    nothing = none - fall * along + _ROUNDED * (none + fall * along)
    costs, likewise = _costs(runs, sums.least(x), sums.most(r))
    return np.concatenate([gains, gains + nothing]), np.concatenate([costs, costs + likewise])


def _chords(runs: RunLaw, start: Reals, end: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    """Return lines at or above g(a) and phi(1 - a): values at the starts, and how fast they fall.

    A line from a value at or above the first end that falls more slowly is above the chord.
    """
    length = end - start
    first, last = (most_runs(runs, one, 1.0 - one) for one in (start, end))
    none, late = (runs.pgf(1.0 - one) * (1 + 2 * LAW_ERROR) for one in (start, end))
    drop = np.maximum(first - last, 0.0) / length * (1 - _ROUNDED)
    fall = np.maximum(none - late, 0.0) / length * (1 - _ROUNDED)
    return first, drop, none, fall


def _costs(runs: RunLaw, y: Reals, s: Reals) -> tuple[Reals, Reals]:
    """Return costs of outcomes and of no output at the corners, at most, shape (4, n).

    A tangent's slope may err, by as much times the largest distance its height is lowered.
    """
    down = 0.5 * (y[1] - y[0] + s[1] - s[0])
    middle = (y + s).mean(axis=0)
    spared = np.clip(1.0 - middle, 0.0, 1.0)
    low = runs.pgf(spared) < runs.derivative(spared) * down
    left = 1.0 - np.clip(middle + low * down, _NEXT_TO_NONE, 1.0)
    b = 1.0 - left  # exactly
    corner = np.stack([y[0] + s[0], y[0] + s[1], y[1] + s[0], y[1] + s[1]])
    beside = corner - b
    reach = np.abs(beside).max(axis=0)
    mean, slope = least_runs(runs, b, left), runs.derivative(left)
    unsure = most_runs(runs, b, left) - mean + 4 * LAW_ERROR * slope
    steep = np.maximum(mean - slope, 0.0) / b
    mean = mean - unsure / b * reach * (1 + _ROUNDED)
    across = np.stack([y[0], y[0], y[1], y[1]])
    cost = across * (mean - steep * beside)
    cost -= _ROUNDED * across * (np.abs(mean) + steep * (corner + b))
    none = runs.pgf(left) * (1 - 2 * LAW_ERROR) - 4 * LAW_ERROR * slope * reach
    return cost, none - slope * beside - _ROUNDED * (np.abs(none) + slope * (corner + b))


def _cuts(p: Reals, q: Reals, loss: Reals, runs: RunLaw) -> Reals:
    """Return cells of a mass on which mass, loss, phi' and what is left change evenly.

    They are multiples of 2^-50, so that sums and differences of two are exact.
    """
    small = np.geomspace(_LEAST, 0.5, _FINE)
    x = distinct(np.concatenate([small, 1.0 - small]))
    masses, others = (np.insert(np.cumsum(one), 0, 0.0) for one in (p, q))
    at = np.clip(np.searchsorted(masses, x, side="right") - 1, 0, p.size - 1)
    finite = loss[np.isfinite(loss)]
    far = np.clip(loss[at], finite.min(initial=0.0), finite.max(initial=0.0))
    logs = [
        -np.log(runs.derivative(np.clip(1.0 - one, 0.0, 1.0)) + _LEAST * runs.mean)
        for one in (x, np.interp(x, masses, others))
    ]
    grown = np.stack([np.log(x), np.abs(far - far[0]), *logs, -np.log1p(-x)])
    grown = np.maximum.accumulate(grown, axis=1)
    grown -= grown[:, :1]
    evenly = np.array(_SHARES) @ (grown / np.maximum(grown[:, -1:], _FLAT))
    inside = np.interp(np.linspace(evenly[0], evenly[-1], _CUTS), evenly, x)
    inside = np.rint(inside / _UNIT) * _UNIT
    cuts = distinct(np.concatenate([[0.0], inside, [1.0]]))
    return np.stack([cuts[:-1], cuts[1:]])


def most_runs(runs: RunLaw, mass: Reals, left: Reals) -> Reals:
    """Return at least g(mass), of a mass exact but for rounding; ``left`` is at most 1 - mass."""
    low, less = left * (1 - _SUM_ERROR), mass * (1 - _SUM_ERROR)
    high = np.clip(1.0 - less + _ULP, 0.0, 1.0)
    ends = 0.5 * (runs.mean + runs.derivative(high)) * (1 + LAW_ERROR)
    with np.errstate(divide="ignore", over="ignore"):
        direct = (1.0 - runs.pgf(low) * (1 - LAW_ERROR)) / less
    return np.asarray(np.minimum(ends, direct) * (1 + _SUM_ERROR))


def least_runs(runs: RunLaw, mass: Reals, left: Reals) -> Reals:
    """Return at most g(mass), of a mass exact but for rounding; ``left`` is at least 1 - mass."""
    high, more = np.minimum(left * (1 + _SUM_ERROR), 1.0), mass * (1 + _SUM_ERROR)
    middle = runs.derivative(np.clip(1.0 - 0.5 * more - _ULP, 0.0, 1.0)) * (1 - LAW_ERROR)
    direct = (1.0 - runs.pgf(high) * (1 + LAW_ERROR)) / np.maximum(more, 1e-300)
    return np.asarray(np.maximum(middle, direct) * (1 - _SUM_ERROR))
