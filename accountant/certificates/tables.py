"""Make tables for the sampled pairs of a product, and lines for rounds of an allocation.

Heuristic: all constants, and any line bounds; the checker computes all of it again. The sums of
lines are those of proofs/sampled/allocated.py, their errors in proofs/theory/allocation.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, final

import numpy as np

from dpproof.accountant.arithmetic import convex_profile
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import Reals, rounded_short
from dpproof.accountant.arithmetic.lognormal_means import log_transform
from dpproof.accountant.certificates.contour import (
    EASY_NODES,
    ContourProof,
    Subject,
    Table,
    Tabled,
    TableSide,
    contour_proof,
)
from dpproof.accountant.certificates.finite_sums import has_closed_profile, has_few_losses
from dpproof.accountant.certificates.serialize import UNCERTIFIED, Object, fact_step
from dpproof.accountant.engine.profile import deltas, infinite_mass
from dpproof.accountant.engine.saddle_point import find_saddle, survey
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.pairs.finite import AtomicPair, FinitePair, LatticePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.accountant.subsampling.tabulated import as_lattice_pair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step, show_rational
from dpproof.proofs.limits import DIRECT, MAX_TABLE_CELLS, MAX_TABLE_RUNS

_CLOSE_LINE: Final = 1e-12  # How far a bound may be above the profile, relatively.
_SHARES: Final = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # The same where no short line is closer.
_SHORT_LINE: Final = 1 << 10  # Nodes of a line that need not be shorter.
_LONGEST_LINE: Final = 1 << 12  # Most nodes of a line.
_LEVEL: Final = 120.0  # Largest log of a sum over what it says: digits that are lost.
_ROOM: Final = 1.01  # Room for what is computed here in floats.
_STEEP: Final = 0.05  # Nats between points of which the slope is that of the profile.
_PERIODS: Final = np.array([1.001, 1.2, 1.5, 2.0, 3.0, 5.0])  # 2 pi/step over the largest c.
_DEVIATIONS: Final = np.array([9.0, 12.0, 16.0, 24.0])  # The same in standard deviations of M.
_TURNS: Final = 2.0 ** -np.arange(13.0)  # As the checker's.
_REACHES: Final = 2.0 ** np.arange(-8.0, 44.0, 0.25)  # Ends of lines, over the tilt.
_AT_ONCE: Final = 12  # Points at which a line is tried, of those it may serve.


@final
@dataclass(frozen=True, slots=True)
class ShortfallLine:
    """A line, and how far above the profile it may be."""

    tilt: float  # Re u
    period: float  # 2 pi over the step of Im u
    nodes: int  # how many
    tau: float  # standard deviation of the Gaussian that is added to c
    share: float  # of the profile, that its bound may be above it
    excess: Reals  # shape (n,), what it may be above it at the points that it serves

    def witness(self) -> Object:
        """Return the line in the certificate's JSON."""
        return {
            "c": show_rational(Fraction(self.tilt)),
            "step": show_rational(Fraction(rounded_short(2 * math.pi / self.period))),
            "nodes": self.nodes,
            "tau": show_rational(Fraction(self.tau)),
        }


def shortfall_lines(
    pair: AllocatedGaussianPair, epsilon: Reals, negligible: float, *, below: bool = False
) -> tuple[tuple[Object, ...], Reals]:
    """Return lines for points of one side of a table, and how far above the profile they are.

    Beside a small share of the profile they may err by ``negligible``. Lines that bound from
    ``below`` as well take no Gaussian.
    """
    listed: list[Object] = []
    excess: list[Reals] = []
    for line in _along(pair, _Wanted.of(pair, epsilon, negligible), below=below):
        listed.append({"points": max(line.excess.size - (not listed), 1), **line.witness()})
        excess.append(line.excess)
    return tuple(listed), np.concatenate(excess)


def _along(
    pair: AllocatedGaussianPair, wanted: _Wanted, *, below: bool = False
) -> Iterator[ShortfallLine]:
    """Return lines, each for the first points that no earlier one serves."""
    start = 0
    while start < wanted.c.size:
        line = _shortfall_line(pair, wanted.at(slice(start, None)), below=below)
        start += line.excess.size
        yield line


