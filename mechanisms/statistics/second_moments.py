"""The matrix of second moments, once, with noise: what regressions and principal axes need."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.theorems.post_processing import post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.grid import RECORD_BITS, WIDEST
from dpproof.mechanisms.learning.records import is_sparse
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.broadcast import on_grid, repeated_values
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import default_granularity, gaussian_rounded
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import scale as noise_scale
from dpproof.mechanisms.statistics.clipped_column import rows_on_grid

# Soundness: halves of 12 bits have products below 2^24, of which 2^29 add up to at most 2^53.
_HALF_BITS: Final = RECORD_BITS // 2
# Sums are split into multiples of 2^4, which noise does not change, and a rest below 2^4.
_WHOLE_BITS: Final = 4
_REST_BITS: Final = 2 * RECORD_BITS + _WHOLE_BITS - RECORD_BITS


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class SecondMoments(Mechanism[R]):
    """Release the sum of x x' over all rows x, a symmetric matrix, with Gaussian noise.

    Noise is drawn for the upper triangle: of standard deviation sigma on the diagonal, and of
    sigma / sqrt 2, rounded up, above it, as an entry there counts twice in the Frobenius norm. The
    sum is exact: sums of products of 48 bits, of which noise changes the low digits alone.

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
        relation: the neighbouring relation.
        features: the width of a row; needed where the data may be a sequence of rows.
    Outputs:
        An array of shape (features, features), symmetric; not always positive definite.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not rows. A row
            that is not finite contributes nothing.
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
    features: int | None = field(default=None, converter=parameters.optional_count)

    @features.validator
    def _narrow(self, _parameter: object, features: int | None) -> None:
        if features is not None and features > WIDEST:
            raise ParameterError("features", features, f"at most {WIDEST}")

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
        return post_process(
            noise.guarantee(), description="scaling entries of a noisy matrix by constants"
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw symmetric matrices: float64, shape (len(datasets), count, features, features)."""
        sums = [self.moments(data) for data in datasets]
        whole = repeated_values(np.stack([high for high, _ in sums]), count)
        rest = repeated_values(np.stack([low for _, low in sums]), count)
        scale = self.sigma / self._unit**2
        noisy = np.zeros(rest.shape)
        row, column = np.triu_indices(rest.shape[-1])
        for places, deviation in ((row == column, scale), (row < column, sqrt_up(scale**2 / 2))):
            i, j = row[places], column[places]
            noisy[..., i, j] = _with_noise(whole[..., i, j], rest[..., i, j], deviation, rng)
            noisy[..., j, i] = noisy[..., i, j]
        return noisy * float(self._unit**2)

    def moments(self, data: object) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the exact sum of x x' as multiples of 2^4 norm^2 and a rest in norm^2; private.

        Raises:
            ParameterError: the data is not rows of the right width.
        """
        blocks = data if isinstance(data, Blocks) else Blocks([data])
        _, high, middle, low = blocks.sum(self._digits)
        middle += low >> _HALF_BITS
        high += middle >> _HALF_BITS
        digits = low & (1 << _HALF_BITS) - 1
        digits += (middle & (1 << _HALF_BITS) - 1) << _HALF_BITS
        digits += (high & (1 << _REST_BITS) - 1) << RECORD_BITS
        rest = np.ldexp(digits.astype(np.float64), -2 * RECORD_BITS)
        return np.asarray(high >> _REST_BITS), np.asarray(rest)

    def _digits(self, data: object) -> tuple[int, *tuple[NDArray[np.int64], ...]]:
        """Return the number of rows, and the sums of products of upper, mixed and lower halves."""
        norm = None if self.norm is None else float(self.norm)
        rows = rows_on_grid(data, norm=norm, features=self.features)
        width = rows.vectors.shape[1]
        high, middle, low = (np.zeros((width, width), dtype=np.int64) for _ in range(3))
        for vectors, _, _ in rows.pieces():
            dense = vectors.toarray() if is_sparse(vectors) else vectors
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
    whole: NDArray[np.int64], rest: NDArray[np.float64], sigma: Fraction, rng: Rng
) -> NDArray[np.float64]:
    """Return whole 2^4 + rest with noise, rounded to a grid of which 2^4 is a multiple."""
    grain = min(default_granularity(sigma), Fraction(2**_WHOLE_BITS))
    steps = gaussian_rounded(rest, sigma, grain, rng)
    return on_grid(steps + whole.astype(np.object_) * int(2**_WHOLE_BITS / grain), grain)
