"""What P and Q have in common, where delta is next to 1."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.engine.overlap_line import log_overlap
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair


@pytest.mark.parametrize("mu", [5, 30, 120])
def test_gaussians(mu: int) -> None:
    """Phi(x) + e^eps Phi(-y), at epsilons of both signs."""
    product = Product((Factor(GaussianPair(mu_squared=Fraction(mu * mu, 900)), 900),))
    epsilon = np.array([-2.0 * mu, 0.0, mu, 0.2 * mu * mu])
    low, high = log_overlap(product, epsilon)
    with mpmath.workdps(40):
        for x, least, most in zip(epsilon.tolist(), low.tolist(), high.tolist(), strict=True):
            parts = mpmath.ncdf(x / mu - mu / 2), mpmath.ncdf(-x / mu - mu / 2)
            true = mpmath.log(parts[0] + mpmath.exp(x) * parts[1])
            assert least <= true <= most
            assert most - least < 1e-5 * mu * mu


def test_randomised_response() -> None:
    """Against the sum over all outcomes, on and between the losses."""
    count, epsilon = 60, np.array([-7.0, 0.0, 0.5, 4.0, 11.3])
    low, high = log_overlap(
        Product((Factor(RandomizedResponsePair(epsilon=Fraction(2)), count),)), epsilon
    )
    with mpmath.workdps(40):
        keep = 1 / (1 + mpmath.exp(-2))
        for x, least, most in zip(epsilon.tolist(), low.tolist(), high.tolist(), strict=True):
            true = mpmath.log(
                mpmath.fsum(
                    mpmath.binomial(count, k)
                    * keep**k
                    * (1 - keep) ** (count - k)
                    * min(1, mpmath.exp(x - 2 * (2 * k - count)))
                    for k in range(count + 1)
                )
            )
            assert least <= true <= most
            assert most - least < 3e-2


def test_out_of_reach() -> None:
    """Where losses are too small for a sum of moderate length nothing is known."""
    product = Product((Factor(GaussianPair(mu_squared=Fraction(1, 10**12)), 1),))
    low, high = log_overlap(product, np.array([0.0]))
    assert low[0] == -np.inf
    assert high[0] == 0.0
