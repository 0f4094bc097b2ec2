"""Tables that the checker reads, and what it cannot show by them."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    ZCDP,
    AddRemove,
    LInf,
    NotCertified,
    Poisson,
    ReplaceOne,
    WithoutReplacement,
    compose as compose_guarantees,
    convert,
)
from dpproof.accountant.certificates.single_number import _wide, needs_points, smallest_mu
from dpproof.accountant.certificates.tables import subject
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    compose,
)
from dpproof.proofs import Rejected, VerifiedUnder
from dpproof.proofs.limits import MAX_TABLE_CELLS
from tests.accountant.certificates.builders import certifiable

TWO = compose(
    RandomizedResponse(epsilon=0.5, categories=2, relation=AddRemove()),
    DiscreteGaussian(sigma=1, sensitivity=L2(1)),
).subsample(Poisson(sampling_rate=0.02))

RARE = Poisson(sampling_rate=0.05)
THREE = compose(
    DiscreteGaussian(sigma=4, sensitivity=L2(1)),
    DiscreteLaplace(scale=8, sensitivity=L1(1)),
    RandomizedResponse(epsilon=0.5, categories=3, relation=AddRemove()),
).subsample(RARE)
CHOICES = ExponentialMechanism(epsilon=0.5, sensitivity=LInf(1)).repeat(5).subsample(RARE)
RHO: dict[str, Callable[[], Mechanism[Any]]] = {
    "answers": lambda: (
        RandomizedResponse(epsilon=1, categories=3, relation=AddRemove())
        .subsample(RARE)
        .repeat(100)
    ),
    "laplace": lambda: Laplace(scale=2, sensitivity=L1(1)).subsample(RARE).repeat(100),
    "subsets": lambda: (
        Laplace(scale=2, sensitivity=L1(1, ReplaceOne()))
        .subsample(WithoutReplacement(sample_size=10, population_size=100))
        .repeat(5)
    ),
    "several": lambda: compose(
        RandomizedResponse(epsilon=1, categories=4, relation=AddRemove())
        .subsample(RARE)
        .repeat(50),
        Laplace(scale=2, sensitivity=L1(1)).repeat(3).subsample(RARE),
        DiscreteLaplace(scale=4, sensitivity=L1(1)),
    ),
}


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
    assert float(table.forward.grid[-1]) > 10 * MAX_TABLE_CELLS
    assert 1 <= strides.min() <= strides.max() <= MAX_TABLE_CELLS


@pytest.mark.slow
def test_far_losses_that_share_a_sample_are_certified() -> None:
    """Their table is accepted, not refused for its shape."""
    verdict = proofs.check(TWO.repeat(3).guarantee().certify(delta=1e-6))
    assert isinstance(verdict, VerifiedUnder), verdict


@pytest.mark.parametrize(
    ("mechanism", "order"), [(TWO, 2), (THREE, 8), pytest.param(CHOICES, 3, marks=pytest.mark.slow)]
)
def test_divergences_of_several_releases_on_one_sample(
    mechanism: Mechanism[AddRemove], order: int
) -> None:
    """Checked sums have the digits that a large ratio magnifies; ranges are logistic pairs."""
    guarantee = mechanism.guarantee()
    certificate = guarantee.certify(order=order)
    upper = certifiable(guarantee).rdp(order=order).upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    points: Any = certificate.claim["points"]
    assert upper <= Fraction(points[0][1]) <= upper * (1 + Fraction(1, 10**7))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name == "laplace" else pytest.param(name, marks=pytest.mark.slow) for name in RHO],
)
def test_rho_of_samples_of_bounded_losses(name: str) -> None:
    """Through tables, a little above the engine's upper end."""
    guarantee = RHO[name]().guarantee()
    certificate = convert(guarantee, to=ZCDP).certify()
    upper = guarantee.zcdp().upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert upper <= Fraction(str(certificate.claim["rho"])) <= upper * (1 + 2.1e-5)


@pytest.mark.slow
def test_mu_of_samples_of_bounded_losses() -> None:
    """By points of the profile, from facts that hold a table each."""
    check_mu(Laplace(scale=2, sensitivity=L1(1)).repeat(2).subsample(RARE).repeat(3), 1e-4)


@pytest.mark.slow
def test_mu_of_many_samples_of_several_losses() -> None:
    """Cells that facts leave too wide are cut again."""
    check_mu(DiscreteLaplace(scale=4, sensitivity=L1(3)).subsample(RARE).repeat(40), 3e-3)


def test_cells_that_are_too_wide_are_cut() -> None:
    """Where a chord is above the tangent there are more places inside, elsewhere none."""
    points = [(Fraction(k), Fraction(y)) for k, y in enumerate(("1/3", "1/100", "1/10000", "0"))]
    found = _wide(tuple(points), 1.0)

    assert found == [Fraction(place, 4) for place in (5, 6, 7, 9, 10, 11)]
    assert _wide(tuple(points[:1] + points[-1:]), 9.0) == []
    with pytest.raises(NotCertified, match="none at epsilon 0"):
        _wide(tuple(points[1:]), 1.0)


@pytest.mark.slow
def test_long_finite_sums_share_a_sample() -> None:
    """Fewer points of the closed profile, where lines are too rough: a table all the same."""
    base = Product.of(LaplacePair(epsilon=Fraction(1, 2))).times(40)
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=Direction.REMOVAL)
    product = Product.of(pair)
    with pytest.raises(NotCertified, match="too rough"):
        subject(product, fine=256, negligible=1e-16)
    (table,) = subject(product, fine=256, negligible=1e-16, fewer=True).tables

    assert table is not None
    assert table.forward.lines == table.backward.lines == ()


