"""Statistics of rows: the matrix of second moments, and clusters by Lloyd's iteration."""

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import L2, Guarantee, ParameterError, post_process
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters, samplers
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning import records
from dpproof.mechanisms.learning.perceptron import ClassMeans, members
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers.arrays import scale as noise_scale
from dpproof.mechanisms.statistics.bounded_mean import rows_on_grid

# Soundness: halves of 12 bits have products below 2^24, of which 2^29 add up to at most 2^53.
_HALF_BITS: Final = records.RECORD_BITS // 2
# Sums are split into multiples of 2^4, which noise does not change, and a rest below 2^4.
_WHOLE_BITS: Final = 4
_REST_BITS: Final = 2 * records.RECORD_BITS + _WHOLE_BITS - records.RECORD_BITS


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SecondMoments(Mechanism[R]):
    """Release the sum of x x' over all rows x with Gaussian noise, not always positive definite.

    Noise is drawn for the upper triangle: of standard deviation sigma on the diagonal, and of
    sigma / sqrt 2, rounded up, above it, as an entry there counts twice in the Frobenius norm. The
    sum is exact: sums of products of 48 bits, of which noise changes the low digits alone. A row
    that is not finite contributes nothing.

    Statement: a row moves the sum by |x|^2 <= norm^2 in Frobenius norm; a replaced one by at most
        sqrt 2 norm^2, not twice that, as ||x x' - z z'||^2 = |x|^4 + |z|^4 - 2 <x, z>^2. So it is
        mu-GDP with mu = norm^2 / sigma, or sqrt 2 times that; both are attained.
    Assumes: one shape; random bits; output alone.
    Source: proofs/theory/learners.md, Lemma 13: ``Gaussian`` on the triangle, its entries above the
        diagonal are scaled by the ratio of both deviations, at most sqrt 2, then divided again.

    Args:
        sigma: standard deviation of the noise on a diagonal entry, in squared data units.
        norm: rows are clipped to this Euclidean norm, a public bound; None scales every row to
            norm 1.
        features: the width of a row; needed where the data may be a sequence of rows.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> moments = SecondMoments(sigma=4, norm=2, features=2, relation=AddRemove())
        >>> moments.guarantee().mu
        Fraction(1, 1)
        >>> moments.release([[1.0, 0.5], [0.0, -2.0]]).shape
        (2, 2)
    """

    whole = ""

    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(default=None, converter=records.row_width)

    def __attrs_post_init__(self) -> None:
        noise_scale(sigma=self.sigma / self._unit**2)

    @property
    def sensitivity(self) -> L2[R]:
        """Return how far the matrix moves in Frobenius norm, in squared data units."""
        squared = self._unit**4
        return L2(sqrt_up(2 * squared if self.relation.symmetric else squared), self.relation)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP with mu = sensitivity / sigma."""
        noise = Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        said = "scaling entries of a noisy matrix by constants"
        return post_process(noise.guarantee(), description=said)

    def draw(self, datasets: Sequence[object], count: int, rng: samplers.Rng) -> Outputs:
        """Draw symmetric matrices: float64, shape (len(datasets), count, features, features)."""
        sums = [self.moments(data) for data in datasets]
        whole = samplers.repeated_values(np.stack([high for high, _ in sums]), count)
        rest = samplers.repeated_values(np.stack([low for _, low in sums]), count)
        scale = self.sigma / self._unit**2
        noisy = np.zeros(rest.shape)
        row, column = np.triu_indices(rest.shape[-1])
        for places, deviation in ((row == column, scale), (row < column, sqrt_up(scale**2 / 2))):
            i, j = row[places], column[places]
            noisy[..., i, j] = _with_noise(whole[..., i, j], rest[..., i, j], deviation, rng)
            noisy[..., j, i] = noisy[..., i, j]
        return noisy * float(self._unit**2)

    def moments(self, data: object) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the exact sum of x x' as multiples of 2^4 norm^2 and a rest in norm^2; private."""
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        _, high, middle, low = blocks.sum(self._digits)
        middle += low >> _HALF_BITS
        high += middle >> _HALF_BITS
        digits = low & (1 << _HALF_BITS) - 1
        digits += (middle & (1 << _HALF_BITS) - 1) << _HALF_BITS
        digits += (high & (1 << _REST_BITS) - 1) << records.RECORD_BITS
        rest = np.ldexp(digits.astype(np.float64), -2 * records.RECORD_BITS)
        return np.asarray(high >> _REST_BITS), np.asarray(rest)

    def _digits(self, data: object) -> tuple[int, *tuple[NDArray[np.int64], ...]]:
        """Return the number of rows, and the sums of products of upper, mixed and lower halves."""
        rows = rows_on_grid(data, norm=self.norm, features=self.features)
        width = rows.vectors.shape[1]
        high, middle, low = (np.zeros((width, width), dtype=np.int64) for _ in range(3))
        for vectors, _, _ in rows.pieces():
            dense = vectors.toarray() if records.is_sparse(vectors) else vectors
            upper = np.floor(dense * 2.0**-_HALF_BITS)
            lower = dense - upper * 2.0**_HALF_BITS
            mixed = (upper.T @ lower).astype(np.int64)
            high += (upper.T @ upper).astype(np.int64)
            middle += mixed + mixed.T
            low += (lower.T @ lower).astype(np.int64)
        return rows.total, high, middle, low

    @property
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units: 1 if rows are scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm


