"""Ideal real numbers value + scale * noise that are compared, never rounded.

The noise is Laplace, exponential or normal: S M or M with M a falling function of U, an ideal
uniform, -log U or the normal quantile of 1 - U/2, and S a fair sign. Comparing two such numbers is
deciding an inequality between functions of uniforms, of which further digits are drawn until it is
certain; two of them are equal with probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.samplers import arrays, enclosure
from dpproof.mechanisms.samplers.arrays import Integers, patched
from dpproof.mechanisms.samplers.enclosure import normal_two_tails
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import EXPONENTIAL, HALF_NORMAL
from dpproof.mechanisms.samplers.uniform import LazyUniform, Uniforms

_FIRST_PRECISION = 128
_GUARD = 24
_NEGATIVE = 63
_NEAREST = "n"
_HALF = Fraction(1, 2)
Bracket: TypeAlias = "Callable[[int, int], tuple[Fraction, Fraction]]"
"""(numerator, bits) -> rationals around the magnitude at U = numerator / 2^bits, in (0, 1]."""


@final
class NoisyReal:
    """One number value + scale * M, M of a uniform whose digits are drawn when needed.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> one, other = (
        ...     NoisyReal(Fraction(k), Fraction(1), LazyUniform(1, 1, ReplayRng(k))) for k in (0, 9)
        ... )
        >>> other.exceeds(one)
        True
    """

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
    """Many numbers values[i] + scale * noise[i], independent: Laplace if signed, or normal.

    ``near`` has binary64 approximations, infinite or nan where there is none, and ``margin`` bounds
    of their errors, nan or infinite there, too.
    """

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
        law, self._exact = (HALF_NORMAL, _quantile) if normal else (EXPONENTIAL, _minus_log)
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
    """Return which numbers on the left, ``row`` for each on the right, are above it.

    The shape is (rows, row).
    """
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
    """Return k with k * granularity nearest to left[i] - right[i // row], for every i of ``at``.

    No i is in ``at`` twice; the granularity is a power of two.
    """
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
    """Return rationals around -log(numerator / 2^bits), 0 < numerator <= 2^bits.

    Assumption: mpmath's ``log`` at w bits is within a relative 2^(8 - w), as in ``enclosure``.
    """
    from mpmath import libmp  # noqa: PLC0415 - only the rare slow decisions need it

    work = bits + _GUARD
    ratio: Any = libmp.from_man_exp(numerator, -bits)
    sign, man, exp, _ = libmp.mpf_log(ratio, work, _NEAREST)
    value = -Fraction(-man if sign else man) * Fraction(2) ** exp
    slack = value / (1 << (work - 9))
    return value - slack, value + slack


def _quantile(numerator: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around the m with P(|Z| > m) = numerator / 2^bits, Z standard normal.

    Newton's method finds a number next to it; the two ends are compared with the probability.
    """
    if numerator == 1 << bits:
        return Fraction(0), Fraction(0)
    from mpmath import libmp, mp  # noqa: PLC0415 - only the rare slow decisions need it

    fine = 2 * bits + _GUARD
    with mp.workprec(fine + _GUARD):
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
