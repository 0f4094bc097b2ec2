"""Masses of binomial and of Skellam laws, with bounds of what they miss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals

# Standard deviations, and further counts, that are listed. Heuristic: ``lost`` bounds the rest.
_WIDTH: Final = 16.0
_FURTHER: Final = 64
# Roundings of a step from one mass to the next, of a sum of masses, and of odds that were computed.
# Soundness depends on them.
_STEP, _ODDS = 6 * UNIT_ROUNDOFF, 64 * UNIT_ROUNDOFF


@final
@dataclass(frozen=True, slots=True)
class Binomial:
    """The masses of Bin(trials, r) around its mode.

    A true mass, and a sum of them, is at most ``slip`` away from the listed one, relative, plus
    ``lost``; masses that are not listed are ``lost`` together.
    """

    trials: int  # at or above 0, at most 2^52
    odds: float  # r/(1 - r), above 0; exact if 1, else within 64 roundings
    first: int = field(init=False, compare=False)  # the first count that is listed
    masses: Reals = field(init=False, compare=False, repr=False)  # from there on, shape (n,)
    # Sums of the masses from each count on.
    tails: Reals = field(init=False, compare=False, repr=False)
    slip: float = field(init=False, compare=False)  # relative
    lost: float = field(init=False, compare=False)  # absolute

    def __post_init__(self) -> None:
        """Multiply ratios from the mode outwards, and divide by the sum.

        Rounds: a mass over that of the mode by its steps, the sum likewise. Ratios fall with the
            count, so that beyond the last mass m with ratio q < 1 there is at most m q / (1 - q).
        """
        rate = self.odds / (1.0 + self.odds)
        mode = min(int((self.trials + 1) * rate), self.trials)
        reach = math.ceil(_WIDTH * math.sqrt(self.trials * rate * (1.0 - rate))) + _FURTHER
        right = np.arange(mode, min(mode + reach, self.trials), dtype=np.float64)
        left = np.arange(mode, max(mode - reach, 0), -1.0)
        rises = np.cumprod((self.trials - right) * self.odds / (right + 1.0))
        falls = np.cumprod(left / ((self.trials - left + 1.0) * self.odds))
        masses = np.concatenate([falls[::-1], [1.0], rises])
        masses /= masses.sum()
        first, last = mode - left.size, mode + right.size
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "masses", masses)
        object.__setattr__(self, "tails", np.cumsum(masses[::-1])[::-1])
        step = _STEP + (_ODDS if self.odds != 1.0 else 0.0)
        object.__setattr__(self, "slip", 2.0 * step * (masses.size + 8))
        ratios = (
            (self.trials - last) * self.odds / (last + 1.0),
            first / ((self.trials - first + 1.0) * self.odds),
        )
        ends = zip(masses[[-1, 0]].tolist(), ratios, strict=True)
        lost = sum(2.0 * mass * min(q / (1.0 - q), self.trials) for mass, q in ends if q < 1.0)
        object.__setattr__(self, "lost", lost + 1e-300)

    @property
    def last(self) -> int:
        """Return the last count that is listed."""
        return self.first + self.masses.size - 1

    def window(self, least: float) -> tuple[int, int]:
        """Return the first and the last count whose masses are above the least of interest."""
        likely = np.flatnonzero(self.masses > least)
        return self.first + int(likely[0]), self.first + int(likely[-1])

    def most(self, first: int, last: int) -> float:
        """Bound the probability of counts from first to last from above."""
        return min(self._sum(first, last) * (1.0 + self.slip) + self.lost, 1.0)

    def least(self, first: int, last: int) -> float:
        """Bound it from below."""
        return max(self._sum(first, last) * (1.0 - self.slip) - self.lost, 0.0)

    def _sum(self, first: int, last: int) -> float:
        """Return the sum of the listed masses from one count to another."""
        start, end = (max(at - self.first, 0) for at in (first, last + 1))
        return float(self.masses[start:end].sum())


_GUARD: Final = 64  # Bits that are computed beyond those asked for. Soundness rests on brackets.
_LOG_2: Final = Fraction(7, 10)  # Above log 2. Heuristic: it decides how far the masses go.


@final
@dataclass(frozen=True, slots=True)
class SkellamMasses:
    """Brackets of P(X = k), k = 0, 1, ..., and of what lies beyond, in units of 2^-bits."""

    lower: tuple[int, ...]  # at or below the masses
    upper: tuple[int, ...]  # at or above the masses
    beyond: int  # at or above P(X > k) for the last k


@lru_cache(maxsize=16)
def skellam_masses(variance: Fraction, bits: int) -> SkellamMasses:
    """Return brackets of the masses P(k) = e^-v I_k(v), up to where they are below 2^-bits.

    Proof: I_(k-1) - I_(k+1) = (2k/v) I_k, so r_k = I_(k+1)/I_k has r_(k-1) = 1/(2k/v + r_k), which
        falls in r_k: a bracket of r_k, [0, 1] for the first, gives one of r_(k-1), and those of the
        products w_k = r_0 ... r_(k-1) follow. The masses are w_k over their sum. A Skellam law is
        log-concave, as a convolution of log-concave laws, so r_k falls in k and the w beyond the
        last, w_K, add up to at most w_K r_K/(1 - r_K).
    """
    last = math.isqrt(math.ceil(2 * variance * bits * _LOG_2)) + bits
    work = bits + _GUARD
    one, square = 1 << work, 1 << (2 * work)
    low, high = 0, one
    ratios: list[tuple[int, int]] = []
    for k in range(last + last // 2 + bits, 0, -1):
        if k <= last + 1:
            ratios.append((low, high))
        step = (2 * k * variance.denominator << work) // variance.numerator
        low, high = square // (step + 1 + high), -(-square // (step + low))
    ratios.append((low, high))
    ratios.reverse()
    least, most = [one], [one]
    for low, high in ratios[:last]:
        least.append(least[-1] * low >> work)
        most.append(-(-most[-1] * high >> work))
    falling = ratios[last][1]
    rest = most[-1] * falling // (one - falling) + 1
    whole = one + 2 * sum(least[1:]), one + 2 * sum(most[1:]) + 2 * rest
    return SkellamMasses(
        tuple((w << bits) // whole[1] for w in least),
        tuple(-(-(w << bits) // whole[0]) for w in most),
        -(-(rest << bits) // whole[0]),
    )
