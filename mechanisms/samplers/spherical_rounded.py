"""Continuous noise that falls with its Euclidean norm, correctly rounded."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.coins import bernoulli
from dpproof.mechanisms.samplers.falling import geometric
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import LazyUniform, Uniforms, uniform_below

_FIRST_BITS: Final = 128  # Digits of the first attempt; the next has twice as many. Heuristic.
_HALF: Final = 0.5
_LARGE: Final = 2.0**50  # Below it the nearest integer is exact. Soundness depends on it.
_GUARD: Final = 32  # More digits of the arithmetic than of the uniforms. Heuristic.


def spherical_rounded(
    scale: arguments.Number, granularity: Fraction, coordinates: int, size: int, rng: Rng
) -> Integers:
    """Draw ``size`` vectors of density proportional to e^(-||x|| / scale), rounded to a grid.

    Law: integers k such that k granularity is the multiple nearest to x, coordinate by coordinate.
    Proof: the norm has density r^(m-1) e^(-r/scale), that of a sum of m exponentials -scale log U,
        and the direction is uniform, that of a standard normal vector, whose coordinates are
        sqrt(-2 log U) cos(2 pi V). Intervals of all uniforms give an interval of every coordinate;
        if one contains a border of two cells, more digits of the same uniforms are drawn.
    Assumption: mpmath's intervals contain what they stand for.

    Args:
        scale: in [2^-300, 2^300].
        granularity: a power of two, in the unit of the scale.
        coordinates: m, at least 1.
        size: number of vectors.
        rng: source of words.
    Returns:
        shape (size, coordinates), Python integers.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> spherical_rounded(10, Fraction(1, 4), 3, 2, ReplayRng(1)).shape
        (2, 3)
    """
    exact = sampler_arguments.scale(scale=scale)
    grid, _ = sampler_arguments.granularity(granularity=granularity)
    width, count = arguments.count(coordinates=coordinates), arguments.whole(size=size)
    uniforms = Uniforms(count * 3 * width, rng)
    cells, clear = _cells(uniforms.approximation.reshape(count, 3, width), exact / grid)
    vectors = np.where(clear[:, np.newaxis], cells, 0.0).astype(np.int64).astype(np.object_)
    for row in map(int, np.flatnonzero(~clear)):
        first = 3 * width * row
        lazy = [uniforms.lazy(place) for place in range(first, first + 3 * width)]
        vectors[row] = _vector(exact / grid, lazy)
    return vectors


def _cells(
    uniforms: NDArray[np.float64], steps: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the nearest integers by binary64, and for which vectors they are certainly right.

    Proof: u = 2^-53. A uniform is known to 4 u of itself, so L = -log U to e = 8 u + 16 u L (four
        units for log); sqrt(2 L) to e / sqrt(2 L) + 4 u sqrt(2 L), or to sqrt(2 e) if L <= e; and
        cos(2 pi V) to 64 u. Errors of products and quotients add up relatively, and 64 u more is
        room for their own roundings and for sums of at most 2^12 terms, whose errors are 4096 u.
    """
    u = 2.0**-53
    with np.errstate(all="ignore"):
        logs = -np.log(uniforms[:, :2])
        error = 8 * u + 16 * u * logs
        root = np.sqrt(2 * logs[:, 1])
        slip = np.where(logs[:, 1] > 4 * error[:, 1], error[:, 1] / root, np.sqrt(8 * error[:, 1]))
        turn = np.cos(2 * np.pi * uniforms[:, 2])
        normal = root * turn
        blur = 2 * slip + 80 * u * root
        length, norm = logs[:, 0].sum(axis=1), np.linalg.norm(normal, axis=1)
        shared = error[:, 0].sum(axis=1) / length + np.linalg.norm(blur, axis=1) / norm
        shared = 2 * shared + 2 * (64 + uniforms.shape[2]) * u
        scaled = margins.nearest(steps) * length / norm
        x = normal * scaled[:, np.newaxis]
        margin = 2 * blur * scaled[:, np.newaxis] + np.abs(x) * shared[:, np.newaxis]
        cells = np.rint(x)
        clear = (np.abs(x - cells) + margin < _HALF) & (np.abs(x) < _LARGE)
    return cells, clear.all(axis=1)


def _vector(steps: Fraction, uniforms: list[LazyUniform]) -> list[int]:
    """Decide one vector from further digits of its uniforms, in units of the grid."""
    from mpmath.ctx_iv import MPIntervalContext  # noqa: PLC0415 - only rare vectors need it

    iv: Any = MPIntervalContext()
    width = len(uniforms) // 3
    bits = _FIRST_BITS
    while True:
        for uniform in uniforms:
            uniform.refine(bits)
            while uniform.prefix == 0:
                uniform.refine(uniform.bits + 1)
        iv.prec = bits + _GUARD
        values = [_interval(iv, uniform) for uniform in uniforms]
        length = sum((-iv.log(u) for u in values[:width]), iv.mpf(0))
        pairs = zip(values[width : 2 * width], values[2 * width :], strict=True)
        normal = [iv.sqrt(-2 * iv.log(u)) * iv.cos(2 * iv.pi * v) for u, v in pairs]
        norm = iv.sqrt(sum((x * x for x in normal), iv.mpf(0)))
        scaled = length * iv.mpf(steps.numerator) / steps.denominator / norm
        cells = [_cell(x * scaled) for x in normal]
        if all(low == high for low, high in cells):
            return [low for low, _ in cells]
        bits *= 2


def _interval(iv: Any, uniform: LazyUniform) -> Any:  # noqa: ANN401 - mpmath has no types
    """Return the interval of numbers that begin with the known digits."""
    unit = iv.mpf(2) ** -uniform.bits
    return iv.mpf([uniform.prefix, uniform.prefix + 1]) * unit


def _cell(value: Any) -> tuple[int, int]:  # noqa: ANN401 - mpmath has no types
    """Return the integers nearest to both ends of an interval; 0 and 2 if an end is not finite."""
    ends = []
    for sign, mantissa, exponent, _ in value._mpi_:
        if not mantissa and exponent:
            return 0, 2
        ends.append(round(Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)))
    return ends[0], ends[1]


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
    """Return the probability of accepting a radius."""
    odd = 2 * radius + 1
    return Fraction(odd**width, math.prod(range(odd + 1, odd + 2 * width, 2)))
