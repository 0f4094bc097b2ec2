"""The best test, against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from scipy import special

from dpproof.accountant import L2, AddRemove, FixedRuns, Poisson, answers
from dpproof.accountant.engine.trade_off import (
    _power_by_deltas,
    larger_mu,
    larger_power,
    smallest_mu,
    true_positive_rate,
)
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair, gaussian_profile
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from dpproof.mechanisms import Gaussian, LocalHashing, RandomizedResponse
from tests.contracts.definition import ball
from tests.contracts.pair_contract import normal_tail

GAUSSIANS = Product((Factor(GaussianPair(mu_squared=Fraction(1, 4)), 4),))  # mu = 1

FEW = Fraction(19, 20)  # The probability of the likelier of two outcomes.


@pytest.mark.parametrize("threshold", [-5.0, -1.0, 0.0, 0.5, 2.0, 6.0])
def test_gaussian_power(threshold: float) -> None:
    """Phi(mu - x) at rate Phi(-x), narrowly; a rounded rate moves it by a rounding."""
    rate = float(normal_tail(ball(threshold)))
    true = float(normal_tail(ball(threshold) - 1))
    found = true_positive_rate(GAUSSIANS, rate)
    assert found.lower <= true * (1 + 1e-13)
    assert true * (1 - 1e-13) <= found.upper
    assert found.relative_width < 1e-6


def test_nearly_all() -> None:
    """Next to rate 1 the power is still at least the rate."""
    same = Product((Factor(FinitePair(p=(Fraction(1),), q=(Fraction(1),)), 3),))
    for product in (GAUSSIANS, same):
        for rate in (1 - 1e-9, 1 - 1e-12, 1 - 1e-15):
            found = true_positive_rate(product, rate)
            assert rate <= found.upper <= 1.0
            assert found.lower <= 1.0


def test_randomized_response_power() -> None:
    """Two straight pieces through the corner at 1 / (1 + e^eps)."""
    e = math.e
    product = Product.of(RandomizedResponsePair(epsilon=Fraction(1)))
    for rate in (1e-9, 0.1, 0.2, 0.4, 0.8):
        true = min(e * rate, 1 - (1 - rate) / e)
        found = true_positive_rate(product, rate)
        assert found.lower <= true * (1 + 1e-12)
        assert true * (1 - 1e-12) <= found.upper


def test_ends() -> None:
    """Rate 0 finds the infinite mass, rate 1 everything; disjoint supports are told apart."""
    product = Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 8)))
    assert 0.125 in true_positive_rate(product, 0.0)
    assert true_positive_rate(product, 1.0).lower == 1.0
    disjoint = FinitePair(p=(Fraction(1), Fraction(0)), q=(Fraction(0), Fraction(1)))
    mixed = Product.of(disjoint, GaussianPair(mu_squared=Fraction(1)))
    assert true_positive_rate(mixed, 0.25).lower == 1.0


STEP = SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 100), removal=True)
SMALL = Product.of(RandomizedResponsePair(epsilon=Fraction(1, 2)))
LARGE = Product.of(RandomizedResponsePair(epsilon=Fraction(1)))


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_larger_power(rate: float, *, turned: bool) -> None:
    """That of the worse direction, whichever comes first, and of two that hardly differ."""
    pair = Product((Factor(STEP, 100),))
    for one, other in ((SMALL, LARGE), (pair, pair.swapped()), (Product(()), LARGE)):
        directions = (other, one) if turned else (one, other)
        found = larger_power(*directions, rate)
        both = [true_positive_rate(direction, rate) for direction in directions]
        assert max(each.lower for each in both) <= found.upper
        assert found.upper == pytest.approx(max(each.upper for each in both), rel=1e-9)


@pytest.mark.parametrize("mu", [60, 10**5])
def test_power_where_likelihood_ratios_are_no_floats(mu: int) -> None:
    """Next to no noise every test is nearly perfect, whatever its false alarms."""
    found = true_positive_rate(Product.of(GaussianPair(mu_squared=Fraction(mu) ** 2)), 1e-300)
    assert found.upper == pytest.approx(1.0)


@pytest.mark.parametrize("loss", [Fraction(1, 2), Fraction(2), Fraction(7)])
@pytest.mark.parametrize("rate", [1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.6, 0.999])
def test_one_laplace_release_has_its_exact_power(loss: Fraction, rate: float) -> None:
    """e^a r up to e^{-a}/2, then 1 - e^{-a}/(4 r) up to 1/2, then 1 - e^{-a} (1 - r)."""
    with mpmath.workdps(40):
        a, r = mpmath.mpf(loss.numerator) / loss.denominator, mpmath.mpf(rate)
        if r <= mpmath.exp(-a) / 2:
            true = mpmath.exp(a) * r
        else:
            true = 1 - mpmath.exp(-a) * (1 / (4 * r) if r < 0.5 else 1 - r)
        found = true_positive_rate(Product.of(LaplacePair(epsilon=loss)), rate)
        assert found.lower <= true <= found.upper
        assert found.relative_width < 1e-4


@pytest.mark.parametrize("rate", [1e-9, 1e-4, 0.05, 0.7])
def test_the_power_of_finite_pairs_at_a_corner(rate: float) -> None:
    """Against the best test of Neyman and Pearson, outcome by outcome."""
    p = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))
    q = (Fraction(1, 10**6), Fraction(1, 10), Fraction(1, 2), Fraction(399999, 10**6))
    left, true = Fraction(rate), Fraction(0)
    for a, b in sorted(zip(p, q, strict=True), key=lambda one: one[0] / one[1], reverse=True):
        true += a * min(left / b, Fraction(1))
        left = max(left - b, Fraction(0))
    found = true_positive_rate(Product.of(FinitePair(p=p, q=q)), rate)
    assert Fraction(found.lower) <= true <= Fraction(found.upper)
    assert found.relative_width < 1e-7


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.1, 0.7])
def test_single_deltas_bound_the_power_from_below(rate: float) -> None:
    """They are below the exact power of ten releases, and near it where it is near 1."""
    base, count, one = FinitePair(p=(FEW, 1 - FEW), q=(1 - FEW, FEW)), 10, Fraction(0)
    left = Fraction(rate)
    for hits in range(count, -1, -1):  # the most likely under P first
        size = math.comb(count, hits) * (1 - FEW) ** hits * FEW ** (count - hits)
        taken = min(left, size)
        one += taken * (FEW / (1 - FEW)) ** (2 * hits - count)
        left -= taken
    found = _power_by_deltas(Product((Factor(base, count),)), rate)

    assert float(one) * (rate < 1e-4) / 2 <= found <= one
    assert found >= one - Fraction(1, 100) or one < Fraction(9, 10)


@pytest.mark.slow
def test_the_power_of_the_best_of_nearly_revealing_runs() -> None:
    """It was [0.001, 1], where the profile is known to eleven digits but wide beside 1 - delta."""
    runs = (
        RandomizedResponse(epsilon=3, categories=5, relation=AddRemove())
        .repeat(10)
        .select(FixedRuns(count=4))
    )

    assert runs.guarantee().true_positive_rate(false_positive_rate=1e-3).lower > 0.9999


@pytest.mark.parametrize(("mu_squared", "count"), [("1e-12", 1), ("1", 1), ("1/4", 100)])
def test_smallest_mu_of_gaussians(mu_squared: str, count: int) -> None:
    """The mu itself."""
    product = Product((Factor(GaussianPair(mu_squared=Fraction(mu_squared)), count),))
    true = math.sqrt(Fraction(mu_squared) * count)
    found = smallest_mu(product)
    assert found.lower <= true * (1 + 1e-14)
    assert true * (1 - 1e-14) <= found.upper
    assert found.relative_width < 1e-3


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
def test_smallest_mu_of_pure_dp(epsilon: Fraction) -> None:
    """2 Phi^{-1}(e^eps / (1 + e^eps)), the corner of the trade-off."""
    found = smallest_mu(Product.of(RandomizedResponsePair(epsilon=epsilon)))
    true = 2.0 * float(special.ndtri(special.expit(float(epsilon))))
    assert found.lower <= true * (1 + 1e-9)
    assert true * (1 - 1e-9) <= found.upper
    assert found.relative_width < 1e-3


def test_smallest_mu_covers_the_profile() -> None:
    """At mu's upper end Gaussian DP covers the profile; well below the lower end it does not."""
    product = Product((Factor(LaplacePair(epsilon=Fraction(1, 2)), 3),))
    found = smallest_mu(product)
    assert found.relative_width < 1e-2

    def gap(mu: float, rate: float) -> float:
        x = flint.arb(0) + ball(float(special.ndtri(1 - rate)))
        return float(normal_tail(x - ball(mu))) - true_positive_rate(product, rate).lower

    rates = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert min(gap(found.upper, rate) for rate in rates) >= -1e-6
    assert min(gap(found.lower * 0.97, rate) for rate in rates) < 0


