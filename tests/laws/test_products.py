"""Laws of composition, whatever the pairs: order, grouping, monotonicity, inversion."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.laplace import (
    DiscreteLaplacePair,
    LaplacePair,
    LogisticPair,
    RandomizedResponsePair,
)
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair

ratios = st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=60)
rates = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(9, 10), max_denominator=1000)
pairs: st.SearchStrategy[Pair] = st.one_of(
    st.builds(GaussianPair, mu_squared=ratios),
    st.builds(LaplacePair, epsilon=ratios),
    st.builds(LogisticPair, epsilon=ratios),
    st.builds(RandomizedResponsePair, epsilon=ratios, categories=st.sampled_from([2, 5])),
    st.builds(RandomizedResponsePair, epsilon=ratios, infinite=st.just(Fraction(1, 10**7))),
    st.builds(DiscreteLaplacePair, scale=ratios.map(lambda x: 1 / x), shift=st.integers(1, 3)),
    st.builds(
        DiscreteGaussianPair, sigma_squared=ratios.map(lambda x: 1 / x), shift=st.integers(1, 2)
    ),
    st.builds(
        SubsampledGaussianPair,
        mu_squared=st.sampled_from([Fraction(1, 4), Fraction(1)]),
        sampling_rate=rates,
        removal=st.booleans(),
    ),
)
factors = st.lists(st.builds(Factor, pairs, st.integers(1, 30)), min_size=1, max_size=3)
epsilons = st.floats(-1.0, 6.0)
quick = settings(max_examples=12)


def assert_overlap(one: Bound, other: Bound) -> None:
    """Two brackets of one number."""
    assert one.lower <= other.upper
    assert other.lower <= one.upper


@given(factors, epsilons)
@quick
def test_order_is_irrelevant(parts: list[Factor], epsilon: float) -> None:
    """Reversing the factors does not change the number."""
    there, back = Product.merge(parts), Product.merge(parts[::-1])
    assert_overlap(answers.delta(there, epsilon), answers.delta(back, epsilon))


@given(pairs, st.integers(1, 5), epsilons)
@quick
def test_counts_are_repeated_joins(pair: Pair, count: int, epsilon: float) -> None:
    """N times a product is the product joined to itself n times, the very same object."""
    joined = Product.of(pair)
    for _ in range(count - 1):
        joined = joined.joined(Product.of(pair))
    assert joined == Product.of(pair).times(count)
    assert answers.delta(joined, epsilon) == answers.delta(Product.of(pair).times(count), epsilon)


@given(factors, epsilons, epsilons)
@quick
def test_delta_falls_with_epsilon(parts: list[Factor], one: float, other: float) -> None:
    """A larger epsilon never certainly has a larger delta."""
    product = Product.merge(parts)
    low, high = sorted((one, other))
    assert answers.delta(product, high).lower <= answers.delta(product, low).upper


@given(factors, pairs, epsilons)
@quick
def test_a_factor_never_lowers(parts: list[Factor], more: Pair, epsilon: float) -> None:
    """Releasing more never certainly lowers delta."""
    product = Product.merge(parts)
    before = answers.delta(product, epsilon)
    assert before.lower <= answers.delta(product.joined(Product.of(more)), epsilon).upper


@given(pairs, st.integers(1, 50), st.integers(1, 50), epsilons)
@quick
def test_delta_grows_with_count(pair: Pair, one: int, other: int, epsilon: float) -> None:
    """More runs never certainly have a smaller delta."""
    few, many = sorted((one, other))
    product = Product.of(pair)
    less = answers.delta(product.times(few), epsilon).lower
    assert less <= answers.delta(product.times(many), epsilon).upper


@given(factors, st.floats(-30.0, -0.3))
@quick
def test_round_trip(parts: list[Factor], log_delta: float) -> None:
    """Delta at epsilon(delta) is delta, unless epsilon is 0, infinite or at an end."""
    product, delta = Product.merge(parts), 10.0**log_delta
    found = answers.epsilon(product, delta)
    if math.isfinite(found.upper):
        assert answers.delta(product, found.upper).lower <= delta
    if 0 < found.lower < math.inf:
        assert answers.delta(product, math.nextafter(found.lower, 0.0)).upper >= delta


@given(factors, epsilons)
@quick
def test_swapping_mirrors(parts: list[Factor], epsilon: float) -> None:
    """H_t(P|Q) = 1 - t + t H_{1/t}(Q|P) holds for products."""
    product = Product.merge(parts)
    other, t = answers.delta(product.swapped(), -epsilon), math.exp(epsilon)
    slack = 1e-13 * (1 + t)
    rest = -math.expm1(epsilon)
    assert_overlap(
        answers.delta(product, epsilon),
        Bound(rest + t * other.lower - slack, rest + t * other.upper + slack),
    )


@given(factors, st.floats(1.01, 30.0))
@quick
def test_renyi_adds_up(parts: list[Factor], order: float) -> None:
    """The divergence of a product is the sum of its factors' divergences."""
    found = answers.renyi(Product.merge(parts), order)
    each = [answers.renyi(Product.of(part.pair), order) for part in parts]
    low = sum(part.count * one.lower for part, one in zip(parts, each, strict=True))
    high = sum(part.count * one.upper for part, one in zip(parts, each, strict=True))
    assert found.lower <= high * (1 + 1e-12)
    assert low * (1 - 1e-12) <= found.upper


EXTREMES: tuple[Pair, ...] = (
    GaussianPair(mu_squared=Fraction(1)),
    GaussianPair(mu_squared=Fraction(1, 10**12)),
    LaplacePair(epsilon=Fraction(1)),
    LaplacePair(epsilon=Fraction(1, 10**6)),
    LogisticPair(epsilon=Fraction(1, 10)),
    RandomizedResponsePair(epsilon=Fraction(1, 10**3)),
    RandomizedResponsePair(epsilon=Fraction(2), categories=10),
    RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 10**20)),
    DiscreteLaplacePair(scale=Fraction(10), shift=2),
    DiscreteGaussianPair(sigma_squared=Fraction(100), shift=1),
    SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 1000), removal=True),
    SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 1000), removal=False),
)


@pytest.mark.some(16)
@pytest.mark.parametrize("pair", EXTREMES, ids=repr)
@pytest.mark.parametrize("count", [1, 10**4, 10**8, 10**12])
def test_any_count_and_delta_in_seconds(pair: Pair, count: int) -> None:
    """From one run to 1e12 and from delta 0.1 to 1e-100: an ordered answer or a typed refusal."""
    previous = 0.0
    for delta in (1e-1, 1e-6, 1e-30, 1e-100):
        start = time.process_time()
        try:
            found = answers.epsilon(Product.of(pair).times(count), delta)
        except NotCertified:
            continue
        finally:
            assert time.process_time() - start < 5.0
        assert previous <= found.upper
        previous = found.lower
