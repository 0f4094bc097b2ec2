"""Exact minimisers of losses plus noise over a finite space, by a list or by integer programs.

A candidate is a head u followed by a tail v, and its margin at a row is a(u) + b(v). Of the rows
with the same features in the tail, the loss depends on u and b alone: it is an entry of a matrix
of heads by pairs (tail features, b), and the tails v select theirs. Entries are whole and no sum
of them exceeds the largest loss, so that products in floating point are exact in any order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable
from dpproof.mechanisms.learning.records import Integers
from dpproof.mechanisms.learning.separators.spaces import Loss, Patterns, Space, ZeroOne
from dpproof.mechanisms.samplers.arrays import largest_size

# Pairs in one product, and entries of one temporary array. Heuristic.
_BLOCK: Final = 512
_ENTRIES: Final = 2**22
# Up to so many pairs a row a product is the faster way. Heuristic.
_PAIRS_A_ROW: Final = 100
# Integers up to these are exact in single and double precision. Soundness depends on them.
_SINGLE: Final = 2**24
_DOUBLE: Final = 2**53
# From margins of records with given rows to their losses.
Charge = Callable[[Integers, Any], Integers]


def total_losses(space: Space, loss: Loss, data: Patterns) -> Integers:
    """Return the exact losses of all vectors, (heads, tails), in order; -1 for no candidate."""
    head, tail = halves(space)
    levels = np.array(space.levels)
    weights = space.weights(data.rows)
    front, back = _vectors(levels, head), _vectors(levels, tail)
    right, member = np.unique(weights[:, head:], axis=0, return_inverse=True)
    margins = front @ weights[:, :head].T, back @ right.T
    pairs = sum(len(np.unique(column)) for column in margins[1].T)
    totals = np.zeros((len(front), len(back)), dtype=np.int64)

    def charge(margins: Integers, rows: Any) -> Integers:  # noqa: ANN401  # any index
        return loss.charge(margins, data.positive[rows], data.negative[rows], space)

    if pairs <= _PAIRS_A_ROW * len(weights):
        for entries, picks in _blocks(charge, *margins, member.reshape(-1)):
            totals += _product(entries, picks)
    else:
        _add_plainly(charge, totals, margins[0], back @ weights[:, head:].T)
    sums = back.sum(axis=1)
    for i, total in enumerate(front.sum(axis=1)):
        totals[i] += loss.apart(sums + total, data, space)
        admitted = space.admits(sums + total)
        if admitted is not None:
            totals[i, ~admitted] = -1
    return totals


def halves(space: Space) -> tuple[int, int]:
    """Return the numbers of coordinates of the heads and of the tails."""
    return space.coordinates // 2, space.coordinates - space.coordinates // 2


def _blocks(
    charge: Charge, left: Integers, right: Integers, member: Integers
) -> Iterator[tuple[Integers, list[Integers]]]:
    """Yield matrices of heads by pairs, and for each tail the columns it selects."""
    columns: list[Integers] = []
    picks: list[Integers] = []
    width = 0
    for group, column in enumerate(right.T):
        values, codes = np.unique(column, return_inverse=True)
        rows = np.flatnonzero(member == group)
        entries = np.zeros((len(left), len(values)), dtype=np.int64)
        for row in rows:
            entries += charge(left[:, row, np.newaxis] + values, row)
        columns.append(entries)
        picks.append(codes.reshape(-1) + width)
        width += len(values)
        if width >= _BLOCK or group == right.shape[1] - 1:
            yield np.concatenate(columns, axis=1), picks
            columns, picks, width = [], [], 0


def _product(entries: Integers, picks: list[Integers]) -> Integers:
    """Add up the selected columns, exactly: floating point numbers hold every partial sum."""
    largest = int(entries.max(initial=0)) * len(picks)
    if largest >= _DOUBLE:
        return np.asarray(sum(entries[:, codes] for codes in picks))
    kind = np.float32 if largest < _SINGLE else np.float64
    chosen = np.zeros((entries.shape[1], len(picks[0])), dtype=kind)
    for codes in picks:
        chosen[codes, np.arange(len(codes))] = 1
    return np.asarray((entries.astype(kind) @ chosen).astype(np.int64))


def _add_plainly(charge: Charge, totals: Integers, left: Integers, right: Integers) -> None:
    """Add the losses of one head after the other, margin by margin."""
    block = max(1, _ENTRIES // max(1, right.shape[1]))
    for i, margins in enumerate(left):
        for start in range(0, len(right), block):
            part = slice(start, start + block)
            totals[i, part] += charge(margins + right[part], slice(None)).sum(axis=1)


def _vectors(values: Integers, width: int) -> Integers:
    """Return all vectors of the values, in order."""
    vectors = np.zeros((1, 0), dtype=np.int64)
    for _ in range(width):
        vectors = np.concatenate(
            [np.repeat(vectors, len(values), axis=0), np.tile(values, len(vectors))[:, np.newaxis]],
            axis=1,
        )
    return vectors


MOST_CANDIDATES: Final = 2**26
# Sums below it are exact in 64 bits. Soundness depends on it.
_LONG: Final = 2**62


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """The losses of one dataset over a space, each worth ``unit`` units of the noise."""

    # A noise vector's last entry is multiplied by ``heights``, by a candidate's sum of squares.

    space: Space
    loss: Loss
    data: Patterns
    unit: int
    heights: Integers | None = None

    def totals(self) -> Integers:
        """Return the exact losses of all vectors of levels, as ``total_losses``."""
        return total_losses(self.space, self.loss, self.data)

    def objective(self, levels: Integers, noise: NDArray[Any]) -> int:
        """Return the exact objective of one candidate, given by its levels' positions."""
        values = np.array(self.space.levels)[levels]
        margins = values @ self.space.weights(self.data.rows).T
        total = self.loss.losses(
            margins[np.newaxis], np.array([values.sum()]), self.data, self.space
        )
        places = charges(self.space, noise)
        rest = sum(int(places[j, k]) for j, k in enumerate(levels))
        if self.heights is not None:
            height = self.heights[int((values**2).sum())]
            rest += int(noise[-1]) * int(height)
        return int(total[0]) * self.unit + rest


