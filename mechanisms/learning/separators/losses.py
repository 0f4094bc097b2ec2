"""Losses of candidates in [0, 1], and the records that count, grouped by what they look like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from mechanisms.learning.halfspace import signs
from mechanisms.learning.records import as_records
from mechanisms.learning.separators.spaces import Integers, Space

# Larger features contribute nothing: margins stay exact. Soundness depends on it.
_LARGEST: Final = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The distinct rows of the records that count, with the number of each label.

    Attributes:
        rows: distinct integer rows, shape (patterns, features).
        positive, negative: how many records of each row have label +1, -1.
    """

    rows: Integers
    positive: Integers
    negative: Integers


class Loss(ABC):
    """A loss in [0, 1] of a candidate at a record, integer-valued."""

    __slots__ = ()

    @abstractmethod
    def charge(
        self, margins: NDArray[Any], positive: Integers, negative: Integers, space: Space
    ) -> Integers:
        """Add up the losses, by the margin, of records with one row.

        Args:
            margins: of a candidate at the row, any shape.
            positive: how many records of label +1 have it, a shape that broadcasts with margins'.
            negative: how many of label -1.
            space: of the candidates.
        Returns:
            Exact totals, of the margins' shape.
        """

    def apart(self, sums: Integers, data: Patterns, space: Space) -> Integers:  # noqa: ARG002  # of other losses
        """What candidates lose whatever their margins, by the sums of their levels."""
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
        """Positive records where -1 is predicted, negative ones where +1 is."""
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
        """Nothing: margins do not matter."""
        return np.zeros(margins.shape, dtype=np.int64)

    def apart(self, sums: Integers, data: Patterns, space: Space) -> Integers:
        """The number of records of one of both labels."""
        low, high = space.levels[0], space.levels[-1]
        odd = (sums - low * space.coordinates) // (high - low) % 2 == 1
        return np.asarray(np.where(odd, data.positive.sum(), data.negative.sum()))


def patterns(data: object, features: int) -> Patterns:
    """Group the records by their rows.

    A record contributes nothing if its row is not as wide as the space, has a number that is no
    integer of size at most 2^20, or its label is neither +1 nor -1.

    Raises:
        ParameterError: the data is not labelled rows.
    """
    records = as_records(data, features)
    kinds = signs(records.labels)
    if records.rows.shape[1] != features:
        kinds = np.full(len(kinds), -1)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(records.rows) <= _LARGEST) & (records.rows == np.trunc(records.rows))
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
