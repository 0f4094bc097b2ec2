"""Composed exponential mechanisms, by the public calls."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import AddRemove, Poisson, answers
from dpproof.accountant.engine import profile
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import LogisticPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.ranges import (
    BoundedRangePair,
    ComposedRangePair,
    as_logistic,
    composed_alone,
    composes_ranges,
    ranges_apart,
    short_floats,
)
from dpproof.accountant.sensitivity import L2, LInf
from dpproof.accountant.theorems.composition import compose, self_compose
from dpproof.accountant.theorems.conversion import convert
from dpproof.mechanisms import ExponentialMechanism, Gaussian, Quantile, TopK
from tests.accountant.certificates.builders import certifiable


@pytest.mark.parametrize(
    ("epsilon", "uses", "stated"),
    [
        (1, 10, 7.7164),
        pytest.param(1, 20, 12.0828, marks=pytest.mark.slow),
        (1, 30, 15.6735),
        pytest.param(1, 100, 34.8605, marks=pytest.mark.slow),
        pytest.param(2, 100, 91.0299, marks=pytest.mark.slow),
        (Fraction(1, 10), 10, 0.63417),
        (Fraction(1, 10), 20, 0.93239),
        pytest.param(Fraction(1, 10), 100, 2.25087, marks=pytest.mark.slow),
    ],
)
def test_uses_of_the_exponential_mechanism(epsilon: Fraction, uses: int, stated: float) -> None:
    """The adaptive worst case at delta 1e-6, between ends less than 1e-3 apart."""
    mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=LInf(1)).repeat(uses)
    bound = mechanism.guarantee().epsilon(delta=1e-6)

    assert bound.lower <= bound.upper <= bound.lower + 1e-3
    assert bound.upper == pytest.approx(stated, abs=2e-4)
    assert bound.attained
    assert "dominating pair" not in repr(bound)


def test_two_uses_at_epsilon_zero() -> None:
    """The total variation distance of two uses at epsilon = 1 is .30337, not .32261."""
    bound = ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).repeat(2).guarantee().advantage()

    assert bound.lower <= 0.303366 <= bound.upper + 1e-6
    assert bound.width <= 1e-6


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("epsilon", "uses"), [(1, 100), pytest.param(1, 1000, marks=pytest.mark.slow)]
)
def test_no_worse_than_by_zcdp_and_no_better_than_one_loss_repeated(
    epsilon: Fraction, uses: int
) -> None:
    """The upper end is below the one by zCDP; the binomial of t = epsilon / 2 is below it."""
    guarantee = BoundedRange(epsilon=epsilon)
    bound = self_compose(guarantee, uses).epsilon(delta=1e-6)
    pair = BoundedRangePair(epsilon=Fraction(epsilon))
    repeated = Product.merge([Factor(one, n) for one, n in pair.powers_below(uses, adapts=False)])

    assert (
        bound.upper
        < self_compose(convert(guarantee, to=ZCDP), uses).epsilon(delta=1e-6).lower * 1.1
    )
    assert bound.upper >= answers.epsilon(repeated, 1e-6).lower
    assert bound.lower >= 0.99 * bound.upper


def test_repeated_losses_are_a_binomial_of_the_range() -> None:
    """The two losses are at most epsilon apart, and their power is an exact binomial sum."""
    ((pair, count),) = BoundedRangePair(epsilon=Fraction(1)).powers_below(100, adapts=False)
    assert isinstance(pair, FinitePair)
    p, q = (mpmath.mpf(one.numerator) / one.denominator for one in (pair.p[0], pair.q[0]))
    with mpmath.workdps(50):
        high, low = mpmath.log(p / q), mpmath.log((1 - p) / (1 - q))
        delta = sum(
            mpmath.binomial(count, k)
            * p**k
            * (1 - p) ** (count - k)
            * max(0, 1 - mpmath.exp(34 - k * high - (count - k) * low))
            for k in range(count + 1)
        )
        assert high - low <= 1
        assert high - low >= 1 - mpmath.mpf("1e-12")
    product = Product((Factor(pair, count),))
    found = answers.delta(product, 34.0)

    assert found.lower <= delta * (1 + 1e-9)
    assert delta <= found.upper * (1 + 1e-9)
    assert answers.epsilon(product, 1e-6).lower > 34.68


@pytest.mark.slow
def test_beside_other_mechanisms_it_is_below_the_value_by_zcdp() -> None:
    """Uses beside Gaussians, quantiles and peeled picks cost less than by zCDP."""
    gaussians = Gaussian(sigma=2, sensitivity=L2(1)).repeat(5).guarantee()
    picks = ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).repeat(50).guarantee()
    mixed = compose(picks, gaussians).epsilon(delta=1e-6)
    quantiles = (
        Quantile(epsilon=1, q=Fraction(1, 2), candidates=[0, 1, 2], relation=AddRemove())
        .repeat(40)
        .guarantee()
    )
    peeled = TopK(ExponentialMechanism(epsilon=Fraction(1, 2), sensitivity=LInf(1)), k=50)

    assert mixed.upper <= 23.356
    assert mixed.lower >= mixed.upper - 1e-3
    assert quantiles.epsilon(delta=1e-6).upper < 20.55
    assert peeled.guarantee().epsilon(delta=1e-6).upper < 10.08


def test_order_of_parts_does_not_matter() -> None:
    """Ranges that stand apart in a composition are grouped."""
    one, other = BoundedRange(epsilon=1), Gaussian(sigma=2, sensitivity=L2(1)).guarantee()
    composed, grouped = compose(one, other, one, one), compose(self_compose(one, 3), other)
    assert isinstance(composed, DominatingPair)
    assert isinstance(grouped, DominatingPair)
    apart = composed.forward

    assert ranges_apart(apart)[0] == [(Fraction(1), 3)]
    assert answers.epsilon(apart, 1e-6) == answers.epsilon(grouped.forward, 1e-6)


def test_renyi_divergences_add_up_without_loss() -> None:
    """Ten uses have ten times one use's divergence, and ten times its rho."""
    one = BoundedRange(epsilon=1)
    ten = self_compose(one, 10)

    assert ten.rdp(order=3).upper == pytest.approx(10 * one.rdp(order=3).upper, rel=1e-12)
    assert ten.zcdp().upper == pytest.approx(10 * one.zcdp().upper, rel=1e-12)


