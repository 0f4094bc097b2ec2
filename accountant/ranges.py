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

import contextlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.crossing import invert
from dpproof.accountant.arithmetic.enclosure import DENORMAL_ROUNDING, Reals, float_up, from_swapped
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import log_ends
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import LogisticPair, LogisticShift
from dpproof.accountant.pairs.pair import Pair, Power, Reflected
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.accountant.subsampling.tabulated import TabulatedPair

# Orders minus 1, between which the curve of divergences is bounded by its chords. Heuristic: chords
# are valid for any orders.
_ORDERS = tuple(1.0 + 10.0 ** (k / 60) for k in range(-360, 361))
# Epsilons between which rho is refined; outside them the proved bound is rho to 1e-6. Heuristic.
_PLAIN = Fraction(1, 1000), 10**6


def range_divergence(length: Fraction, order: float) -> Bound:
    """Enclose the largest divergence of a mechanism whose loss takes both ends of an interval.

    Statement: with e = epsilon and a the order, log x + (log((e^{a e} - 1)/(e^e - 1)) -
        log a)/(a - 1), x = (a - 1)/a e^{-e} (e^{a e} - 1)/(e^{(a-1) e} - 1). With
        g(y) = log(sinh(y)/y) that is g(a e/2) - g((a-1) e/2) + (g(a e/2) - g(e/2))/(a - 1),
        two positive terms, about a e^2/8 next to 0.
    Proof: given the lower end t of the interval, E_Q e^{a L} is largest when the likelihood
        ratio e^L, of mean 1 under Q, takes the two ends only, as its a-th power is convex:
        it is x^{a-1} (A - 1 - x (A - e^e))/(e^e - 1) with x = e^t and A = e^{a e}, and
        largest at the x above. So many mechanisms have so many times that at most, and
        exactly that with the same x each.
    Source: Dong, Durfee & Rogers (arXiv:1909.13830) maximise the same two-point laws.
    """
    epsilon = float_up(length)
    cap = epsilon
    if order < math.inf:  # the float above an order beyond floats
        cap = min(float_up(length**2 * Fraction(order) / 8), epsilon)
    if epsilon == 0.0 or math.isinf(epsilon):
        return Bound(0.0, cap)
    half, more = 0.5 * epsilon, 0.5 * epsilon * (order - 1.0)
    if not 0.0 < min(half, more) <= max(half, more) < math.inf:
        return Bound(0.0, cap)
    value = log_sinh_growth(more, half) + log_sinh_growth(half, more) / (order - 1.0)
    upper = min(enclosure.raised_up(value, 2 * GROWTH_ERROR), cap)
    lower = max(value * (1 - 2 * GROWTH_ERROR) - DENORMAL_ROUNDING, 0.0)
    return Bound(min(lower, upper), upper)


def smallest_range_rho(epsilon: Fraction) -> Bound:
    """Bracket the smallest rho, where orders next to 1 decide: about the largest KL divergence.

    Statement: the supremum over s > 0 of k(s)/(s(s + 1)), k(s) = s times the divergence of
        order s + 1. As a supremum of functions log E_P e^{sL}, k is convex, and k(0) = 0:
        between two orders it is below its chord, beyond the last one at most epsilon s. Nor
        is rho above epsilon^2 / 8 or epsilon.
    """
    proved = float_up(min(epsilon * epsilon / 8, epsilon))
    divergences = [(order, range_divergence(epsilon, order)) for order in _ORDERS]
    least = max(one.lower / order for order, one in divergences) * (1 - 1e-15)
    upper = proved
    if _PLAIN[0] <= epsilon <= _PLAIN[1]:
        cells = [
            (0.0, 0.0),
            *((order - 1.0, (order - 1.0) * one.upper) for order, one in divergences),
        ]
        most = max(_steepest(left, right) for left, right in pairwise(cells))
        beyond = float_up(epsilon) / _ORDERS[-1]
        upper = min(max(most, beyond) * (1 + 1e-12), proved)
    return Bound(min(least, upper), upper)


