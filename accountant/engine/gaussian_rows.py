"""Answer many questions about compositions of subsampled Gaussians at once, each in one row.

A row is one pair, its count and one question. What the engine does for one of them, a saddle, a
line, K at its nodes and the sum along it, is done here for all in arrays of rows times nodes
(proofs/theory/sweep.md). A row that does not come out narrow is left without an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.crossing import Brackets, crossings
from dpproof.accountant.arithmetic.elementary import sinc_deficit
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Reals,
    log_down,
    log_up,
    rounded_short,
)
from dpproof.accountant.engine.contour import chernoff
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.gaussian_mixtures import (
    GaussianMixtures,
    Line,
    Powers,
    TrapezoidRules,
    choose_lines,
    rules_on,
)
from dpproof.accountant.pairs.mixture_lines import moments

Where = NDArray[np.intp]
Truths = NDArray[np.bool_]
_WIDEST = 1e-4  # Relative width of an answer; a wider one is left to the engine. Heuristic.
_LEAST = 1e-290  # Delta at which sums are still normal floats. Soundness depends on it.
# Parameters for which K has few nodes. Heuristic: others are left to the engine.
_LEAST_MU, _LARGEST_MU, _RAREST = 1e-4, 8.0, 1e-7
_LOG_TOLERANCE = -28.0  # Log of what may be cut and aliased, relative to delta. Heuristic.
_ALL = np.geomspace(1e-6, 1e7, 60)  # Tilts for a Gaussian guess. Heuristic.
_AROUND = np.geomspace(0.7, 24.0, 8)  # Tilts for Chernoff's bound, relative to one. Heuristic.
_LADDER = np.geomspace(1 / 512, 1.0, 13)  # Tilts up to the largest tried. Heuristic.
_BEYOND, _FAR_BEYOND = 4.0, 32.0  # The largest relative to a guess, by the order. Heuristic.
_FARTHEST = 128.0  # Largest mu c that is tried. Heuristic: K has few nodes there.
_SPAN = 3  # Steps of the ladder, up to the crossing, that are made finer. Heuristic.
_SHARES = np.arange(1, 10) / 10.0  # Where finer tilts are between the two ends. Heuristic.
# Error of a term, relative to its size, in units of what is allowed for the sum. Heuristic.
_NOISE = 1e-3
_PLENTY = 300.0  # Nats by which layers may lower a transform, enough for any delta. Heuristic.
_SUMMED = 256  # Most terms in a row or a column of a sum. Error bounds depend on it.
# Rows and columns of the nodes of a line, from the fewest nodes. Heuristic: up to those summed.
_SHAPES = (
    *((4, 4), (4, 6), (4, 8), (6, 8), (8, 8), (8, 12), (8, 16), (12, 16), (16, 16), (16, 24)),
    *((16, 32), (24, 32), (32, 32), (32, 48), (48, 48), (48, 64), (64, 64), (64, 96), (64, 128)),
    *((96, 128), (128, 128), (128, 192), (192, 192), (192, 256)),
)
_NODES = np.array([one * other for one, other in _SHAPES])
_BLOCK = 128  # Rows that are prepared at once. Heuristic.
_AT_ONCE = 1 << 17  # Entries of an array, so that it stays in the processor's cache. Heuristic.
_LONGEST = 640  # Most nodes of a quadrature that is not left to the engine. Heuristic.
# Error of a log from which only the size of a term is used. Error bounds depend on it.
_VAGUE = 0.25


@final
@dataclass(frozen=True, slots=True)
class Saddles:
    """Tilts of rows, with what places their lines. Heuristic: all is bounded afterwards.

    Attributes:
        c: shape (p,), the tilt, of 20 bits.
        beside: shape (p, 2), a point on either side, to bound the aliases.
        moment: shape (p,), K(c) of one pair to a few digits.
        epsilon: shape (p,), where delta is queried, or expected.
        log_delta: shape (p,), what is asked for there, or expected.
        step: shape (p,), distance of nodes whose aliases are negligible, of 20 bits.
    """

    c: Reals
    beside: Reals
    moment: Reals
    epsilon: Reals
    log_delta: Reals
    step: Reals

    def at(self, rows: Where) -> Saddles:
        """Return some of the rows."""
        return Saddles(*(getattr(self, name)[rows] for name in self.__slots__))


def some(mixtures: GaussianMixtures, rows: Where) -> GaussianMixtures:
    """Return the mixtures of some rows."""
    return replace(
        mixtures,
        mu=mixtures.mu[rows],
        q=mixtures.q[rows],
        unsampled=mixtures.unsampled[rows],
        log_unsampled=mixtures.log_unsampled[rows],
    )


def saddles(
    mixtures: GaussianMixtures,
    count: Reals,
    asked: Reals,
    *,
    is_delta: bool,
    near: Reals | None = None,
) -> Saddles:
    """Return tilts for the question at an epsilon or a log delta, nan where none is found.

    Args:
        mixtures: p rows.
        count: shape (p,).
        asked: shape (p,), epsilon or log delta.
        is_delta: whether the log of delta is known.
        near: shape (p,), tilts that suit nearly; without them a Gaussian's are taken.
    """
    if near is None:
        near = _gaussian_tilts(mixtures, count, asked, is_delta=is_delta)
    top = (
        np.minimum(_BEYOND * near, _FARTHEST / mixtures.mu)
        if mixtures.removal
        else _FAR_BEYOND * near
    )
    order = np.argsort(top * mixtures.mu)
    parts = [order[start : start + _BLOCK] for start in range(0, order.size, _BLOCK)]
    blocks = [
        _saddles(some(mixtures, at), count[at], asked[at], top[at], is_delta=is_delta)
        for at in parts
    ]
    back = np.argsort(np.concatenate(parts))
    columns = (np.concatenate([getattr(one, name) for one in blocks]) for name in Saddles.__slots__)
    return Saddles(*(one[back] for one in columns))


def _gaussian_tilts(
    mixtures: GaussianMixtures, count: Reals, asked: Reals, *, is_delta: bool
) -> Reals:
    """Return the saddles of Gaussians with the losses' variances."""
    at = 1e-3
    value = mixtures.steer(np.array([at]))[0][:, 0]
    variance = (count * np.maximum(2.0 * value / (at * (1.0 + at)), 1e-300))[:, None]
    guess = _ridge(_ALL, 0.5 * variance * _ALL * (_ALL + 1), variance * (_ALL + 0.5), variance)
    return np.asarray(_ALL[np.argmax(_excess(guess, asked, is_delta=is_delta) >= 0.0, axis=1)])


