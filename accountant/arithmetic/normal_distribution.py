r"""Compute normal tails and quantiles in numpy alone, as the import of scipy is slow.

Lemma (halfway). For x > 0, erfcx(x) = (x/pi) int e^{-t^2} / (t^2 + x^2) dt. Let T be the trapezoid
sum of this integral with step h at the odd multiples of h/2. Moving the line of integration to
Im t = +-a, a != x, crosses the poles +-ix where x < a, so that

    erfcx(x) = T + [x < a] 2 e^{x^2} / (1 + e^{2 pi x / h}) + E,
    |E| <= 2 x e^{a^2 - 2 pi a / h} / (sqrt(pi) |a^2 - x^2| (1 - e^{-2 pi a / h})).

Proof. The sum less the integral is the sum over m != 0 of (-1)^m int e^{-t^2} / (t^2 + x^2)
e^{2 pi i m t / h}, each shifted to the side where it decays; on both lines the first factors
are at most e^{a^2 - u^2} / |a^2 - x^2|. (Cf. Hunter & Regan, Math. Comp. 26 (1972), 539.)

All terms are positive. With h = 7/16, a = pi/h below x = 6 and a = 5 from there, E is below 1e-18
of erfcx, which is at least 1 / (sqrt(pi) (x + 1)); so are the terms left out.
"""

from __future__ import annotations

import math

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals

_STEP = 7 / 16  # Step h of Lemma *halfway*, exact. The error bound depends on it.
_POLE = 6.0  # Below this x the pole of Lemma *halfway* is added. The error bound depends on it.
# From this x on erfcx(x) is 1 / (sqrt(pi) x) less than 1 u. The error bound depends on it.
_FAR = 1e9
# 1 / g'(0) for the log odds g of Phi: the start of Newton's method is above the root for it.
_LINEAR = math.sqrt(2 * math.pi) / 4
_NEAR = 1.0  # Below this x the log odds are computed by artanh, which keeps digits next to 0.
_HUGE = 1e30  # From these log odds on x^2/2 has all their digits. The error bound depends on it.
_ROUNDS = 60  # Most steps of Newton's method, which takes far fewer.
# Squares of 15 nodes, exact; what the later nodes add is below 1e-18. The error bound depends on
# it.
_SQUARES = (_STEP * (np.arange(15) + 0.5)) ** 2
_WEIGHTS = 2 * _STEP / math.pi * np.exp(-_SQUARES)


def erfcx(x: Reals) -> Reals:
    """Return e^{x^2} erfc(x) for x >= 0, within 40 u of itself.

    By Lemma *halfway*: 16 u in each weight, 4 u in each quotient, 16 u by adding up; what the
    rounded exponents move is in a term that is small where they are large. Beyond 1e9 it is
    1 / (sqrt(pi) x) less than 1 u.
    """
    inner = np.minimum(x, _FAR)
    total = np.einsum("k,k...->...", _WEIGHTS, 1.0 / np.add.outer(_SQUARES, inner * inner))
    near = np.minimum(x, _POLE)
    pole = 2.0 * np.exp(near * near) / (1.0 + np.exp(2 * math.pi / _STEP * near))
    values = inner * total + np.where(x < _POLE, pole, 0.0)
    return np.asarray(np.where(x < _FAR, values, values * (inner / np.maximum(x, _FAR))))


def ndtr(x: Reals) -> Reals:
    """Return Phi(x), within 40 u (1 + x^2) of itself unless it is denormal."""
    with np.errstate(under="ignore"):
        tail = 0.5 * np.exp(-0.5 * x * x) * erfcx(np.abs(x) / math.sqrt(2))
    return np.asarray(np.where(x < 0, tail, 1.0 - tail))


def log_ndtr(x: Reals) -> Reals:
    """Return log Phi(x), within 40 u (2 + x^2)."""
    size = np.abs(x)
    tail = np.log(0.5 * erfcx(size / math.sqrt(2))) - 0.5 * size * size
    return np.asarray(np.where(x < 0, tail, np.log1p(-np.exp(np.minimum(tail, -math.log(2.0))))))


def log_odds_quantile(log_odds: float) -> float:
    """Return the x with Phi(x) / Phi(-x) = e^log_odds >= 1, within 1e-14 of itself.

    The log odds g of Phi are convex from 0 on and at least x g'(0) and x^2/2, so that the smaller
    of the two solutions is above x, and Newton's steps from there stay above it.
    """
    x = min(_LINEAR * log_odds, math.sqrt(2.0) * math.sqrt(log_odds))
    if x == 0.0 or log_odds > _HUGE:  # there x^2/2 has all the digits
        return x
    for _ in range(_ROUNDS):
        odds, slope = _log_odds(x)
        step = (odds - log_odds) / slope
        x -= step
        if abs(step) <= 1e-15 * x:
            break
    return x


def _log_odds(x: float) -> tuple[float, float]:
    """Return log(Phi(x) / Phi(-x)) = 2 artanh(erf(x / sqrt 2)) and its slope, for x >= 0."""
    scaled = float(erfcx(np.array(x / math.sqrt(2))))
    with np.errstate(under="ignore"):
        tail = 0.5 * scaled * math.exp(-0.5 * x * x)
    slope = 2.0 / (math.sqrt(2 * math.pi) * scaled * (1.0 - tail))
    if x < _NEAR:
        return 2.0 * math.atanh(math.erf(x / math.sqrt(2))), slope
    return 0.5 * x * x - math.log(0.5 * scaled) + math.log1p(-tail), slope