def _steepest(left: tuple[float, float], right: tuple[float, float]) -> float:
    """Return the largest (a + b s)/(s(s + 1)) on a cell in s, of the line through its two ends."""
    (start, low), (end, high) = left, right
    slope = (high - low) / (end - start)
    if start == 0.0:
        return slope
    level = low - slope * start
    inside = math.sqrt(max(level * (level - slope), 0.0)) - level
    turn = min(max(inside / slope, start), end) if slope > 0.0 else start
    return max((level + slope * s) / (s * (s + 1.0)) for s in (start, turn, end))


# Relative error of approximately forty roundings of positive terms. Soundness depends on it.
GROWTH_ERROR = 1e-13
# Largest d for which sinh(d)/d - 1 is summed as a series. The error bound depends on it.
_SERIES = 1.0
_TERMS = 12  # Terms of 1 + d^2/(4*5) + ...; the next is below 2^-80. The error bound depends on it.
# Levels of the continued fraction; the rest is below 2^-60 for y up to 2. The error bound depends
# on it.
_FRACTIONS = 24
_NEAR = 2.0  # Largest y for which the continued fraction is used. The error bound depends on it.
_FAR = 300.0  # A step from which sinh might overflow; another expression is used. Heuristic.


def log_sinh_growth(start: float, step: float) -> float:
    """Return g(start + step) - g(start), g(y) = log(sinh(y)/y), for start and step above 0.

    Statement: with y = start and d = step it is log(1 + N/(1 + d/y)),
        N = 2 sinh(d/2)^2 + (coth(y) - 1/y) sinh(d) + (sinh(d) - d)/y,
        as sinh(y + d)/sinh(y) = cosh(d) + coth(y) sinh(d). All terms are positive.
    Rounds: within ``GROWTH_ERROR`` of it, relative, or within 1e-315.
    """
    if step > _FAR:
        decay = math.log(-math.expm1(-2.0 * (start + step)) / -math.expm1(-2.0 * start))
        return step + decay - math.log1p(step / start)
    grown = 2.0 * math.sinh(0.5 * step) ** 2
    grown += langevin(start) * math.sinh(step) + _sinh_excess(step) * (step / start)
    return math.log1p(grown / (1.0 + step / start))


def langevin(y: float) -> float:
    """Return coth(y) - 1/y for y > 0, next to 0 by the continued fraction y/(3 + y^2/(5 + ...))."""
    if y > _NEAR:
        return 1.0 / math.tanh(y) - 1.0 / y
    below = 2.0 * _FRACTIONS + 3.0
    for k in range(_FRACTIONS, 0, -1):
        below = 2.0 * k + 1.0 + y * y / below
    return y / below


def _sinh_excess(d: float) -> float:
    """Return sinh(d)/d - 1 for d > 0."""
    if d > _SERIES:
        return math.sinh(d) / d - 1.0
    total = 1.0
    for k in range(_TERMS, 0, -1):
        total = 1.0 + total * d * d / ((2.0 * k + 2.0) * (2.0 * k + 3.0))
    return d * d / 6.0 * total


_Cells = NDArray[np.intp]

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