def test_forgiven_delta() -> None:
    """Where every delta is forgiven mu is 0; where infinite mass is not, there is none."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 100), removal=True
    )
    product = Product((Factor(pair, 10),))
    assert smallest_mu(product, 0.9).upper == 0.0
    assert 0 < smallest_mu(product, 1e-6).upper < math.inf
    leaky = Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 100)))
    assert smallest_mu(leaky).lower == math.inf
    assert smallest_mu(leaky, 0.02).upper < math.inf


@pytest.mark.parametrize("smallest_delta", [0.0, 1e-6])
@pytest.mark.parametrize("turned", [False, True])
def test_larger_mu(smallest_delta: float, *, turned: bool) -> None:
    """That of the worse direction, whichever comes first, and of two that hardly differ."""
    pair = Product((Factor(STEP, 100),))
    for one, other in ((SMALL, LARGE), (pair, pair.swapped()), (LARGE, LARGE)):
        directions = (other, one) if turned else (one, other)
        found = larger_mu(*directions, smallest_delta)
        both = [smallest_mu(direction, smallest_delta) for direction in directions]
        assert found.lower <= max(each.upper for each in both)
        assert max(each.lower for each in both) <= found.upper
        assert found.upper <= max(each.upper for each in both)


@pytest.mark.parametrize("smallest_delta", [1e-12, 1e-4, 0.1])
def test_mu_above_a_delta(smallest_delta: float) -> None:
    """The lower end needs it at an epsilon where delta is more, the upper end nowhere else."""
    product = Product((Factor(STEP, 1000),))
    found = smallest_mu(product, smallest_delta)
    end = answers.epsilon(product, smallest_delta)
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        x = share * end.lower
        true = answers.delta(product, x)
        assert true.lower <= gaussian_profile(found.upper, np.array([x]))[1][0]
    assert found.relative_width < 1e-3
    shares = np.linspace(0.0, 1.0, 50) * end.lower
    covered = gaussian_profile(found.lower * (1 - 1e-3), shares)[1]
    assert any(answers.delta(product, x).lower > y for x, y in zip(shares, covered, strict=True))


def test_infinite_mass_of_a_table_leaves_the_bound() -> None:
    """Where a table keeps infinite mass, mu is that of the bases together."""
    base = Product.of(GaussianPair(mu_squared=Fraction(1)), LaplacePair(epsilon=Fraction(1)))
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=Direction.REMOVAL)
    found = smallest_mu(Product.of(pair))
    assert 0.0 < found.lower <= found.upper == pytest.approx(pair.gdp_bound, rel=1e-12)


def test_smallest_deltas_below_the_least_count_everywhere() -> None:
    """A smallest delta below 1e-300 excuses nothing that 0 does not."""
    one = Fraction(1)
    product = Product.of(GaussianPair(mu_squared=one), LaplacePair(epsilon=one))
    assert smallest_mu(product, 1e-310).upper == smallest_mu(product).upper
    assert smallest_mu(product, 1e-310).upper > 1.1 * smallest_mu(product, 1e-10).upper
    less = Product.of(GaussianPair(mu_squared=one))
    assert answers.larger_mu(product, less, 1e-310).upper == smallest_mu(product).upper


def shared(mu: mpmath.mpf, epsilon: float) -> mpmath.mpf:
    """What N(mu, 1) and e^epsilon N(0, 1) have in common."""
    x = epsilon / mu
    return mpmath.ncdf(x - mu / 2) + mpmath.exp(epsilon) * mpmath.ncdf(-x - mu / 2)


@pytest.mark.slow
def test_mu_where_delta_is_next_to_one() -> None:
    """Of 300 randomised responses no float tells delta from 1; against exact sums."""
    count, smallest = 300, 1e-6
    product = Product((Factor(RandomizedResponsePair(epsilon=Fraction(1)), count),))
    found = smallest_mu(product, smallest)
    assert found.relative_width < 1e-4
    needed = 0
    with mpmath.workdps(80):
        keep, places = 1 / (1 + mpmath.exp(-1)), range(count + 1)
        masses = [mpmath.binomial(count, k) * keep**k * (1 - keep) ** (count - k) for k in places]
        below = [mpmath.mpf(0)]  # masses of the smallest losses 2 k - count under P
        for mass in masses:
            below.append(below[-1] + mass)
        for epsilon in np.arange(0.0, count, 0.25).tolist():
            k = math.floor((epsilon + count) / 2) + 1
            common = below[k] + mpmath.exp(epsilon) * below[count + 1 - k]  # Q mirrors P
            if 1 - common <= smallest:
                break
            needed += common < shared(mpmath.mpf(found.lower) * (1 - mpmath.mpf(10) ** -5), epsilon)
            assert common >= shared(mpmath.mpf(found.upper), epsilon)
    assert needed > 0


@pytest.mark.parametrize("count", [464, 16_459])
def test_mu_of_many_discrete_gaussians(count: int) -> None:
    """Hardly more than that of as many Gaussians, where it once had no upper end."""
    pair = DiscreteGaussianPair(sigma_squared=Fraction("4.36") ** 2, shift=1)
    found = smallest_mu(Product((Factor(pair, count),)), 1e-6)
    assert math.sqrt(count) / 4.36 * (1 - 1e-6) < found.upper
    assert found.relative_width < 1e-4
    assert found.upper < math.sqrt(count) / 4.36 * (1 + 1e-3)


def test_over_all_deltas_sampling_gaussians_does_not_help() -> None:
    """Without a smallest delta, mu and rho of sampled training are those without sampling."""
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 100)))
    guarantee = step.repeat(900).guarantee()
    mu, rho = guarantee.gdp(), guarantee.zcdp()
    assert mu.lower <= 15 <= mu.upper
    assert rho.lower <= 112.5 <= rho.upper
    assert max(mu.relative_width, rho.relative_width) < 1e-12
    # by a second route: at larger and larger orders rho's lower end approaches the limit
    orders = [guarantee.rdp(order=order).lower / order for order in (50, 200, 800)]
    assert orders == sorted(orders)
    assert 0.9 * rho.upper < orders[-1] <= rho.upper
    # a looser claim about what counts: only at deltas above 1e-6 sampling helps
    assert guarantee.gdp(smallest_delta=1e-6).upper < 1


@pytest.mark.slow
def test_mu_between_the_corners_of_a_lattice() -> None:
    """Mu of ten local reports is narrow, and the largest of those that single epsilons need."""
    one = LocalHashing(epsilon=Fraction(331, 100), categories=10, relation=AddRemove())
    found = one.repeat(10).guarantee().gdp(smallest_delta=2.3e-5)
    (factor,) = one.guarantee().to_pair().forward.factors
    assert isinstance(factor.pair, FinitePair)
    p, q = (np.array([float(mass) for mass in side]) for side in (factor.pair.p, factor.pair.q))
    law = p[np.argsort(p / q)]  # of losses -1, 0 and 1 times the largest
    total = law
    for _ in range(9):
        total = np.convolve(total, law)
    losses = float(np.log(p / q).max()) * np.arange(-10, 11)
    needed = 0.0
    for epsilon in np.linspace(18.0, 19.5, 151):  # where the largest is
        delta = float(np.maximum(total * -np.expm1(epsilon - losses), 0.0).sum())
        low, high = 5.0, 6.0
        for _ in range(50):
            mu = 0.5 * (low + high)
            covers = gaussian_profile(mu, np.array([epsilon]))[0][0] >= delta
            low, high = (low, mu) if covers else (mu, high)
        needed = max(needed, high)
    assert found.relative_width < 1e-6
    assert found.upper == pytest.approx(needed, rel=1e-6)


def test_billions_of_hardly_ever_sampled_steps() -> None:
    """A product of more losses than integers count is answered, not refused by an overflow."""
    rare = Poisson(sampling_rate=Fraction(1, 10**12))
    step = Gaussian(sigma=1, sensitivity=L2(1)).subsample(rare)
    guarantee = step.repeat(10**12).guarantee()
    epsilon = guarantee.epsilon(delta=1e-6)
    assert epsilon.upper < 1e-3
    assert guarantee.delta(epsilon=epsilon.upper).lower <= 1e-6
