"""Sums of e^z - 1 - z along a vertical line."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpproof.accountant.arithmetic.elementary import summation_ulps
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.arithmetic.line_sums import LINE_ULPS, exp_minus_linear_on_line


@pytest.mark.parametrize("count", [24, 131])
@pytest.mark.parametrize("start", [0.0, 0.7, 300.0])
def test_within_the_stated_error(start: float, count: int) -> None:
    """The sums at 50 digits are within what is stated, for small and large angles and weights."""
    rng = np.random.default_rng(count)
    for scale in (1e-7, 1e-2, 3.0):
        growth = rng.normal(size=70) * scale
        weights = np.minimum(-rng.exponential(5.0, size=70), 1.0 - start * np.maximum(growth, 0.0))
        found = exp_minus_linear_on_line(start, 0.37, count, growth, weights)
        for k in {0, 1, count // 3, count - 1}:
            with mpmath.workdps(50):
                true, allowed = _sum(mpmath.mpc(start, k * mpmath.mpf(0.37)), growth, weights)
                assert abs(true - complex(found[k])) <= UNIT_ROUNDOFF * allowed


def _sum(s: mpmath.mpc, growth: Reals, weights: Reals) -> tuple[mpmath.mpc, mpmath.mpf]:
    """Return the sum of w (e^z - 1 - z) and what it may be off by, in u."""
    true, allowed = mpmath.mpc(0), mpmath.mpf(0)
    for g, w in zip(growth.tolist(), weights.tolist(), strict=True):
        z, weight = s * g, mpmath.exp(w)
        true += weight * (mpmath.expm1(z) - z)
        ulps = LINE_ULPS + 20 * abs(w) + summation_ulps(growth.size)
        allowed += ulps * abs(z) ** 2 * weight * mpmath.exp(max(z.real, 0))
    return true, allowed
