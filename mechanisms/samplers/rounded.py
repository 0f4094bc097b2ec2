"""Value plus ideal continuous noise: correctly rounded to a grid, or compared with others.

For a value v, a scale s, a sign S (fair coin) and a magnitude M >= 0 with strictly decreasing
survival function, the released integer k makes k * granularity the multiple of ``granularity``
nearest to the real number v + S s M. The grid does not depend on the data, so the release is
post-processing of the ideal mechanism's real-valued output.

Ties have probability 0, and either neighbour would be correct; here the upper one is taken if S is
negative and the lower one if S is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import arrays, enclosure
from dpproof.mechanisms.samplers.arrays import Integers, multiply_add, patched
from dpproof.mechanisms.samplers.discrete import geometric
from dpproof.mechanisms.samplers.enclosure import (
    Enclosure,
    cauchy_two_tails,
    exp_minus,
    normal_two_tails,
)
from dpproof.mechanisms.samplers.rng import (
    LazyUniform,
    Rng,
    Uniforms,
    bernoulli,
    largest,
    uniform_below,
)

_HALF: Final = Fraction(1, 2)
_FINENESS: Final = 20
_NEGATIVE: Final = 63
_LARGE: Final = 2.0**62


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Magnitude:
    """A noise magnitude M >= 0 as a decreasing function of a uniform U, with P(M > t) = S(t)."""

    # Binary64 approximations of U -> of M.
    quantile: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    relative: float  # bound of the relative error of ``quantile`` at its own argument
    conditioning: float  # bound of |dM / d(log U)|, over all U
    survival: Callable[[Fraction], Enclosure]  # t >= 0 rational -> enclosure of S(t)
    guess: Callable[[float], float]  # -log U -> about M; a starting point only


def default_granularity(scale: arguments.Number) -> Fraction:
    """Return 2^-20 of the scale of the noise, rounded down to a power of 2; data play no part."""
    exact = arrays.scale(scale=scale)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact < Fraction(2) ** exponent:
        exponent -= 1
    return Fraction(2) ** (exponent - _FINENESS)


def with_noise(
    rounded: Callable[..., Integers],
    values: ArrayLike | Sequence[Fraction],
    scale: Fraction,
    rng: Rng,
    granularity: Fraction | None = None,
) -> NDArray[np.float64]:
    """Return values with rounded noise on a grid, by default one that the scale decides."""
    grid = default_granularity(scale) if granularity is None else granularity
    return arrays.as_floats(rounded(values, scale, grid, rng), grid)


def add_rounded(
    value: ArrayLike, scale: Fraction, granularity: Fraction, noise: Magnitude, rng: Rng
) -> Integers:
    """Return k with k * granularity the nearest multiple to value + S * scale * M.

    Proof: in units of the grid the ideal number is n + f + S (s/g) M, where n is the integer
        nearest to v/g and f = v/g - n. Scaling v by a power of two, n and f are exact in binary64,
        and x = f + S (s/g) M is computed with an error below ``margin``. If x +- margin lies
        strictly inside one cell (c - 1/2, c + 1/2), the answer is n + c. Otherwise (also for every
        nan and infinity, whose comparisons are false) ``_exact_cell`` decides from further digits
        of the same uniform.
    """
    values = arrays.reals(value=value)
    grid, exponent = arrays.granularity(granularity=granularity)
    flat = values.ravel()
    uniforms = Uniforms(len(flat), rng, spent=1)
    negative = (uniforms.first >> np.uint64(_NEGATIVE)).astype(np.bool_)
    steps = scale / grid
    factor = enclosure.nearest(steps)
    with np.errstate(all="ignore"):
        scaled = np.ldexp(flat, -exponent)
        base = np.rint(scaled)
        cell, clear = _near(scaled - base, negative, factor, noise, uniforms)
        clear &= np.abs(base) < _LARGE
        # Where it is clear, |x| < 2^50: the margin is at least |x| 2^-50.
        whole = np.where(clear, base, 0.0).astype(np.int64)
        whole += np.where(clear, cell, 0.0).astype(np.int64)
    slow: dict[int, int] = {}
    for i in map(int, np.flatnonzero(~clear)):
        signed = -steps if negative[i] else steps
        slow[i] = _exact_cell(Fraction(float(flat[i])) / grid, signed, noise, uniforms.lazy(i))
    return patched(whole, slow).reshape(values.shape)


def add_rounded_rationals(
    values: Sequence[Fraction],
    scale: Fraction,
    noise: Magnitude,
    rng: Rng,
    *,
    granularity: Fraction,
) -> Integers:
    """Return one k for each of some rationals, as in ``add_rounded``.

    Proof: as there, f now being a rational of size at most 1/2, whose float is within 2^-54 of it,
        which ``margin`` has room for: its last term is at least eight times that.
    """
    grid, _ = arrays.granularity(granularity=granularity)
    steps, count = scale / grid, len(values)
    factor = enclosure.nearest(steps)
    base = [round(value / grid) for value in values]
    rest = [value / grid - nearest for value, nearest in zip(values, base, strict=True)]
    uniforms = Uniforms(count, rng, spent=1)
    negative = (uniforms.first >> np.uint64(_NEGATIVE)).astype(np.bool_)
    with np.errstate(all="ignore"):
        cell, clear = _near(np.array(rest, dtype=np.float64), negative, factor, noise, uniforms)
    slow = {
        i: _exact_cell(rest[i], -steps if negative[i] else steps, noise, uniforms.lazy(i))
        for i in map(int, np.flatnonzero(~clear))
    }
    cells = patched(np.where(clear, cell, 0.0).astype(np.int64), slow)
    if max(map(abs, base), default=0) < _LARGE:
        return multiply_add(1, cells, np.array(base, dtype=np.int64))
    return multiply_add(1, cells, np.array(base, dtype=np.object_))


def _near(
    rest: NDArray[np.float64],
    negative: NDArray[np.bool_],
    factor: float,
    noise: Magnitude,
    uniforms: Uniforms,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the cell of rest + S (s/g) M in units of the grid, and where that is certain."""
    magnitude = noise.quantile(uniforms.approximation)
    x = rest + np.where(negative, -factor, factor) * magnitude
    relative = noise.relative + enclosure.ROUNDING
    margin = factor * (2 * enclosure.UNIFORM * noise.conditioning + magnitude * relative)
    margin += enclosure.ROUNDING * (1.0 + np.abs(x))
    cell = np.rint(x)
    return cell, np.abs(x - cell) + margin < 0.5


