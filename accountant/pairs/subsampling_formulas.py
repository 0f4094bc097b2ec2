"""The privacy profile of a Poisson-subsampled pair, from the profile of the pair.

With t = e^eps and H_t the hockey-stick divergence (Zhu, Dong & Wang, arXiv:2106.08567,
Theorem 11; both lines are one regrouping of the integrand):

    removal:  H_t((1-q)Q + qP | Q) = q H_a(P|Q),  a = 1 + (t-1)/q   for t > 1 - q, else 1 - t;
    addition: H_t(P | (1-q)P + qQ) = r H_{qt/r}(P|Q), r = 1 - t(1-q) for r > 0, else 0.

Arguments are rounded both ways, so the brackets stay rigorous: H decreases. q is exact, as 1 - q
is not to be had from a float next to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Reals,
    from_swapped,
)

Profile = Callable[[Reals], tuple[Reals, Reals]]
# Epsilon from which t - 1 + q is as accurate as (t - 1) / q. Heuristic: both errors are bounded.
_LARGE = 1.0
# Epsilon from which t (1 - q) exceeds 1, as 1 - q is above e^-600. Soundness depends on it.
_FAR = 600.0
# The error of a few elementary functions. Soundness depends on it.
_ULP = 4 * ELEMENTARY_ULPS * UNIT_ROUNDOFF


def log_unsampled(sampling_rate: Fraction) -> float:
    """Return log(1 - q), within 8 u of itself."""
    if sampling_rate > Fraction(1, 2):
        return math.log(1 - sampling_rate)
    return math.log1p(-float(sampling_rate))


def _outward(base: Profile, argument: Reals, slack: Reals) -> tuple[Reals, Reals]:
    """Return ends valid for every argument within the slack.

    Both are evaluated in one call, as they share the work.
    """
    ends = base(np.concatenate([argument + slack, argument - slack]))
    return ends[0][: argument.size], ends[1][argument.size :]


def _share_up(share: float | Reals, upper: Reals) -> Reals:
    """Return a share of delta, rounded up: 0 only if delta is, however small the share."""
    return np.where(upper == 0, 0.0, np.nextafter(share * upper * (1 + _ULP), np.inf))


def removal_profile(base: Profile, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return lower and upper ends for the pair ((1-q)Q + qP, Q)."""
    rate, log_rate = float(sampling_rate), math.log(sampling_rate)
    near, far = np.minimum(epsilon, _LARGE), np.maximum(epsilon, _LARGE)
    ratio = np.expm1(near) / rate
    inside = ratio > -1.0
    ratio = np.where(inside, ratio, 0.0)
    large = far + np.log1p(-float(1 - sampling_rate) * np.exp(-far)) - log_rate
    argument = np.where(epsilon > _LARGE, large, np.log1p(ratio))
    with np.errstate(over="ignore"):  # at the largest epsilons; what is infinite is cut below
        slack = _ULP * (
            np.abs(argument)
            + (np.abs(ratio) + np.exp(near) / rate * np.abs(near)) / (1.0 + ratio)
            + np.where(epsilon > _LARGE, far + abs(log_rate), 0.0)
        )
    slack = np.minimum(slack, 1e3)
    lower, upper = _outward(base, argument, slack)
    outside = -np.expm1(near)
    return (
        np.where(inside, rate * lower, outside) * (1 - _ULP),
        np.where(inside, _share_up(rate, upper), outside * (1 + _ULP)),
    )


def addition_profile(base: Profile, sampling_rate: Fraction, epsilon: Reals) -> tuple[Reals, Reals]:
    """Return lower and upper ends for the pair (P, (1-q)P + qQ)."""
    rate, other = float(sampling_rate), float(1 - sampling_rate)
    near = np.minimum(epsilon, _FAR)  # rest is below 0 from there, as 1 - q is above e^-600
    grown = other * np.expm1(near)
    rest = rate - grown
    blur = _ULP * (rate + np.abs(grown) + other * np.exp(near) * np.abs(near))
    inside = rest > blur
    safe = np.where(inside, rest, 1.0)
    argument = math.log(rate) + epsilon - np.log(safe)
    with np.errstate(over="ignore"):  # as above
        slack = _ULP * (np.abs(epsilon) + abs(math.log(rate)) + np.abs(argument)) + 2 * blur / safe
    slack = np.minimum(slack, 1e3)
    lower, upper = _outward(base, argument, slack)
    most = np.clip(rest + blur, 0.0, 1.0)
    return (
        np.where(inside, np.maximum(rest - blur, 0.0) * lower, 0.0),
        np.where(inside, _share_up(most, upper), most),
    )


def replacement_profile(
    base: Profile, sampling_rate: Fraction, epsilon: Reals
) -> tuple[Reals, Reals]:
    """Return lower and upper ends under replace-one, for samples of a fixed size.

    Statement: let every pair of neighbouring samples of the fixed size have profile at most
        delta. Then datasets that differ in one record, sampled without replacement with
        inclusion probability q, have profile q delta(log(1 + (t-1)/q)) for t >= 1 and
        1 - t + t times that at 1/t for t < 1.
    Source: Balle, Barthe & Gaboardi (arXiv:1807.01647), Theorem 10 for t >= 1. Proof: let M_0,
        M_1, M_1' be the output laws given that the record is not sampled, or is and is x or
        x'. Swapping x for a uniformly chosen unsampled record couples M_1 to M_0 through
        neighbours, so each of H_a(M_1|M_0), H_a(M_1|M_1') is at most delta. With
        t = 1 + q(a-1), advanced joint convexity (ibid., Theorem 2) gives
        H_t((1-q)M_0 + qM_1 | (1-q)M_0 + qM_1') <= q delta(log a). For t < 1 swap the roles:
        H_t(A|B) = 1 - t + t H_{1/t}(B|A), and replace-one is symmetric.
    """
    size = np.abs(epsilon)
    lower, upper = removal_profile(base, sampling_rate, size)
    below = from_swapped(lower, upper, -size)
    return np.where(epsilon < 0, below[0], lower), np.where(epsilon < 0, below[1], upper)
