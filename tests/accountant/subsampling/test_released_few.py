"""Two sampled releases from tables, against integrals, enumeration and sums over K."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.engine import profile
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.released_few import Grid, ReleasedFew, released_few
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair

RARE = SubsampledGaussianPair(
    mu_squared=Fraction(25, 9), sampling_rate=Fraction(1, 10**5), removal=True
)
OTHER = SubsampledGaussianPair(
    mu_squared=Fraction(1), sampling_rate=Fraction(1, 1000), removal=True
)
LAPLACE = SubsampledPair(
    base=Product.of(LaplacePair(epsilon=Fraction(1))),
    sampling_rate=Fraction(1, 50),
    direction=Direction.REMOVAL,
)
FIXED = SubsampledPair(
    base=Product.of(GaussianPair(mu_squared=Fraction(1, 4))),
    sampling_rate=Fraction(1, 600),
    direction=Direction.REPLACEMENT,
)


def removal(pair: SubsampledGaussianPair, epsilon: mpmath.mpf) -> mpmath.mpf:
    """H_t((1-q) Q + q P | Q) at a real epsilon, by its formula."""
    mu = mpmath.sqrt(mpmath.mpf(pair.mu_squared.numerator) / pair.mu_squared.denominator)
    q = mpmath.mpf(pair.sampling_rate.numerator) / pair.sampling_rate.denominator
    a = 1 + mpmath.expm1(epsilon) / q
    if a <= 0:
        return -mpmath.expm1(epsilon)
    x = mpmath.log(a)
    return q * (mpmath.ncdf(mu / 2 - x / mu) - a * mpmath.ncdf(-mu / 2 - x / mu))


def twice(
    first: SubsampledGaussianPair, second: SubsampledGaussianPair, epsilon: float
) -> mpmath.mpf:
    """The profile of two removals, as an integral over the outputs of the first.

    It bends fast next to the output whose loss is epsilon.
    """
    mu = mpmath.sqrt(mpmath.mpf(first.mu_squared.numerator) / first.mu_squared.denominator)
    q = mpmath.mpf(first.sampling_rate.numerator) / first.sampling_rate.denominator

    def integrand(z: mpmath.mpf) -> mpmath.mpf:
        ratio = 1 + q * mpmath.expm1(mu * z - mu**2 / 2)
        return mpmath.npdf(z) * ratio * removal(second, epsilon - mpmath.log(ratio))

    bend = mpmath.log1p(mpmath.expm1(epsilon) / q) / mu + mu / 2
    near = [bend + sign * mpmath.mpf(2) ** -k for k in range(24) for sign in (1, -1)]
    return mpmath.quad(integrand, sorted([*mpmath.linspace(-9, 14, 16), *near]), maxdegree=5)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("pairs", "epsilon"),
    [((RARE, RARE), 1.0), ((OTHER, OTHER), 1.0), ((RARE, OTHER), 3e-4), ((RARE, OTHER), 1.0)],
)
def test_two_removals(
    pairs: tuple[SubsampledGaussianPair, SubsampledGaussianPair], epsilon: float
) -> None:
    """Against the integral with 20 digits."""
    pair = released_few(Product.of(*pairs))
    assert pair is not None
    found = pair.delta(epsilon)
    with mpmath.workdps(20):
        true = twice(*pairs, epsilon)
    assert found.lower <= true * (1 + 1e-12)
    assert true * (1 - 1e-12) <= found.upper
    assert found.relative_width < 1e-6


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "product",
    [
        Product((Factor(OTHER, 2),)),
        Product((Factor(OTHER.swapped(), 2),)),
        Product((Factor(LAPLACE, 2),)),
        Product((Factor(LAPLACE.swapped(), 2),)),
        Product((Factor(FIXED, 2),)),
        Product.of(LAPLACE, GaussianPair(mu_squared=Fraction(1, 9))),
    ],
)
def test_sums_over_K_agree(product: Product) -> None:  # noqa: N802 -- K is its name
    """Brackets by tables and by sums overlap, below 0 as well."""
    pair = released_few(product)
    assert pair is not None
    for epsilon in (-0.01, 0.0, 0.003, 0.1):
        by_sums, by_tables = profile.delta(product, epsilon), pair.delta(epsilon)
        assert by_tables.lower <= by_sums.upper * (1 + 1e-12)
        assert by_sums.lower * (1 - 1e-12) <= by_tables.upper


def test_two_samples_of_randomised_response() -> None:
    """Against all four outcomes; as a finite pair, of which a sample has no exact pair."""
    q, keep = Fraction(1, 10), Fraction(3, 4)
    base = FinitePair(p=(keep, 1 - keep), q=(1 - keep, keep))
    step = SubsampledPair(base=Product.of(base), sampling_rate=q, direction=Direction.REMOVAL)
    pair = released_few(Product((Factor(step, 2),)))
    assert pair is not None
    p = (1 - q) * (1 - keep) + q * keep
    masses = {True: (p, 1 - keep), False: (1 - p, keep)}
    for epsilon in (0.0, 0.05, 0.2, 0.35):
        t = float(np.exp(epsilon))
        true = sum(
            max(float(masses[a][0] * masses[b][0]) - t * float(masses[a][1] * masses[b][1]), 0.0)
            for a in (True, False)
            for b in (True, False)
        )
        found = pair.delta(epsilon)
        assert found.lower <= true * (1 + 1e-12)
        assert true * (1 - 1e-12) <= found.upper


@pytest.mark.some(5)
@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("step", [RARE, OTHER, LAPLACE, FIXED])
def test_brackets_of_two_releases_are_narrow(
    step: SubsampledGaussianPair | SubsampledPair, delta: float
) -> None:
    """Sums over K left epsilon from 1.5e-5 to 4e-3, or took minutes."""
    found = answers.epsilon(Product((Factor(step, 2),)), delta)
    assert found.upper - found.lower <= 1e-4 * found.upper
    assert answers.delta(Product((Factor(step, 2),)), found.upper).lower <= delta


@pytest.mark.parametrize("rate", [1e-4, 1e-2, 0.5])
def test_the_power_of_two_releases_is_narrow(rate: float) -> None:
    """Forward and backward together, where sums over K left the rate itself as the lower end."""
    product = Product((Factor(OTHER, 2),))
    found = answers.larger_power(product, product.swapped(), rate)
    assert rate < found.lower <= found.upper <= found.lower * (1 + 1e-4)


def test_other_products_are_left_alone() -> None:
    """One release, five, smooth ones, or infinite losses."""
    infinite = SubsampledPair(
        base=Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 10))),
        sampling_rate=Fraction(1, 10),
        direction=Direction.REMOVAL,
    )
    for factors in (
        [(RARE, 1)],
        [(RARE, 5)],
        [(GaussianPair(mu_squared=Fraction(1)), 2)],
        [(LaplacePair(epsilon=Fraction(1)), 2)],
        [(infinite, 2)],
    ):
        product = Product(tuple(Factor(pair, count) for pair, count in factors))
        assert released_few(product) is None


def test_tables_of_two_releases() -> None:
    """Three and four releases by tables of two enclose the sum over all outcomes."""
    q, keep = Fraction(1, 10), Fraction(3, 4)
    base = FinitePair(p=(keep, 1 - keep), q=(1 - keep, keep))
    step = SubsampledPair(base=Product.of(base), sampling_rate=q, direction=Direction.REMOVAL)
    two, p = ReleasedFew(pairs=(step, step)), (1 - q) * (1 - keep) + q * keep
    for others, count in ((two, 4), (step, 3)):
        pair = ReleasedFew(pairs=(two, others))
        for epsilon in (0.0, 0.05, 0.2, 0.5):
            t, true = Fraction(np.exp(epsilon)), Fraction(0)
            for k in range(count + 1):
                first = p**k * (1 - p) ** (count - k)
                second = (1 - keep) ** k * keep ** (count - k)
                true += math.comb(count, k) * max(first - t * second, Fraction(0))
            found = pair.delta(epsilon)
            assert found.lower <= true * (1 + Fraction(1, 10**12))
            assert true * (1 - Fraction(1, 10**12)) <= found.upper
            assert found.width < 1e-3


def test_three_rare_samples() -> None:
    """Sums over K left epsilon between 2.6e-5 and 1.9e-2, in half a minute; by losses alone."""
    product = Product((Factor(RARE, 3),))
    pair = released_few(product)
    assert pair is not None
    found = pair.epsilon(1e-9)
    assert found.relative_width < 1e-6
    assert pair.delta(found.upper).lower <= 1e-9
    even = pair.on(Grid(256, 128))
    assert even.profile(np.array([found.lower]))[0] <= pair.delta(found.lower).upper


def test_the_parameters_of_the_parts_add_up() -> None:
    """The bound of rho is the sum of the parts', and mu the root of the sum of their squares."""
    parts = tuple(GaussianPair(mu_squared=Fraction(square)) for square in (9, 16))
    pair = ReleasedFew(pairs=parts)
    assert pair.gdp_bound == pytest.approx(5, rel=1e-13)
    assert pair.zcdp_bound == pytest.approx(12.5, rel=1e-13)
    assert pair.gdp_bound >= 5
    assert pair.zcdp_bound >= 12.5