def _with_noise(
    whole: NDArray[np.int64], rest: NDArray[np.float64], sigma: Fraction, rng: samplers.Rng
) -> NDArray[np.float64]:
    """Return whole 2^4 + rest with noise, rounded to a grid of which 2^4 is a multiple."""
    grain = min(samplers.default_granularity(sigma), Fraction(2**_WHOLE_BITS))
    steps = samplers.gaussian_rounded(rest, sigma, grain, rng)
    return samplers.as_floats(steps + whole.astype(np.object_) * int(2**_WHOLE_BITS / grain), grain)


Centres: TypeAlias = tuple[tuple[float, ...], ...]

# A cluster whose noisy number of rows is below so many standard deviations of its noise starts
# again, so far from the largest one in each coordinate, in units of the norm bound.
_FEW: Final = 3.0
_ASIDE: Final = 0.05
_AT_ONCE: Final = 1 << 20  # Numbers in memory for the runs that are made together.


def _start(centres: ArrayLike, _name: str = "value") -> Centres:
    allowed = f"finite numbers of shape (k, features), k from 1 to {records.MOST_CLASSES}"
    try:
        array = np.asarray(centres, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("centres", centres, allowed) from None
    if array.ndim != 2 or not 1 <= len(array) <= records.MOST_CLASSES or array.shape[1] < 1:
        raise ParameterError("centres", array.shape, allowed)
    if not np.isfinite(array).all():
        raise ParameterError("centres", "nan or infinity", allowed)
    return tuple(map(tuple, array.tolist()))


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class NoisyLloyd(Mechanism[R]):
    """Move each of k centres to the noisy mean of the rows that are nearest to it, again and again.

    Every step is one release of ``ClassMeans``, the class of a row being its nearest centre, which
    is a function of the row and of what was released before. The nearest centre is found in exact
    integers. A cluster that seems to hold hardly any rows starts again beside the largest one. A
    row that is not finite, or zero, contributes nothing.

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
        count_sigma: of the noise on the counts, in records; by default sigma / norm.
        norm: rows are clipped to this Euclidean norm, a public bound.
    Outputs:
        A record with fields ``centres``, shape (k, features), of norm at most ``norm``, and
        ``counts``, shape (k,): noisy numbers of rows in the last step.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> first = [[1, 0], [0, 1]]
        >>> learner = NoisyLloyd(centres=first, steps=4, sigma=20, relation=AddRemove())
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

    def draw(self, datasets: Sequence[object], count: int, rng: samplers.Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        features = len(self.centres[0])
        read = functools.partial(rows_on_grid, norm=self.norm, features=features)
        shape = (len(self.centres), features)
        fields = [("centres", np.float64, shape), ("counts", np.float64, shape[:1])]
        outputs = np.recarray((len(datasets), count), dtype=fields)
        for place, data in enumerate(datasets):
            apart = data if isinstance(data, Blocks) and data.records is None else None
            rows = Blocks([read(data)]) if apart is None else apart.map(read)
            size = max(1, _AT_ONCE // (len(self.centres) * features))
            for start in range(0, count, size):
                some = outputs[place, start : start + size]
                some["centres"], some["counts"] = self._runs(rows, len(some), rng)
        return np.asarray(outputs)

    def _runs(
        self, rows: Blocks, runs: int, rng: samplers.Rng
    ) -> tuple[records.Vectors, records.Vectors]:
        """Make all steps of some runs, each with its own noise; return last centres and counts."""
        step, unit, number = self._step(), float(self.norm), len(self.centres)
        first = records.clipped_rows(np.array(self.centres), unit, records.STATE_BITS)
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
            flat = records.clipped_rows(moved.reshape(-1, first.shape[1]), 1.0, records.STATE_BITS)
            centres = flat.reshape(centres.shape)
        return centres * 2.0**-records.STATE_BITS * unit, counts

    def _step(self) -> ClassMeans[R]:
        return ClassMeans(
            classes=max(2, len(self.centres)),  # of one cluster, the second class stays empty
            sigma=self.sigma,
            count_sigma=self.count_sigma,
            norm=self.norm,
            relation=self.relation,
            features=len(self.centres[0]),
        )


def _members(
    centres: records.Vectors, classes: int, rows: records.GridRecords
) -> tuple[int, records.Vectors, records.Vectors]:
    """Return the number of rows, and the sum and the number of those next to each centre."""
    shape = (len(centres), classes, centres.shape[2])
    sums, counts = np.zeros(shape), np.zeros(shape[:2])
    for vectors, _, _ in rows.pieces():
        some, number = members(vectors, nearest(vectors, centres), classes)
        sums += some
        counts += number
    return rows.total, sums, counts


def nearest(vectors: records.Vectors, centres: records.Vectors) -> NDArray[np.int64]:
    """Return the nearest centre of every row, for each set of centres; ties go to the first.

    Rows are integers of norm at most 2^24, centres, shape (..., k, features), of at most 2^28.

    Proof: |x - c|^2 / 2 = |x|^2 / 2 - (<x, c> - |c|^2 / 2). In units of 2^-52 the product is an
        integer of size at most 2^52; |c|^2 / 2, rounded to one of at most 2^51, is the same number
        for all rows. So the difference is exact, and depends on the row and the centres alone.
    """
    squares = np.square(centres.astype(np.int64)).sum(axis=-1)
    halved = np.floor(squares * 2.0 ** (records.PRODUCT_BITS - 2 * records.STATE_BITS - 1))
    scores = vectors @ centres.swapaxes(-1, -2) - halved[..., np.newaxis, :]
    return np.asarray(scores.argmax(axis=-1), dtype=np.int64)