_BITS = 30  # Significant bits of a range, so that points of its grid are floats.
_ROUNDING = 1e-13  # Above the relative rounding of interpolation. Soundness depends on it.
_LEAST = 1e-140  # Delta below which the recursion has no digits. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedRangePair(Reflected, TabulatedPair):
    """The pair whose profile is that of adaptively composed mechanisms of bounded range.

    At each epsilon it is the largest hockey-stick divergence that ``count`` adaptively chosen
    mechanisms of this range have. Proofs: proofs/theory/bounded_range.md.
    """

    length: Fraction  # of the range of each, exact, above 0, nats
    count: int  # the number, from 2
    cells: int = 0  # of the recursion's grid for each range; 0 for as many as suit the count
    is_quick: ClassVar[bool] = True  # It costs less than tables made of it.

    def swapped(self) -> ComposedRangePair:
        """Return the pair itself, which is symmetric."""
        return self

    @property
    def table(self) -> ValueTable:
        """Return the brackets of the recursion, which are cached."""
        return value_table(*short_floats(self.length), self.count, self.cells)

    @property
    def end(self) -> float:
        """Return the loss from which the recursion is level."""
        upper = self.table.upper
        return (upper.start + upper.value.size) * self.table.above.span

    @property
    def top(self) -> float:
        """Return the largest loss."""
        return float(self.length * self.count) * (1 + 2e-16)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by the recursion."""
        size = np.abs(epsilon)
        lower, upper = self._lower(size), self._upper(size)
        swapped = from_swapped(lower, upper, -size)
        left = epsilon < 0.0
        return np.where(left, swapped[0], lower), np.where(left, swapped[1], upper)

    def _upper(self, y: Reals) -> Reals:
        """Return chords between upper ends; past the largest loss nothing is left."""
        table, span = self.table.upper, self.table.above.span
        place = np.clip(np.floor(y / span), table.start, table.start + table.value.size - 1)
        place -= place * span > y
        place = np.maximum(place, table.start)
        at = (place - table.start).astype(np.intp)
        after = np.minimum(at + 1, table.value.size - 1)
        share = np.clip(np.expm1(y - place * span) / math.expm1(span), 0.0, 1.0)
        value = table.value[at] * (1.0 - share) + table.value[after] * share
        line = 1.0 - np.exp(np.minimum(y - table.start * span, 0.0)) * (1.0 - table.value[0])
        value = np.where(y < table.start * span, line, value) * (1.0 + _ROUNDING)
        return np.where(y >= self.top, 0.0, np.minimum(value, 1.0))

    def _lower(self, y: Reals) -> Reals:
        """Return chords of the value of one mechanism less, rounded down."""
        table = self.table
        y = np.maximum(y, table.upper.start * table.below.span)  # before it V is no smaller
        at = np.floor(y / table.below.span) - table.upper.start
        cell = table.left[np.clip(at, 0, table.left.size - 1).astype(np.intp)]
        return np.asarray(table.below.chords_below(table.before, y, cell) * (1.0 - _ROUNDING))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon."""
        level = Bound.of(delta)
        ends = max(level.lower, _LEAST), max(level.upper, _LEAST)
        target = (
            enclosure.log_down(np.array(ends[0])).item(),
            enclosure.log_up(np.array(ends[1])).item(),
        )
        size = min(self.top, 8.0 * float(self.length) * math.sqrt(self.count))
        bracket = invert(
            partial(log_ends, self, Bound.exactly(0.0)), target, 0.5 * size, 0.2 * size, self.top
        )
        return bracket if level.lower >= _LEAST else Bound(bracket.lower, self.top)


def short_floats(epsilon: Fraction) -> tuple[float, float]:
    """Return floats of few bits at or above, and at or below, a rational number above 0."""
    scale = _BITS - (epsilon.numerator.bit_length() - epsilon.denominator.bit_length())
    scaled = epsilon * Fraction(2) ** scale
    return math.ldexp(math.ceil(scaled), -scale), math.ldexp(math.floor(scaled), -scale)


