"""Laws on integers: Skellam's in balls, and binomial masses with a bound of what they miss."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import Final, final

from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.frozen import frozen


@frozen
class Shifted:
    """X + shift against X: half-lines {x >= k}, k = first, first + 1, ..., are the best events."""

    first: int  # the first k
    later: list[arb]  # P(X + shift >= k)
    now: list[arb]  # P(X >= k)
    # mass of X + shift at k over that of X, growing; one less than there are half-lines
    ratio: list[arb]
    near: list[float]  # the same in floating point

    def profile(self, t: arb) -> arb:
        """Return a number that is at least every P(X + shift >= k) - t P(X >= k).

        From k to k + 1 it grows where the ratio at k is below t, and falls from there on.
        """
        guess, last = bisect_left(self.near, float(t.mid())), len(self.ratio)
        wide = 2
        while True:
            low, high = max(guess - wide, 0), min(guess + wide, last)
            if (low == 0 or self.ratio[low - 1] < t) and (high == last or self.ratio[high] >= t):
                break
            wide *= 2
        best = self.later[low] - t * self.now[low]
        for k in range(low + 1, high + 1):
            best = best.max(self.later[k] - t * self.now[k])
        if low == 0:  # half-lines that begin earlier
            best = best.max(1 - t * self.now[0])
        return best.max(self.later[last]) if high == last else best


def reach(variance: Fraction, precision: int) -> int:
    """Return how far from 0 masses are kept: beyond, they are far below 2^-precision."""
    return isqrt(int(2 * variance * precision)) + precision


def shifted(variance: Fraction, shift: int) -> Shifted:
    """Return X + shift against X, X of the Skellam law of this variance, at the present precision.

    X is the difference of two independent Poisson numbers of one mean. P(X = k) = e^-v I_k(v), and
    I_(k-1) - I_(k+1) = (2k/v) I_k gives the quotients r_k = I_(k+1)/I_k from r_k in [0, 1] far out.
    They fall in k: the law is log-concave, so that beyond the last mass w there is at most
    w r/(1 - r).
    """
    last = reach(variance, ctx.prec) + shift
    ratios, one = [], arb(0.5, 0.5)
    for k in range(2 * last, 0, -1):
        if k <= last:
            ratios.append(one)
        one = 1 / (ball(2 * k / variance) + one)
    weights = [arb(1)]
    for each in [one, *ratios[:0:-1]]:
        weights.append(weights[-1] * each)
    beyond = weights[-1] * ratios[0] / (1 - ratios[0]) * arb(0.5, 0.5)
    whole = 1 + 2 * (sum(weights[1:], arb(0)) + beyond)
    masses = [weight / whole for weight in weights]
    tails = [beyond / whole]
    for mass in reversed(masses):
        tails.append(tails[-1] + mass)
    tails.reverse()  # P(X >= k), k = 0, ..., last + 1

    def tail(k: int) -> arb:
        if k <= 0:
            return 1 - tail(1 - k)
        return tails[min(k, last + 1)] if k <= last + 1 else tails[-1] * arb(0.5, 0.5)

    places = range(shift - last, last + 1)
    ratio = [masses[abs(k - shift)] / masses[abs(k)] for k in places]
    ends = range(shift - last, last + 2)
    return Shifted(
        shift - last,
        [tail(k - shift) for k in ends],
        [tail(k) for k in ends],
        ratio,
        [float(one.mid()) for one in ratio],
    )


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
