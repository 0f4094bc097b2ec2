"""Value plus an ideal Cauchy number, correctly rounded."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.enclosure import cauchy_two_tails
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import Magnitude, add_rounded


def _quantile(u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / np.tan(u * (math.pi / 2)), dtype=np.float64)


def _guess(minus_log: float) -> float:
    if minus_log > 1:
        return 2.0 / math.pi * math.exp(min(minus_log, 700.0))
    return 1.0 / math.tan(math.exp(-minus_log) * math.pi / 2)


# M = cot(pi U/2), and |dM / d(log U)| is at most M + pi/2: the part that grows with M is added to
# the relative error, as is that of numpy.tan, assumed to be as good as numpy.exp.
_HALF_CAUCHY: Final = Magnitude(
    quantile=_quantile,
    relative=16 * margins.LIBM,
    conditioning=4.0,
    survival=cauchy_two_tails,
    guess=_guess,
)


def cauchy_rounded(
    value: ArrayLike, scale: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return integers k: k * granularity is value + scale * Z correctly rounded, Z ideal Cauchy.

    Law: P(k) = P((k - 1/2) g < v + scale Z <= (k + 1/2) g), Z of density 1/(pi (1 + z^2)).
    Proof: the first bit is the sign of Z and the remaining digits are a uniform U with
        |Z| = cot(pi U/2); the rounding is decided exactly (see ``rounded.add_rounded``).
    Rounds: to nearest; a tie has probability 0.

    Args:
        value: finite numbers, any shape, data units; float64 entries are their exact binary value.
        scale: in [2^-300, 2^300], data units; it may depend on the data.
        granularity: a power of two, data units. It must not depend on the data.
        rng: source of words.
    Returns:
        the shape of value; int64, or Python integers if some k does not fit.
    Raises:
        ParameterError: a value is not finite, or a parameter is outside its domain.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> cauchy_rounded([0.0, 1.0], Fraction(1, 1024), Fraction(1), ReplayRng(1))
        array([0, 1])
    """
    exact = sampler_arguments.scale(scale=scale)
    return add_rounded(value, exact, granularity, _HALF_CAUCHY, rng)
