"""Value plus an ideal normal number, correctly rounded."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.enclosure import normal_two_tails
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import Magnitude, add_rounded, add_rounded_rational


def _quantile(u: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

    return np.asarray(-special.ndtri(u / 2), dtype=np.float64)


def _guess(minus_log: float) -> float:
    from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

    return max(0.0, -float(special.ndtri_exp(-minus_log - math.log(2))))


# |Z| = -ndtri(U/2); |dZ / d(log U)| is the Mills ratio of Z, at most sqrt(pi/2) = 1.2534.
HALF_NORMAL: Final = Magnitude(
    quantile=_quantile,
    relative=margins.NDTRI,
    conditioning=1.26,
    survival=normal_two_tails,
    guess=_guess,
)


def gaussian_rounded(
    value: ArrayLike, sigma: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return integers k: k * granularity is value + sigma * Z correctly rounded, Z ideal normal.

    Law: P(k) = P((k - 1/2) g < v + sigma Z <= (k + 1/2) g), Z standard normal on the real line.
    Proof: the first bit is the sign of Z and the remaining digits are a uniform U with
        |Z| = -Phi^-1(U/2); the rounding is decided exactly (see ``rounded.add_rounded``).
    Rounds: to nearest; a tie has probability 0.

    Args:
        value: finite numbers, any shape, data units; float64 entries are their exact binary value.
        sigma: standard deviation in [2^-300, 2^300], data units.
        granularity: a power of two, data units; ``default_granularity(sigma)`` is a good one.
            It must not depend on the data.
        rng: source of words.
    Returns:
        the shape of value; int64, or Python integers if some k does not fit.
    Raises:
        ParameterError: a value is not finite, or a parameter is outside its domain.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> gaussian_rounded([0.0, 1.0], Fraction(1, 1024), Fraction(1), ReplayRng(1))
        array([0, 1])
    """
    exact = sampler_arguments.scale(sigma=sigma)
    return add_rounded(value, exact, granularity, HALF_NORMAL, rng)


def gaussian_rounded_rational(
    value: Fraction, count: int, sigma: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return ``count`` independent k as ``gaussian_rounded`` does, of one value that is rational.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> gaussian_rounded_rational(Fraction(1, 3), 3, 1, Fraction(1), ReplayRng(1)).shape
        (3,)
    """
    exact = sampler_arguments.scale(sigma=sigma)
    return add_rounded_rational(value, count, exact, HALF_NORMAL, rng, granularity=granularity)
