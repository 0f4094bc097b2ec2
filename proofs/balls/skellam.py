"""The Skellam law, of the difference of two Poisson numbers of one mean, in balls."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import isqrt

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

    P(X = k) = e^-v I_k(v), and I_(k-1) - I_(k+1) = (2k/v) I_k gives the quotients r_k = I_(k+1)/I_k
    from r_k in [0, 1] far out. They fall in k: the law is log-concave, so that beyond the last mass
    w there is at most w r/(1 - r).
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