class Oracle(Readable, ABC):
    """An algorithm that finds the best candidate."""

    __slots__ = ()

    @property
    @abstractmethod
    def tolerance(self) -> Fraction | None:
        """Bound by how many losses a candidate misses the minimum; None is the first minimum."""

    @abstractmethod
    def accepts(self, space: Space, loss: Loss) -> None:
        """Refuse a space or loss that the oracle cannot minimise over, whatever the data."""

    @abstractmethod
    def minima(self, problem: Problem, noises: NDArray[Any]) -> Integers:
        """Find each minimum's positions of levels; noises are integers, and heights come last."""


@final
@dataclass(frozen=True, slots=True)
class EnumerationOracle(Oracle):
    """Compute the exact losses of all candidates once, then add each noise vector and compare.

    Everything is an integer, and among equals the first candidate in the order of levels is taken.

    Example:
        >>> EnumerationOracle().tolerance is None
        True
    """

    tolerance = None  # exact, ties included

    def accepts(self, space: Space, loss: Loss) -> None:  # noqa: ARG002  # any loss
        """Refuse more than 2^26 vectors of levels."""
        if len(space.levels) ** space.coordinates > MOST_CANDIDATES:
            allowed = "able to list the space"
            raise ParameterError("oracle", self, allowed, f"at most {MOST_CANDIDATES} vectors")

    def minima(self, problem: Problem, noises: NDArray[Any]) -> Integers:
        """Compare all candidates."""
        return best_candidates(problem, problem.totals(), noises)


def best_candidates(problem: Problem, totals: Integers, noises: NDArray[Any]) -> Integers:
    """Find first minima of losses plus noise, as ``Oracle.minima``, from the problem's totals."""
    space = problem.space
    head, _ = halves(space)
    outside = totals < 0
    restricted = bool(outside.any())
    squares = np.tile(np.array(space.levels) ** 2, (space.coordinates, 1))
    norms = _sums(squares[:head]), _sums(squares[head:])
    largest = int(totals.max(initial=0)) * problem.unit
    places = []
    for noise in noises:
        costs, pays = _fitting(problem, noise, largest)
        first, second = _sums(costs[:head]), _sums(costs[head:])
        best = []
        for i, start in enumerate(first):
            row = totals[i].astype(costs.dtype) * problem.unit + (second + start)
            if pays is not None:
                row += pays[norms[1] + norms[0][i]]
            if restricted:
                if outside[i].all():
                    continue
                row[outside[i]] = row.max() + 1
            j = int(row.argmin())
            best.append((int(row[j]), i, j))
        _, i, j = min(best)
        places.append(i * len(second) + j)
    return levels_at(space, np.array(places, dtype=np.int64))


