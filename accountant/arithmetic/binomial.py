"""Binomial masses around the mode, with a bound of what they miss."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
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
