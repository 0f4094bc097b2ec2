"""The private batch perceptron for several classes, by Kesler's construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.batch_perceptron import Perceptron
from dpproof.mechanisms.learning.bounded_updates import Adding, Contributions
from dpproof.mechanisms.learning.grid import RECORD_BITS, STATE_BITS, unit_rows
from dpproof.mechanisms.learning.records import GridRecords, Matrix, class_numbers
from dpproof.mechanisms.parameters import named

MOST_CLASSES = 2**16


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class KeslerPerceptron(Perceptron[R]):
    """Learn one weight vector per class: a mistake pulls its class and pushes one rival.

    For a record of class y let r be the other class with the least normalised margin
    <w_y - w_r, x> / ||w_y - w_r|| (0 if the two are equal; the smallest index among ties). If it
    is at most ``margin``, the record contributes x to w_y and -x to w_r. All weight vectors
    together are one state, so ten classes cost one budget and not ten.

    Statement: one record moves the stacked sum of a step by at most sqrt(2) ``norm`` in Euclidean
        norm, twice that under replace-one, whatever was released before; both are attained.
    Source: Theorem A of proofs/theory/learners.md; the batch perceptron is Ghazi, Kumar,
        Manurangsi & Nguyen, arXiv:2011.14580, Algorithm 1; the construction is Kesler's (Duda &
        Hart 1973, section 5.12).

    Args:
        classes: k, from 2; labels are the class numbers 0 to k - 1.
        margin, steps, sigma, rate, norm, relation, stop, average, features, batch, iterates,
            margin_norm: as for ``BatchPerceptron``, with differences of two classes' weights.
    Outputs:
        A record with fields ``stopped``, ``steps``, ``weights`` of shape (k, features); if asked
        for also ``iterates`` of shape (steps, k, features).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or of an unknown class, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> learner = KeslerPerceptron(
        ...     classes=3, margin=0.1, steps=50, sigma=40, features=2, relation=AddRemove()
        ... )
        >>> round(float(learner.guarantee().mu), 6)
        0.25
        >>> learner.release([([0.6, 0.8], 2), ([-1.0, 0.0], 0)]).weights.shape
        (3, 2)
    """

    classes: int = field(
        converter=parameters.count,
        validator=parameters.within(2, MOST_CLASSES, f"at least 2 and at most {MOST_CLASSES}"),
    )

    def _squared_bound(self) -> int:
        """Return 2: a mistake contributes x to one class and -x to another."""
        return 2

    def _encode(self, labels: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class numbers that the labels are."""
        return class_numbers(labels, self.classes)

    def _contributions(self, records: GridRecords) -> Contributions:
        limit = float(self._relative_margin() * 2**RECORD_BITS)
        order = 1 if self.margin_norm == "linf" else 2
        return _Mistakes(records, self.classes, limit, order)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Mistakes(Contributions):
    """Records that a rival class wins, or nearly.

    Attributes:
        grid: the records.
        classes: the number of classes.
        limit: the margin in units of 2^-24.
        order: of the norm of differences of weights, 1 or 2.
    """

    grid: GridRecords
    classes: int
    limit: float
    order: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.classes, self.grid.vectors.shape[1])

    def at(self, states: NDArray[np.float64]) -> Adding:
        """Return what adds up the mistakes: a product for all scores, and one for the sums.

        Scores are exact integers. From there to the rival every operation acts on one record's
        numbers alone and rounds correctly.
        """
        runs = len(states)
        stacked = unit_rows(states.reshape(runs, -1), STATE_BITS)
        between = _distances(stacked.reshape(runs, self.classes, -1), self.order)
        directions = stacked.reshape(runs * self.classes, -1).T

        def add(
            vectors: Matrix, own: NDArray[np.int64], chosen: NDArray[np.bool_] | None
        ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
            each = np.arange(len(own))
            scores = (vectors @ directions).reshape(len(own), runs, self.classes)
            gaps = scores[each, :, own][:, :, np.newaxis] - scores
            lengths = between[:, own].swapaxes(0, 1)
            margins = np.divide(gaps, lengths, out=np.zeros_like(gaps), where=lengths > 0)
            margins[each, :, own] = np.inf
            rivals = margins.argmin(axis=2)
            mistakes = margins.min(axis=2) <= self.limit
            if chosen is not None:
                mistakes &= chosen.T
            signs = np.zeros(scores.shape)
            np.put_along_axis(signs, rivals[:, :, np.newaxis], -1.0, axis=2)
            signs[each, :, own] = 1.0
            signs *= mistakes[:, :, np.newaxis]
            return signs.reshape(len(own), directions.shape[1]).T @ vectors, mistakes.sum(axis=0)

        return add


def _distances(directions: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Return distances between the classes' weight vectors: shape (runs, classes, classes)."""
    return np.stack(
        [
            np.linalg.norm(directions - directions[:, [c]], ord=order, axis=2)
            for c in range(directions.shape[1])
        ],
        axis=1,
    )
