"""Factors of matrix mechanisms: which sums of rounds get independent noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar, Final, TypeAlias, final

from attrs import field, frozen

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable
from dpproof.mechanisms import parameters
from dpproof.mechanisms.parameters import named
from dpproof.proofs.limits import MAX_DENSE_ROUNDS, MAX_ROUNDS

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
            raise ParameterError(
                "rows",
                [list(map(float, row)) for row in exact],
                f"a lower-triangular matrix, up to {MAX_DENSE_ROUNDS} x {MAX_DENSE_ROUNDS}, "
                "without zeros on its diagonal",
                "Toeplitz(coefficients, rounds=) takes more rounds",
            )
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
            raise ParameterError(
                "coefficients",
                list(map(float, exact)),
                f"at most rounds = {size} numbers, the first of them not 0",
            )
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
@frozen(field_transformer=named)
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
            raise ParameterError(
                "epochs",
                self.epochs,
                f"a divisor of rounds = {rounds}",
                "MinSeparation(rounds) takes epochs that end within a batch",
            )
        return Schedule(rounds, rounds // self.epochs, self.epochs, fixed=True)


@final
@frozen(field_transformer=named)
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
