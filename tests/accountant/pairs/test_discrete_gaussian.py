"""The discrete Gaussian pair."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.product import Product
from tests.contracts.definition import Outcomes, ball
from tests.contracts.pair_contract import Case, PairContract, flipped


@functools.cache
def discrete_gaussians(sigma_squared: Fraction, shift: int, largest_tilt: float) -> Outcomes:
    """Whole numbers 25 standard deviations around everything the tilts reach."""
    variance = ball(sigma_squared)
    reach = math.ceil(32 * math.sqrt(sigma_squared)) + 2
    span = range(-reach, reach + math.ceil((largest_tilt + 1.0) * shift) + 1)
    norm = sum(((-flint.arb(x * x) / (2 * variance)).exp() for x in span), flint.arb(0))

    def mass(x: int) -> flint.arb:
        value: flint.arb = (-flint.arb(x * x) / (2 * variance)).exp() / norm
        return value

    return Outcomes([(mass(x - shift), mass(x)) for x in span])


class TestDiscreteGaussian(PairContract):
    """The definition as a plain sum over whole numbers."""

    tilts = (1e-6, 0.03, 0.7, 4.0, 12.0)
    heights = (0.0, 1e-5, 0.4, 3.0, 25.0, 100.0)

    def cases(self) -> Sequence[Case]:
        """Less and more noise than the spacing, shifts of one and more."""
        found = []
        for sigma_squared, shift in (
            (Fraction(1, 4), 1),
            (Fraction(1), 1),
            (Fraction(9, 2), 3),
            (Fraction(12), 2),
        ):
            definition = discrete_gaussians(sigma_squared, shift, 12.0)
            pair = DiscreteGaussianPair(sigma_squared=sigma_squared, shift=shift)
            found.append(Case(pair, definition, flipped(definition)))
        return found


@pytest.mark.parametrize("sigma", [16, 17.3, 250])
def test_wide_laws_have_a_closed_form_for_neighbours(sigma: float) -> None:
    """Twice the sum of products of neighbouring masses, at tilts that move the center."""
    pair = DiscreteGaussianPair(sigma_squared=Fraction(sigma) ** 2, shift=3)
    for tilt in (0.0, 0.1, 2.77):
        x = np.arange(-40 * math.ceil(sigma), 60 * math.ceil(sigma), dtype=float)
        weight = np.exp(-((x - (tilt + 1.0) * 3) ** 2) / (2 * sigma**2))
        weight /= weight.sum()
        true = 2.0 * math.fsum(weight[:-1] * weight[1:])
        found = pair.lattice(tilt).adjacency

        assert true * (1 - 1e-11) <= found <= true


@pytest.mark.parametrize("sigma", [10**8, 10**20, 2**300])
def test_fixed_point_encodings_are_answered(sigma: int) -> None:
    """A query in units of 1e-8 has what a continuous Gaussian has, without a table of the noise."""
    pair = Product.of(DiscreteGaussianPair(sigma_squared=Fraction(sigma) ** 2, shift=sigma))
    found = answers.epsilon(pair, Bound.exactly(1e-6))

    assert found.lower <= 4.886554117462 <= found.upper
    assert found.upper - found.lower < 1e-4
