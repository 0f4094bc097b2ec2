"""Finite spaces of candidates with separating features, one class a space, and their losses.

A candidate is a vector of levels, one a coordinate. Its pattern has one place for every coordinate
and every level but the lowest: 1 if the coordinate is at least at that level.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments as check
from dpproof.accountant.form import Withholding
from dpproof.accountant.readable import Readable
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import signs
from dpproof.mechanisms.learning.records import Integers, as_records

# Coordinates and levels are few enough for every margin to be exact. Soundness depends on it.
WIDEST: Final = 2**12
_HIGHEST: Final = 2**10


def _width(value: int, name: str = "dimension") -> int:
    """Keep a number of coordinates."""
    number = check.count(**{name: value})
    if number > WIDEST:
        raise ParameterError(name, value, f"at most {WIDEST}")
    return number


class Space(Withholding, Readable, ABC):
    """Candidates as vectors of levels; what one predicts is decided by an integer margin."""

    __slots__ = ()
    distance: ClassVar[int] = 1
    """The least number of places in which the patterns of two candidates differ."""
    threshold: ClassVar[int | None] = 1
    """The least margin that predicts +1; None if margins decide otherwise."""

    @property
    def coordinates(self) -> int:
        """Return the number of coordinates of a candidate, and of features of a record."""
        kind: Any = type(self)
        return int(getattr(self, attrs.fields(kind)[0].name))

    @property
    @abstractmethod
    def levels(self) -> tuple[int, ...]:
        """Return the values of one coordinate, increasing."""

    @property
    def size(self) -> int:
        """Return the number of candidates."""
        return int(len(self.levels) ** self.coordinates)

    @property
    @final
    def gap(self) -> int:
        """Return the distance of two levels that follow each other; all are equally far apart."""
        return self.levels[1] - self.levels[0]

    @property
    @final
    def separators(self) -> int:
        """Return the number of places of a pattern."""
        return self.coordinates * (len(self.levels) - 1)

    @property
    def total(self) -> int | None:
        """Return the sum of the coordinates of a candidate, if that is fixed; else None."""
        return None

    @final
    def admits(self, sums: Integers) -> NDArray[np.bool_] | None:
        """Return which vectors are candidates, by the sums of their coordinates; None for all."""
        return None if self.total is None else np.asarray(sums == self.total)

    def weights(self, rows: Integers) -> Integers:
        """Return the weights of a candidate's coordinates in the margin of each row."""
        return rows

    def positive(self, margins: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether a candidate predicts +1, by its margin; integers leave no dead zone."""
        return np.asarray(margins >= self.threshold)


@final
@frozen(repr=False, field_transformer=parameters.named)
class Cube(Space):
    """Halfspaces with weights -1 and +1: predict +1 if <w, x> >= 1.

    Args:
        dimension: the number of weights, from 1 to 4096.
    Example:
        >>> Cube(3).size, Cube(3).separators
        (8, 3)
    """

    levels = (-1, 1)

    dimension: int = field(converter=_width)


@final
@frozen(repr=False, field_transformer=parameters.named)
class Grid(Space):
    """Halfspaces with integer weights from -bound to bound: predict +1 if <w, x> >= 1.

    Args:
        dimension: the number of weights, from 1 to 4096.
        bound: the largest weight, from 1 to 1024.
    Example:
        >>> Grid(2, 1).size, Grid(2, 1).separators
        (9, 4)
    """

    dimension: int = field(converter=_width)
    bound: int = field(
        converter=parameters.count, validator=parameters.within(1, _HIGHEST, f"at most {_HIGHEST}")
    )

    @property
    def levels(self) -> tuple[int, ...]:
        """Return all integers up to the bound."""
        return tuple(range(-self.bound, self.bound + 1))


@final
@frozen(repr=False, field_transformer=parameters.named)
class Conjunctions(Space):
    """Conjunctions of binary features: predict +1 if every chosen feature is 1.

    Args:
        literals: the number of features, from 1 to 4096; give negations as features of their own.
    Example:
        >>> Conjunctions(5).size
        32
    """

    levels = (0, 1)  # left out, or chosen
    threshold = 0  # no chosen feature is missing

    literals: int = field(converter=_width)

    def weights(self, rows: Integers) -> Integers:
        """Return minus 1 for every feature that is not 1: the price of choosing it."""
        return np.asarray(-(rows != 1).astype(np.int64))


@final
@frozen(repr=False, field_transformer=parameters.named)
class Parities(Space):
    """Parities of binary features: predict +1 if the sum of the chosen features is odd.

    Args:
        bits: the number of features, from 1 to 4096.
    Example:
        >>> Parities(4).separators
        4
    """

    levels = (0, 1)  # left out, or chosen
    threshold = None  # the parity of the margin decides

    bits: int = field(converter=_width)

    def weights(self, rows: Integers) -> Integers:
        """Return the features modulo 2, so that margins stay small."""
        return np.asarray(rows % 2)

    def positive(self, margins: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether the sum is odd."""
        return np.asarray(margins % 2 == 1)


@final
@frozen(repr=False, field_transformer=parameters.named)
class Subsets(Space):
    """Disjunctions of exactly k binary features: predict +1 if a chosen feature is 1.

    Args:
        features: their number, from 1 to 4096.
        chosen: k, from 1 to features.
    Example:
        >>> Subsets(6, 2).size, Subsets(6, 2).distance
        (15, 2)
    """

    levels = (0, 1)  # left out, or chosen
    distance = 2  # sets of equal size differ by an element on either side

    features: int = field(converter=_width)
    chosen: int = field(converter=parameters.count)

    @chosen.validator
    def _is_among_them(self, _parameter: object, number: int) -> None:
        if number > self.features:
            raise ParameterError("chosen", number, f"at most {self.features}")

    @property
    def size(self) -> int:
        """Return the binomial coefficient."""
        return math.comb(self.features, self.chosen)

    @property
    def total(self) -> int:
        """Return k, the number of chosen features."""
        return self.chosen

    def weights(self, rows: Integers) -> Integers:
        """Return 1 for a feature that is 1."""
        return np.asarray((rows == 1).astype(np.int64))


# Larger features contribute nothing: margins stay exact. Soundness depends on it.
LARGEST: Final = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Patterns:
    """The distinct integer rows of the records that count, with the number of each label."""

    rows: Integers
    positive: Integers
    negative: Integers


class Loss(Withholding, Readable, ABC):
    """A loss of a candidate at a record, an integer from 0 on; in [0, 1] unless said otherwise."""

    __slots__ = ()

    @property
    def largest_feature(self) -> int:
        """Return the largest feature of a record that contributes."""
        return LARGEST

    def most(self, space: Space) -> int:  # noqa: ARG002  # of other losses
        """Return the largest loss of a candidate of the space at a record."""
        return 1

    def steepness(self, space: Space) -> Fraction:
        """Return how far one record's losses of two candidates differ at most, a place of both."""
        return Fraction(1, space.distance)

    @abstractmethod
    def charge(
        self, margins: NDArray[Any], positive: Integers, negative: Integers, space: Space
    ) -> Integers:
        """Add up the losses by margins, for numbers of records of each label of their shape."""

    def apart(self, sums: Integers, data: Patterns, space: Space) -> Integers:  # noqa: ARG002  # of other losses
        """Return the losses of candidates whatever their margins, by the sums of their levels."""
        return np.zeros(len(sums), dtype=np.int64)

    @final
    def losses(
        self, margins: NDArray[Any], sums: Integers, data: Patterns, space: Space
    ) -> Integers:
        """Add up exact losses by margins, (candidates, patterns), and sums of levels."""
        rows = self.charge(margins, data.positive, data.negative, space).sum(axis=1)
        return np.asarray(rows + self.apart(sums, data, space))


@final
@dataclass(frozen=True, slots=True)
class ZeroOne(Loss):
    """The number of records whose label is not predicted.

    Example:
        >>> ZeroOne() == ZeroOne()
        True
    """

    def charge(
        self, margins: NDArray[Any], positive: Integers, negative: Integers, space: Space
    ) -> Integers:
        """Count positive records where -1 is predicted, negative ones where +1 is."""
        return np.where(space.positive(margins), negative, positive)


@final
@dataclass(frozen=True, slots=True)
class ParityLoss(Loss):
    """A loss of the candidate alone: 1 if an odd number of coordinates is at the higher level.

    A record of label +1 has this loss, one of label -1 has 1 minus it. It refutes published claims
    about Gaussian noise on separators (docs/CLAIMS.md); features do not matter.

    Example:
        >>> ParityLoss() == ParityLoss()
        True
    """

    def charge(
        self,
        margins: NDArray[Any],
        positive: Integers,  # noqa: ARG002  # of other losses
        negative: Integers,  # noqa: ARG002
        space: Space,  # noqa: ARG002
    ) -> Integers:
        """Return zeros: margins do not matter."""
        return np.zeros(margins.shape, dtype=np.int64)

    def apart(self, sums: Integers, data: Patterns, space: Space) -> Integers:
        """Return the number of records of one of both labels."""
        low, high = space.levels[0], space.levels[-1]
        odd = (sums - low * space.coordinates) // (high - low) % 2 == 1
        return np.asarray(np.where(odd, data.positive.sum(), data.negative.sum()))


@final
@dataclass(frozen=True, slots=True)
class HingeLoss(Loss):
    """The hinge loss max(0, 1 - y <w, x>) of halfspaces with integer weights; it is convex.

    Args:
        bound: the largest feature; a record with a larger one contributes nothing. Losses of two
            candidates differ by at most bound ||w - u||_1, however large they are.
    Raises:
        ParameterError: bound is not an integer from 1 to 2^20; on use, a space other than ``Cube``
            and ``Grid``.
    Example:
        >>> from dpproof.mechanisms import Grid
        >>> HingeLoss(bound=3).most(Grid(2, 1))
        7
    """

    bound: int = 1

    def __post_init__(self) -> None:
        """Refuse other bounds."""
        whole = check.count(bound=self.bound)
        if whole > LARGEST:
            raise ParameterError("bound", self.bound, f"at most {LARGEST}")
        object.__setattr__(self, "bound", whole)

    @property
    def largest_feature(self) -> int:
        """Return the bound of a feature."""
        return self.bound

    def most(self, space: Space) -> int:
        """Return 1 + bound max ||w||_1."""
        return 1 + self.bound * space.coordinates * max(map(abs, space.levels))

    def steepness(self, space: Space) -> Fraction:
        """Return the bound times the gap, as ||w - u||_1 is the number of places times the gap."""
        if not isinstance(space, Cube | Grid):
            raise ParameterError("space", space, "Cube or Grid, with HingeLoss")
        return Fraction(self.bound * space.gap)

    def charge(
        self,
        margins: NDArray[Any],
        positive: Integers,
        negative: Integers,
        space: Space,  # noqa: ARG002  # of other losses
    ) -> Integers:
        """Add up the shortfalls of the margin below 1, or above -1."""
        below, above = np.maximum(1 - margins, 0), np.maximum(1 + margins, 0)
        return np.asarray(positive * below + negative * above)


def patterns(data: object, features: int, largest: int = LARGEST) -> Patterns:
    """Group the records by their rows, without those that contribute nothing."""
    # These are of another width, with no integer up to the largest, or a label that is not +1 or
    # -1.
    records = as_records(data, features)
    kinds = signs(records.labels)
    if records.rows.shape[1] != features:
        kinds = np.full(len(kinds), -1)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(records.rows) <= largest) & (records.rows == np.trunc(records.rows))
    counted = whole.all(axis=1) & (kinds >= 0)
    rows = records.rows[counted].astype(np.int64).reshape(-1, records.rows.shape[1])
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    size, label = len(distinct), kinds[counted] == 1
    place = place.reshape(-1)
    return Patterns(
        distinct,
        np.bincount(place[label], minlength=size).astype(np.int64),
        np.bincount(place[~label], minlength=size).astype(np.int64),
    )
