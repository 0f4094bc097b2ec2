"""The sensitivity of a factor: the largest norm of C applied to one record's contributions.

Proofs: proofs/theory/matrix.md. With X_ij the scalar product of columns i and j it is, over all
patterns and all vectors of norm at most 1, the root of the largest sum of X_ij <v_i, v_j>; neither
the sum of X nor a choice of signs bounds it where X has negative entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import lcm
from typing import Final, final

import numpy as np

from dpproof.accountant.arithmetic.exact_matrices import triangular_factors
from dpproof.accountant.errors import NotCertified
from dpproof.mechanisms.correlated.factors import (
    Factor,
    Pattern,
    Rows,
    Schedule,
    ToeplitzFactor,
    Tree,
)
from dpproof.proofs.limits import MAX_DENSE_ROUNDS, MAX_PATTERN_WORK

_STEPS: Final = 200  # Of an ascent. Heuristic: what it finds is checked.
_ROOM: Final = (1e-13, 1e-10, 1e-7)  # By which a dual is raised, relative. Heuristic: checked.
_BITS: Final = 50  # Of duals behind the point.


@final
@dataclass(frozen=True, slots=True)
class SquaredSensitivity:
    """A bound of the square of the sensitivity, for contributions of norm 1."""

    value: Fraction  # the bound, exact
    method: str  # how a certificate proves it
    exact: bool  # whether some contributions attain it
    duals: Rows = ()  # one list for each pattern, if the method is "dual"


def squared_sensitivity(factor: Factor, schedule: Schedule) -> SquaredSensitivity:
    """Return the least bound that some theorem gives."""
    bounds = []
    if isinstance(factor, ToeplitzFactor):
        if factor.bands <= schedule.separation:
            return _orthogonal(factor, schedule)
        bounds.append(_envelope(factor, schedule))
    elif isinstance(factor, Tree):
        bounds.append(_tree(schedule))
    if any(bound.exact for bound in bounds):
        return bounds[0]
    if schedule.rounds <= MAX_DENSE_ROUNDS:
        gram = _gram(factor.matrix())
        patterns = listed_patterns(schedule)
        if patterns is not None:
            bounds.append(_dual(gram, patterns))
        if patterns is None or not bounds[-1].exact:
            bounds.append(_row_maxima(gram, schedule))
    if not bounds:
        raise NotCertified(
            f"no theorem bounds the sensitivity of {type(factor).__name__} over "
            f"{schedule.rounds} rounds; a Toeplitz factor has one"
        )
    return min(bounds, key=lambda bound: bound.value)


def listed_patterns(schedule: Schedule) -> list[Pattern] | None:
    """Return all patterns, or None if they are too many to prove one by one."""
    most = MAX_PATTERN_WORK // schedule.participations**3
    patterns = list(islice(schedule.patterns(), most + 1))
    return patterns if len(patterns) <= most else None


def _whole(values: Sequence[Fraction]) -> tuple[list[int], int]:
    below = lcm(*(value.denominator for value in values))
    return [value.numerator * (below // value.denominator) for value in values], below


def _orthogonal(factor: ToeplitzFactor, schedule: Schedule) -> SquaredSensitivity:
    """Return the norms of the first columns, one after another, that share no row."""
    values, below = _whole(factor.coefficients)
    partial = [0]
    for value in values:
        partial.append(partial[-1] + value * value)
    starts = range(0, schedule.rounds, schedule.separation)[: schedule.participations]
    total = sum(partial[min(len(values), schedule.rounds - start)] for start in starts)
    return SquaredSensitivity(Fraction(total, below**2), "orthogonal", exact=True)


def _envelope(factor: ToeplitzFactor, schedule: Schedule) -> SquaredSensitivity:
    """Return the square of the first pattern's column sum, of the least falling majorant."""
    values, below = _whole(factor.coefficients)
    values += [0] * (schedule.rounds - len(values))
    above = [abs(value) for value in values]
    for place in reversed(range(len(above) - 1)):
        above[place] = max(above[place], above[place + 1])
    apart, reach = schedule.separation, schedule.separation * schedule.participations
    sums: list[int] = []
    for place, value in enumerate(above):
        before = sums[place - apart] if place >= apart else 0
        gone = above[place - reach] if place >= reach else 0
        sums.append(before + value - gone)
    square = Fraction(sum(one * one for one in sums), below**2)
    return SquaredSensitivity(square, "envelope", exact=above == values)