def _ridge(c: Reals, value: Reals, slope: Reals, bend: Reals) -> Reals:
    """Return spread, epsilon and log delta whose saddle is c, as ``saddle_point.Ridge``."""
    epsilon = slope - 1 / c - 1 / (1 + c)
    spread = bend + c**-2.0 + (1 + c) ** -2.0
    exponent = value - c * epsilon - np.log(c) - np.log1p(c)
    return np.stack([spread, epsilon, exponent - 0.5 * np.log(2 * math.pi * spread)])


def _excess(ridge: Reals, asked: Reals, *, is_delta: bool) -> Reals:
    """Return a function of c that crosses 0 at the saddle, from below."""
    return np.asarray(asked[:, None] - ridge[-1] if is_delta else ridge[-2] - asked[:, None])


def _survey(mixtures: GaussianMixtures, count: Reals, c: Reals) -> Reals:
    """Return c, K of the product, and what ``_ridge`` returns, at increasing c in each row."""
    value, slope, bend = (count[:, None] * one for one in mixtures.steer(c))
    return np.concatenate([[c, value], _ridge(c, value, slope, np.maximum(bend, 0.0))])


def _saddles(
    mixtures: GaussianMixtures, count: Reals, asked: Reals, top: Reals, *, is_delta: bool
) -> Saddles:
    """Return the tilts of some rows, below a largest one each.

    As ``saddle_point.suited``: near the saddle, where the longest period and the rounding noise of
    the sum together are least.
    """
    rows = np.arange(count.size)
    ladder = _survey(mixtures, count, top[:, None] * _LADDER)
    right = np.argmax(_excess(ladder, asked, is_delta=is_delta) >= 0.0, axis=1).clip(
        _SPAN, _LADDER.size - 1
    )
    ends = ladder[0, rows, right - _SPAN, None], ladder[0, rows, right, None]
    finer = _survey(mixtures, count, ends[0] * (ends[1] / ends[0]) ** _SHARES)
    every = np.concatenate([ladder, finer], axis=2)
    c, value, spread, *_ = every = np.take_along_axis(every, np.argsort(every[:1], axis=2), 2)

    gap = _excess(every, asked, is_delta=is_delta)
    right = np.argmax(gap >= 0.0, axis=1)
    left = right - 1
    share = -gap[rows, left] / (gap[rows, right] - gap[rows, left])
    epsilon, log_delta = (
        one[rows, left] + share * (one[rows, right] - one[rows, left]) for one in every[-2:]
    )
    epsilon, log_delta = (epsilon, asked) if is_delta else (asked, log_delta)

    points, values = (np.pad(one, ((0, 0), (1, 0))) for one in (c, value))
    needed = values - points * epsilon[:, None] - log_delta[:, None] - _LOG_TOLERANCE
    away = points[:, None, :] - c[:, :, None]
    with np.errstate(divide="ignore"):
        period = np.maximum(needed, 4.0)[:, None, :] / np.abs(away)
    sides = [np.where(side, period, np.inf) for side in (away < 0.0, away > 0.0)]
    longest = np.maximum(*(side.min(axis=2) for side in sides))
    height = value - c * epsilon[:, None] - np.log(c * (1.0 + c) * np.sqrt(2 * math.pi * spread))
    size = 1.0 + np.abs(value) + c * np.abs(epsilon)[:, None]
    noise = _NOISE * size * np.exp(np.minimum(height - log_delta[:, None], 300.0))
    best = np.argmin(longest * (1.0 + noise), axis=1)
    crossed = (right > 0) & (gap[rows, left] < 0) & np.isfinite(longest[rows, best])
    return Saddles(
        rounded_short(np.where(crossed, c[rows, best], np.nan)),
        rounded_short(
            np.column_stack([points[rows, side[rows, best].argmin(axis=1)] for side in sides])
        ),
        value[rows, best] / count,
        epsilon,
        log_delta,
        rounded_short(2 * math.pi / longest[rows, best]),
    )


