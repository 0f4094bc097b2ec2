"""Elementary functions near their zeros, where the textbook expression loses every digit.

Each function states its error relative to a size that the caller can add up: u is the unit
roundoff 2**-53 and c = ELEMENTARY_ULPS. All are checked against mpmath at 50 digits.
"""

from __future__ import annotations

import numpy as np

from accountant.numerics.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Numbers,
    Reals,
)

_NEAR_ZERO = 0.5
_TINY = 1e-300  # stands for 0 in logs and quotients, whose error bounds then say so
_EXP_TERMS = 16  # 2 * 0.5**16 / 18! is below 2**-67
_LOG_RADIUS = 0.25
_LOG_TERMS = 28  # 0.25**28 is 2**-56, divided by 15


def exp_minus_linear(z: Numbers, log_weights: Numbers) -> Numbers:
    """Return the sum over the last axis of w (e^z - 1 - z), w = e^log_weights.

    Error of a term at most (13 c + 80 + 14 |log w|) u w |z|^2 e^{max(Re z, 0)}, summation
    included. For |z| <= 1/2 a Taylor sum of relative error below 16 u; otherwise directly,
    where 1, |z| and |e^z| together are at most 13 |z|^2 e^{max(Re z, 0)}. The weight goes
    into the exponent, so that a huge e^z with a tiny weight does not overflow.
    """
    weights = np.exp(log_weights)
    out = np.exp(z + log_weights) - weights * (1.0 + z)
    small = np.abs(z) <= _NEAR_ZERO
    w = z[small]
    total = np.full(w.shape, 1.0 / (_EXP_TERMS + 2), dtype=z.dtype)
    for k in range(_EXP_TERMS + 1, 2, -1):
        total = (1.0 + w * total) / k
    out[small] = 0.5 * w * w * (1.0 + w * total) * np.broadcast_to(weights, z.shape)[small]
    return np.asarray(out.sum(axis=-1))


def log1p_complex(z: Numbers) -> Numbers:
    """Return log(1 + z), principal branch; real in, real out.

    Error at most 4 c u |z| for |z| <= 1/2 (numpy's own complex log1p loses the real part
    there), and 4 c u (1 + |log(1 + z)|) otherwise.
    """
    if z.dtype.kind == "f":
        return np.asarray(np.log1p(z))
    near = np.abs(z) <= _NEAR_ZERO
    small = np.where(near, z, 0.0)
    x, y = small.real, small.imag
    real = np.where(
        near,
        0.5 * np.log1p(x * (2.0 + x) + y * y),
        np.log(np.maximum(np.hypot(1.0 + z.real, z.imag), _TINY)),
    )
    return np.asarray(real + 1j * np.arctan2(z.imag, 1.0 + z.real))


def log1p_minus_linear(z: Numbers) -> Numbers:
    """Return log(1 + z) - z.

    Error at most (36 c + 32) u times the result. For |z| <= 1/4 an alternating Taylor sum;
    otherwise directly, where |log(1 + z)| and |z| are each at most 9 times the result.
    """
    out = log1p_complex(z) - z
    small = np.abs(z) <= _LOG_RADIUS
    w = z[small]
    total = np.full(w.shape, 1.0 / (_LOG_TERMS + 2), dtype=z.dtype)
    for k in range(_LOG_TERMS + 1, 1, -1):
        total = 1.0 / k - w * total
    out[small] = -w * w * total
    return out


def sinc_deficit(x: Reals) -> Reals:
    """Return a lower bound of 1 - S(x), S(x) = sup over t >= x of |sin t / t|, for x >= 0.

    Up to 1/2 the alternating series gives 1 - sin x / x >= x^2/6 - x^4/120. Beyond, S(x) is
    at most max(sin x / x, 0.2173) up to pi (the largest side lobe is 0.21723...), and at
    most min(0.2173, 1/x) from there. The result is lowered by 1e-12 for rounding.
    """
    square = x * x
    safe = np.maximum(x, _NEAR_ZERO)
    envelope = np.where(
        x < np.pi, np.maximum(np.sin(safe) / safe, 0.2173), np.minimum(0.2173, 1.0 / safe)
    )
    deficit = np.where(x <= _NEAR_ZERO, square * (1 / 6 - square / 120), 1.0 - envelope)
    return deficit * (1.0 - 1e-12)


def log1p_enclosure(excess: Complexes, error: Reals) -> Enclosure:
    """Enclose log(1 + x) for every x within ``error`` of ``excess``."""
    value = log1p_complex(excess) + 0j
    size = np.where(np.abs(excess) <= _NEAR_ZERO, np.abs(excess), 1.0 + np.abs(value))
    with np.errstate(over="ignore"):
        relative = error / np.maximum(np.abs(1.0 + excess), _TINY)
    return log_enclosure(value, relative, 4 * ELEMENTARY_ULPS * size)


def log_enclosure(value: Complexes, relative: Reals, ulps: Reals) -> Enclosure:
    """Enclose log x from a rounded log and a relative error of x.

    |log(1 + r)| <= -log(1 - |r|). From |r| = 1/2 on only the size of x is bounded, by
    |x| <= e^value (1 + |r|): an infinite radius.
    """
    known = relative < 0.5
    rounding = ulps * UNIT_ROUNDOFF
    radius = -np.log1p(-np.where(known, relative, 0.0)) * (1 + 1e-12) + rounding
    ceiling = value.real + np.log1p(relative) + rounding
    return Enclosure(np.where(known, value, ceiling), np.where(known, radius, np.inf))
