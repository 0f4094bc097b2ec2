"""Losses of candidates in [0, 1], and the records that count, grouped by what they look like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import Withholding
from dpproof.accountant.readable import Readable
from dpproof.mechanisms.learning.halfspace import signs
from dpproof.mechanisms.learning.records import as_records
from dpproof.mechanisms.learning.separators.spaces import Cube, Grid, Integers, Space

# Larger features contribute nothing: margins stay exact. Soundness depends on it.
LARGEST: Final = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Patterns:
    """The distinct rows of the records that count, with the number of each label.

    Attributes:
        rows: distinct integer rows, shape (patterns, features).
        positive, negative: the numbers of records of each row with label +1, -1.
    """

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
        """Return the largest difference of one record's losses of two candidates, a place.

        That is, divided by the number of places in which their patterns differ.
        """
        return Fraction(1, space.distance)

    @abstractmethod
    def charge(
        self, margins: NDArray[Any], positive: Integers, negative: Integers, space: Space
    ) -> Integers:
        """Add up the losses, by the margin, of records with one row.

        Args:
            margins: of a candidate at the row, any shape.
            positive: the number of its records of label +1, of a shape that broadcasts to margins'.
            negative: the number of label -1.
            space: of the candidates.
        Returns:
            Exact totals, of the margins' shape.
        """

    def apart(self, sums: Integers, data: Patterns, space: Space) -> Integers:  # noqa: ARG002  # of other losses
        """Return the losses of candidates whatever their margins, by the sums of their levels."""
        return np.zeros(len(sums), dtype=np.int64)

    @final
    def losses(
        self, margins: NDArray[Any], sums: Integers, data: Patterns, space: Space
    ) -> Integers:
        """Add up the losses of candidates.

        Args:
            margins: shape (candidates, patterns).
            sums: of the levels of each candidate, shape (candidates,).
            data: the records.
            space: of the candidates.
        Returns:
            One exact total a candidate.
        """
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
    """Group the records by their rows.

    A record contributes nothing if its row is not as wide as the space, has a number that is no
    integer of size at most the largest, or its label is neither +1 nor -1.

    Raises:
        ParameterError: the data is not labelled rows.
    """
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