@pytest.mark.slow
def test_a_base_without_a_closed_profile_is_refused_whatever_the_grid() -> None:
    """Coarser grids do not help lines."""
    base = Product(
        (
            Factor(LaplacePair(epsilon=Fraction(1, 2)), 1),
            Factor(DiscreteGaussianPair(sigma_squared=Fraction(16), shift=1), 1),
        )
    )
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=Direction.REMOVAL)
    with pytest.raises(NotCertified, match="too rough"):
        subject(Product.of(pair), fine=256, negligible=1e-60, fewer=True)


@pytest.mark.slow
def test_epsilon_of_long_finite_sums_on_samples() -> None:
    """Forty Laplace releases on each of ten samples, within a thousandth."""
    mechanism = Laplace(scale=2, sensitivity=L1(1)).repeat(40)
    guarantee = mechanism.subsample(Poisson(sampling_rate=0.1)).repeat(10).guarantee()
    certificate = guarantee.certify(delta=1e-6)
    upper = guarantee.epsilon(delta=1e-6).upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert Fraction(str(certificate.claim["epsilon"])) <= upper * (1 + Fraction(1, 10**3))


def check_mu(mechanism: Mechanism[Any], room: float) -> None:
    """Verified by points, at the engine's upper end or hardly above it."""
    guarantee = mechanism.guarantee()
    mu = convert(guarantee, to=GDP)
    certificate = mu.certify()

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert certificate.steps[-1].rule == "convert/profile-gdp"
    found = Fraction(str(certificate.claim["mu_squared"]))
    assert mu.mu_squared <= found <= mu.mu_squared * (1 + Fraction(room)) ** 2


def test_mu_of_losses_without_a_bound_is_refused() -> None:
    """Points end where delta is 0."""
    noise = Gaussian(sigma=4, sensitivity=L2(1)).repeat(3).guarantee()
    told = compose_guarantees(noise, RHO["answers"]().guarantee())
    pair, squared = told.to_pair(), Fraction(1, 10**6)
    assert needs_points(pair, squared)
    with pytest.raises(NotCertified, match="unbounded losses"):
        smallest_mu(pair, 0.001)


@pytest.mark.slow
def test_no_points_show_a_mu_that_is_too_small() -> None:
    """However far it is raised."""
    pair = Laplace(scale=2, sensitivity=L1(1)).subsample(RARE).repeat(3).guarantee().to_pair()
    with pytest.raises(NotCertified, match="as closely as it is stated"):
        smallest_mu(pair, 0.001)


def test_a_smaller_rho_is_rejected() -> None:
    """The margin is small: a rho below the true one is not shown by the same orders."""
    rate = Fraction(1, 4)
    drawn = RandomizedResponse(epsilon=1, categories=2, relation=AddRemove()).subsample(
        Poisson(sampling_rate=rate)
    )
    certificate = convert(drawn.guarantee(), to=ZCDP).certify()
    old = str(certificate.claim["rho"])
    new = str(Fraction(drawn.guarantee().zcdp().lower) * (1 - Fraction(1, 10**6)))
    verdict = proofs.check_text(certificate.to_json().replace(f'"{old}"', f'"{new}"'))

    assert isinstance(verdict, Rejected)
    assert verdict.rule == "convert/pair-zcdp"


def test_rho_among_others() -> None:
    """A rho that tables prove adds up with others."""
    drawn = (
        RandomizedResponse(epsilon=1, categories=2, relation=AddRemove())
        .subsample(RARE)
        .repeat(9)
        .guarantee()
    )
    total = compose_guarantees(convert(drawn, to=ZCDP), ZCDP(rho=Fraction(1, 1000)))
    assert isinstance(proofs.check(total.certify(delta=1e-6)), VerifiedUnder)


def test_a_delta_of_one_is_refused() -> None:
    """There is nothing to certify where nothing is left of privacy."""
    parts = (
        RandomizedResponse(epsilon=2, categories=5, relation=AddRemove()).repeat(100),
        Laplace(scale=1, sensitivity=L1(1)).repeat(100),
        Gaussian(sigma=1, sensitivity=L2(1)),
    )
    with pytest.raises(NotCertified, match="there is nothing to certify"):
        compose(*parts).guarantee().certify(epsilon=1)


def test_large_orders_of_samples_beside_other_releases() -> None:
    """Heights of a table far below 2^-64 count at large orders."""
    noise = DiscreteGaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.3))
    guarantee = compose(noise.repeat(2), DiscreteGaussian(sigma=3, sensitivity=L2(1))).guarantee()
    certificate = guarantee.certify(order=32)

    assert isinstance(proofs.check(certificate), VerifiedUnder)


def test_what_is_left_out_of_discrete_gaussians_hides_a_smaller_delta() -> None:
    """Below 2^-500 the checker cannot tell, so the claim is of a larger delta."""
    noise = DiscreteGaussian(sigma=3, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.001))
    verdict = proofs.check(noise.guarantee().certify(epsilon=4))
    assert isinstance(verdict, VerifiedUnder)
    claimed = re.search(r"\(4, (\S+)\)-DP", verdict.claim)
    assert claimed
    assert noise.guarantee().delta(epsilon=4).upper < 2.0**-500 < float(claimed[1]) <= 1e-30
    assert isinstance(proofs.check(noise.guarantee().certify(epsilon=1)), VerifiedUnder)
