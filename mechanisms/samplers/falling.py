"""Geometric, discrete Laplace and discrete Gaussian numbers (proofs/theory/inversion.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.mechanisms.samplers import margins, sampler_arguments
from dpproof.mechanisms.samplers.arrays import Integers, first_accepted, multiply_add, subtract
from dpproof.mechanisms.samplers.coins import bernoulli_exp_near
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.inversion import part_words, symmetric
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import WORD, uniform_below

_GUARD: Final = 40  # digits beyond those asked for; soundness rests on brackets
_HALF_WORD: Final = 12  # half a word is a place in a cell of so many digits, and 20 of a coin
_ONE_WORD: Final = 24
_CELLS: Final = 16  # the least number of cells of a spread
_BLOCK: Final = 2**16  # proposals at once, for the processor's cache


def geometric(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent geometric numbers of the given scale.

    Law: P(k) = (1 - r) r^k for k = 0, 1, ..., with r = e^(-1/scale).
    Proof: proofs/theory/inversion.md.

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
        >>> geometric(Fraction(1, 200), 3, ReplayRng(1))
        array([0, 0, 0])
    """
    exact = sampler_arguments.scale(scale=scale)
    law = _Law.of(1, 1 / exact, 1, math.floor(2 * exact))
    return law.draw(arguments.whole(size=size), rng)


def discrete_laplace(scale: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent discrete Laplace numbers of the given scale.

    Law: P(x) = (1 - r) / (1 + r) * r^|x| for every integer x, with r = e^(-1/scale).
    Proof: proofs/theory/inversion.md.

    Arguments, results and refusals are those of ``geometric``.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> discrete_laplace(3, 4, ReplayRng(1)).shape
        (4,)
    """
    exact = sampler_arguments.scale(scale=scale)
    law = _Law.of(1, 1 / exact, 2, math.floor(2 * exact))
    return law.draw(arguments.whole(size=size), rng)


def discrete_gaussian(sigma_squared: arguments.Number, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent discrete Gaussian numbers.

    Law: P(x) proportional to e^(-x^2 / (2 sigma_squared)) for every integer x.
    Proof: proofs/theory/inversion.md.

    As for ``geometric``, with sigma_squared in [2^-600, 2^600], in squared units of the output.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> discrete_gaussian(Fraction(1, 1000), 3, ReplayRng(1))
        array([0, 0, 0])
    """
    exact = sampler_arguments.squared_scale(sigma_squared=sigma_squared)
    sigma = math.isqrt(exact.numerator // exact.denominator)
    return _Law.of(2, 1 / (2 * exact), 2, sigma).draw(arguments.whole(size=size), rng)


@final
@dataclass(frozen=True, slots=True)
class _Law:
    """P(x) proportional to e^(-rate |x|^power), for x from 0 on if it has one side of 2.

    Laplace laws of scale below 16 and Gaussian ones of sigma below 32 have cells of one size.
    """

    power: int
    rate: Fraction
    sides: int
    digits: int  # a cell has 2^digits sizes

    @classmethod
    def of(cls, power: int, rate: Fraction, sides: int, spread: int) -> _Law:
        return cls(power, rate, sides, max(spread // _CELLS, 1).bit_length() - 1)

    def draw(self, size: int, rng: Rng) -> Integers:
        if self.digits:
            return first_accepted(size, lambda n: _accepted(self, min(n, _BLOCK), rng), rate=0.96)
        drawn = symmetric(_cumulative, self, size, rng)
        return np.abs(drawn) if self.sides == 1 else drawn


@lru_cache(maxsize=32)
def _cumulative(law: _Law, bits: int) -> tuple[list[int], list[int]]:
    """Return brackets of the shares of 0 and the first cells, each weighed by its largest mass."""
    width, work = 2**law.digits, bits + _GUARD
    one, count, next_ = 1 << work, law.sides * width, 1 + width
    steps = 1, next_**law.power - 1, (next_ + width) ** law.power - 2 * next_**law.power + 1
    mass, ratio, bend = (exp_minus(law.rate * step)(work) for step in steps)
    low, high, rest = [one], [one], one
    while rest >> (_GUARD // 2):
        low.append(low[-1] + count * mass[0])
        high.append(high[-1] + count * mass[1])
        mass = mass[0] * ratio[0] >> work, -(-mass[1] * ratio[1] >> work)
        ratio = ratio[0] * bend[0] >> work, -(-ratio[1] * bend[1] >> work)
        rest = (mass[1] << work) // (one - ratio[1]) + 1
    most = high[-1] + count * rest
    return (
        [(x << bits) // most for x in low],
        [min(-(-(x << bits) // low[-1]), 1 << bits) for x in high],
    )


@lru_cache(maxsize=32)
def _accepted_below(law: _Law, bits: int, used: int) -> NDArray[np.uint64]:
    """Return for each cell below which words the coin of every size in it says yes."""
    width, cells = 2.0**law.digits, len(_cumulative(law, WORD - 1)[0])
    last = width * np.maximum(np.arange(cells), 1)
    gamma = float(law.rate) * (last**law.power - (last - width + 1) ** law.power)
    surely = np.maximum(np.exp(-gamma) - 2.0**-40, 0.0) * 2.0 ** (bits - used)
    return np.append(surely.astype(np.uint64) << np.uint64(used), np.uint64(0))


def _accepted(law: _Law, proposals: int, rng: Rng) -> Integers:
    """Return the accepted of some proposals, each uniform on the sizes of a cell."""
    cells = symmetric(_cumulative, law, proposals, rng)
    cells = np.abs(cells) if law.sides == 1 else cells
    width, bits = 2**law.digits, 32 if law.digits <= _HALF_WORD else WORD
    words = part_words(proposals, bits, rng)
    used = law.digits if law.digits <= _ONE_WORD else 0
    place: Integers = (words & words.dtype.type(2**used - 1)).astype(np.int64)
    place = place if used else uniform_below(width, proposals, rng)
    drawn = multiply_add(width, cells, -np.sign(cells) * place)
    surely = _accepted_below(law, bits, used).take(np.abs(cells), mode="clip")
    unclear = np.flatnonzero(words >= surely)
    size = np.abs(drawn[unclear])
    first = np.maximum(multiply_add(width, np.abs(cells[unclear]) - 1, np.array([1])), 0)
    gamma = subtract(size, first).astype(np.float64) * float(law.rate)
    if law.power == 2:
        gamma *= size.astype(np.float64) + first.astype(np.float64)
    coin = words[unclear].astype(np.uint64) >> np.uint64(used) << np.uint64(WORD - bits + used)
    coin |= rng.words(len(unclear)) >> np.uint64(bits - used)

    def exact(i: int) -> Fraction:
        return law.rate * Fraction(int(size[i]) ** law.power - int(first[i]) ** law.power)

    accepted = np.ones(len(drawn), dtype=np.bool_)
    error = gamma * (2 * margins.ROUNDING)
    accepted[unclear] = bernoulli_exp_near(gamma, error, exact, rng, coin)
    return drawn[accepted]