def test_logistic_pairs_by_themselves_stay_a_product() -> None:
    """A pair that was stated as logistic is composed as that, and what certificates use is, too."""
    ranged = Product((Factor(BoundedRangePair(epsilon=Fraction(1)), 10),))
    plain = Product((Factor(LogisticPair(epsilon=Fraction(1)), 10),))

    assert answers.epsilon(plain, 1e-6).lower == pytest.approx(8.115915, rel=1e-6)
    assert as_logistic(ranged) == plain
    assert composes_ranges(ranged)
    assert not composes_ranges(plain)
    assert composed_alone(ranged) is not None
    assert composed_alone(plain) is None


def test_lower_ends_of_compositions_are_not_certified() -> None:
    """The profile is attained point by point, so that no pair of laws is a lower end of it."""
    guarantee = ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).repeat(10).guarantee()

    with pytest.raises(NotCertified, match="bounded ranges"):
        guarantee.certify(delta=1e-6, lower=True)


@pytest.mark.slow
def test_samples_of_compositions_are_certified_as_of_logistic_pairs() -> None:
    """Five uses on one sample are certified above the bracket's epsilon, and not from below."""
    five = ExponentialMechanism(epsilon=0.5, sensitivity=LInf(1)).repeat(5)
    guarantee = five.subsample(Poisson(sampling_rate=Fraction(1, 100))).guarantee()
    proved = Fraction(str(guarantee.certify(delta=1e-6).claim["epsilon"]))

    logistic = certifiable(guarantee).epsilon(delta=1e-6).upper

    assert guarantee.epsilon(delta=1e-6).upper < logistic <= proved <= logistic * (1 + 1e-6)
    with pytest.raises(NotCertified, match="bounded ranges"):
        guarantee.certify(delta=1e-6, lower=True)


def test_finite_pairs_stand_above_and_below() -> None:
    """The profiles of both finite pairs enclose the pair's own, within 1e-4 in epsilon."""
    pair = ComposedRangePair(length=Fraction(1), count=10)
    own = pair.epsilon(1e-6)
    above, below = (Product.of(one) for one in (pair.above(1), pair.below(1)))

    assert profile.epsilon(above, 1e-6).upper >= own.lower
    assert profile.epsilon(below, 1e-6).lower <= own.upper
    assert profile.epsilon(above, 1e-6).upper <= own.upper + 1e-4
    assert profile.epsilon(below, 1e-6).lower >= own.lower - 1e-4


def test_profile_is_its_own_swap_and_ends_at_the_largest_loss() -> None:
    """H(-y) = 1 - e^-y + e^-y H(y), and nothing is left at count times the range."""
    pair = ComposedRangePair(length=Fraction(1, 2), count=6)
    y = np.array([0.3, 1.1, 2.9])
    right, left = pair.profile(y), pair.profile(-y)

    assert left[1] == pytest.approx(-np.expm1(-y) + np.exp(-y) * right[1])
    assert (left[0] <= left[1]).all()
    assert pair.delta(3.0).upper == 0.0
    assert pair.delta(2.999).upper > 0.0
    assert pair.epsilon(0.0).upper == pytest.approx(3.0)


@pytest.mark.slow
def test_lower_ends_hold_where_delta_is_nearly_one() -> None:
    """Where V is above 1 - 1e-5 the lower end is at most what symmetry and the upper end allow."""
    pair = ComposedRangePair(length=Fraction(2), count=100)
    y = np.array([0.0, 1.0, 3.0, 10.0])
    lower, upper = pair.profile(y)

    assert (lower <= upper).all()
    assert (np.diff(lower) <= 0).all()
    assert (upper <= 1.0).all()
    assert (lower >= 0.999).all()


def test_ranges_are_rounded_to_short_floats_outwards() -> None:
    """Both floats have few bits and enclose the range closely."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(1, 10**9)):
        high, low = short_floats(epsilon)

        assert Fraction(low) <= epsilon <= Fraction(high)
        assert math.isclose(low, high, rel_tol=1e-8)
        assert Fraction(high * 1023) == Fraction(high) * 1023
