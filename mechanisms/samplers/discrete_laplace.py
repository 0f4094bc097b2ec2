"""Discrete Laplace noise."""

from __future__ import annotations

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers, subtract
from dpproof.mechanisms.samplers.geometric import geometric
from dpproof.mechanisms.samplers.rng import Rng


def discrete_laplace(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent discrete Laplace numbers of the given scale.

    Law: P(x) = (1 - r) / (1 + r) * r^|x| for every integer x, with r = e^(-1/scale).
    Proof: the difference of two independent geometric numbers of ratio r equals x with probability
        (1 - r)^2 * sum over j >= 0 of r^j r^(j + |x|) = (1 - r)^2 r^|x| / (1 - r^2).

    Args:
        scale: in [2^-300, 2^300], in units of the integer output.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64; Python integers where int64 is too small.
    Raises:
        ParameterError: scale outside its domain, or size not a whole number.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> discrete_laplace(3, 4, ReplayRng(1)).shape
        (4,)
    """
    exact = sampler_arguments.scale(scale=scale)
    count = arguments.whole(size=size)
    return subtract(geometric(exact, count, rng), geometric(exact, count, rng))
