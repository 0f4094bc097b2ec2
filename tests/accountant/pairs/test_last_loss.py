"""Between the float of a largest loss and the loss itself some delta is left."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.pairs.laplace import LaplacePair, LogisticPair, RandomizedResponsePair


@pytest.mark.parametrize("denominator", [3, 7, 10, 10**20, 3 * 10**50])
@pytest.mark.parametrize("numerator", [1, 11, 101])
def test_delta_at_the_rounded_loss_is_not_zero(numerator: int, denominator: int) -> None:
    """Laplace noise of scale 3 is not (float(1/3), 0)-private."""
    loss = Fraction(numerator, denominator)
    at = float(loss)
    with mpmath.workdps(200):
        left = max(mpmath.mpf(numerator) / denominator - at, 0)
        total = mpmath.exp(mpmath.mpf(numerator) / denominator)
        deltas = {
            LaplacePair(epsilon=loss): -mpmath.expm1(-left / 2),
            LogisticPair(epsilon=loss): mpmath.expm1(-left / 2) ** 2 / (1 - 1 / total),
            RandomizedResponsePair(epsilon=loss): -mpmath.expm1(-left) / (1 + 1 / total),
        }
        for pair, delta in deltas.items():
            found = pair.profile(np.array([at]))
            assert found is not None
            lower, upper = found
            assert float(lower[0]) <= delta <= float(upper[0])