def _tree(schedule: Schedule) -> SquaredSensitivity:
    """Return a sum over levels: of nodes with few participations each, k of them in all."""
    total, times = 0, schedule.participations
    for level in range(schedule.rounds.bit_length()):
        each = min(times, -(-(1 << level) // schedule.separation))
        total += min(times * each, (schedule.rounds >> level) * each * each)
    return SquaredSensitivity(Fraction(total), "tree", exact=times == 1)


def _gram(rows: Rows) -> Rows:
    columns = list(zip(*rows, strict=True))
    sparse = [{i: x for i, x in enumerate(column) if x} for column in columns]
    return tuple(
        tuple(
            sum((x * other[i] for i, x in one.items() if i in other), Fraction(0))
            for other in sparse
        )
        for one in sparse
    )


def _dual(gram: Rows, patterns: Sequence[Pattern]) -> SquaredSensitivity:
    """Return the largest sum of a diagonal above X, pattern by pattern.

    Row sums of absolute values are such a diagonal, and the least one where X >= 0.
    """
    largest, exact, duals = Fraction(0), True, []
    for pattern in patterns:
        part = [[gram[i][j] for j in pattern] for i in pattern]
        dual = [sum(map(abs, row), Fraction(0)) for row in part]
        if sum(dual) > largest and any(one < 0 for row in part for one in row):
            least = _diagonal_above(part)
            dual = least if sum(least) < sum(dual) else dual
            exact = exact and sum(dual) <= largest
        largest = max(largest, sum(dual, Fraction(0)))
        duals.append(tuple(dual))
    return SquaredSensitivity(largest, "dual", exact=exact, duals=tuple(duals))


def _diagonal_above(part: list[list[Fraction]]) -> list[Fraction]:
    """Return a diagonal of nearly the least sum with diag(y) - X positive definite."""
    x = np.array(part, dtype=np.float64)
    vectors = np.random.default_rng(0).normal(size=x.shape)
    for _ in range(_STEPS):
        for place in range(len(x)):
            along = x[place] @ vectors
            vectors[place] = along / max(float(np.linalg.norm(along)), 1e-300)
    y = np.linalg.norm(x @ vectors, axis=1)
    y += max(0.0, -float(np.linalg.eigvalsh(np.diag(y) - x)[0]))
    for room in _ROOM:
        raised = y + room * float(np.trace(x))
        dual = [Fraction(int(np.ceil(np.ldexp(one, _BITS))), 1 << _BITS) for one in raised]
        left = [
            [dual[i] * (i == j) - one for j, one in enumerate(row)] for i, row in enumerate(part)
        ]
        if triangular_factors(left) is not None:
            return dual
    return [sum(map(abs, row), Fraction(0)) for row in part]


def _row_maxima(gram: Rows, schedule: Schedule) -> SquaredSensitivity:
    """Return the largest sum over a pattern of the largest row sums of patterns through a round."""
    below = lcm(*(one.denominator for row in gram for one in row))
    sizes = [[abs(one.numerator) * (below // one.denominator) for one in row] for row in gram]
    rows = [_through(place, row, schedule) for place, row in enumerate(sizes)]
    total = max(_best(rows, schedule))
    return SquaredSensitivity(Fraction(total, below), "row-maxima", exact=False)


def _best(values: Sequence[int], schedule: Schedule) -> list[int]:
    """Return the largest sums of 0, 1, ... values, at least the separation apart."""
    apart, most = schedule.separation, schedule.participations
    best = [[0] * (most + 1)]
    for place, value in enumerate(values):
        before = best[max(0, place + 1 - apart)]
        last = best[-1]
        best.append([0, *(max(last[p], before[p - 1] + value) for p in range(1, most + 1))])
    return best[-1]


def _through(place: int, row: Sequence[int], schedule: Schedule) -> int:
    """Return the largest sum of a row over patterns that hold its round."""
    apart, most = schedule.separation, schedule.participations
    left = _best(row[: max(0, place - apart + 1)], schedule)
    right = _best(row[place + apart :], schedule)
    return row[place] + max(left[p] + right[most - 1 - p] for p in range(most))