def shortfall_line(
    pair: AllocatedGaussianPair, epsilon: float, *, below: bool = False
) -> ShortfallLine:
    """Return a line for one epsilon."""
    return _shortfall_line(pair, _Wanted.of(pair, np.array([epsilon]), 0.0), below=below)


@final
@dataclass(frozen=True, slots=True)
class _Wanted:
    """E(c - M)_+ at some points, and what a line may err by."""

    c: Reals  # e^epsilon, or e^-epsilon for an addition
    scale: Reals  # by what a shortfall is multiplied to be a profile
    delta: Reals  # the profile
    slope: Reals  # minus the derivative of its log by epsilon
    room: float  # of the profile, absolute, beside a share of it

    @staticmethod
    def of(pair: AllocatedGaussianPair, epsilon: Reals, room: float) -> _Wanted:
        sign = 1.0 if pair.removal else -1.0
        near = np.concatenate([epsilon, epsilon + _STEEP])
        delta, beyond = np.split(np.maximum(pair.profile(near)[1], 1e-300), 2)
        slope = np.maximum(np.log(delta / beyond) / _STEEP, 1.0)
        scale = np.ones(epsilon.shape) if pair.removal else np.exp(epsilon)
        return _Wanted(np.exp(sign * epsilon), scale, delta, slope, room)

    def at(self, some: Any) -> _Wanted:  # noqa: ANN401  # an index of numpy's
        """Return some of the points."""
        return _Wanted(
            self.c[some], self.scale[some], self.delta[some], self.slope[some], self.room
        )

    def allowed(self, share: float) -> Reals:
        """Return what a shortfall may err by."""
        return (self.delta * share + self.room) / self.scale

    def smoothing(self, share: float) -> float:
        """Return a tau that raises shortfalls by about a share of the profile.

        That is tau^2/2 times the second derivative, about slope (slope + 1) delta over c^2.
        """
        bend = self.slope * (self.slope + 1.0) * self.delta / (self.c * self.c)
        return rounded_short(float(np.sqrt(2 * self.allowed(share) * self.scale / bend).min()))


def _shortfall_line(pair: AllocatedGaussianPair, wanted: _Wanted, *, below: bool) -> ShortfallLine:
    """Return the line with least work a point, for some of the first points."""
    best: tuple[float, ShortfallLine] | None = None
    count = wanted.c.size
    while count:
        some = np.unique(np.linspace(0, count - 1, _AT_ONCE).astype(int))
        shortest = _shortest(pair, wanted.at(some), below=below)
        if shortest is not None:
            tilt, period, nodes, tau, share = shortest
            work = limits.sum_work(limits.transform_terms(pair.mu_squared), nodes)
            each = (work + count * limits.line_work(nodes, 1)) / count
            if best is None or each < best[0]:
                excess = wanted.delta[:count] * share + wanted.room
                best = each, ShortfallLine(tilt, period, nodes, tau, share, _ROOM * excess)
        count //= 2
    if best is None:
        raise NotCertified(
            f"no short sum of the checker bounds {pair.rounds} rounds of so little noise near "
            f"epsilon = {abs(math.log(wanted.c[0])):.6g}; {UNCERTIFIED}"
        )
    return best[1]


def _shortest(
    pair: AllocatedGaussianPair, wanted: _Wanted, *, below: bool
) -> tuple[float, float, int, float, float] | None:
    """Return tilt, period, nodes and tau of a short line, and its share of the profile."""
    line = _plain_line(pair, wanted, _CLOSE_LINE, 0.0, below=below)
    if below or (line is not None and line[2] <= _SHORT_LINE):
        return None if line is None else (*line, 0.0, _CLOSE_LINE)
    for share in _SHARES:
        tau = wanted.smoothing(share / 2)
        other = _plain_line(pair, wanted, share / 2, tau, below=False)
        if other is not None:
            return (*other, tau, share)
    return None if line is None else (*line, 0.0, _CLOSE_LINE)


