"""Bracket the profile of n adaptively chosen mechanisms of bounded range, on a grid of losses.

In u = e^y the value V of k mechanisms is convex, and that of k + 1 is the largest chord of V
between points e^s and e^{s + epsilon} around u. Proofs: proofs/theory/bounded_range.md, sections
2 to 4.

From above, V is replaced on each cell of the grid by its chord; then the largest chord whose left
end lies in one cell has a closed form. Which cell holds the left end of the largest one grows
with u, so that only a few cells are looked at for each u: what is passed over is shown to be
smaller (``_Step.unsure``). From below, left ends are points of the grid: an explicit adversary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.errors import NotCertified

_Cells = NDArray[np.intp]
_Flags = NDArray[np.bool_]

MOST: Final = 512  # Mechanisms of one recursion. Heuristic: more are composed of several.
_FINEST, _COARSEST = 1 << 10, 1 << 4  # Cells per epsilon. Heuristic.
_WORK = 4_000_000  # Values of one recursion. Heuristic.
_NEGLIGIBLE = 1e-150  # Value from which on the table is level. Heuristic.
_ABOVE_LEVEL = 1.001  # Factor above where it was level before. Heuristic.
_CERTAIN = 1.0 - 1e-5  # Value up to which it is a line in e^y, from 1 at 0. Heuristic.
_LOST = 1e-300  # Above what underflow takes. Soundness depends on it.
_SLACK = 1e-14  # Above the relative rounding of one value. Soundness depends on it.
# Least relative difference of the slopes beside a chord for which _SLACK holds.
_BENT = 1e-7
_SAMPLED = 16  # Rows of which one is guessed by looking far. Heuristic.
_BESIDE = 3  # Cells looked at on either side of a guess. Heuristic.
_TRIES = 2  # Guesses mended one by one before more cells are looked at. Heuristic.
_MOST_UNSURE = 64  # Rows in which every cell is compared. Heuristic.
_TOO_FLAT = "rounding hides the largest loss of composed bounded ranges"


@final
@dataclass(frozen=True, slots=True)
class Values:
    """Bounds of V at (start + k) span, k = 0, 1, ..."""

    # Left of it V is taken for a line in e^y from 1 at 0, or for what symmetry says if start is 0.
    start: int
    value: Reals  # beyond the last point V is at most the last upper end, and at least 0


@final
@dataclass(frozen=True, slots=True)
class ValueTable:
    """Brackets of V on a grid, and what one more step from below needs."""

    above: Scale  # the grid of ``upper``; its cells add up to at least epsilon
    below: Scale  # the grid of ``before``; its cells add up to at most epsilon
    upper: Values  # upper ends of V
    before: Values  # lower ends of the value of one mechanism less
    left: _Cells  # for each point of ``upper`` about where the left end of its chord is


@lru_cache(maxsize=16)
def value_table(high: float, low: float, count: int, cells: int = 0) -> ValueTable:
    """Return brackets of the value of ``count`` mechanisms of a range between ``low`` and ``high``.

    Both ends have at most 32 significant bits; 0 cells stand for as many as suit the count.
    """
    cells = cells or max(min(1 << (2 * _WORK // count**2).bit_length() >> 1, _FINEST), _COARSEST)
    above, below = Scale(high, cells), Scale(low, cells)
    upper, before = above.first(1.0 + _SLACK), below.first(1.0 - _SLACK)
    left = np.arange(cells + 1) - cells // 2
    for done in range(1, count):
        step = _Step(above, upper, count)
        left = step.left_ends(left)
        upper = step.raised()
        left = left[upper.start - step.start :][: upper.value.size]
        if done < count - 1:
            before = below.lowered(before, left, upper.start)
    return ValueTable(above, below, upper, before, left)


@final
class Scale:
    """The chances of losses t and t - epsilon for every t on a grid, as arrays over t / span."""

    def __init__(self, epsilon: float, cells: int) -> None:
        self.epsilon, self.cells, self.span = epsilon, cells, epsilon / cells
        t = np.arange(cells + 1) * self.span
        self.width, self.rest = math.expm1(self.span), -math.expm1(-epsilon)
        self.power = np.exp(t - epsilon)
        self.root = np.exp(0.5 * (t - epsilon))
        self.high, self.low = self.chances(t)

    def chances(self, t: Reals) -> tuple[Reals, Reals]:
        """Return the chances of the losses t and t - epsilon, in [0, epsilon]."""
        high = -np.expm1(t - self.epsilon) / self.rest
        return high, -np.expm1(-t) * np.exp(t - self.epsilon) / self.rest

    def first(self, factor: float) -> Values:
        """Return the value of one mechanism, (1 - e^{(y - epsilon)/2})^2 / (1 - e^-epsilon)."""
        root = np.expm1(0.5 * (np.arange(self.cells + 1) * self.span - self.epsilon))
        return Values(0, root * root / self.rest * factor)

    def with_left(self, values: Values, *, above: bool) -> Reals:
        """Return the values with those of an epsilon to the left, by symmetry or by the line."""
        y = np.arange(1, self.cells + 1) * self.span
        if values.start:
            share = np.exp(-y) if above else np.ones(y.shape)
            left = 1.0 - share * (1.0 - values.value[0]) * (1.0 if above else 1.0 + _SLACK)
        else:
            left = -np.expm1(-y) + np.exp(-y) * values.value[1 : self.cells + 1]
        return np.concatenate([left[::-1], values.value])

    def lowered(self, values: Values, cell: _Cells, start: int) -> Values:
        """Return the value of one mechanism more from below after ``start``, at any chords."""
        y = (start + np.arange(cell.size)) * self.span
        return Values(start, self.chords_below(values, y, cell))

    def chords_below(self, values: Values, y: Reals, cell: _Cells) -> Reals:
        """Return the larger of two chords at each y >= 0, rounded down."""
        value = np.concatenate([self.with_left(values, above=False), np.zeros(2 * self.cells)])
        last, first = values.start + values.value.size, values.start - self.cells
        best = np.zeros(y.shape)
        for k in (0, 1):
            left = np.clip(cell + k, first, last)
            t = y - left * self.span
            inside = (t >= 0.0) & (t <= self.epsilon)
            high, low = self.chances(np.clip(t, 0.0, self.epsilon))
            chord = high * value[left - first] + low * value[left - first + self.cells]
            best = np.maximum(best, np.where(inside, chord, 0.0))
        return np.asarray(np.maximum(best * (1.0 - _SLACK) - _LOST, 0.0))


@final
class _Step:
    """One mechanism more, from above."""

    def __init__(self, scale: Scale, values: Values, count: int) -> None:
        self.scale, self.start = scale, values.start
        self.margin = 4.0 * (count + 4) * _SLACK
        cells, last = scale.cells, values.start + values.value.size - 1
        self.rows = np.arange(values.start, last + cells)
        self.first_cell = self.rows - cells
        self.last_cell = np.minimum(self.rows - 1, last - 1)
        self.value = np.concatenate(
            [scale.with_left(values, above=True), np.full(cells + 1, values.value[-1])]
        )
        self.turn = self._turn()
        self.bound = np.zeros(self.rows.size)
        self.size = self.rows.size

    def _turn(self) -> Reals:
        """Return where in each cell the chord is largest, e^{shift}, over e^{(t - epsilon)/2}.

        On a cell it is a constant less |b| x + |c| / x, x = e^{shift}.
        """
        scale, cells = self.scale, self.scale.cells
        rise = np.diff(self.value)
        near, far = rise[:-cells], rise[cells:] * math.exp(-scale.epsilon)
        b = (near - far) / scale.width
        c = self.value[cells:-1] - self.value[: -cells - 1]
        c -= (rise[cells:] - near) / scale.width
        used = slice(0, int(self.last_cell[-1]) - self.start + cells + 1)
        if not (b[used] * scale.width < _BENT * near[used]).all() or not (c[used] < 0.0).all():
            raise NotCertified(_TOO_FLAT)
        turn = np.divide(c, b, out=np.zeros(b.shape), where=b < 0.0)
        return np.asarray(np.sqrt(np.maximum(turn, 0.0)))

    def largest(self, rows: _Cells, cell: _Cells) -> Reals:
        """Return the largest chord at a row whose left end is in a cell, but for rounding."""
        scale, cells = self.scale, self.scale.cells
        t, at = rows - cell, cell + (cells - self.start)
        x = np.clip(self.turn[at] * scale.root[t] - 1.0, 0.0, scale.width)
        share, over = x / scale.width, 1.0 / ((1.0 + x) * scale.rest)
        rest = 1.0 - share
        high = scale.high[t] + scale.power[t] * x * over
        low = scale.low[t - 1] + scale.power[t - 1] * (scale.width - x) * over
        left = self.value[at] * rest + self.value[at + 1] * share
        right = self.value[at + cells] * rest + self.value[at + cells + 1] * share
        return np.asarray(high * left + low * right)

    def left_ends(self, guess: _Cells) -> _Cells:
        """Return for each row the cell of the left end of the largest chord, and keep the bound."""
        beside, tries, every = _BESIDE, 0, np.arange(self.rows.size)
        some = np.append(every[:-1:_SAMPLED], every[-1])
        share = some * ((guess.size - 1) / max(every[-1], 1))
        offset = np.interp(share, np.arange(guess.size), self.start + np.arange(guess.size) - guess)
        offset = self.rows[some] - self._settled(some, self.rows[some] - np.rint(offset))
        centre = (self.rows - np.rint(np.interp(every, some, offset))).astype(np.intp)
        while beside <= 2 * self.scale.cells:
            centre = np.clip(np.maximum.accumulate(centre), self.first_cell, self.last_cell)
            best, unsure = self._looked_at(centre, beside)
            if not unsure.size:
                return best
            if unsure.size <= _MOST_UNSURE and tries < _TRIES:
                near = unsure[:, None] + np.arange(-_SAMPLED, _SAMPLED + 1)
                near = np.unique(np.clip(near, 0, self.rows.size - 1))
                best[near] = self.compared(near)[1]
            else:
                beside *= 2
            centre, tries = best, tries + 1
        raise NotCertified(_TOO_FLAT)

    def compared(self, rows: _Cells) -> tuple[Reals, _Cells]:
        """Return the largest chords of every cell at some rows, and the best cells."""
        cell = self.first_cell[rows] + np.arange(self.scale.cells)[:, None]
        values = self.largest(
            np.broadcast_to(self.rows[rows], cell.shape), np.minimum(cell, self.last_cell[rows])
        )
        return values, np.minimum(
            self.first_cell[rows] + np.argmax(values, 0), self.last_cell[rows]
        )

    def _settled(self, some: _Cells, guess: Reals) -> _Cells:
        """Return the best cells of some rows, looked for ever farther from a guess."""
        centre, first, last = guess.astype(np.intp), self.first_cell[some], self.last_cell[some]
        beside = _BESIDE
        while True:
            centre = np.clip(centre, first, last)
            looked = np.clip(centre + np.arange(-beside, beside + 1)[:, None], first, last)
            rows = np.broadcast_to(self.rows[some], looked.shape)
            place = np.argmax(self.largest(rows, looked), axis=0)
            best = looked[place, np.arange(some.size)]
            if beside > self.scale.cells or (np.abs(best - centre) < beside).all():
                return np.asarray(best)
            centre, beside = best, 2 * beside

    def _looked_at(self, centre: _Cells, beside: int) -> tuple[_Cells, _Cells]:
        """Return the best cell near the centre of each row, and rows where others may be larger."""
        low = np.maximum(centre - beside, self.first_cell)
        high = np.minimum(centre + beside, self.last_cell)
        looked = np.arange(-beside, beside + 1)[:, None] + centre
        np.clip(looked, low, high, out=looked)
        values = self.largest(np.broadcast_to(self.rows, looked.shape), looked)
        place = np.argmax(values, axis=0)
        every = np.arange(self.rows.size)
        best, self.bound = looked[place, every], values[place, every]
        level = max(_NEGLIGIBLE, _ABOVE_LEVEL * float(self.value[-1]))
        kept = int(np.count_nonzero(self.bound > level)) + 1
        self.size = min(max(kept, self.scale.cells + 2), self.rows.size)
        return best, self.unsure(looked, values, best, low, high)

    def unsure(
        self, looked: _Cells, values: Reals, best: _Cells, low: _Cells, high: _Cells
    ) -> _Cells:
        """Return no row if no cell that is not looked at holds the left end of a larger chord.

        Statement: chords from a cell further right rise more (section 3). So a cell that is at most
            as large as one further right stays so in later rows, and the same to the left. A cell
            may leave the range looked at from a row to the next if it is smaller by more than
            rounding there, and the best one does not leave; or if its chords end before the row,
            and are below the value there. In the first and the last row, and in both rows of a step
            without all that, every cell is compared.
        """
        last = self.size - 1
        small = values * (1.0 + self.margin) <= self.bound
        ahead, behind = looked[:, :last], looked[:, 1 : last + 1]
        leaves = (ahead < low[1 : last + 1]) & (ahead >= self.first_cell[1 : last + 1])
        enters = (behind > high[:last]) & (behind <= self.last_cell[:last])
        passed = leaves & ~(small[:, :last] & (ahead < best[:last]))
        passed |= enters & ~(small[:, 1 : last + 1] & (behind > best[1 : last + 1]))
        jumps = np.flatnonzero(passed.any(axis=0))
        if jumps.size > _MOST_UNSURE:
            return jumps
        every = np.unique(np.concatenate([[0, last], jumps, jumps + 1]))
        cell = self.first_cell[every] + np.arange(self.scale.cells)[:, None]
        outside = (cell < low[every]) | (cell > high[every])
        outside &= cell <= self.last_cell[every]
        larger = self.compared(every)[0] * (1.0 + self.margin) > self.bound[every]
        return np.asarray(every[(outside & larger).any(axis=0)])

    def raised(self) -> Values:
        """Return the bounds, raised by more than rounding, but where they are certain."""
        value = self.bound[: self.size] * (1.0 + _SLACK) + _LOST
        if self.size == self.rows.size:
            value = np.append(value, self.value[-1])
        certain = int(np.count_nonzero(value >= _CERTAIN))
        if self.start + certain < self.scale.cells:
            certain = 0
        return Values(self.start + certain, value[certain:])
