"""Records on the wrong side of a halfspace, or too near its border: their sum, exactly."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpproof.mechanisms.learning.bounded_updates import Adding, Contributions
from dpproof.mechanisms.learning.grid import PRODUCT_BITS, STATE_BITS, Vectors, unit_rows
from dpproof.mechanisms.learning.records import GridRecords, Matrix, is_sparse

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


def signed(records: GridRecords) -> Matrix:
    """Return the products y x of labels and rows; those of an array take its place."""
    signs = 2.0 * records.classes - 1.0
    if is_sparse(records.vectors):
        diagonal: Matrix = sparse.diags_array(signs, format="csr")
        return diagonal @ records.vectors
    return np.multiply(
        records.vectors, signs[:, np.newaxis], out=records.vectors, casting="same_kind"
    )


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
        grid: the records, classes 1 and 0 for the labels 1 and -1.
        limits: from states to limits, in units of 2^-52, in which products are integers.
        update: the next states.
    """

    grid: GridRecords
    limits: Limits
    update: Update

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one weight per feature."""
        return (int(self.grid.vectors.shape[1]),)

    def at(self, states: Vectors) -> Adding:
        """Return what adds up the mistakes: one product finds them, one adds them, both exact."""
        directions, limits = unit_rows(states, STATE_BITS), self.limits(states)[:, np.newaxis]

        def add(
            vectors: Matrix, classes: NDArray[np.int64], chosen: NDArray[np.bool_] | None
        ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
            signs = 2.0 * classes - 1.0
            mistakes = (directions @ vectors.T) * signs <= limits
            if chosen is not None:
                mistakes &= chosen
            return (mistakes * signs) @ vectors, mistakes.sum(axis=1)

        return add

    def advance(self, states: Vectors, noisy: Vectors, step: int) -> Vectors:
        """Return the next states by the update that the learner was given."""
        del step
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

    return HalfspaceMistakes(records, limits, operator.add)


def mistakes_within(records: GridRecords, limit: float) -> HalfspaceMistakes:
    """Return the mistakes of the perceptron's rule: y <w / ||w||, x> at most a constant.

    Args:
        records: on the grid, classes 1 and 0 for the labels 1 and -1.
        limit: an integer, in units of 2^-52 of the norm bound.
    """
    return HalfspaceMistakes(records, lambda states: np.full(len(states), limit), operator.add)