def levels_at(space: Space, places: Integers) -> Integers:
    """Return the levels of vectors by places in the order of all: shape (places, coordinates)."""
    base, width = len(space.levels), space.coordinates
    powers = np.array([base ** (width - 1 - j) for j in range(width)], dtype=np.int64)
    return np.asarray(places[:, np.newaxis] // powers % base)


def _fitting(
    problem: Problem, noise: NDArray[Any], largest: int
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the charges of a noise vector and of heights, in 64 bits unless more are needed."""
    costs, pays = charges(problem.space, noise), None
    rows = [*map(list, costs)]
    if problem.heights is not None:
        pays = problem.heights.astype(np.object_) * int(noise[-1])
        rows.append(list(pays))
    most = largest + sum(max(abs(int(x)) for x in row) for row in rows)
    kind = np.int64 if most < _LONG else np.object_
    return costs.astype(kind), None if pays is None else pays.astype(kind)


def charges(space: Space, noise: NDArray[Any]) -> NDArray[Any]:
    """Return the exact charge of each level of each coordinate: the noise of places that are 1."""
    steps = noise[: space.separators].reshape(space.coordinates, len(space.levels) - 1)
    if largest_size(steps.reshape(-1)) * steps.shape[1] >= _LONG:
        steps = steps.astype(np.object_)
    zero = np.zeros((space.coordinates, 1), dtype=steps.dtype)
    return np.concatenate([zero, np.cumsum(steps, axis=1)], axis=1)


def vectors(space: Space) -> Iterator[Integers]:
    """Return every candidate's levels' positions in order, for tests and small spaces."""
    values = np.array(space.levels)
    for digits in levels_at(space, np.arange(len(space.levels) ** space.coordinates)):
        admitted = space.admits(values[digits].sum(keepdims=True))
        if admitted is None or admitted[0]:
            yield digits


def _sums(costs: NDArray[Any]) -> NDArray[Any]:
    """Return the costs of all vectors of levels, in order."""
    sums = np.zeros(1, dtype=costs.dtype)
    for row in costs:
        sums = (sums[:, np.newaxis] + row).reshape(-1)
    return sums


# The tolerated gap of a solution to the minimum, in losses: above the solver's own, 10^-6.
# Soundness depends on its use in the guarantee, not on its value.
TOLERANCE: Final = Fraction(1, 2**19)


@final
@dataclass(frozen=True, slots=True)
class MilpOracle(Oracle):
    """Solve a mixed-integer program by HiGHS (``scipy.optimize.milp``), and fall back if it fails.

    One binary variable stands for every place of the pattern and one for every distinct row whose
    labels do not cancel; each row has a bound of its own, never one global constant. The relative
    gap is 0. A candidate is accepted if the solver says optimal and gives a dual bound, and the
    exactly recomputed objective is within the tolerance of that bound; otherwise the run continues
    on the same noise with the slower oracle, so that the law of what is released does not depend on
    the solver.

    Args:
        fallback: an exact oracle, for what the solver leaves open.
        time_limit: seconds that the solver may take; None for no limit. It decides how long a
            release takes, which is not part of any guarantee.
    Assumption: the solver's dual bound is a lower bound. It is computed in floating point.
    Raises:
        ParameterError: an argument outside its domain; on use, a loss other than ``ZeroOne``,
            parities, or a space that the fallback cannot list.
    Example:
        >>> MilpOracle(time_limit=10).tolerance
        Fraction(1, 524288)
    """

    tolerance = TOLERANCE  # above the solver's absolute gap

    fallback: EnumerationOracle = field(default_factory=EnumerationOracle)
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Refuse other fallbacks and limits."""
        fallback: object = self.fallback
        if not isinstance(fallback, EnumerationOracle):
            raise ParameterError("fallback", fallback, "an exact oracle: EnumerationOracle()")
        limit: object = self.time_limit
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < np.inf):
            raise ParameterError("time_limit", limit, "a number of seconds > 0, or None")

    def accepts(self, space: Space, loss: Loss) -> None:
        """Refuse what is no linear program in the margins, or cannot be fallen back from."""
        if not isinstance(loss, ZeroOne) or space.threshold is None:
            raise ParameterError("oracle", self, "EnumerationOracle() for this loss and space")
        self.fallback.accepts(space, loss)

    def minima(self, problem: Problem, noises: NDArray[Any]) -> Integers:
        """Solve for each noise vector; what stays open goes to the fallback together."""
        space = problem.space
        solutions = np.zeros((len(noises), space.coordinates), dtype=np.int64)
        program = _Program(problem)
        slow = []
        for run, noise in enumerate(noises):
            levels = program.solve(noise, self.time_limit)
            if levels is None:
                slow.append(run)
            else:
                solutions[run] = levels
        if slow:
            solutions[slow] = self.fallback.minima(problem, noises[slow])
        return solutions


@final
class _Program:
    """The constraints of one dataset, to which every noise vector gives an objective."""

    def __init__(self, problem: Problem) -> None:
        space, data = problem.space, problem.data
        gains = data.negative - data.positive
        kept = gains != 0
        self._problem, self._gains = problem, gains[kept]
        self._rules = _constraints(space, space.weights(data.rows[kept]), self._gains)

    def solve(self, noise: NDArray[Any], limit: float | None) -> Integers | None:
        """Return the positions of levels of a solution proved good enough, or None."""
        from scipy.optimize import Bounds, milp  # noqa: PLC0415 - its import takes long

        problem = self._problem
        options: Any = {"mip_rel_gap": 0.0} | ({} if limit is None else {"time_limit": limit})
        cost = np.concatenate([noise.astype(np.float64) / problem.unit, self._gains])
        solution = milp(
            cost,
            integrality=np.ones(len(cost), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=self._rules,
            options=options,
        )
        dual = getattr(solution, "mip_dual_bound", None)
        if solution.status != 0 or dual is None:
            return None
        space = problem.space
        steps = np.rint(solution.x[: space.separators]).astype(np.int64)
        levels = np.asarray(steps.reshape(space.coordinates, -1).sum(axis=1))
        bound = float(dual) + float(problem.data.positive.sum())
        if not np.isfinite(bound):
            return None
        missed = Fraction(problem.objective(levels, noise), problem.unit) - Fraction(bound)
        admitted = space.admits(np.array([np.array(space.levels)[levels].sum()]))
        inside = admitted is None or bool(admitted[0])
        return levels if inside and missed <= TOLERANCE else None


def _constraints(space: Space, weights: Integers, gains: Integers) -> list[Any]:
    """Order the places of a coordinate, and tie each row's variable z to its margin m."""
    # With its ends a, b and threshold T: m <= T - 1 + (b - T + 1) z if the row should predict -1,
    # m >= T - (T - a)(1 - z) if +1; the objective pulls z the other way.
    from scipy.optimize import LinearConstraint  # noqa: PLC0415 - its import takes long

    levels = np.array(space.levels)
    threshold = space.threshold or 0
    base = levels[0] * weights.sum(axis=1)
    slopes = np.repeat(weights, len(levels) - 1, axis=1) * np.tile(
        np.diff(levels), weights.shape[1]
    )
    low = base + np.minimum(slopes, 0).sum(axis=1)
    high = base + np.maximum(slopes, 0).sum(axis=1)
    rows = np.zeros((len(gains), space.separators + len(gains)))
    rows[:, : space.separators] = slopes
    least, most = np.full(len(gains), -np.inf), np.full(len(gains), np.inf)
    for i, gain in enumerate(gains):
        if gain > 0:
            rows[i, space.separators + i] = -max(high[i] - threshold + 1, 0)
            most[i] = threshold - 1 - base[i]
        else:
            rows[i, space.separators + i] = -max(threshold - low[i], 0)
            least[i] = min(low[i], threshold) - base[i]
    rules = [LinearConstraint(rows, least, most)] if len(gains) else []
    width = space.separators + len(gains)
    if len(levels) > 2:
        order = np.zeros((space.coordinates * (len(levels) - 2), width))
        for k in range(len(order)):
            place = k // (len(levels) - 2) * (len(levels) - 1) + k % (len(levels) - 2)
            order[k, place], order[k, place + 1] = 1, -1
        rules.append(LinearConstraint(order, 0, np.inf))
    if space.total is not None:
        everything = np.zeros((1, width))
        everything[0, : space.separators] = 1
        rules.append(LinearConstraint(everything, space.total, space.total))
    return rules