def _plain_line(
    pair: AllocatedGaussianPair, wanted: _Wanted, share: float, tau: float, *, below: bool
) -> tuple[float, float, int] | None:
    """Return tilt, period and nodes of the shortest line that errs by the allowed, with a tau."""
    variance, count = float(pair.mu_squared), pair.rounds
    q, log_power = log_transform(variance, count)
    if not q.size:
        return None
    c, log_room = wanted.c[:, None], np.log(wanted.allowed(share) / 4)[:, None]
    spread = math.sqrt(math.expm1(min(variance, 600.0)) / count)
    periods = float(c.max()) * _PERIODS
    if not below:
        about = max(float(c.max()) - 1.0, 0.0) + spread * _DEVIATIONS
        periods = np.append(periods, about[about < periods[0]])
    best: tuple[float, float, int] | None = None
    for period in periods.tolist():
        before = _log_shortfall(q, log_power, c[:, 0] - period, tau)[:, None]
        after = _log_shortfall(q, log_power, c[:, 0] + period, tau)[:, None]
        if below:  # as the checker bounds it there
            after = np.log(c + 2 * period)
        p = q[None, :]
        level = p * c + log_power + (tau * p) ** 2 / 2 - 2 * np.log(p)
        good = (after - p * period < log_room) & (level < log_room + _LEVEL)
        good &= (before + p * period < log_room) | (c <= period) & (tau == 0.0)
        place = np.flatnonzero(good.all(axis=0))
        for one in place[:: max(place.size // 6, 1)].tolist():
            tilt = rounded_short(float(q[one]))
            ends, cuts = _cuts(pair, tilt)
            cuts = cuts + (tilt**2 - ends**2) * tau * tau / 2
            enough = np.flatnonzero(cuts < float((log_room - tilt * c).min()))
            if enough.size:
                nodes = math.ceil(float(ends[enough[0]]) * period / (2 * math.pi)) + 1
                if nodes <= _LONGEST_LINE and (best is None or nodes < best[2]):
                    best = tilt, period, nodes
    return best


def _log_shortfall(q: Reals, log_power: Reals, y: Reals, tau: float) -> Reals:
    """Bound the log of E(y + tau N - M)_+: (x)_+ <= e^{qx - 1}/q."""
    bound = np.multiply.outer(y, q) + log_power + (tau * q) ** 2 / 2 - 1.0 - np.log(q)
    return np.asarray(bound.min(axis=1))


@lru_cache(maxsize=1024)
def _cuts(pair: AllocatedGaussianPair, tilt: float) -> tuple[Reals, Reals]:
    """Return ends of a line without tau, and logs of what it leaves out there over e^{tilt c}."""
    q, log_power = log_transform(float(pair.mu_squared), pair.rounds)
    end = tilt * _REACHES
    reach = tilt * np.cos(_TURNS) + np.multiply.outer(end, np.sin(_TURNS))
    log_size = np.interp(np.log(reach), np.log(q), log_power)  # falls: the last one beyond
    grown = (log_size + pair.rounds * _TURNS**2 / (2 * float(pair.mu_squared))).min(axis=1)
    return end, np.minimum(grown, 0.0) - np.log(math.pi * end)


_DIGITS = 12  # Decimal digits to which losses count as equal. Heuristic.


def atomic_sample(pair: SubsampledPair) -> FinitePair | None:
    """Approximate a sample by a finite pair if the checker lists its losses; else return None."""
    parts = [(f.pair.atoms, f.count) for f in pair.base.factors if isinstance(f.pair, AtomicPair)]
    few = has_few_losses(pair.base) and len(parts) == len(pair.base.factors)
    if pair.direction is Direction.REPLACEMENT or not few:
        return None
    loss: Reals = np.zeros(1)
    log_p: Reals = np.zeros(1)
    for atoms, count in parts:
        for _ in range(count):
            loss, log_p = _beside(loss, log_p, atoms)
    p = np.append(np.exp(log_p), [infinite_mass(pair.base).lower, 0.0])
    q = np.append(np.exp(log_p - loss), [0.0, infinite_mass(pair.base.swapped()).lower])
    rate = float(pair.sampling_rate)
    if pair.direction is Direction.REMOVAL:
        p = (1.0 - rate) * q + rate * p
    else:
        q = (1.0 - rate) * p + rate * q
    return FinitePair(p=_normalised(p), q=_normalised(q))


def _beside(loss: Reals, log_p: Reals, atoms: Atoms) -> tuple[Reals, Reals]:
    """Return the product with one more pair, equal losses merged."""
    both = np.add.outer(loss, atoms.loss).ravel()
    _, first, place = np.unique(np.round(both, _DIGITS), return_index=True, return_inverse=True)
    mass = np.bincount(place, weights=np.exp(np.add.outer(log_p, atoms.log_p).ravel()))
    return both[first], np.log(mass)


def _normalised(masses: Reals) -> tuple[Fraction, ...]:
    """Return masses scaled to sum to exactly 1."""
    exact = [Fraction(float(mass)) for mass in masses]
    total = sum(exact)
    return tuple(mass / total for mass in exact)


@final
@dataclass(frozen=True, slots=True)
class SingleLine:
    """A proof for one sample or allocation, once, by a line of the base or of the pair."""

    pair: SubsampledPair | AllocatedGaussianPair
    line: Object
    share: float = 0.0  # of the profile, that the line's bound may be above it
    negligible: float = 0.0  # what it may be above it beside that
    over: float = 0.0  # the same of the log of the bound

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the upper end of the profile, raised by what the line may err by."""
        with np.errstate(divide="ignore"):
            upper = self.pair.profile(epsilon)[1] * (1.0 + _ROOM * self.share)
            logs = np.log(upper + _ROOM * self.negligible)
        return np.asarray(logs + self.over)

    def work(self, points: int) -> int:
        """Return the checker's work for the sum over the line's nodes."""
        nodes = int(str(self.line["nodes"]))
        work = 2 * limits.line_work(nodes, points)
        if isinstance(self.pair, AllocatedGaussianPair):
            work += limits.sum_work(limits.transform_terms(self.pair.mu_squared), nodes)
            work += limits.power_work(self.pair.rounds, nodes)
        return work

    def fact(self, points: Points) -> Step:
        """Return the step with the line."""
        return fact_step("sampled", Product.of(self.pair), points, self.line)


_VISIBLE: Final = 1e-13  # Mass of a loss below which it is left out of a short table.
_BULK: Final = 6  # Length of the uniform part of a grid, in typical losses (total variation).
_HALVINGS: Final = 40  # Bisections of a table's end.
_CLOSE: Final = 1e-9  # How far a line's bound may be above the log of the profile.
_APART: Final = (
    3e-8  # How far its bound from below may be below that; engine brackets are 2e-8 wide.
)
_SHORT: Final = 1 << 9  # Most nodes of the first line for a single sample.
_LONGEST: Final = 1 << 15  # Nodes of its last one.
_SMOOTHED: Final = (1 << 9, 1 << 11, 1 << 12, 1 << 13)  # Most nodes of lines that a base needs.
_MOST_LINES: Final = 64  # Most lines of one side.
_LEAST: Final = 1e-290  # Replaces 0 in a log.
_COARSEST: Final = 8  # Fewest points of a table for a typical loss.
_VALUES: Final = 4  # Values of the base's profile for each point of one side, all tables counted.
_PROBED: Final = 6  # Points at which lines are tried before a table is made.
_TOO_ROUGH: Final = (
    "the losses of what shares a sample are too rough for the checker's sums; release some of it "
    "on samples of their own, or beside Gaussian noise"
)
_LOG_ROOM: Final = -7.0  # Log of the share of the negligible mass that a line's error may have.
_FAR_APART: Final = (
    "the losses of one sample are too far apart for the checker's tables; use more noise"
)

_NOISE: Final = 1e-4  # Share of what is negligible that enclosures may err by.
_LONGER: Final = 1e4  # Times as much as else is negligible where lines are not smoothed.

Sides = tuple[Tabled, Tabled]


def subject_below(product: Product, *, fine: int, negligible: float) -> Subject:
    """Return a product with a table below each sampled pair, or with its few losses.

    The last losses of a table may have ``negligible`` mass; ``fine`` as for ``subject``.
    """
    tables: list[Table | None] = []
    computed: list[Factor] = []
    for factor in product.factors:
        pair, table, listed = factor.pair, None, None
        if isinstance(pair, Tabled):
            listed = atomic_sample(pair) if isinstance(pair, SubsampledPair) else None
            table = None if listed else _table_below(pair, fine, negligible / factor.count)
        tables.append(table)
        computed.append(Factor(listed or pair, factor.count))
    return Subject(product, tuple(tables), Product(tuple(computed)))


def subject(
    product: Product, *, fine: int, negligible: float, whole: bool = False, fewer: bool = False
) -> Subject:
    """Return a product with a table for each of its sampled pairs, ``fine`` points a loss.

    Infinite losses add at most ``negligible`` to delta. If ``whole`` the table of an addition
    reaches its largest loss. ``fewer`` allows a coarser grid where no line bounds a base well.
    """
    tables: list[Table | None] = []
    for factor in product.factors:
        pair, least = factor.pair, negligible / factor.count
        if isinstance(pair, Tabled) and not (whole and has_few_losses(Product.of(pair))):
            table = _coarser(pair, fine, least) if fewer else _table(pair, fine, least, whole=whole)
            tables.append(table)
        else:
            tables.append(None)
    return Subject(product, tuple(tables), product)


def single_sample(pair: SubsampledPair, epsilon: float) -> SingleLine:
    """Return a proof for one sampled pair, once, by a line of the base as long as needed."""
    _, argument = _argument(pair, np.array([epsilon]))
    at = float(argument[0])
    saddle = find_saddle(pair.base, lambda one: one.epsilon - at)
    with np.errstate(divide="ignore"):
        logs = np.log(deltas(pair.base, argument)[1])
    nodes = _SHORT
    proof = contour_proof(Subject.plain(pair.base), saddle, nodes)
    while proof.log_upper(argument)[0] > logs[0] + _CLOSE and nodes < _LONGEST:
        nodes *= 8
        proof = contour_proof(Subject.plain(pair.base), saddle, nodes)
    over = float((proof.log_upper(argument) - logs)[0])
    return SingleLine(pair, proof.witness(), over=max(over, 0.0) + _CLOSE)


def single_allocations(
    pair: AllocatedGaussianPair, places: list[Fraction], negligible: float
) -> list[tuple[SingleLine, list[Fraction]]]:
    """Return proofs for one allocation, once, at increasing epsilons, each with those it serves."""
    wanted = _Wanted.of(pair, np.array([float(x) for x in places]), negligible)
    proofs, start = [], 0
    for line in _along(pair, wanted):
        end = start + line.excess.size
        proof = SingleLine(pair, line.witness(), share=line.share, negligible=negligible)
        proofs.append((proof, places[start:end]))
        start = end
    return proofs


def _coarser(pair: Tabled, fine: int, negligible: float) -> Table:
    """Return a table, with fewer points if no line is close and values take too much work."""
    while True:
        try:
            return _table(pair, fine, negligible, whole=False)
        except NotCertified:
            if fine <= _COARSEST or not has_closed_profile(_bounded(pair)):
                raise
        fine //= 2


def _table(pair: Tabled, fine: int, negligible: float, *, whole: bool) -> Table:
    """Return a table above, uniform around 0 and coarser further out, or around few losses."""
    both, span = _both_sides(pair, fine)
    ends = [0.0 if whole and _is_addition(one) else negligible for one in both]
    grids = [_grid(_end(*one), span, fine) for one in zip(both, ends, strict=True)]
    for one, grid in zip(both, grids, strict=True):
        base = _bounded(one)
        long = not has_closed_profile(base, values=_VALUES * grid.size)
        if long and has_closed_profile(base) and isinstance(one, SubsampledPair):
            _require_lines(one, grid * span, negligible)
    finite = _finite_pair(both, grids, span)
    seen = finite.index[np.exp(finite.atoms.log_p) > _VISIBLE]
    if seen.size <= DIRECT - 3:
        seen = np.union1d(seen, [-grids[1][-1], 0.0, grids[0][-1]])
        grids = [_filled(seen[seen >= 0]), _filled(-seen[seen <= 0][::-1])]
        finite = _finite_pair(both, grids, span)
    if not all(map(_is_short, grids)):
        raise NotCertified(_FAR_APART)
    sides = _table_sides(both, grids, span, negligible)
    if isinstance(pair, AllocatedGaussianPair):
        finite = _finite_pair(both, grids, span, sides)
    return Table(finite, *sides)


def _table_below(pair: Tabled, fine: int, negligible: float) -> Table:
    """Return a table below on a uniform grid around 0, coarser further out."""
    both, span = _both_sides(pair, fine)
    end = 1
    if isinstance(pair, AllocatedGaussianPair):  # further out lines are long
        negligible, end = negligible * _LONGER, 0
    grids = [_grid(_end(one, negligible, end), span, fine) for one in both]
    if not all(map(_is_short, grids)):
        raise NotCertified(_FAR_APART)
    finite = convex_profile.below(*_sides(both, grids, span))
    sides = _table_sides(both, grids, span, _NOISE * negligible, below=True)
    return Table(as_lattice_pair(finite, grids, span), *sides)


def _bounded(pair: Tabled) -> Product:
    """Return what the checker bounds at every point of a table: a sample's base, or the pair."""
    return pair.base if isinstance(pair, SubsampledPair) else Product.of(pair)


def _is_addition(pair: Tabled) -> bool:
    """Return whether the losses have a bound, as the sampled law is the second."""
    if isinstance(pair, SubsampledPair):
        return pair.direction is Direction.ADDITION
    return not pair.removal


def _both_sides(pair: Tabled, fine: int) -> tuple[Sides, float]:
    """Return a pair with its swap, and the span of a table with so many points a typical loss."""
    variation = float(pair.profile(np.zeros(1))[1][0])
    return (pair, pair.swapped()), 2.0 ** math.floor(math.log2(variation / fine))


def _table_sides(
    both: Sides, grids: list[Reals], span: float, negligible: float, *, below: bool = False
) -> list[TableSide]:
    """Return both sides of a table, with the lines that bound the base's profile."""
    sides = []
    for one, grid in zip(both, grids, strict=True):
        if isinstance(one, AllocatedGaussianPair):
            lines, excess = shortfall_lines(one, grid * span, negligible, below=below)
            sides.append(TableSide(grid, lines, excess))
        else:
            sides.append(TableSide(grid, _lines(one, grid * span, negligible, below=below)))
    return sides


def _is_short(grid: Reals) -> bool:
    """Return whether the checker reads so many positions, in so many runs of one stride."""
    turns = int(np.count_nonzero(np.diff(np.diff(grid))))
    return grid.size <= MAX_TABLE_CELLS and turns < MAX_TABLE_RUNS


def _filled(grid: Reals) -> Reals:
    """Return the positions and others between them, so that no stride is too long."""
    gaps = [np.arange(a, b, MAX_TABLE_CELLS) for a, b in pairwise(grid.tolist())]
    return np.concatenate([*gaps, grid[-1:]])


def _grid(end: float, span: float, fine: int) -> Reals:
    """Return neighbours near 0, then strides that double, to past the end."""
    reach, at, stride, count = math.ceil(end / span) + 1, 0.0, 1.0, _BULK * fine
    parts: list[Reals] = [np.zeros(1)]
    while at < reach:
        if reach - at > MAX_TABLE_CELLS * MAX_TABLE_CELLS:
            raise NotCertified(_FAR_APART)
        parts.append(at + stride * np.arange(1, min(count, math.ceil((reach - at) / stride)) + 1))
        at, stride, count = float(parts[-1][-1]), min(2 * stride, MAX_TABLE_CELLS), 2 * fine
    return np.concatenate(parts)


def _finite_pair(
    pairs: Sides, grids: list[Reals], span: float, sides: Sequence[TableSide] = ()
) -> LatticePair:
    """Return the finite pair that the checker makes on the grids, by the sides' lines."""
    halves = _sides(pairs, grids, span)
    for half, side in zip(halves, sides, strict=False):
        half.upper[:] = np.minimum(half.upper + side.excess, 1.0)
    return as_lattice_pair(convex_profile.above(*halves), grids, span)


def _sides(pairs: Sides, grids: list[Reals], span: float) -> list[convex_profile.ProfileHalf]:
    """Return both halves of the profile on the grids."""
    return [
        convex_profile.ProfileHalf(grid * span, *one.profile(grid * span), one.rest)
        for one, grid in zip(pairs, grids, strict=True)
    ]


def _end(pair: Tabled, negligible: float, end: int = 1) -> float:
    """Return a loss beyond which an end of the profile falls by a negligible amount."""

    def beyond(loss: float) -> bool:
        return float(pair.profile(np.array([loss]))[end][0]) - pair.rest > negligible

    return bisect(beyond, 0.0, pair.end, rounds=_HALVINGS)[1]


def _lines(
    pair: Tabled, epsilon: Reals, negligible: float, *, below: bool = False
) -> tuple[Object, ...]:
    """Return lines that bound the base's profile, each at all the points that it serves well."""
    short = has_closed_profile(_bounded(pair), values=_VALUES * epsilon.size)
    if short or not isinstance(pair, SubsampledPair):
        return ()
    argument, wanted, room = _wanted(pair, epsilon, negligible)
    listed: list[Object] = []
    start = 0
    while start < argument.size:
        part = argument[start:], wanted[start:], room[start:]
        proof, count = _line_for(pair.base, *part, below=below)
        if count == 0 or len(listed) == _MOST_LINES:
            raise NotCertified(_TOO_ROUGH)
        count = max(count, 2) if start == 0 else count
        listed.append({"points": count - (start == 0), **proof.witness()})
        start += count
    return tuple(listed)


def _require_lines(pair: SubsampledPair, epsilon: Reals, negligible: float) -> None:
    """Refuse a base of which a line misses its bound at some of a few points."""
    some = epsilon[np.unique(np.linspace(0, epsilon.size - 1, _PROBED).astype(int))]
    wanted = _wanted(pair, some, negligible)
    for place in range(some.size):
        part = (one[place : place + 1] for one in wanted)
        if _line_for(pair.base, *part, below=False)[1] == 0:
            raise NotCertified(_TOO_ROUGH)


def _wanted(pair: SubsampledPair, epsilon: Reals, negligible: float) -> tuple[Reals, Reals, Reals]:
    """Return where the base's profile is needed, its largest log bound, and the negligible log."""
    scale, argument = _argument(pair, epsilon)
    with np.errstate(divide="ignore"):
        logs = np.log(deltas(pair.base, argument)[1]) + _CLOSE
        room = np.log(negligible / scale) + _LOG_ROOM
        return argument, np.logaddexp(logs, room), room


def _line_for(
    base: Product, argument: Reals, wanted: Reals, room: Reals, *, below: bool
) -> tuple[ContourProof, int]:
    """Return a line for the base's profile, and how many of the first points it serves well.

    It is smoothed only if it cannot be short. From below it includes the aliases that the checker
    adds.
    """
    saddle = find_saddle(base, lambda one: one.epsilon - float(argument[0]))
    if below:
        twice = 2.0 * rounded_short(saddle.c)
        saddle = replace(
            saddle, points=(twice,), values=(float(survey(base, np.array([twice])).value[0]),)
        )
    subject = Subject.plain(base)
    proof, count = contour_proof(subject, saddle, EASY_NODES), 0
    for most in _SMOOTHED if proof.contour.tau else (EASY_NODES,):
        proof = contour_proof(subject, saddle, most)
        good = proof.log_upper(argument) <= wanted
        if below:
            lower = np.logaddexp(proof.log_lower(argument), room)
            good &= (lower >= wanted - _APART) & (proof.contour.tau == 0.0)
        count = int(np.argmin(np.append(good, False)))
        if count:
            break
    return proof, count


def _argument(pair: SubsampledPair, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return the theorem's factor of the base's profile, and where it evaluates that."""
    rate = float(pair.sampling_rate)
    if pair.direction is not Direction.ADDITION:
        return np.full(epsilon.shape, rate), np.log1p(np.expm1(epsilon) / rate)
    rest = np.maximum(rate - (1.0 - rate) * np.expm1(epsilon), _LEAST)
    return rest, math.log(rate) - np.log(rest) + epsilon
