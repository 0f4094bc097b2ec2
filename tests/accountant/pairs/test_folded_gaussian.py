"""The folded Gaussian pair, against its definition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.pairs.folded_gaussian import FoldedGaussianPair
from tests.accountant.pairs.above_floor import case, gaussian_hockey_stick_at
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract, gaussian_hockey_stick


class TestFoldedGaussian(PairContract):
    """No atom."""

    tilts = (1e-6, 0.03, 0.7, 4.0)
    heights = (0.0, 1e-5, 0.4, 3.0, 25.0)
    frequencies = (0.1, 1.5, 11.0)

    def cases(self) -> Sequence[Case]:
        """At moderate noise."""
        return [case(FoldedGaussianPair(mu_squared=Fraction(3, 2)))]


def test_known_values() -> None:
    """delta(1) and delta(.05) of a folded pair at mu = 1/2, and the mass off P's support."""
    pair = FoldedGaussianPair(mu_squared=Fraction(1, 4))
    lower, upper = pair.profile(np.array([1.0, 0.05]))

    assert lower == pytest.approx([0.0136592, 0.351287], rel=1e-5)
    assert upper == pytest.approx(lower, rel=1e-9)
    assert pair.swapped().infinite_mass == pytest.approx(0.38292492254802624, rel=1e-14)
    assert gaussian_hockey_stick(0.5, 1.0).overlaps(gaussian_hockey_stick_at(ball(0.5), ball(1.0)))


@pytest.mark.parametrize("mu", ["1e-100", "1e-30", "1e-14", "2e-7", "3", "1e5", "1e100"])
def test_the_mass_off_the_support_keeps_its_digits(mu: str) -> None:
    """2 Phi(mu) - 1 at 400 digits, which cancels for small mu and is below 1 for large ones."""
    pair = FoldedGaussianPair(mu_squared=Fraction(mu) ** 2, reverse=True)
    with mpmath.workdps(400):
        true = mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(2))
        assert abs(pair.infinite_mass / true - 1) < 3e-16
    assert pair.infinite_mass < 1.0
