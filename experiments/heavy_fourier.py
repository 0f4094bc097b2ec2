"""Random Fourier features of kernels with heavy tails: Laplacian and Matern."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.maps.feature_map import (
    FeatureMap,
    checked_seed,
    checked_width,
    cosine,
    sine,
)
from dpproof.mechanisms.learning.records import (
    RECORD_BITS,
    STATE_BITS,
    WIDEST,
    Vectors,
    clipped_rows,
)
from dpproof.mechanisms.samplers.arrays import scale
from dpproof.mechanisms.samplers.rng import ReplayRng

_LAPLACIAN: Final = "laplacian"
_MATERN: Final = "matern"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyFourierFeatures(FeatureMap):
    """Map x to (cos <r_j, x>, sin <r_j, x>) / sqrt(D) with frequencies of heavy tails.

    Laplacian, e^(-||x - x'||_1 / width): Cauchy of scale 1/width in each coordinate. Matern of
    smoothness v: multivariate t of 2v degrees of freedom over width; v = 1/2 is
    e^(-||x - x'||_2 / width).

    Args:
        features: d, the width of the rows.
        frequencies: D; mapped rows have 2 D features and norm 1.
        width: of the kernel, in data units; public, like the seed.
        seed: public, chosen before looking at the data; trying several is a selection.
        kernel: "laplacian" or "matern".
        smoothness: v of the Matern kernel, above 0.
        norm: rows are clipped to this Euclidean norm before they are mapped.
    Source: Rahimi & Recht, NeurIPS 2007, Figure 1; Bassily, Mohri & Suresh, arXiv:2204.10376,
        Algorithm 3.
    Proof: as for ``FourierFeatures``, with a grid for each frequency. The longest frequencies lose
        digits of their phases, which costs accuracy of the kernel and nothing else.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> plan = HeavyFourierFeatures(features=2, frequencies=2_000, width=3, seed=1, norm=8)
        >>> one, other = plan.apply(np.array([[1.0, 2.0], [1.0, 0.0]]))
        >>> bool(abs(one @ other - np.exp(-2 / 3)) < 0.1)
        True
    """

    features: int
    frequencies: int
    width: Number
    seed: int
    kernel: str = _LAPLACIAN
    smoothness: Number = Fraction(1, 2)
    norm: Number = 1

    def __post_init__(self) -> None:
        """Keep exact values; refuse others."""
        object.__setattr__(self, "features", checked_width(self.features))
        number = check.count(frequencies=self.frequencies)
        if 2 * number > WIDEST:
            raise ParameterError("frequencies", number, f"at most {WIDEST // 2}")
        if self.kernel not in (_LAPLACIAN, _MATERN):
            raise ParameterError("kernel", self.kernel, f'"{_LAPLACIAN}" or "{_MATERN}"')
        object.__setattr__(self, "frequencies", number)
        object.__setattr__(self, "width", scale(width=self.width))
        object.__setattr__(self, "seed", checked_seed(self.seed))
        object.__setattr__(self, "smoothness", check.positive(smoothness=self.smoothness))
        object.__setattr__(self, "norm", scale(norm=self.norm))

    @property
    def output_features(self) -> int:
        """Return the number of a cosine and a sine for every frequency."""
        return 2 * self.frequencies

    @property
    def output_norm(self) -> Fraction:
        """Return 1, the norm of every mapped row."""
        return Fraction(1)

    @property
    def description(self) -> str:
        """Return a description that names the kernel, the numbers, the seed and the clipping."""
        kernel = self.kernel if self.kernel == _LAPLACIAN else f"matern {self.smoothness}"
        numbers = f"{self.features} features, {self.frequencies} frequencies, width {self.width}"
        clipped = f"after clipping to {self.norm}"
        return f"HeavyFourierFeatures, {kernel}, {numbers}, seed {self.seed}, {clipped}"

    def _apply(self, rows: Vectors) -> Vectors:
        steps, bits = self._turns()
        whole = clipped_rows(rows, float(self.norm), RECORD_BITS)
        phases = np.ldexp(whole @ steps.T, -RECORD_BITS - bits)
        phases -= np.rint(phases)
        mapped = np.concatenate([cosine(phases), sine(phases)], axis=1)
        return np.asarray(mapped / math.sqrt(self.frequencies))

    def _turns(self) -> tuple[Vectors, NDArray[np.int64]]:
        """Return frequencies in turns for rows of norm 1, each in a unit of its own, and bits."""
        from scipy.special import gammaincinv, ndtri  # noqa: PLC0415 - its import takes longer than all of ours

        shape = self.frequencies, self.features
        words = ReplayRng(b"heavy:%d" % self.seed).words((self.features + 1) * self.frequencies)
        uniform = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
        inner = uniform[: self.frequencies * self.features].reshape(shape)
        if self.kernel == _LAPLACIAN:
            drawn = np.tan(math.pi * (inner - 0.5))
        else:
            spread = float(self.smoothness)
            mixed = gammaincinv(spread, uniform[-self.frequencies :]) / spread
            drawn = ndtri(inner) / np.sqrt(np.maximum(mixed, 2.0**-60))[:, np.newaxis]
        turns = drawn * (float(Fraction(self.norm) / Fraction(self.width)) / (2 * math.pi))
        longest = np.linalg.norm(turns, axis=1)
        bits = STATE_BITS - 1 - np.frexp(longest)[1].astype(np.int64)
        return np.trunc(np.ldexp(turns, bits[:, np.newaxis])), bits
