"""Multinomial logistic regression by noisy gradient steps, all classes in one chain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning import bounded_updates
from dpproof.mechanisms.learning.grid import RECORD_BITS, STATE_BITS, Integers, Vectors, unit_rows
from dpproof.mechanisms.learning.records import (
    SEVERAL_CLASSES,
    GridRecords,
    Matrix,
    class_numbers,
    is_sparse,
)

# Soundness: rows are integers of norm at most 2^16, coefficients at most 2^12 in size, so that a
# sum of 2^25 of their products stays below 2^53, exact in binary64 in any order.
_ROW_BITS: Final = 16
SHARE_BITS: Final = 12
_MOST_RECORDS: Final = 2**25
# Soundness: a sum of 2^16 powers of at most 2^34, times 2^12, fits an int64.
_POWER_BITS: Final = 34
_LARGEST: Final = Fraction(2**100)
# Smaller powers are 0. Taylor's series of 2^f, f in [0, 1), errs by less than 2^-22.
_LEAST_POWER: Final = -64.0
_SERIES: Final = [math.log(2) ** k / math.factorial(k) for k in range(9)]


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SoftmaxDescent(bounded_updates.StepLearner[R]):
    """Learn multinomial logistic regression by noisy gradient steps, all classes in one chain.

    Start from w = 0, one vector a class. In step t add up (e_y - p) x' over a sample, p the softmax
    of a record's scores, and N(0, sigma^2 I); subtract regulariser w and the mean over the classes;
    and move w by radius / (norm sqrt(t)) in that direction, whatever the number of records.

    Statement: one record moves the stacked sum of a step by at most sqrt(2) ``norm`` in Euclidean
        norm, twice that under replace-one, whatever was released before. The first is attained,
        and the second is approached by nearly opposite rows of one class.
    Source: Theorem A and Lemma 14 of proofs/theory/learners.md. It is DP-SGD (Abadi et al.,
        arXiv:1607.00133) on a loss whose gradients need no clipping, with sums in place of means.

    Args:
        classes: k, from 2; labels are the class numbers 0 to k - 1.
        radius: how far the first step goes, in units of 1 / norm.
        regulariser: weight of ||w||^2 / 2 in the sum of the losses; None is 0.
        steps, sigma, rate, norm, relation, features, batch: as for ``BatchPerceptron``.
        average: whether the weights are the mean of the last quarter of the states, or the last.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` and ``weights``, shape (k, features).
    Raises:
        ParameterError: as for ``BatchPerceptron``, or more than 2^25 records.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> given = {"steps": 50, "sigma": 40, "features": 2, "relation": AddRemove()}
        >>> learner = SoftmaxDescent(**given, classes=3)
        >>> round(float(learner.guarantee().mu), 6)
        0.25
        >>> learner.release([([0.6, 0.8], 2), ([-1.0, 0.0], 0)]).weights.shape
        (3, 2)
    """

    classes: int = field(converter=parameters.count, validator=SEVERAL_CLASSES)
    radius: Fraction = field(default=Fraction(16), converter=parameters.scale)
    regulariser: Fraction | None = field(default=None, converter=parameters.optional_scale)

    def __attrs_post_init__(self) -> None:
        # Soundness: the grid of a state that is not finite would not be exact.
        for name, value in (("radius", self.radius), ("norm", self._unit)):
            if not 1 / _LARGEST <= value <= _LARGEST:
                raise ParameterError(name, value, "in [2^-100, 2^100]")

    def sums(self) -> bounded_updates.NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        return replace(bounded_updates.StepLearner.sums(self), squared_bound=2, tail=4)

    def _encode(self, labels: Vectors) -> Integers:
        """Return the class numbers that the labels are."""
        return class_numbers(labels, self.classes)

    def _contributions(self, records: GridRecords) -> bounded_updates.Contributions:
        if records.total > _MOST_RECORDS:
            raise ParameterError("data", records.total, f"at most {_MOST_RECORDS} records")
        # The engine's states are w / norm, and the grid's rows x / norm.
        square = float(self._unit**2)
        pace, decay = float(self.radius) / square, float(self.regulariser or 0)
        return _Gradients(records, self.classes, square, pace, decay)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Gradients(bounded_updates.Contributions):
    """Gradients of the logistic losses, negated; ``square`` is the unit of a state times a row."""

    grid: GridRecords
    classes: int
    square: float
    pace: float
    decay: float

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.classes, self.grid.vectors.shape[1])

    def at(self, states: Vectors) -> bounded_updates.Adding:
        """Return what adds up gradients; scores of rows cut to norm 2^16 are exact integers."""
        # From there on every operation acts on one record's numbers alone and rounds correctly.
        runs = len(states)
        flat = states.reshape(runs, -1)
        directions = unit_rows(flat, STATE_BITS).reshape(runs * self.classes, -1).T
        lengths = np.linalg.norm(flat, axis=1)[:, np.newaxis]
        unit = self.square / math.log(2) * 2.0 ** -(_ROW_BITS + STATE_BITS)
        grain = 2.0 ** (RECORD_BITS - _ROW_BITS - SHARE_BITS)

        def add(
            vectors: Matrix, own: Integers, chosen: NDArray[np.bool_] | None
        ) -> tuple[Vectors, Integers]:
            each, scaled = np.arange(len(own)), vectors * 2.0 ** (_ROW_BITS - RECORD_BITS)
            rows = scaled.trunc() if is_sparse(scaled) else np.trunc(scaled)
            scores = (rows @ directions).reshape(len(own), runs, self.classes)
            gaps = scores - scores.max(axis=2, keepdims=True)
            shares = softmax(gaps * (lengths * unit))
            wrong = gaps[each, :, own] < 0
            coefficients = -shares.astype(np.float64)
            coefficients[each, :, own] += 2**SHARE_BITS
            if chosen is not None:
                coefficients *= chosen.T[:, :, np.newaxis]
                wrong = wrong & chosen.T
            sums = coefficients.reshape(len(own), directions.shape[1]).T @ rows
            return sums * grain, wrong.sum(axis=0)

        return add

    def advance(self, states: Vectors, noisy: Vectors, step: int) -> Vectors:
        """Move along the noisy gradient, by a length that depends on the step alone."""
        moves = noisy - self.decay * states
        moves -= moves.mean(axis=1, keepdims=True)
        largest = np.abs(moves).max(axis=(1, 2), keepdims=True)
        moves /= np.where(largest > 0, largest, 1.0)
        lengths = np.sqrt(np.square(moves).sum(axis=(1, 2), keepdims=True))
        pace = self.pace / math.sqrt(step + 1)
        return np.asarray(states + pace * moves / np.where(lengths > 0, lengths, 1.0))


def softmax(powers: Vectors) -> Integers:
    """Return the shares of 2^power in the sum along the last axis, in units of 2^-12.

    Powers are at most 0, the largest 0, along an axis of at most 2^16. The integers add up to 2^12,
    each within one unit of its share, and depend on their slice alone, bit for bit.

    Proof: products, sums and floors of one number each round correctly; the powers are integers
        from there on, and shares are differences of cumulated ones, rounded down in integers.
    """
    kept = np.maximum(powers, _LEAST_POWER)
    whole = np.floor(kept)
    fraction, series = kept - whole, np.full_like(kept, _SERIES[-1])
    for coefficient in reversed(_SERIES[:-1]):
        series = series * fraction + coefficient
    series = np.ldexp(series, whole.astype(np.int64) + _POWER_BITS)
    total = np.minimum(np.floor(series), 2.0**_POWER_BITS).astype(np.int64).cumsum(axis=-1)
    below = (total << SHARE_BITS) // total[..., -1:]
    return np.asarray(np.diff(below, axis=-1, prepend=0))