def _exact_cell(value: Fraction, steps: Fraction, noise: Magnitude, uniform: LazyUniform) -> int:
    """Return the largest k with value + steps * M >= k - 1/2, in units of the grid."""
    # Steps carry the sign. For t >= 0, M > t exactly when U < S(t): only S(t) is compared.

    def at_least(k: int) -> bool:
        t = (k - _HALF - value) / steps
        if steps < 0:
            return t >= 0 and not uniform.is_below(noise.survival(t))
        return t <= 0 or uniform.is_below(noise.survival(t))

    return largest(at_least, round(value + steps * Fraction(noise.guess(uniform.minus_log()))))


def _quantile(u: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

    return np.asarray(-special.ndtri(u / 2), dtype=np.float64)


def _guess(minus_log: float) -> float:
    from scipy import special  # noqa: PLC0415 - its import takes longer than all of ours

    return max(0.0, -float(special.ndtri_exp(-minus_log - math.log(2))))


# |Z| = -ndtri(U/2); |dZ / d(log U)| is the Mills ratio of Z, at most sqrt(pi/2) = 1.2534.
HALF_NORMAL: Final = Magnitude(
    quantile=_quantile,
    relative=enclosure.NDTRI,
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
    """
    exact = arrays.scale(sigma=sigma)
    return add_rounded(value, exact, granularity, HALF_NORMAL, rng)


def gaussian_rounded_rationals(
    values: Sequence[Fraction], sigma: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return one k for each of some rationals, as ``gaussian_rounded`` does."""
    exact = arrays.scale(sigma=sigma)
    return add_rounded_rationals(values, exact, HALF_NORMAL, rng, granularity=granularity)


EXPONENTIAL: Final = Magnitude(
    quantile=lambda u: np.asarray(-np.log(u)),
    relative=enclosure.LIBM,
    conditioning=1.0,
    survival=exp_minus,
    guess=lambda minus_log: max(0.0, minus_log),
)


def laplace_rounded(
    value: ArrayLike, scale: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return integers k as ``gaussian_rounded``, for ideal Laplace noise: |L| = -log U."""
    exact = arrays.scale(scale=scale)
    return add_rounded(value, exact, granularity, EXPONENTIAL, rng)


def _cauchy_guess(minus_log: float) -> float:
    if minus_log > 1:
        return 2.0 / math.pi * math.exp(min(minus_log, 700.0))
    return 1.0 / math.tan(math.exp(-minus_log) * math.pi / 2)


# M = cot(pi U/2), and |dM / d(log U)| is at most M + pi/2: the part that grows with M is added to
# the relative error, as is that of numpy.tan, assumed to be as good as numpy.exp.
_HALF_CAUCHY: Final = Magnitude(
    quantile=lambda u: np.asarray(1.0 / np.tan(u * (math.pi / 2))),
    relative=16 * enclosure.LIBM,
    conditioning=4.0,
    survival=cauchy_two_tails,
    guess=_cauchy_guess,
)


def cauchy_rounded(
    value: ArrayLike, scale: arguments.Number, granularity: Fraction, rng: Rng
) -> Integers:
    """Return integers k as ``gaussian_rounded``, for ideal Cauchy noise: |Z| = cot(pi U/2)."""
    exact = arrays.scale(scale=scale)
    return add_rounded(value, exact, granularity, _HALF_CAUCHY, rng)


_FIRST_BITS: Final = 128  # Digits of the first attempt; the next has twice as many. Heuristic.
_HALF_STEP: Final = 0.5
_EXACT_NEAREST: Final = 2.0**50  # Below it the nearest integer is exact. Soundness depends on it.
_GUARD: Final = 32  # More digits of the arithmetic than of the uniforms. Heuristic.


def spherical_rounded(
    scale: arguments.Number, granularity: Fraction, coordinates: int, size: int, rng: Rng
) -> Integers:
    """Draw ``size`` vectors of density proportional to e^(-||x|| / scale), rounded to a grid.

    Proof: the norm has density r^(m-1) e^(-r/scale), that of a sum of m exponentials -scale log U,
        and the direction is that of a standard normal vector, whose coordinates are
        sqrt(-2 log U) cos(2 pi V). Intervals of all uniforms give an interval of every coordinate;
        if one contains a border of two cells, more digits of the same uniforms are drawn.
    Assumption: mpmath's intervals contain what they stand for.
    """
    exact = arrays.scale(scale=scale)
    grid, _ = arrays.granularity(granularity=granularity)
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
        scaled = enclosure.nearest(steps) * length / norm
        x = normal * scaled[:, np.newaxis]
        margin = 2 * blur * scaled[:, np.newaxis] + np.abs(x) * shared[:, np.newaxis]
        cells = np.rint(x)
        clear = (np.abs(x - cells) + margin < _HALF_STEP) & (np.abs(x) < _EXACT_NEAREST)
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
    """Draw integer vectors, P(k) ~ e^(-max |k_j| / scale) (proofs/theory/inversion.md, 5)."""
    exact = arrays.scale(scale=scale)
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
    odd = 2 * radius + 1
    return Fraction(odd**width, math.prod(range(odd + 1, odd + 2 * width, 2)))


_FIRST_PRECISION, _LOG_GUARD, _NEAREST = 128, 24, "n"
Bracket: TypeAlias = "Callable[[int, int], tuple[Fraction, Fraction]]"
"""(numerator, bits) -> rationals around the magnitude at U = numerator / 2^bits, in (0, 1]."""


@final
class NoisyReal:
    """One ideal number value + scale * M, M a falling function of a uniform; never rounded."""

    # -log U, or the normal quantile of 1 - U/2. A comparison is an inequality of functions of
    # uniforms, of which digits are drawn until it is certain; two are equal with probability 0.

    __slots__ = ("_magnitude", "_scale", "_uniform", "_value")

    def __init__(
        self,
        value: Fraction,
        scale: Fraction,
        uniform: LazyUniform,
        magnitude: Bracket | None = None,
    ) -> None:
        self._value, self._scale, self._uniform = value, scale, uniform
        self._magnitude = magnitude or _minus_log

    def exceeds(self, other: NoisyReal) -> bool:
        """Return whether this number is above the other, for a number with another uniform."""
        bits = _FIRST_PRECISION
        while True:
            (low, high), (least, most) = self.bracket(bits), other.bracket(bits)
            if low > most or high < least:
                return low > most
            bits *= 2

    def steps_above(self, other: NoisyReal, grid: Fraction) -> int:
        """Return the k for which k * grid is nearest to what this number is above the other."""
        bits = _FIRST_PRECISION
        while True:
            (low, high), (least, most) = self.bracket(bits), other.bracket(bits)
            ends = {math.floor(gap / grid + _HALF) for gap in (low - most, high - least)}
            if len(ends) == 1:
                return ends.pop()
            bits *= 2

    def bracket(self, bits: int) -> tuple[Fraction, Fraction]:
        """Return rationals around the number, from at least so many digits of its uniform."""
        uniform = self._uniform.refine(bits)
        while uniform.prefix == 0:
            uniform.refine(uniform.bits + 1)
        near = self._magnitude(uniform.prefix + 1, uniform.bits)[0]
        far = self._magnitude(uniform.prefix, uniform.bits)[1]
        ends = self._value + self._scale * near, self._value + self._scale * far
        return min(ends), max(ends)


@final
class NoisyReals:
    """Many independent values[i] + scale * noise[i]: M, with a fair sign if ``signed``."""

    # ``margin`` bounds the errors of ``near``; nan or infinite where there is no bound.

    def __init__(
        self,
        values: NDArray[np.float64],
        scale: Fraction,
        rng: Rng,
        *,
        signed: bool,
        normal: bool = False,
    ) -> None:
        self._values, self._scale = values, scale
        law, self._exact = (HALF_NORMAL, _normal_ends) if normal else (EXPONENTIAL, _minus_log)
        self._uniforms = Uniforms(len(values), rng, spent=int(signed))
        top = (self._uniforms.first >> np.uint64(_NEGATIVE)).astype(np.bool_)
        self._negative = top & signed
        self._known: dict[int, NoisyReal] = {}
        factor = enclosure.nearest(scale)
        with np.errstate(all="ignore"):
            noise = factor * np.maximum(law.quantile(self._uniforms.approximation), 0.0)
            self.near = values + np.where(self._negative, -noise, noise)
            error = noise * (law.relative + enclosure.ROUNDING)
            error += 2 * enclosure.UNIFORM * law.conditioning * factor
            self.margin = error + enclosure.ROUNDING * np.abs(self.near) + enclosure.UNDERFLOW

    def exact(self, index: int) -> NoisyReal:
        """Return one of the numbers to any precision, the same one whenever it is asked for."""
        if index not in self._known:
            scale = -self._scale if self._negative[index] else self._scale
            value = Fraction(float(self._values[index]))
            self._known[index] = NoisyReal(value, scale, self._uniforms.lazy(index), self._exact)
        return self._known[index]


def exceeding(left: NoisyReals, right: NoisyReals, row: int) -> NDArray[np.bool_]:
    """Return which numbers on the left, ``row`` for each on the right, are above: (rows, row)."""
    with np.errstate(invalid="ignore"):
        gap = left.near.reshape(-1, row) - right.near[:, None]
        error = left.margin.reshape(-1, row) + right.margin[:, None]
        error = error + enclosure.ROUNDING * np.abs(gap)
        above, below = gap > error, gap < -error
    for i, j in np.argwhere(~(above | below)):
        above[i, j] = left.exact(int(i) * row + int(j)).exceeds(right.exact(int(i)))
    return np.asarray(above)


def rounded_gaps(
    left: NoisyReals, right: NoisyReals, at: NDArray[np.int64], row: int, granularity: Fraction
) -> Integers:
    """Return k, k * granularity nearest to left[i] - right[i // row], for different i of ``at``."""
    grid, exponent = arrays.granularity(granularity=granularity)
    owner = at // row
    with np.errstate(all="ignore"):
        gap = left.near[at] - right.near[owner]
        error = left.margin[at] + right.margin[owner] + enclosure.ROUNDING * np.abs(gap)
        steps, slack = np.ldexp(gap, -exponent), np.ldexp(error, -exponent)
        cell = np.rint(steps)
        slack += enclosure.ROUNDING * (1.0 + np.abs(steps))
        clear = np.abs(steps - cell) + slack < float(_HALF)
    slow = {
        int(j): left.exact(int(at[j])).steps_above(right.exact(int(owner[j])), grid)
        for j in np.flatnonzero(~clear)
    }
    return patched(np.where(clear, cell, 0.0).astype(np.int64), slow)


def largest_of_rows(numbers: NoisyReals, row: int) -> NDArray[np.int64]:
    """Return the position in each row of its largest number."""
    near, error = numbers.near.reshape(-1, row), numbers.margin.reshape(-1, row)
    with np.errstate(invalid="ignore"):
        lower = np.where(np.isfinite(error), near - error * (1 + enclosure.ROUNDING), -np.inf)
        upper = np.where(np.isfinite(error), near + error * (1 + enclosure.ROUNDING), np.inf)
    slack = enclosure.ROUNDING * np.abs(near)
    possible = ~(upper + slack < (lower - slack).max(axis=1)[:, None])
    winners: NDArray[np.int64] = possible.argmax(axis=1).astype(np.int64)
    for i in np.flatnonzero(possible.sum(axis=1) > 1):
        best, *others = (int(j) for j in np.flatnonzero(possible[i]))
        for j in others:
            start = int(i) * row
            if numbers.exact(start + j).exceeds(numbers.exact(start + best)):
                best = j
        winners[i] = best
    return winners


def _minus_log(numerator: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around -log(numerator / 2^bits), 0 < numerator <= 2^bits."""
    # Assumption: mpmath's log at w bits is within a relative 2^(8 - w), as in ``enclosure``.
    from mpmath import libmp  # noqa: PLC0415 - only the rare slow decisions need it

    work = bits + _LOG_GUARD
    ratio: Any = libmp.from_man_exp(numerator, -bits)
    sign, man, exp, _ = libmp.mpf_log(ratio, work, _NEAREST)
    value = -Fraction(-man if sign else man) * Fraction(2) ** exp
    slack = value / (1 << (work - 9))
    return value - slack, value + slack


def _normal_ends(numerator: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around the m with P(|Z| > m) = numerator / 2^bits; both ends are checked."""
    if numerator == 1 << bits:
        return Fraction(0), Fraction(0)
    from mpmath import libmp, mp  # noqa: PLC0415 - only the rare slow decisions need it

    fine = 2 * bits + _LOG_GUARD
    with mp.workprec(fine + _LOG_GUARD):
        mass = mp.mpf(numerator) / mp.mpf(2) ** bits
        root = mp.mpf(HALF_NORMAL.guess(float(-mp.log(mass))))
        for _ in range(fine.bit_length()):
            tail, density = mp.erfc(root / mp.sqrt(2)), 2 * mp.npdf(root)
            root = max(root + (tail - mass) / density, root / 2)
        near = Fraction(*libmp.to_rational(mp.mpf(root)._mpf_))
    units, step = numerator << (fine - bits), Fraction(1, 1 << bits)
    while True:
        low, high = max(near - step, Fraction(0)), near + step
        if normal_two_tails(low)(fine)[0] >= units >= normal_two_tails(high)(fine)[1]:
            return low, high
        step *= 2
