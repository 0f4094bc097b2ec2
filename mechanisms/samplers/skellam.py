"""Skellam noise: the difference of two independent Poisson numbers of one mean."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arithmetic.skellam import skellam_masses
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.inversion import symmetric
from dpproof.mechanisms.samplers.rng import Rng

LARGEST_VARIANCE: Final = 2**20
LEAST_VARIANCE: Final = Fraction(1, 2**20)


def skellam(variance: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent Skellam numbers of a variance.

    Law: P(x) = e^-v I_|x|(v) for every integer x, v the variance.
    Proof: proofs/theory/inversion.md.

    Args:
        variance: in [2^-20, 2^20].
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64.
    Raises:
        ParameterError: variance outside its domain, or size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> skellam(4, 5, ReplayRng(1)).shape
        (5,)
    """
    exact = require_variance(variance)
    return symmetric(_cumulative, exact, arguments.whole(size=size), rng)


def require_variance(variance: arguments.Number) -> Fraction:
    """Return a variance, exact.

    Raises:
        ParameterError: it is not a number from 2^-20 to 2^20.
    Example:
        >>> require_variance(0.5)
        Fraction(1, 2)
    """
    exact = arguments.positive(variance=variance)
    if not LEAST_VARIANCE <= exact <= LARGEST_VARIANCE:
        allowed = "at least 2^-20 and at most 2^20"
        raise ParameterError("variance", variance, allowed, "DiscreteGaussian has no such limit")
    return exact


@lru_cache(maxsize=32)
def _cumulative(variance: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Return brackets of P(|X| <= k), k = 0, 1, ..., in units of 2^-bits."""
    guard = 24
    masses = skellam_masses(variance, bits + guard)
    sizes = [(masses.lower[0], masses.upper[0])]
    sizes += [(2 * a, 2 * b) for a, b in zip(masses.lower[1:], masses.upper[1:], strict=True)]
    low = [one >> guard for one in accumulate(a for a, _ in sizes)]
    high = [-(-one >> guard) for one in accumulate(b for _, b in sizes)]
    return low, [min(one, 1 << bits) for one in high]