_GROUP = 256  # Mechanisms of one recursion where there are too many for one. Heuristic.
_TYPICAL = math.log(1e6)  # For which delta the adversary with one loss is chosen. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRangePair(LogisticShift):
    """The logistic pair as the worst case of one mechanism of bounded range.

    In a product it says more than that the logistic pair dominates: their composition, adaptive
    or not, is dominated by the value of a recursion: proofs/theory/bounded_range.md, sections 2, 5.
    """

    @property
    def zcdp_bound(self) -> float:
        """Return epsilon^2 / 8, rounded up."""
        return 0.125 * float(self.epsilon) ** 2 * (1 + 1e-15)

    @property
    def adapts(self) -> bool:
        """Return True: the worst case depends on what other parts showed."""
        return True

    def powers_above(self, count: int) -> list[Power]:
        """Return the value of the recursion, or a product of it, or of logistic pairs."""
        if count == 1:
            return [(self, 1)]
        size = count if count <= MOST else _GROUP
        whole, rest = divmod(count, size)
        with contextlib.suppress(NotCertified):  # the logistic pairs are above as well
            powers: list[Power] = [(self._composed(size).above(whole), whole)]
            if rest > 1:
                powers.append((self._composed(rest).above(1), 1))
            return powers + [(self, 1)] * (rest == 1)
        return [(self, count)]

    def powers_below(self, count: int, *, adapts: bool) -> list[Power]:
        """Return the value of the recursion, or the same two losses again and again."""
        if adapts and count == 1:
            return [(self, 1)]
        if adapts and count <= MOST:
            with contextlib.suppress(NotCertified):  # repeated losses are below as well
                return [(self._composed(count).below(1), 1)]
        return [(pair, count) for pair in self._repeated(count)]

    def composed(self, count: int) -> ComposedRangePair | None:
        """Return the value of the recursion as a pair, None if it is out of reach."""
        if not 2 <= count <= MOST:
            return None
        pair = self._composed(count)
        with contextlib.suppress(NotCertified):  # sums over pairs above and below are left
            pair.table.above  # noqa: B018  # made once, or refused
            return pair
        return None

    def _composed(self, count: int) -> ComposedRangePair:
        """Return the pair of so many mechanisms."""
        return ComposedRangePair(length=self.epsilon, count=count)

    def _repeated(self, count: int) -> list[Pair]:
        """Return one pair of two losses at most epsilon apart, best for one order, or none."""
        epsilon = float(self.epsilon)
        less = math.sqrt(_TYPICAL / (count * max(epsilon * epsilon / 8, 1e-300)))  # order minus 1
        less = min(max(less, 1e-3 / epsilon), 300.0 / epsilon)
        top = -math.expm1(-(less + 1.0) * epsilon) / -math.expm1(-less * epsilon)
        p = -math.expm1(math.log(less / (less + 1.0) * top)) / -math.expm1(-epsilon)
        ratio = Fraction(math.exp(-epsilon) * (1 + 4e-16))  # at or above e^-epsilon
        if not (0.0 < p < 1.0 and 0 < ratio < 1):
            return []
        kept = Fraction(p)
        odds = kept / (1 - kept) * ratio
        return [FinitePair(p=(kept, 1 - kept), q=(odds / (1 + odds), 1 / (1 + odds)))]


def composed_alone(product: Product) -> ComposedRangePair | None:
    """Return composed mechanisms of one range as one pair, if a product is that."""
    if len(product.factors) != 1 or not isinstance(product.factors[0].pair, BoundedRangePair):
        return None
    return product.factors[0].pair.composed(product.factors[0].count)


def has_worst_case(product: Product) -> bool:
    """Return whether adaptive mechanisms of one range attain each point of a product's profile."""
    counts = [count for _, count in ranges_apart(product)[0]]
    return len(product.factors) == len(counts) == 1 and counts[0] <= MOST


def ranges_apart(product: Product) -> tuple[list[tuple[Fraction, int]], Product]:
    """Return lengths and counts of the bounded ranges of a product, and its other factors."""
    ranges = [
        (f.pair.epsilon, f.count) for f in product.factors if isinstance(f.pair, BoundedRangePair)
    ]
    rest = Product(tuple(f for f in product.factors if not isinstance(f.pair, BoundedRangePair)))
    return ranges, rest


def composes_ranges(product: Product) -> bool:
    """Return whether a product, or one that is sampled, says more of ranges than its pairs do."""
    if any(
        isinstance(f.pair, SubsampledPair) and composes_ranges(f.pair.base) for f in product.factors
    ):
        return True
    return len(ranges_apart(product)[0]) > 0 and sum(f.count for f in product.factors) > 1


def as_logistic(product: Product) -> Product:
    """Return what dominates a product where bounded ranges are taken for logistic pairs."""
    return product.mapped(_plain)


def _plain(pair: Pair) -> Pair:
    """Return a pair with the logistic pair in the place of that of a bounded range."""
    if isinstance(pair, SubsampledPair):
        return replace(pair, base=as_logistic(pair.base))
    return LogisticPair(epsilon=pair.epsilon) if isinstance(pair, BoundedRangePair) else pair
