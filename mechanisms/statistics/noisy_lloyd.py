"""Clusters by Lloyd's iteration on noisy means, for k-means."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.post_processing import post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.class_means import ClassMeans, members
from dpproof.mechanisms.learning.grid import PRODUCT_BITS, STATE_BITS, Vectors, clipped_rows
from dpproof.mechanisms.learning.kesler_perceptron import MOST_CLASSES
from dpproof.mechanisms.learning.records import GridRecords
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.statistics.clipped_column import rows_on_grid

Centres: TypeAlias = tuple[tuple[float, ...], ...]

# A cluster whose noisy number of rows is below so many standard deviations of its noise starts
# again, so far from the largest one in each coordinate, in units of the norm bound.
_FEW: Final = 3.0
_ASIDE: Final = 0.05
_AT_ONCE: Final = 1 << 20  # Numbers in memory for the runs that are made together.


def _start(centres: ArrayLike, _name: str = "value") -> Centres:
    """Return centres as a value: finite rows of one width."""
    allowed = f"finite numbers of shape (k, features), k from 1 to {MOST_CLASSES}"
    try:
        array = np.asarray(centres, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("centres", centres, allowed) from None
    if array.ndim != 2 or not 1 <= len(array) <= MOST_CLASSES or array.shape[1] < 1:
        raise ParameterError("centres", array.shape, allowed)
    if not np.isfinite(array).all():
        raise ParameterError("centres", "nan or infinity", allowed)
    return tuple(map(tuple, array.tolist()))


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class NoisyLloyd(Mechanism[R]):
    """Move each of k centres to the noisy mean of the rows that are nearest to it, again and again.

    Every step is one release of ``ClassMeans``, the class of a row being its nearest centre, which
    is a function of the row and of what was released before. The nearest centre is found in exact
    integers. A cluster that seems to hold hardly any rows starts again beside the largest one.

    Statement: the steps are an adaptive composition of Gaussian releases of one sensitivity, that
        of ``ClassMeans``: mu-GDP with mu = sqrt(steps) sensitivity / sigma.
    Assumes: one shape; random bits; output alone.
    Source: proofs/theory/learners.md, Lemmas 6 and 13; Dong, Roth & Su, arXiv:1905.02383, Corollary
        3.3; the algorithm is Blum, Dwork, McSherry & Nissim's (PODS 2005, section 3).

    Args:
        centres: the first centres, shape (k, features): public, chosen without looking
            at the data. They are shortened to ``norm``.
        steps: the number of moves of the centres, fixed in advance.
        sigma: standard deviation of the noise on the sums, in data units.
        count_sigma: standard deviation of the noise on the counts, in records; by default sigma /
            norm.
        norm: rows are clipped to this Euclidean norm, a public bound.
        relation: the neighbouring relation.
    Outputs:
        A record with fields ``centres``, shape (k, features), of norm at most ``norm``, and
        ``counts``, shape (k,): noisy numbers of rows in the last step.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not rows as wide as
            the centres. A row that is not finite, or zero, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> learner = NoisyLloyd(
        ...     centres=[[1, 0], [0, 1]], steps=4, sigma=20, relation=AddRemove()
        ... )
        >>> round(float(learner.guarantee().mu), 6)
        0.141421
        >>> learner.release([[0.9, 0.1], [0.2, 0.8]]).centres.shape
        (2, 2)
    """

    whole = ""

    centres: Centres = field(converter=_start)
    steps: int = field(converter=parameters.count)
    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction = field(default=Fraction(1), converter=parameters.scale)
    count_sigma: Fraction = field(converter=parameters.scale)
    relation: R = field(validator=parameters.neighbours)

    @count_sigma.default
    def _alike(self) -> Fraction:
        return self.sigma / self.norm

    def __attrs_post_init__(self) -> None:
        self._step()

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP with mu = sqrt(steps) sensitivity / sigma."""
        steps = self._step().repeat(self.steps).guarantee()
        return post_process(steps, description="Lloyd's rule for the next centres")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        features = len(self.centres[0])
        read = functools.partial(rows_on_grid, norm=float(self.norm), features=features)
        shape = (len(self.centres), features)
        fields = [("centres", np.float64, shape), ("counts", np.float64, shape[:1])]
        outputs = np.recarray((len(datasets), count), dtype=fields)
        for place, data in enumerate(datasets):
            rows = (
                data.map(read)
                if isinstance(data, Blocks) and data.records is None
                else Blocks([read(data)])
            )
            for start in range(
                0, count, size := max(1, _AT_ONCE // (len(self.centres) * features))
            ):
                some = outputs[place, start : start + size]
                some["centres"], some["counts"] = self._runs(rows, len(some), rng)
        return np.asarray(outputs)

    def _runs(self, rows: Blocks, runs: int, rng: Rng) -> tuple[Vectors, Vectors]:
        """Make all steps of some runs, each with its own noise; return last centres and counts."""
        step, unit, number = self._step(), float(self.norm), len(self.centres)
        first = clipped_rows(np.array(self.centres), unit, STATE_BITS)
        centres, counts = np.tile(first, (runs, 1, 1)), np.zeros((runs, number))
        public = np.random.default_rng(0)
        for _ in range(self.steps):
            _, sums, numbers = rows.sum(functools.partial(_members, centres, step.classes))
            means, counts = step.released(sums, numbers, rng)
            means, counts = means[:, :number] / unit, counts[:, :number]
            many = counts >= _FEW * float(self.count_sigma)
            largest = means[np.arange(runs), counts.argmax(axis=1)][:, np.newaxis]
            beside = largest + _ASIDE * public.normal(size=first.shape)
            moved = np.where(many[..., np.newaxis], means, beside)
            flat = clipped_rows(moved.reshape(-1, first.shape[1]), 1.0, STATE_BITS)
            centres = flat.reshape(centres.shape)
        return centres * 2.0**-STATE_BITS * unit, counts

    def _step(self) -> ClassMeans[R]:
        """Return one step, whose classes are the clusters."""
        return ClassMeans(
            classes=max(2, len(self.centres)),  # of one cluster, the second class stays empty
            sigma=self.sigma,
            count_sigma=self.count_sigma,
            norm=self.norm,
            relation=self.relation,
            features=len(self.centres[0]),
        )


def _members(centres: Vectors, classes: int, rows: GridRecords) -> tuple[int, Vectors, Vectors]:
    """Return the number of rows, and the sum and the number of those next to each centre."""
    shape = (len(centres), classes, centres.shape[2])
    sums, counts = np.zeros(shape), np.zeros(shape[:2])
    for vectors, _, _ in rows.pieces():
        some, number = members(vectors, nearest(vectors, centres), classes)
        sums += some
        counts += number
    return rows.total, sums, counts


def nearest(vectors: Vectors, centres: Vectors) -> NDArray[np.int64]:
    """Return the nearest centre of every row, for each set of centres; ties go to the first.

    Args:
        vectors: integers as float64, row norms at most 2^24: rows in units of 2^-24.
        centres: integers as float64, shape (..., k, features), row norms at most 2^28: centres in
            units of 2^-28.
    Returns:
        shape (..., rows).
    Proof: |x - c|^2 / 2 = |x|^2 / 2 - (<x, c> - |c|^2 / 2). In units of 2^-52 the product is an
        integer of size at most 2^52; |c|^2 / 2, rounded to one of at most 2^51, is the same number
        for all rows. So the difference is exact, and depends on the row and the centres alone.
    Laws: the result for one row does not depend on the others, bit for bit.
    Example:
        >>> nearest(np.array([[2.0**24, 0.0]]), np.array([[0.0, 2.0**28], [2.0**27, 0.0]]))
        array([1])
    """
    squares = np.square(centres.astype(np.int64)).sum(axis=-1)
    halved = np.floor(squares * 2.0 ** (PRODUCT_BITS - 2 * STATE_BITS - 1))
    scores = vectors @ centres.swapaxes(-1, -2) - halved[..., np.newaxis, :]
    return np.asarray(scores.argmax(axis=-1), dtype=np.int64)
