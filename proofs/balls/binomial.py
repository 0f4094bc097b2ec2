"""Binomial masses as integers, with a bound of what they miss."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import Final, final

_TOP: Final = 1 << 192  # of the largest mass, in units


@final
class Counts:
    """The law Bin(trials, r), r/(1 - r) = odds.

    A mass times ``total`` is at most the unit listed and ``slip``, and at most ``slip`` if none
    is; sums of masses times ``total`` are within ``lost`` of the sums of units. Every unit is the
    one before, towards the mode, times a ratio of at most 1, rounded down.
    """

    __slots__ = ("first", "lost", "odds", "slip", "sums", "trials", "units")

    def __init__(self, trials: int, odds: Fraction) -> None:
        """List the units outwards from the mode until nothing is left of one."""
        mode = min(int((trials + 1) * odds / (1 + odds)), trials)
        up, down = odds.numerator, odds.denominator
        right, unit, count = [_TOP], _TOP, mode
        while count < trials and unit:
            unit = unit * ((trials - count) * up) // ((count + 1) * down)
            count += 1
            right.append(unit)
        left, unit, count = [], _TOP, mode
        while count > 0 and unit:
            unit = unit * (count * down) // ((trials - count + 1) * up)
            count -= 1
            left.append(unit)
        self.trials, self.odds, self.first = trials, odds, count
        self.units: Sequence[int] = (*reversed(left), *right)
        self.sums = (0, *accumulate(self.units))
        self.slip = len(self.units)
        self.lost = self.slip * (trials + 1)

    @property
    def total(self) -> int:
        """Return the sum of the units."""
        return self.sums[-1]

    def between(self, first: int, last: int) -> int:
        """Return the sum of the units of counts from first to last."""
        start = min(max(first - self.first, 0), len(self.units))
        end = min(max(last + 1 - self.first, start), len(self.units))
        return self.sums[end] - self.sums[start]

    def mass(self, count: int) -> int:
        """Return the unit of a count, rounded up."""
        at = count - self.first
        return (self.units[at] if 0 <= at < len(self.units) else 0) + self.slip

    def tail(self, count: int) -> int:
        """Return the units from a count on, rounded down."""
        return max(self.between(count, self.trials) - self.lost, 0)


def counts_work(trials: int) -> int:
    """Return the work of listing a law: some 20 standard deviations on either side."""
    return 64 + 24 * isqrt(trials)
