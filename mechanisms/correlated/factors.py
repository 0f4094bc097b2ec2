"""Factors of matrix mechanisms, the rounds that a record takes part in, and the sensitivity."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import lcm
from typing import ClassVar, Final, TypeAlias, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import NotCertified, ParameterError, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.exact_matrices import triangular_factors
from dpproof.accountant.readable import Readable
from dpproof.mechanisms import parameters
from dpproof.proofs.limits import MAX_DENSE_ROUNDS, MAX_PATTERN_WORK, MAX_ROUNDS

Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]

BITS: Final = 60
"""Coefficients that are computed are rounded down to multiples of 2^-60, and exact then."""


class Factor(Readable, ABC):
    """A matrix of rounds: row by row, the sums of rounds that get independent noise."""

    __slots__ = ()

    kind: ClassVar[str]  # its name in certificates
    rounds: int  # the number of columns

    @abstractmethod
    def matrix(self) -> Rows:
        """Return all rows."""

    @property
    def listed(self) -> Rows:
        """Return the numbers by which a certificate names it, beside kind, rounds and bands."""
        return ()

    @property
    def bands(self) -> int:
        """Return how many rounds back the last non-zero coefficient is, and one more."""
        return self.rounds


class Triangular(Factor, ABC):
    """A square matrix that is zero above a diagonal without zeros."""

    __slots__ = ()

    @abstractmethod
    def newest_first(self, place: int) -> Sequence[Fraction]:
        """Return the coefficients of a row, that of its own round first."""


@final
@frozen(init=False)
class LowerTriangular(Triangular):
    """Any lower-triangular matrix of up to 64 rounds, by its rows.

    Example:
        >>> LowerTriangular([[1, 0], [0.5, 1]]).rounds
        2
    """

    kind: ClassVar[str] = "rows"
    rounds: int
    rows: Rows

    def __init__(self, rows: Sequence[Sequence[Number]]) -> None:
        exact = tuple(tuple(arguments.real(rows=one) for one in row) for row in rows)
        size = len(exact)
        square = 1 <= size <= MAX_DENSE_ROUNDS and all(len(row) == size for row in exact)
        if not square or any(not row[i] or any(row[i + 1 :]) for i, row in enumerate(exact)):
            allowed = (
                f"a lower-triangular matrix, up to {MAX_DENSE_ROUNDS} x {MAX_DENSE_ROUNDS}, "
                "without zeros on its diagonal"
            )
            hint = "Toeplitz(coefficients, rounds=) takes more rounds"
            raise ParameterError("rows", [list(map(float, row)) for row in exact], allowed, hint)
        self.__attrs_init__(size, exact)

    @property
    def bands(self) -> int:
        """Return the largest distance of an entry from the diagonal, and one more."""
        return max(i - j + 1 for i, row in enumerate(self.rows) for j, one in enumerate(row) if one)

    @property
    def listed(self) -> Rows:
        """Return the rows."""
        return self.rows

    def matrix(self) -> Rows:
        """Return the rows."""
        return self.rows

    def newest_first(self, place: int) -> Sequence[Fraction]:
        """Return the row up to its diagonal, reversed."""
        return self.rows[place][place::-1]


class ToeplitzFactor(Triangular, ABC):
    """A lower-triangular matrix whose entry depends on how many rounds back it looks."""

    __slots__ = ()

    coefficients: tuple[Fraction, ...]  # of the own round, of the one before, ...: as many as bands

    @property
    def bands(self) -> int:
        """Return the number of coefficients."""
        return len(self.coefficients)

    def newest_first(self, place: int) -> Sequence[Fraction]:
        """Return the coefficients, as many as there were rounds."""
        return self.coefficients[: place + 1]

    def matrix(self) -> Rows:
        """Return all rows."""
        none = (Fraction(0),)
        rows = (tuple(self.newest_first(place))[::-1] for place in range(self.rounds))
        return tuple(
            none * (place + 1 - len(row)) + row + none * (self.rounds - place - 1)
            for place, row in enumerate(rows)
        )


@final
@frozen(init=False)
class Toeplitz(ToeplitzFactor):
    """A lower-triangular Toeplitz matrix, banded if there are fewer coefficients than rounds.

    Example:
        >>> Toeplitz([1, 0.5], rounds=1000).bands
        2
    """

    kind: ClassVar[str] = "toeplitz"
    rounds: int
    coefficients: tuple[Fraction, ...]

    def __init__(self, coefficients: Sequence[Number], *, rounds: int) -> None:
        exact = [arguments.real(coefficients=one) for one in coefficients]
        size = _rounds(rounds)
        while exact and not exact[-1]:
            exact.pop()
        if not exact or not exact[0] or len(exact) > size:
            allowed = f"at most rounds = {size} numbers, the first of them not 0"
            raise ParameterError("coefficients", list(map(float, exact)), allowed)
        self.__attrs_init__(size, tuple(exact))

    @property
    def listed(self) -> Rows:
        """Return the coefficients."""
        return (self.coefficients,)


@final
@frozen(init=False)
class SquareRoot(ToeplitzFactor):
    """The square root of the matrix of prefix sums, or its first bands.

    Coefficients are binom(2j, j) / 4^j, rounded down to multiples of 2^-60.

    Source: Fichtenberger, Henzinger & Upadhyay, arXiv:2202.11205.

    Example:
        >>> [float(one) for one in SquareRoot(rounds=3).coefficients]
        [1.0, 0.5, 0.375]
    """

    kind: ClassVar[str] = "square-root"
    rounds: int
    coefficients: tuple[Fraction, ...]

    def __init__(self, *, rounds: int, bands: int | None = None) -> None:
        size = _rounds(rounds)
        kept = size if bands is None else _at_most("bands", bands, size)
        binomial, terms = 1, [1 << BITS]
        for j in range(1, kept):
            binomial = binomial * (2 * (2 * j - 1)) // j
            terms.append((binomial << BITS) >> (2 * j))
        self.__attrs_init__(size, tuple(Fraction(one, 1 << BITS) for one in terms))


@final
@frozen(init=False)
class BufferedToeplitz(ToeplitzFactor):
    """A Toeplitz matrix of few decaying buffers: 1, then sums of weight x decay^(j-1).

    Each buffer is rounded down to multiples of 2^-60 in every round.

    Source: Dvijotham et al., arXiv:2404.16706.

    Example:
        >>> factor = BufferedToeplitz(weights=[0.35, 0.15], decays=[0.95, 0.5], rounds=100)
        >>> round(float(factor.coefficients[2]), 4)
        0.4075
    """

    kind: ClassVar[str] = "buffered"
    rounds: int
    coefficients: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    decays: tuple[Fraction, ...]

    def __init__(self, *, weights: Sequence[Number], decays: Sequence[Number], rounds: int) -> None:
        size = _rounds(rounds)
        exact = tuple(arguments.positive(weights=one) for one in weights)
        rates = tuple(arguments.open_probability(decays=one) for one in decays)
        if not exact or len(exact) != len(rates):
            raise ParameterError("decays", list(map(float, rates)), "one for each weight")
        buffers = [math.floor(one * (1 << BITS)) for one in exact]
        terms = [1 << BITS]
        for _ in range(1, size):
            terms.append(sum(buffers))
            buffers = [
                one * rate.numerator // rate.denominator
                for one, rate in zip(buffers, rates, strict=True)
            ]
        coefficients = tuple(Fraction(one, 1 << BITS) for one in terms)
        self.__attrs_init__(size, coefficients, exact, rates)

    @property
    def listed(self) -> Rows:
        """Return weights and decays."""
        return self.weights, self.decays


@final
@frozen(init=False)
class Tree(Factor):
    """Sums over all complete nodes of a binary tree, whose leaves are the rounds.

    Source: Dwork, Naor, Pitassi & Rothblum, STOC 2010; Chan, Shi & Song, ICALP 2010.

    Example:
        >>> len(Tree(rounds=8).matrix())
        15
    """

    kind: ClassVar[str] = "tree"
    rounds: int

    def __init__(self, *, rounds: int) -> None:
        self.__attrs_init__(_rounds(rounds))

    def matrix(self) -> Rows:
        """Return a row of zeros and ones for each complete node."""
        size = self.rounds
        return tuple(
            tuple(Fraction(round_ >> level == node) for round_ in range(size))
            for level in range(size.bit_length())
            for node in range(size >> level)
        )


def _rounds(rounds: int) -> int:
    return _at_most("rounds", rounds, MAX_ROUNDS)


def _at_most(name: str, value: int, most: int) -> int:
    whole = arguments.count(**{name: value})
    if whole > most:
        raise ParameterError(name, whole, f"at most {most}")
    return whole


Pattern: TypeAlias = tuple[int, ...]


@final
@frozen
class Schedule:
    """What a participation allows in a number of rounds."""

    rounds: int  # their number
    separation: int  # two rounds of a record are at least so far apart
    participations: int  # a record takes part in at most so many
    fixed: bool  # whether they are a multiple of it apart

    def patterns(self) -> Iterator[Pattern]:
        """Yield sets of rounds, counted from 0, of which every allowed one is a subset."""
        if self.fixed:
            for first in range(self.separation):
                yield tuple(range(first, self.rounds, self.separation))
            return
        stack: list[Pattern] = [(place,) for place in reversed(range(self.rounds))]
        while stack:
            pattern = stack.pop()
            after = range(pattern[-1] + self.separation, self.rounds)
            if len(pattern) == self.participations or not after:
                yield pattern
            else:
                stack.extend((*pattern, place) for place in reversed(after))

    def words(self) -> str:
        """Return it for people."""
        often = "1 round" if self.participations == 1 else f"{self.participations} rounds"
        if self.participations == 1:
            return often
        apart = "a multiple of" if self.fixed else "at least"
        return f"{often} {apart} {self.separation} apart"


class Participation(Readable, ABC):
    """Which rounds one record can take part in."""

    __slots__ = ()

    @abstractmethod
    def within(self, rounds: int) -> Schedule:
        """Return what it allows in so many rounds; refuse a number that does not fit."""


@final
@frozen
class SingleParticipation(Participation):
    """A record takes part in one round at most."""

    def within(self, rounds: int) -> Schedule:
        """Return that."""
        return Schedule(rounds, rounds, 1, fixed=False)


@final
@frozen(field_transformer=parameters.named)
class FixedEpochs(Participation):
    """A record takes part once in every epoch, always in the same batch, or in fewer epochs.

    Example:
        >>> list(FixedEpochs(2).within(6).patterns())
        [(0, 3), (1, 4), (2, 5)]
    """

    epochs: int = field(converter=parameters.count)

    def within(self, rounds: int) -> Schedule:
        """Return rounds that are an epoch apart."""
        if rounds % self.epochs:
            hint = "MinSeparation(rounds) takes epochs that end within a batch"
            raise ParameterError("epochs", self.epochs, f"a divisor of rounds = {rounds}", hint)
        return Schedule(rounds, rounds // self.epochs, self.epochs, fixed=True)


@final
@frozen(field_transformer=parameters.named)
class MinSeparation(Participation):
    """A record takes part in rounds that are at least ``rounds`` apart.

    Example:
        >>> list(MinSeparation(3).within(5).patterns())
        [(0, 3), (0, 4), (1, 4), (2,), (3,), (4,)]
    """

    rounds: int = field(converter=parameters.count)
    participations: int | None = field(
        default=None, kw_only=True, converter=parameters.optional_count
    )

    def within(self, rounds: int) -> Schedule:
        """Return as many participations as fit, or are allowed."""
        separation = min(self.rounds, rounds)
        most = -(-rounds // separation)
        allowed = most if self.participations is None else min(self.participations, most)
        return Schedule(rounds, separation, allowed, fixed=False)


PARTICIPATIONS: Final = "SingleParticipation(), FixedEpochs(epochs) or MinSeparation(rounds)"


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
    """Return the least bound of the square of the largest norm of C applied to contributions."""
    # X_ij = <column i, column j>: the largest sum of X_ij <v_i, v_j> over patterns and vectors of
    # norm 1; where X has negative entries no choice of signs bounds it (proofs/theory/matrix.md).
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
    """Return the largest sum of a diagonal above X, pattern by pattern."""
    # Row sums of absolute values are such a diagonal, and the least one where X >= 0.
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
