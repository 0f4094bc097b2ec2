"""A halfspace of the plane by the exponential mechanism on a circle of directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import signed
from dpproof.mechanisms.learning.maps.feature_map import cosine, sine
from dpproof.mechanisms.learning.records import STATE_BITS, GridRecords, Vectors, unit_rows
from dpproof.mechanisms.parameters import named
from experiments.mistake_exponential import MistakeExponential

_MOST_DIRECTIONS: Final = 2**20


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class CircleExponential(MistakeExponential[R]):
    """Pick a direction of the plane, those with few margin mistakes exponentially likely.

    The directions are the corners of a public regular polygon. A record (x, y) is a mistake of the
    direction w if y <w, x> <= margin; a direction is picked with probability proportional to
    e^(-epsilon mistakes), e^(-epsilon mistakes / 2) under replace-one. The records that are
    no mistakes of a direction are counted along the circle, so a pick takes time n log N + N.

    Statement: the numbers of mistakes move by at most 1 between neighbours, under add-remove and
        zero-out all in the same direction, so the pick is epsilon-bounded-range, hence epsilon-DP.
    Source: Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Theorem 5, in two dimensions. It
        picks from the whole sphere; the ends of its arcs are irrational, and as floats would tell
        of the data. In more dimensions the density would be drawn from by a Markov chain, whose
        law is not the theorem's: that is refused, and ``CandidateExponential`` is exact.
    Proof: what a record adds to the counts is 1 on one range of the circle and 0 elsewhere. The
        range is found by bisection from products that are exact integers, so it is a function of
        that record alone (Lemma 8 of proofs/theory/learners.md).

    Args:
        margin: at least 0, in data units; Theorem 5 takes 0.95 of the margin of the data.
        epsilon: of the pick, in nats.
        norm: rows are clipped to this Euclidean norm; None scales every row to norm 1.
        directions: N, corners of the polygon, even, from 4; some corner is within pi / N of every
            direction, and so has at most ``norm`` pi / N less margin.
        relation: the neighbouring relation.
    Outputs:
        A record with fields ``index`` and ``weights``, the corner of that index.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows
            of two features. A record that is not finite, or whose label is neither 1 nor -1,
            contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> pick = CircleExponential(margin=0.2, epsilon=50, relation=AddRemove())
        >>> up = pick.release([([0.3, 0.9], 1), ([-0.2, -0.9], -1), ([-0.3, 0.8], 1)]).weights
        >>> bool(up[1] > 0.4)
        True
    """

    directions: int = field(default=4096, converter=parameters.count)

    @directions.validator
    def _even(self, _parameter: object, directions: int) -> None:
        if directions % 2 or not 4 <= directions <= _MOST_DIRECTIONS:
            allowed = f"even, at least 4 and at most {_MOST_DIRECTIONS}"
            raise ParameterError("directions", directions, allowed)

    @property
    def features(self) -> int:
        """Return 2, the number of features in a plane."""
        return 2

    def _directions(self) -> NDArray[np.float64]:
        turns = (np.arange(self.directions) + 0.5) / self.directions - 0.5
        corners = np.column_stack([cosine(turns), sine(turns)])
        return unit_rows(corners, STATE_BITS) * 2.0**-STATE_BITS

    def _mistakes(self, records: GridRecords, limit: float) -> NDArray[np.int64]:
        corners = self._directions() * 2.0**STATE_BITS
        starts, lengths = _ranges(corners, signed(records), limit)
        return len(records) - _covered(starts, lengths, self.directions)


def _ranges(
    corners: Vectors, vectors: Vectors, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for every vector the range of corners whose product with it exceeds the limit.

    Corners turn from just above -1/2 turn to just below 1/2 turn. Seen from the vector, products
    fall on both sides over half a turn, so bisections find where they pass the limit; where
    rounding makes neighbouring corners of almost equal product change places, the range ends
    beside its place, which depends on the vector and the polygon alone.

    Returns:
        First corner of each range, and how many corners it has.
    """
    number = len(corners)
    half = number // 2
    x, y = vectors[:, 0], vectors[:, 1]
    first = np.where((y > 0) | ((y == 0) & (x < 0)), half, 0)

    def product(index: NDArray[np.int64]) -> Vectors:
        corner = corners[index % number]
        return np.asarray(corner[:, 0] * x + corner[:, 1] * y)

    def turned_to(index: NDArray[np.int64]) -> NDArray[np.bool_]:
        corner = corners[first + index]
        return np.asarray(corner[:, 0] * y - corner[:, 1] * x >= 0)

    peak = first + _bisected(turned_to, len(vectors), half)
    right = _bisected(lambda steps: product(peak + steps) > limit, len(vectors), half)
    left = _bisected(lambda steps: product(peak - 1 - steps) > limit, len(vectors), half)
    return (peak - left) % number, left + right


def _bisected(
    holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]], count: int, most: int
) -> NDArray[np.int64]:
    """Return for every vector how many of the steps below ``most`` hold before the first fails."""
    low, high = np.zeros(count, dtype=np.int64), np.full(count, most)
    while (low < high).any():
        middle = np.minimum((low + high) // 2, most - 1)
        going = holds(middle) & (low < high)
        low = np.where(going, middle + 1, low)
        high = np.where(going | (low >= high), high, middle)
    return low


def _covered(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], number: int
) -> NDArray[np.int64]:
    """Count the ranges that each corner of the circle is in."""
    ends = starts + lengths
    around = ends > number
    ends = np.where(around, ends - number, ends)
    changes = np.bincount(starts, minlength=number + 1) - np.bincount(ends, minlength=number + 1)
    return np.asarray(changes.cumsum()[:number] + around.sum())
