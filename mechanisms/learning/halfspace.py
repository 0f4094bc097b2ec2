"""Records on the wrong side of a halfspace, or too near its border: their sum, exactly."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.learning.bounded_updates import Contributions, Totals
from dpproof.mechanisms.learning.grid import PRODUCT_BITS, STATE_BITS, Vectors, unit_rows
from dpproof.mechanisms.learning.records import GridRecords

# From states of shape (runs, features) to one number each, shape (runs,).
Limits = Callable[[Vectors], NDArray[np.float64]]
# From states and noisy sums of one step to the next states.
Update = Callable[[Vectors, Vectors], Vectors]


def signs(labels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return class 1 for the label 1, class 0 for the label -1, and -1 for every other label.

    Example:
        >>> signs(np.array([1.0, -1.0, 0.5])).tolist()
        [1, 0, -1]
    """
    return np.where(labels == 1, 1, np.where(labels == -1, 0, -1))


def signed(records: GridRecords) -> Vectors:
    """Return the products y x of labels and rows."""
    return records.vectors * (2.0 * records.classes[:, np.newaxis] - 1.0)


def hinge_limits(threshold: float) -> Limits:
    """Return limits such that a record is a mistake if and only if y <w, x> < threshold.

    This holds up to rounding.

    Args:
        threshold: above 0, where states and rows are in units whose product is 1.
    """

    def limits(states: Vectors) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", over="ignore"):
            reach = threshold / np.linalg.norm(states, axis=1)
        return np.asarray(np.ceil(np.minimum(reach, 2.0) * 2.0**PRODUCT_BITS) - 1)

    return limits


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HalfspaceMistakes(Contributions):
    """Contributions y x of the records of which y <w / ||w||, x> is at most a limit of the state.

    Attributes:
        signed: y x on the grid, shape (records, features).
        limits: from states to limits, in units of 2^-52, in which products are integers.
        update: the next states.
    """

    signed: Vectors
    limits: Limits
    update: Update

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self.signed)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one weight per feature."""
        return (self.signed.shape[1],)

    def totals(self, states: Vectors, chosen: NDArray[np.bool_] | None) -> Totals:
        """Add up the mistakes: one matrix product finds them, one adds them, both exact."""
        products = unit_rows(states, STATE_BITS) @ self.signed.T
        mistakes = products <= self.limits(states)[:, np.newaxis]
        if chosen is not None:
            mistakes &= chosen
        return Totals(mistakes.astype(np.float64) @ self.signed, mistakes.sum(axis=1))

    def advance(self, states: Vectors, noisy: Vectors) -> Vectors:
        """Return the next states by the update that the learner was given."""
        return self.update(states, noisy)


def mistakes_of_coordinates(records: GridRecords, margin: float) -> HalfspaceMistakes:
    """Return the mistakes if every coordinate may move by a margin: y <w, x> <= margin ||w||_1.

    Args:
        records: on the grid, classes 1 and 0 for the labels 1 and -1.
        margin: in units of the norm bound.
    """

    def limits(states: Vectors) -> NDArray[np.float64]:
        lengths = np.linalg.norm(states, axis=1)
        ratios = np.linalg.norm(states, ord=1, axis=1) / np.where(lengths > 0, lengths, 1.0)
        return np.asarray(np.floor(np.minimum(margin * ratios, 2.0) * 2.0**PRODUCT_BITS))

    return HalfspaceMistakes(signed(records), limits, operator.add)


def mistakes_within(records: GridRecords, limit: float) -> HalfspaceMistakes:
    """Return the mistakes of the perceptron's rule: y <w / ||w||, x> at most a constant.

    Args:
        records: on the grid, classes 1 and 0 for the labels 1 and -1.
        limit: an integer, in units of 2^-52 of the norm bound.
    """
    return HalfspaceMistakes(
        signed(records), lambda states: np.full(len(states), limit), operator.add
    )
