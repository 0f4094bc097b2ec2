"""The privacy profile of two opposite Gaussian mixtures, in closed form.

The loss increases, so that for t = e^eps >= 1 the best event is z > x with A(x) = t B(x):
H_t = q Phi(mu-x) - (1-q)(t-1) Phi(-x) - t q Phi(-x-mu). With e^{mu x} as the unknown the equation
is quadratic, and its root is

    mu x = eps/2 + asinh((1-q)/q e^{mu^2/2} sinh(eps/2)).

At the root q phi(x-mu) = (1-q)(t-1) phi(x) + t q phi(x+mu). With D = q phi(x-mu), lambda =
t e^{-2 mu x} in [0, 1] and the Mills ratio m = Phi(-.)/phi this makes

    H_t = D (m(x-mu) - (1-lambda) m(x) - lambda m(x+mu)).

For t < 1, H_t = 1 - t + t H_{1/t}, as the pair is its own swap.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.accountant.arithmetic import normal_distribution
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Reals,
    from_swapped,
)

# The error of an elementary function. Soundness depends on it.
_ULP = ELEMENTARY_ULPS * UNIT_ROUNDOFF
_HUGE = 1e140  # An epsilon beyond which delta is 0 in every digit. Error bounds depend on it.
_MILLS = math.sqrt(math.pi / 2)  # The factor between erfcx and the Mills ratio.


def opposite_profile(mu: float, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Rigorous lower and upper ends of the hockey-stick divergence.

    Rounds: outwards, by the sizes of the three parts times the roundings in each, and by what a
        threshold x that is off by d moves: at most d (1 + |x - mu| m(x - mu)) D in the first part,
        d (1 + 2 mu + |x - mu|) times the size of the other two, and d D in each of them.
    """
    size = np.minimum(np.abs(epsilon), _HUGE)
    x, away = _threshold(mu, sampling_rate, size)
    rate = float(sampling_rate)
    with np.errstate(under="ignore", over="ignore"):
        before, share = x - mu, np.exp(np.minimum(size - 2.0 * mu * x, 0.0))
        density = rate * np.exp(-0.5 * before * before) / math.sqrt(2 * math.pi)
        mills = _MILLS * normal_distribution.erfcx(np.maximum(before, 0.0) / math.sqrt(2))
        first = np.where(before >= 0, density * mills, rate * normal_distribution.ndtr(-before))
        unmoved = (1.0 - share) * _MILLS * normal_distribution.erfcx(x / math.sqrt(2))
        rest = density * (
            unmoved + share * _MILLS * normal_distribution.erfcx((x + mu) / math.sqrt(2))
        )
    value = first - rest
    rounded = 16.0 * _ULP * (8.0 + before * before + mu * (np.abs(before) + mu)) + 1e-300
    rounded = rounded + 16.0 * _ULP * (size + mu * x)  # the share's exponent
    moved = 2.0 * away * (1.0 + 2.0 * mu + np.abs(before))
    margin = (rounded + moved) * (first + rest) + 4.0 * away * density + 1e-320
    lower, upper = np.maximum(value - margin, 0.0), value + margin
    below = from_swapped(lower, upper, -size)
    return np.where(epsilon < 0, below[0], lower), np.where(epsilon < 0, below[1], upper)


def _threshold(mu: float, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return the root x for epsilon >= 0, and a bound of its error."""
    odds = math.log((1 - sampling_rate) / sampling_rate)
    half = 0.5 * epsilon
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_sinh = half + np.log(-np.expm1(-epsilon)) - math.log(2.0)
        argument = odds + 0.5 * mu * mu + log_sinh
        inside = np.arcsinh(np.exp(np.minimum(argument, 0.0)))
        decayed = np.exp(-2.0 * np.maximum(argument, 0.0))
        beyond = np.maximum(argument, 0.0) + np.log1p(np.sqrt(1.0 + decayed))
        found = np.where(argument > 0, beyond, inside)
        blur = np.where(epsilon > 0, abs(odds) + mu * mu + half + np.abs(log_sinh) + 8.0, 0.0)
    off = 8.0 * _ULP * (epsilon + found * (1.0 + np.where(argument > 0, 0.0, blur)))
    off = off + 8.0 * _ULP * np.where(argument > 0, blur, 0.0)
    x = (half + found) / mu
    return x, off / mu + 8.0 * _ULP * x
