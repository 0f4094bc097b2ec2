"""Value plus an ideal Laplace number, correctly rounded."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import Magnitude, add_rounded


def _quantile(u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-np.log(u), dtype=np.float64)


def _guess(minus_log: float) -> float:
    return max(0.0, minus_log)


EXPONENTIAL: Final = Magnitude(
    quantile=_quantile,
    relative=margins.LIBM,
    conditioning=1.0,
    survival=exp_minus,
    guess=_guess,
)


def laplace_rounded(
    value: ArrayLike, scale: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return integers k: k * granularity is value + scale * L correctly rounded, L ideal Laplace.

    Law: P(k) = P((k - 1/2) g < v + scale L <= (k + 1/2) g), L of density e^(-|l|)/2 on the real
        line.
    Proof: the first bit is the sign of L and the remaining digits are a uniform U with
        |L| = -log U; the rounding is decided exactly (see ``rounded.add_rounded``).
    Rounds: to nearest; a tie has probability 0.

    Args:
        value: finite numbers, any shape, data units; float64 entries are their exact binary value.
        scale: in [2^-300, 2^300], data units.
        granularity: a power of two, data units; ``default_granularity(scale)`` is a good one.
            It must not depend on the data.
        rng: source of words.
    Returns:
        the shape of value; int64, or Python integers if some k does not fit.
    Raises:
        ParameterError: a value is not finite, or a parameter is outside its domain.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> laplace_rounded([0.0, 1.0], Fraction(1, 1024), Fraction(1), ReplayRng(1))
        array([0, 1])
    """
    exact = sampler_arguments.scale(scale=scale)
    return add_rounded(value, exact, granularity, EXPONENTIAL, rng)