@final
@dataclass(frozen=True, slots=True)
class Decays:
    """What bounds the characteristic function of one tilted loss in each row, up to a factor.

    Attributes:
        masses: shape (p, m), masses of layers if K(c) is the estimate.
        widths: shape (p, m), their widths.
        heights: shape (p, k) or (p, 0), an envelope's heights likewise.
        rates: shape (p, k) or (p, 0), its rates.
    """

    masses: Reals
    widths: Reals
    heights: Reals
    rates: Reals

    @staticmethod
    def of(mixtures: GaussianMixtures, count: Reals, saddle: Saddles) -> Decays:
        """Return the bounds at the tilts of some rows."""
        cells = mixtures.cells(saddle.c)
        masses, widths = mixtures.layers(cells, saddle.moment)
        none = np.zeros((count.size, 0))
        weak = count * masses.sum(axis=1) < _PLENTY  # all that layers can give
        return Decays(
            masses,
            widths,
            *(mixtures.envelope(cells, saddle.moment) if weak.any() else (none, none)),
        )

    def at(self, rows: Where) -> Decays:
        """Return some of the rows."""
        return Decays(*(getattr(self, name)[rows] for name in self.__slots__))

    def log_bound(self, y: Reals, higher: Reals, lower: Reals) -> Reals:
        """Bound the log of the function from y on, shape (p, n).

        Args:
            y: shape (p, n), above 0.
            higher: shape (p,), an upper bound of K(c) less its estimate.
            lower: shape (p,), a lower bound of K(c) less its estimate.
        """
        best = np.empty(y.shape)
        for column in range(y.shape[1]):
            at = y[:, column, None]
            deficit = (sinc_deficit(0.5 * at * self.widths) * self.masses).sum(axis=1)
            best[:, column] = -(1.0 - 1e-9) * np.exp(-np.maximum(higher, 0.0)) * deficit
            if self.heights.size:
                summed = (np.exp(-at * self.rates) * self.heights).sum(axis=1)
                log_sum = np.log(summed * (1 + 1e-9)) - np.minimum(lower, 0.0)
                best[:, column] = np.minimum(best[:, column], log_sum)
        return best


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """The values of M on one vertical line in each row, which bracket delta at every epsilon.

    Attributes:
        known: shape (p, m, w), the terms without e^{-s eps}, over e^floor, at k = w j + r.
        floor: shape (p,), log of M(c)'s estimate.
        c: shape (p,), the tilt.
        step: shape (p,), distance of the nodes.
        size: shape (p,), sum of the sizes of the terms.
        moment: shape (p,), sum of their sizes times their imaginary parts.
        base: shape (p,), bound of the error of the sum, epsilon's part left out.
        log_cut: shape (p,), log of the cut tail, without the factor e^{-c eps}.
        places: shape (p, 2), points on either side of c.
        heights: shape (p, 2), logs of the aliases' bounds by them at eps = 0.
    """

    known: Complexes
    floor: Reals
    c: Reals
    step: Reals
    size: Reals
    moment: Reals
    base: Reals
    log_cut: Reals
    places: Reals
    heights: Reals

    def at(self, rows: Where) -> Lines:
        """Return some of the rows."""
        return Lines(*(getattr(self, name)[rows] for name in self.__slots__))

    def log_brackets(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return logs of lower and upper bounds of delta, as ``contour.Contour.log_brackets``.

        Args:
            epsilon: shape (p, n), at or above 0.
        """
        rows, width = self.known.shape[1:]
        turn = -1j * self.step[:, None, None] * epsilon[:, None, :]
        inner = np.einsum("pjw,pwn->pjn", self.known, np.exp(np.arange(width)[:, None] * turn))
        outer = np.exp(width * np.arange(rows)[:, None] * turn)
        total = (inner.real * outer.real - inner.imag * outer.imag).sum(axis=1)
        slip = 2.1 * UNIT_ROUNDOFF * np.abs(epsilon)
        reach = (self.step * (rows * width - 1))[:, None]
        error = self.base[:, None] + np.where(
            slip * reach > _VAGUE, 2.1 * self.size[:, None], 2.0 * slip * self.moment[:, None]
        )
        cut = np.exp(self.log_cut - self.floor)[:, None]
        shift = self.floor[:, None] - self.c[:, None] * epsilon
        each = self.heights[:, None, :] - epsilon[:, :, None] * self.places[:, None, :]
        excess = np.logaddexp(each[..., 0], each[..., 1])
        upper = total + error + cut
        lower = total - error - cut - np.exp(excess - shift)
        log_lower, log_upper = (np.log(np.maximum(one, 1e-300)) for one in (lower, upper))
        rounding = 8 * UNIT_ROUNDOFF * (np.abs(shift) + np.abs(self.floor)[:, None] + 4.0)
        low = log_lower + shift - rounding - 8 * UNIT_ROUNDOFF * np.abs(log_lower)
        high = log_upper + shift + rounding + 8 * UNIT_ROUNDOFF * np.abs(log_upper)
        return np.where(lower > 1e-300, low, -np.inf), np.where(upper > 0, high, np.inf)


def lines(
    mixtures: GaussianMixtures, count: Reals, saddle: Saddles
) -> Iterator[tuple[Where, Lines]]:
    """Yield the lines of the rows for which there is one, some rows at a time."""
    usable = np.flatnonzero(np.isfinite(saddle.c) & np.isfinite(saddle.step))
    order = usable[np.argsort(count[usable])]
    for start in range(0, order.size, _BLOCK):
        part = order[start : start + _BLOCK]
        own, counts, tilts = some(mixtures, part), count[part], saddle.at(part)
        decays = Decays.of(own, counts, tilts)
        kinds = _kinds(counts, tilts, decays)
        for kind in sorted(set(kinds.tolist()) - {-1}):
            rows = np.flatnonzero(kinds == kind)
            shape = _SHAPES[kind]
            chosen = _rules(some(own, rows), tilts.at(rows), shape[0] * shape[1])
            for at, rule in _together(chosen, sum(shape)):
                few = rows[at]
                line = _line(
                    some(own, few), counts[few], tilts.at(few), decays.at(few), rule, shape=shape
                )
                yield part[few], line


def _kinds(count: Reals, saddle: Saddles, decays: Decays) -> Where:
    """Return which of the shapes has enough nodes in each row, -1 if none has."""
    none = np.zeros(count.size)
    reach = saddle.step[:, None] * (_NODES - 1)
    needed = count * saddle.moment - saddle.c * saddle.epsilon - saddle.log_delta - _LOG_TOLERANCE
    left = needed[:, None] + count[:, None] * decays.log_bound(reach, none, none)
    enough = left < np.log(math.pi * reach)
    return np.where(enough.any(axis=1), enough.argmax(axis=1), -1)


def _rules(mixtures: GaussianMixtures, saddle: Saddles, nodes: int) -> list[Line]:
    """Return a quadrature for the powers on each row's line and at the points beside it."""
    ends = mixtures.power(np.column_stack([saddle.beside, saddle.c]))
    turn = saddle.step * (nodes - 1)
    size = np.hypot(np.abs(ends).max(axis=1), turn) * (1 + 1e-15)
    columns = np.column_stack([ends.min(axis=1), ends.max(axis=1), size, turn])
    return choose_lines(mixtures, (Powers(*one) for one in columns.tolist()))


def _together(chosen: list[Line], times: int) -> Iterator[tuple[Where, TrapezoidRules]]:
    """Yield rows whose quadratures are similar, as many as fit into one array, with the rules."""
    sizes = np.array([line.size for line in chosen])
    shifted = np.array([line.shift > 0.0 for line in chosen])
    order = np.lexsort((sizes, shifted))
    order = order[sizes[order] < _LONGEST]
    start = 0
    while start < order.size:
        fits = np.arange(1, order.size - start + 1) * sizes[order[start:]] * times <= _AT_ONCE
        fits &= shifted[order[start:]] == shifted[order[start]]
        end = start + max(int(np.argmin(np.append(fits, False))), 1)
        at = order[start:end]
        yield at, rules_on([chosen[row] for row in at.tolist()], np.dtype(np.float64))
        start = end


def _line(
    mixtures: GaussianMixtures,
    count: Reals,
    saddle: Saddles,
    decays: Decays,
    rule: TrapezoidRules,
    *,
    shape: tuple[int, int],
) -> Lines:
    """Return the lines of rows whose terms fit into one array."""
    c, step = saddle.c[:, None], saddle.step[:, None]
    points = np.column_stack([saddle.beside, saddle.c])
    real, enclosure = moments(mixtures, mixtures.power(points), saddle.step, rule, shape)
    n, k = count[:, None], np.arange(shape[0] * shape[1])
    size = np.abs(real.value.real) + real.radius
    upper = n * (real.value.real + real.radius + 8 * UNIT_ROUNDOFF * size)
    upper = np.where(points > 0.0, upper, 0.0)

    value = enclosure.value if mixtures.removal else enclosure.value.conj()
    floor = n * value[:, :1].real
    exponent = n * value - floor
    off = n * enclosure.radius * (1 + 1e-12)
    off += 8 * UNIT_ROUNDOFF * (n * np.abs(value) + np.abs(floor))
    precise = off < _VAGUE
    y = step * k
    inverse = 1.0 / ((c + 1j * y) * (c + 1.0 + 1j * y))
    weight = np.where(k == 0, 1.0, 2.0) * (step / (2 * math.pi))
    growth = np.where(precise, 0.0, np.where(np.isinf(enclosure.radius), 1.0, off))
    sizes = np.exp(exponent.real + growth) * weight * np.abs(inverse)
    slight = np.minimum(off, _VAGUE)
    share = np.where(precise, slight * (1.0 + slight), 1.0)
    share += 24 * ELEMENTARY_ULPS * UNIT_ROUNDOFF
    terms = np.exp(exponent) * (np.where(precise, weight, 0.0) * inverse)

    reach, most = y[:, -1], 2 * _SUMMED * UNIT_ROUNDOFF
    ends = (real.value.real + sign * real.radius for sign in (1.0, -1.0))
    decay = decays.log_bound(reach[:, None], *(one[:, 2] - saddle.moment for one in ends))[:, 0]
    gap = np.abs(points[:, :2] - c) * (2 * math.pi / step * (1 - 1e-12))
    heights = upper[:, :2] + 1e-12 * np.abs(upper[:, :2]) - gap - np.log(-np.expm1(-gap))
    apart = (points[:, :1] < c) & (c < points[:, 1:2])
    return Lines(
        np.asarray(terms.reshape(-1, *shape), dtype=complex),
        floor[:, 0],
        saddle.c,
        saddle.step,
        sizes.sum(axis=1),
        (sizes * y).sum(axis=1),
        (sizes * (share + most)).sum(axis=1),
        upper[:, 2] + count * decay - np.log(math.pi * reach) + 1e-9,
        points[:, :2],
        np.where(apart, heights, np.inf),
    )


@final
@dataclass(frozen=True, slots=True)
class Runs:
    """Compositions of a Gaussian on Poisson samples, one in each row.

    Attributes:
        mu: shape (p,), sensitivity over sigma, above 0.
        q: shape (p,), in (0, 1].
        count: shape (p,), whole numbers above 0.
    """

    mu: Reals
    q: Reals
    count: Reals

    def at(self, rows: Where) -> Runs:
        """Return some of the rows."""
        return Runs(self.mu[rows], self.q[rows], self.count[rows])

    def mixtures(self, *, removal: bool) -> GaussianMixtures:
        """Return the pairs of one order of neighbours; q is below 1."""
        log_unsampled = np.where(self.q > 0.5, np.log(1.0 - self.q), np.log1p(-self.q))
        return GaussianMixtures(self.mu, self.q, 1.0 - self.q, log_unsampled, removal)


Answer = Callable[[Runs, Reals], tuple[Reals, Reals]]


def epsilons(runs: Runs, delta: Reals) -> tuple[Reals, Reals]:
    """Bracket epsilon at a delta in [0, 1] in each row, the larger of both orders of neighbours.

    Returns:
        Both ends, each shape (p,); nan where the bracket would not be narrow.
    """
    return _answered(runs, (delta > _LEAST) & (delta < 1.0), delta, _epsilons, _gaussian_epsilons)


def deltas(runs: Runs, epsilon: Reals) -> tuple[Reals, Reals]:
    """Bracket delta at a real epsilon in each row, as ``epsilons`` does epsilon."""
    return _answered(runs, epsilon > 0.0, epsilon, _deltas, _gaussian_deltas)


def _answered(
    runs: Runs, possible: Truths, asked: Reals, sampled: Answer, closed: Answer
) -> tuple[Reals, Reals]:
    """Return the answers of rows that are no extremes, those without sampling in closed form."""
    lower, upper = np.full(asked.shape, np.nan), np.full(asked.shape, np.nan)
    possible = possible & np.isfinite(asked) & (runs.mu > _LEAST_MU) & (runs.mu < _LARGEST_MU)
    rare = possible & (runs.q > _RAREST) & (runs.q < 1.0) & (runs.count > 1.0)
    with np.errstate(all="ignore"):  # nan and infinities prove nothing, in any row
        for some_, ask in ((rare, sampled), (possible & (runs.q == 1.0), closed)):
            rows = np.flatnonzero(some_)
            if rows.size:
                lower[rows], upper[rows] = ask(runs.at(rows), asked[rows])
        narrow = (upper - lower <= _WIDEST * upper) & (upper < np.inf)
    return np.where(narrow, lower, np.nan), np.where(narrow, upper, np.nan)


def _epsilons(runs: Runs, delta: Reals) -> tuple[Reals, Reals]:
    """Bracket epsilon of samples, where the order without the record is no larger."""
    target = log_down(delta), log_up(delta)
    lower, upper = np.full(delta.shape, np.nan), np.full(delta.shape, np.nan)
    forward = runs.mixtures(removal=True)
    saddle = saddles(forward, runs.count, target[0], is_delta=True)
    for at, line in lines(forward, runs.count, saddle):
        sought = target[0][at], target[1][at]
        lower[at], upper[at] = crossings(_brackets(line), sought, saddle.epsilon[at], line.c)
    near = np.where(np.isfinite(lower), saddle.c, np.nan)
    high = _backward(runs, lower, near=near, limit=target[0])[1]
    smaller = high <= target[0]
    return np.where(smaller, lower, np.nan), np.where(smaller, upper, np.nan)


def _deltas(runs: Runs, epsilon: Reals) -> tuple[Reals, Reals]:
    """Bracket delta of samples."""
    low, high = np.full(epsilon.shape, np.nan), np.full(epsilon.shape, np.nan)
    forward = runs.mixtures(removal=True)
    saddle = saddles(forward, runs.count, epsilon, is_delta=False)
    for at, line in lines(forward, runs.count, saddle):
        ends = line.log_brackets(epsilon[at, None])
        low[at], high[at] = ends[0][:, 0], ends[1][:, 0]
    other = _backward(runs, epsilon, near=saddle.c, limit=low)
    high = np.where(other[1] <= low, high, np.maximum(high, other[1]))
    lower = np.exp(np.maximum(low, other[0])) * (1 - 1e-14)
    upper = np.minimum(np.exp(high) * (1 + 1e-14), 1.0)
    return lower, np.where(upper > _LEAST, upper, np.nan)  # smaller ones are no normal floats


def _gaussian_deltas(runs: Runs, epsilon: Reals) -> tuple[Reals, Reals]:
    """Bracket delta without sampling: of one Gaussian, whose mu is rounded both ways."""
    size = runs.mu * np.sqrt(runs.count)
    lower, _ = gaussian_profile(size * (1 - 1e-15), epsilon)
    _, upper = gaussian_profile(size * (1 + 1e-15), epsilon)
    return lower, np.minimum(upper, 1.0)


def _gaussian_epsilons(runs: Runs, delta: Reals) -> tuple[Reals, Reals]:
    """Bracket epsilon without sampling."""

    def brackets(x: Reals, rows: Where) -> tuple[Reals, Reals]:
        own = runs.at(np.repeat(rows, x.shape[1]))
        low, high = _gaussian_deltas(own, x.ravel())
        return log_down(low).reshape(x.shape), log_up(high).reshape(x.shape)

    size = runs.mu * np.sqrt(runs.count)
    target = log_down(delta), log_up(delta)
    return crossings(brackets, target, 0.5 * size * size + size, 1.0 / size)


def _brackets(line: Lines) -> Brackets:
    """Return bounds of log delta at points of some rows."""
    return lambda x, rows: line.at(rows).log_brackets(x)


def _backward(runs: Runs, epsilon: Reals, *, near: Reals, limit: Reals) -> tuple[Reals, Reals]:
    """Return logs of lower and upper bounds of delta in the other order, -inf and inf if unknown.

    Args:
        runs: p rows.
        epsilon: shape (p,), above 0.
        near: shape (p,), tilts of the first order; nan where nothing is asked.
        limit: shape (p,), the upper bound is not lowered where it is at most this.
    """
    mixtures, count = runs.mixtures(removal=False), runs.count
    low, high = np.full(near.shape, -np.inf), np.full(near.shape, np.inf)
    high[epsilon >= -count * mixtures.log_unsampled * (1 + 4e-15)] = -np.inf
    left = np.flatnonzero(~(high <= limit) & np.isfinite(near))
    if left.size:
        high[left] = _chernoff(some(mixtures, left), count[left], epsilon[left], near[left])
    left = left[~(high[left] <= limit[left])]
    if left.size:
        own = some(mixtures, left)
        saddle = saddles(own, count[left], epsilon[left], is_delta=False, near=near[left])
        for rows, line in lines(own, count[left], saddle):
            ends, at = line.log_brackets(epsilon[left[rows], None]), left[rows]
            low[at], high[at] = ends[0][:, 0], np.fmin(high[at], ends[1][:, 0])
    return low, high


def _chernoff(mixtures: GaussianMixtures, count: Reals, epsilon: Reals, near: Reals) -> Reals:
    """Return upper bounds of log delta by Chernoff's bound at one c in each row.

    Args:
        mixtures: p rows.
        count: shape (p,).
        epsilon: shape (p,), above 0.
        near: shape (p,), around which c is looked for.
    """
    c = near[:, None] * _AROUND
    seems = chernoff(c, count[:, None] * mixtures.steer(c)[0], epsilon[:, None])
    c = np.take_along_axis(c, np.argmin(seems, axis=1)[:, None], 1)
    power, upper = mixtures.power(c), np.full(count.size, np.inf)
    columns = np.column_stack([power, power, np.abs(power), np.zeros(count.size)])
    chosen = choose_lines(mixtures, (Powers(*one) for one in columns.tolist()))
    for at, rule in _together(chosen, 1):
        real, _ = moments(some(mixtures, at), power[at], np.ones(at.size), rule, (1, 1))
        value, radius = real.value.real[:, 0], real.radius[:, 0]
        upper[at] = count[at] * (value + radius + 8 * UNIT_ROUNDOFF * (np.abs(value) + radius))
    return np.nan_to_num(chernoff(c[:, 0], upper, epsilon), nan=np.inf, neginf=np.inf)
