"""Discrete noise that falls with its largest coordinate."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.coins import bernoulli
from dpproof.mechanisms.samplers.geometric import geometric
from dpproof.mechanisms.samplers.integers import uniform_below
from dpproof.mechanisms.samplers.rng import Rng


def discrete_cube_norm(scale: arguments.Number, coordinates: int, size: int, rng: Rng) -> Integers:
    """Draw ``size`` integer vectors whose mass falls with the largest coordinate.

    Law: P(k) proportional to e^(-max_j |k_j| / scale) on all integer vectors.
    Proof: that is a mixture over r >= 0 of the uniform laws on {-r, ..., r}^m, r having weight
        (2r + 1)^m q^r, q = e^(-1/scale): sum_{r >= |k|} q^r is proportional to q^|k|. The sum r of
        m + 1 geometric numbers has weight C(r + m, m) q^r, and it is accepted with probability
        prod_{j <= m} (2r + 1)/(2r + 2j), proportional to (2r + 1)^m / C(r + m, m) and at most 1.

    Args:
        scale: in [2^-300, 2^300]; few proposals are refused if it is at least 8 coordinates.
        coordinates: m, at least 1.
        size: number of vectors.
        rng: source of words.
    Returns:
        shape (size, coordinates), int64; Python integers where int64 is too small.
    Raises:
        ParameterError: scale outside its domain, or a count that is not one.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> discrete_cube_norm(50, 3, 2, ReplayRng(1)).shape
        (2, 3)
    """
    exact = sampler_arguments.scale(scale=scale)
    width, count = arguments.count(coordinates=coordinates), arguments.whole(size=size)
    radii: list[int] = []
    while len(radii) < count:
        missing = count - len(radii)
        parts = geometric(exact, missing * (width + 1), rng).reshape(missing, width + 1)
        sums = [sum(map(int, row)) for row in parts]
        radii += [r for r in sums if bernoulli(_accepted(r, width), 1, rng)[0]]
    vectors = [uniform_below(2 * r + 1, width, rng) - r for r in radii]
    return np.stack(vectors) if vectors else np.zeros((0, width), dtype=np.int64)


def _accepted(radius: int, width: int) -> Fraction:
    """The probability of accepting a radius."""
    odd = 2 * radius + 1
    return Fraction(odd**width, math.prod(range(odd + 1, odd + 2 * width, 2)))
