"""Tables that the checker reads, and what it cannot show by them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import proofs
from accountant import L1, L2, NotCertified, Poisson
from accountant.certify.sampled import subject
from accountant.certify.table import MOST_CELLS
from accountant.pairs.discrete_gaussian import DiscreteGaussianPair
from accountant.pairs.product import Product
from accountant.pairs.randomized_response import RandomizedResponsePair
from accountant.pairs.subsampled import Direction, SubsampledPair
from mechanisms import DiscreteGaussian, Gaussian, Laplace, RandomizedResponse, compose
from proofs import VerifiedUnder

TWO = compose(
    RandomizedResponse(epsilon=0.5, categories=2), DiscreteGaussian(sigma=1, sensitivity=L2(1))
).subsample(Poisson(sampling_rate=0.02))


def test_no_stride_is_longer_than_the_checker_reads() -> None:
    """Between losses that are few and far apart there are positions enough."""
    base = Product.of(
        RandomizedResponsePair(epsilon=Fraction(1, 2)),
        DiscreteGaussianPair(sigma_squared=Fraction(1), shift=1),
    )
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 50), direction=Direction.REMOVAL)
    (table,) = subject(Product.of(pair), fine=512, negligible=1e-60).tables

    assert table is not None
    strides = np.diff(table.forward.grid)
    assert float(table.forward.grid[-1]) > 10 * MOST_CELLS
    assert 1 <= strides.min() <= strides.max() <= MOST_CELLS


def test_far_losses_that_share_a_sample_are_certified() -> None:
    """Their table is accepted, not refused for its shape."""
    verdict = proofs.check(TWO.repeat(3).guarantee().certify(delta=1e-6))
    assert isinstance(verdict, VerifiedUnder), verdict


def test_divergences_beyond_what_the_checker_sums_are_refused() -> None:
    """A certificate that the checker would reject is not made."""
    with pytest.raises(NotCertified, match="several discrete releases"):
        TWO.guarantee().certify(order=8)


def test_a_delta_of_one_is_refused() -> None:
    """There is nothing to certify where nothing is left of privacy."""
    parts = (
        RandomizedResponse(epsilon=2, categories=5).repeat(100),
        Laplace(scale=1, sensitivity=L1(1)).repeat(100),
        Gaussian(sigma=1, sensitivity=L2(1)),
    )
    with pytest.raises(NotCertified, match="there is nothing to certify"):
        compose(*parts).guarantee().certify(epsilon=1)
