"""Random Fourier features of the Gaussian kernel."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.grid import (
    RECORD_BITS,
    STATE_BITS,
    WIDEST,
    Vectors,
    clipped_rows,
    displacement,
    unit_rows,
)
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, checked_seed, checked_width
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import ReplayRng

# Taylor's series of the sine: on a quarter turn the first term left out is below 3e-16.
_SINE: Final = [(-1) ** k / math.factorial(2 * k + 1) for k in range(10)]


def sine(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sine of 2 pi turns, with an error of at most 2^-50.

    Args:
        turns: from -1/2 to 1/2.
    Laws: element by element, bit for bit.
    Example:
        >>> sine(np.array([0.0, 0.25, -0.25, 0.5]))
        array([ 0.,  1., -1.,  0.])
    """
    half = np.copysign(0.5, turns)
    folded = np.where(np.abs(turns) > 0.25, half - turns, turns)
    angle = 2 * math.pi * folded
    square = angle * angle
    series = np.full_like(angle, _SINE[-1])
    for coefficient in reversed(_SINE[:-1]):
        series = series * square + coefficient
    return np.asarray(series * angle)


def cosine(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of 2 pi turns, with an error of at most 2^-50.

    Args:
        turns: from -1/2 to 1/2.
    Laws: element by element, bit for bit.
    Example:
        >>> cosine(np.array([0.0, 0.25, 0.5]))
        array([ 1.,  0., -1.])
    """
    return sine(0.25 - np.abs(turns))


# Heuristic: with longer frequencies the grid's phases would be off by more than a 2^-12 turn.
_LONGEST: Final = 2**12


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class FourierFeatures(FeatureMap):
    """Map x to (cos <r_j, x>, sin <r_j, x>) / sqrt(D), j = 1, ..., D, with r_j ~ N(0, I / width^2).

    Scalar products of mapped rows approximate the Gaussian kernel exp(-||x - x'||^2 / (2 width^2)),
    up to approximately 1 / sqrt(D); every mapped row has norm 1.

    Args:
        features: d, the width of the rows.
        frequencies: D; mapped rows have 2 D features.
        width: of the kernel, in data units.
        seed: public, chosen before looking at the data; trying several is a selection.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units; None
            scales every row to norm 1.
    Source: Rahimi & Recht, "Random features for large-scale kernel machines", NeurIPS 2007,
        section 3; Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, section 5.
    Proof: rows and frequencies in turns are integer vectors of norms at most 2^24 and 2^28, so
        their products are exact in binary64 in any order; multiples of whole turns are taken off
        exactly; cosines are computed element by element. So a mapped row depends on no other.
    Raises:
        ParameterError: a parameter outside its domain, or a kernel so narrow beside ``norm`` that
            phases would be noise of rounding.
    Example:
        >>> plan = FourierFeatures(features=2, frequencies=500, width=2, seed=1, norm=8)
        >>> one, other = plan.apply(np.array([[1.0, 2.0], [1.0, 0.0]]))
        >>> bool(abs(one @ other - np.exp(-4 / 8)) < 0.1)
        True
    """

    features: int = field(converter=checked_width)
    frequencies: int = field(
        converter=parameters.count,
        validator=parameters.within(1, WIDEST // 2, f"at most {WIDEST // 2}"),
    )
    width: Fraction = field(converter=parameters.scale)
    seed: int = field(converter=checked_seed)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)

    def __attrs_post_init__(self) -> None:
        if self.unit * math.isqrt(self.features) > 6 * _LONGEST * self.width:
            allowed = f"at least norm sqrt(features) / {6 * _LONGEST}"
            raise ParameterError("width", self.width, allowed, "phases would lose their digits")

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
        """Return a description that names the numbers, the seed and the clipping."""
        numbers = f"{self.features} features, {self.frequencies} frequencies, width {self.width}"
        first = "scaling to norm 1" if self.norm is None else f"clipping to norm {self.norm}"
        return f"FourierFeatures, {numbers}, seed {self.seed}, after {first}"

    def matrix(self) -> Vectors:
        """Return the applied frequencies r_j, in 1 / data units: shape (frequencies, features).

        Standard normal quantiles of the words of ``ReplayRng(seed)``, rounded to a grid.
        """
        steps, bits = _turns(self)
        return steps * (2 * math.pi * 2.0**-bits / float(self.unit))

    def clipped(self, rows: Vectors) -> Vectors:
        """Return the rows that frequencies meet, in data units: clipped, or scaled to norm 1."""
        return self._steps(rows) * (2.0**-RECORD_BITS * float(self.unit))

    @property
    def rounding(self) -> float:
        """Return a bound of the distance of ``clipped`` rows from exact ones, in data units."""
        return displacement(self.features) * float(self.unit)

    def _apply(self, rows: Vectors) -> Vectors:
        steps, bits = _turns(self)
        phases = (self._steps(rows) @ steps.T) * 2.0 ** -(RECORD_BITS + bits)
        phases -= np.rint(phases)
        mapped = np.concatenate([cosine(phases), sine(phases)], axis=1)
        return np.asarray(mapped / math.sqrt(self.frequencies))

    def _steps(self, rows: Vectors) -> Vectors:
        """Put rows on the grid, in units of norm 2^-24."""
        if self.norm is None:
            return unit_rows(rows, RECORD_BITS)
        return clipped_rows(rows, float(self.norm), RECORD_BITS)

    @property
    def unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units."""
        return Fraction(1) if self.norm is None else self.norm


@functools.lru_cache(maxsize=8)
def _turns(plan: FourierFeatures) -> tuple[Vectors, int]:
    """Return the frequencies in turns for rows of norm ``norm``: integers of 2^-bits, and bits.

    The squared norm of each is at most 2^56.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

    size = plan.frequencies * plan.features
    uniform = ((ReplayRng(plan.seed).words(size) >> np.uint64(11)) + 0.5) * 2.0**-53
    normal = ndtri(uniform).reshape(plan.frequencies, plan.features)
    turns = normal * (float(plan.unit / plan.width) / (2 * math.pi))
    longest = float(np.linalg.norm(turns, axis=1).max())
    bits = STATE_BITS - 1 - math.frexp(longest)[1]
    steps = np.trunc(np.ldexp(turns, bits))
    steps.flags.writeable = False
    return steps, bits
