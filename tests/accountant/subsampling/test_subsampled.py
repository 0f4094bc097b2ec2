"""Subsampled products, against subsampling by enumeration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import Enclosure, Reals
from dpproof.accountant.engine import profile
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.gaussian_mixtures import addition_profile, removal_profile
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling import subsampled
from dpproof.accountant.subsampling.subsampled import Direction, SampledResponsePair, SubsampledPair
from tests.accountant.subsampling.builders import bases, times
from tests.contracts.definition import Ball, Outcomes, ball
from tests.contracts.pair_contract import Case, PairContract, flipped
from tests.contracts.tabulated_contract import TabulatedContract


def sampled(base: Outcomes, rate: Fraction, direction: Direction) -> Outcomes:
    """Each record takes part with the given probability: the mixture, outcome by outcome."""
    share = ball(rate)
    if direction is Direction.REMOVAL:
        return Outcomes([((1 - share) * q + share * p, q) for p, q in base.masses])
    return Outcomes([(p, (1 - share) * p + share * q) for p, q in base.masses])


class TestSubsampled(TabulatedContract, PairContract):
    """Finite bases, where the mixture can be written out; K is that of a table above."""

    table_width = 1e-9
    profile_width = 1e-8
    bracket_width = 0.1  # relative, also next to the largest loss, where delta ends

    def cases(self) -> Sequence[Case]:
        """Both Poisson directions, rates near 0 and near 1."""
        found = []
        for base, outcomes in bases():
            for rate in (Fraction(1, 1000), Fraction(1, 4), Fraction(99, 100)):
                for direction in (Direction.REMOVAL, Direction.ADDITION):
                    pair = SubsampledPair(base=base, sampling_rate=rate, direction=direction)
                    definition = sampled(outcomes, rate, direction)
                    found.append(Case(pair, definition, flipped(definition)))
        return found

    def test_infinite_mass(self) -> None:
        """At least the true one, and no more than the profile's error above it."""
        for case in self.cases():
            true = self.infinite(case)
            stated = ball(case.pair.infinite_mass)
            assert true.lower() <= stated
            assert stated <= (true + ball(1e-11)).upper()

    def test_max_loss(self) -> None:
        """Beyond the largest loss of the table only its infinite mass is left."""
        for case in self.cases():
            rest = case.definition.hockey_stick(case.pair.max_loss)
            assert rest.lower() <= ball(case.pair.infinite_mass)

    @pytest.mark.parametrize("order", [1.5, 9.0])
    def test_renyi(self, order: float) -> None:
        """The bracket holds the divergence, infinite or not."""
        for case in self.cases():
            found = answers.renyi(Product.of(case.pair), order)
            if self.infinite(case) != 0:
                assert found.upper == math.inf
                continue
            true = case.definition.moment(order - 1.0).real.log() / ball(order - 1.0)
            assert ball(found.lower).lower() <= true.upper()
            if math.isfinite(found.upper):
                assert true.lower() <= ball(found.upper).upper()

    @pytest.mark.parametrize("count", [2, 3])
    def test_composed(self, count: int) -> None:
        """Brackets of several runs hold the sum over all their outcomes."""
        for case in self.cases():
            assert isinstance(case.definition, Outcomes)
            outcomes = case.definition
            for _ in range(count - 1):
                outcomes = times(outcomes, case.definition)
            if len(outcomes.masses) > 300:
                continue
            for epsilon in (0.0, 0.2, 1.0, -0.3):
                true = outcomes.hockey_stick(epsilon)
                found = answers.delta(Product((Factor(case.pair, count),)), epsilon)
                assert ball(found.lower).lower() <= true.upper()
                assert true.lower() <= ball(found.upper).upper()


def test_replacement_covers_an_instance() -> None:
    """A record that moves a 3-ary answer is replaced by one that moves it elsewhere."""
    epsilon, rate = Fraction(1), Fraction(1, 3)
    e = ball(epsilon).exp()
    kept, other = e / (e + 2), 1 / (e + 2)
    answer = [[kept if i == j else other for j in range(3)] for i in range(3)]
    q = ball(rate)
    mixed = [
        [
            (1 - q) * absent + q * present
            for absent, present in zip(answer[0], answer[k], strict=True)
        ]
        for k in (1, 2)
    ]
    instance = Outcomes(list(zip(*mixed, strict=True)))
    pair = SubsampledPair(
        base=Product.of(RandomizedResponsePair(epsilon=epsilon, categories=3)),
        sampling_rate=rate,
        direction=Direction.REPLACEMENT,
    )
    assert pair.swapped() == pair
    for x in (-1.0, -0.2, 0.0, 0.1, 0.3, 0.5, 1.0):
        _, upper = pair.profile(np.array([x]))
        assert instance.hockey_stick(x).lower() <= ball(upper[0])


def test_replacement_formula() -> None:
    """Q delta(log(1 + (t-1)/q)) from t = 1 on, mirrored below, and convex in t."""
    rate = Fraction(1, 5)
    pair = SubsampledPair(
        base=Product.of(LaplacePair(epsilon=Fraction(1))),
        sampling_rate=rate,
        direction=Direction.REPLACEMENT,
    )

    def laplace(x: Ball) -> Ball:
        return (-((x - 1) / 2).expm1()).max(flint.arb(0))

    epsilon = np.array([-0.4, -0.1, 0.0, 0.05, 0.2, 0.29])
    for x, lower, upper in zip(epsilon, *pair.profile(epsilon), strict=True):
        size = ball(abs(float(x)))
        true = ball(rate) * laplace((1 + size.expm1() / ball(rate)).log())
        if x < 0:
            true = 1 - (-size).exp() + (-size).exp() * true
        assert ball(lower).lower() <= true.upper()
        assert true.lower() <= ball(upper).upper()
        assert upper - lower < 1e-10


def test_unbounded_base_has_finite_divergences() -> None:
    """What a table leaves out beyond its end is not taken for the pair's infinite mass."""
    base = Product.of(GaussianPair(mu_squared=Fraction(1)), LaplacePair(epsilon=Fraction(1)))
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=Direction.REMOVAL)
    product = Product.of(pair)
    assert 0 < answers.renyi(product, 2.0).lower < answers.renyi(product, 2.0).upper < math.inf
    assert answers.smallest_rho(product).lower <= pair.zcdp_bound
    assert answers.true_positive_rate(product, 0.0).lower == 0.0
    assert answers.smallest_mu(product).lower <= pair.gdp_bound


@pytest.mark.parametrize("order", [2, 5, 24])
@pytest.mark.parametrize("direction", [Direction.REMOVAL, Direction.REPLACEMENT])
def test_divergences_of_an_unbounded_base(direction: Direction, order: int) -> None:
    """At or just above the binomial sum: what lies beyond the table's end is bounded, not lost."""
    base = Product.of(GaussianPair(mu_squared=Fraction(1, 16)))
    q = Fraction(1, 5)
    pair = SubsampledPair(base=base, sampling_rate=q, direction=direction)
    found = answers.renyi(Product((Factor(pair, 3),)), float(order))
    terms = [
        math.comb(order, k) * float((1 - q) ** (order - k) * q**k) * math.exp(k * (k - 1) / 32)
        for k in range(order + 1)
    ]
    true = 3 * math.log(math.fsum(terms)) / (order - 1)

    if direction is Direction.REMOVAL:
        assert found.lower <= true <= found.upper <= true * (1 + 1e-5)
    assert true * (1 - 1e-12) <= found.upper < order * 3 / 32


def test_what_lies_beyond_a_table_counts() -> None:
    """What a table calls infinite is completed by Chernoff's bound of the base, and no less."""
    base = Product.of(GaussianPair(mu_squared=Fraction(1)))
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 2), direction=Direction.REMOVAL)
    true = math.log(0.25 + 0.5 + 0.25 * math.e)
    whole = pair.above(1)
    level = float(pair.profile(np.array([0.25]))[1][0])

    assert true <= pair.log_moment_above(np.ones(1), whole)[0] <= true * (1 + 1e-5)
    inside = whole.cgf(np.ones(1) + 0j)
    assert pair.log_moment_above(np.ones(1), whole)[0] >= inside.value.real + inside.radius
    assert pair.log_moment_by_table(np.ones(1), whole, level)[0] > true * (1 + 1e-2)
    told = SubsampledPair(
        base=Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 8))),
        sampling_rate=Fraction(1, 2),
        direction=Direction.REMOVAL,
    )
    assert told.log_moment_above(np.ones(1), told.above(1))[0] == math.inf
    added = pair.swapped()
    assert math.isfinite(added.log_moment_above(np.ones(1), whole)[0])
    assert pair.order_beyond(1.0, whole) > 1.0


def test_what_lies_beyond_is_bounded_by_the_upper_end_of_k(monkeypatch: pytest.MonkeyPatch) -> None:
    """A K that is lower, in a radius that holds the true one, lowers no bound."""
    pair = SubsampledPair(
        base=Product.of(LaplacePair(epsilon=Fraction(1))),
        sampling_rate=Fraction(1, 10),
        direction=Direction.REMOVAL,
    )
    s = np.array([0.5, 4.0])
    _, sharp = pair._tails(s, 0.5)

    def vague(product: Product, at: NDArray[np.complex128]) -> Enclosure:
        found = total_cgf(product, at)
        return Enclosure(found.value - 0.1, found.radius + 0.1)

    monkeypatch.setattr(subsampled, "total_cgf", vague)
    assert (pair._tails(s, 0.5)[1] >= sharp - 1e-12).all()


def tabulated(pair: SubsampledGaussianPair) -> SubsampledPair:
    """The same pair as a sample of a Gaussian that is answered from tables."""
    return SubsampledPair(
        base=Product.of(GaussianPair(mu_squared=pair.mu_squared)),
        sampling_rate=pair.sampling_rate,
        direction=Direction.REMOVAL if pair.removal else Direction.ADDITION,
    )


def test_table_and_quadrature_agree() -> None:
    """A subsampled Gaussian by its table and by its own K: brackets of one number."""
    for removal in (True, False):
        pair = SubsampledGaussianPair(
            mu_squared=Fraction(1), sampling_rate=Fraction(1, 5), removal=removal
        )
        for epsilon in (0.0, 0.1, 0.5, 1.5):
            one = answers.delta(Product((Factor(pair, 5),)), epsilon)
            other = answers.delta(Product((Factor(tabulated(pair), 5),)), epsilon)
            assert one.lower <= other.upper
            assert other.lower <= one.upper


def test_tables_of_rare_sampling_dominate() -> None:
    """Where all losses are tiny, rounding in the hull does not let the table dip below."""
    for rate in (Fraction(1, 10**4), Fraction(1, 10**7)):
        pair = SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=rate, removal=True)
        for few in (1, 10**6):
            above, below = tabulated(pair).above(few), tabulated(pair).below(few)
            epsilon = np.geomspace(1e-3, 1e4, 60) * float(rate)
            epsilon = np.concatenate([-epsilon[::-1], [0.0], epsilon])
            true = pair.profile(epsilon)
            ends = below.profile(epsilon), above.profile(epsilon)
            assert ends[0] is not None
            assert ends[1] is not None
            assert (ends[0][0] <= true[1]).all()
            assert (ends[1][1] >= true[0]).all()
            falls = [one <= other for other, one in pairwise(ends[1][0])]
            assert all(falls)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_rare_sample_never_hides_delta(direction: Direction) -> None:
    """A share of a delta that floats hardly hold is not 0, unless losses end before."""
    epsilon = np.array([2.0])
    gaussian = Product.of(GaussianPair(mu_squared=Fraction(1, 100)))
    laplace = Product.of(LaplacePair(epsilon=Fraction(1)))
    for rate in (Fraction(1, 10**12), Fraction(1, 10**60)):
        unbounded = SubsampledPair(base=gaussian, sampling_rate=rate, direction=direction)
        bounded = SubsampledPair(base=laplace, sampling_rate=rate, direction=direction)
        ends = direction is Direction.ADDITION
        assert (unbounded.profile(epsilon)[1][0] > 0.0) is not ends
        assert bounded.profile(epsilon)[1][0] == 0.0
    sampled = SubsampledGaussianPair(
        mu_squared=Fraction(1, 10**6), sampling_rate=Fraction(1, 10**6), removal=True
    )
    assert answers.delta(Product.of(sampled), 1e-4).upper > 0.0


def test_what_is_no_number_is_not_made_0() -> None:
    """A base whose upper end is no number leaves no number."""

    def base(x: Reals) -> tuple[Reals, Reals]:
        return np.zeros(x.shape), np.full(x.shape, np.nan)

    rate, epsilon = Fraction(1, 2), np.array([0.1])
    assert np.isnan(removal_profile(base, rate, epsilon)[1][0])
    assert np.isnan(addition_profile(base, rate, epsilon)[1][0])


def test_losses_beyond_floats_are_answered() -> None:
    """A record that every sample shows: delta is the chance of being in one of three samples."""
    base = Product.of(RandomizedResponsePair(epsilon=Fraction(10**9)))
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 100), direction=Direction.REMOVAL)
    bracket = answers.delta(Product.of(pair).times(3), 1.0)

    assert bracket.lower <= 1 - Fraction(99, 100) ** 3 <= bracket.upper
    assert bracket.relative_width < 1e-5


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100)])
@pytest.mark.parametrize("direction", [Direction.REMOVAL, Direction.ADDITION])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_one_sample_is_answered_from_its_profile(
    rate: Fraction, direction: Direction, delta: float
) -> None:
    """As narrowly as the two mixtures written down, for one sample of three outcomes."""
    p, q = (
        (Fraction(3, 4), Fraction(6, 25), Fraction(1, 100)),
        (Fraction(1, 5), *2 * (Fraction(2, 5),)),
    )
    base = Product.of(FinitePair(p=p, q=q))
    pair = SubsampledPair(base=base, sampling_rate=rate, direction=direction)
    one, other = (q, p) if direction is Direction.REMOVAL else (p, q)
    mixed = tuple((1 - rate) * a + rate * b for a, b in zip(one, other, strict=True))
    mixture = (mixed, q) if direction is Direction.REMOVAL else (p, mixed)
    written = Product.of(FinitePair(p=mixture[0], q=mixture[1]))

    for found, true in (
        (answers.epsilon(Product.of(pair), delta), answers.epsilon(written, delta)),
        (answers.delta(Product.of(pair), 0.01), answers.delta(written, 0.01)),
    ):
        assert max(found.lower, true.lower) <= min(found.upper, true.upper)
        assert found.width <= 1e-10 * max(found.upper, 1e-3)


def test_one_sample_whose_profile_ends_too_high_is_answered_from_tables() -> None:
    """Where its base has infinite losses, and below 1e-100, the tables answer."""
    base = Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 100)))
    pair = SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=Direction.REMOVAL)
    for delta in (1e-4, 1e-150):
        with pytest.raises(NotCertified, match="not resolved at delta"):
            pair.epsilon(delta)
        assert answers.epsilon(Product.of(pair), delta).upper == math.inf
    assert answers.epsilon(Product.of(pair), 2e-3).relative_width < 1e-10


def test_thousands_of_rare_samples_are_narrow() -> None:
    """Two stages of 3,000 rare samples of different noise are told to five digits."""
    stages = [
        SubsampledPair(
            base=Product.of(GaussianPair(mu_squared=mu_squared)),
            sampling_rate=Fraction(1, 600),
            direction=Direction.REPLACEMENT,
        )
        for mu_squared in (Fraction(1), Fraction(1, 4))
    ]
    found = answers.delta(Product.merge([Factor(pair, 3000) for pair in stages]), 0.0)
    assert 0.0657973 < found.lower <= found.upper < 0.0660136  # what coarse tables gave
    assert found.relative_width < 1e-5


DIRECTIONS = Direction.REMOVAL, Direction.ADDITION


def step(direction: Direction, categories: int = 2) -> SubsampledPair:
    """Epsilon 2 at rate 1/10."""
    base = Product.of(RandomizedResponsePair(epsilon=Fraction(2), categories=categories))
    return SubsampledPair(base=base, sampling_rate=Fraction(1, 10), direction=direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("count", [1, 3, 20, 300])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.999])
def test_the_binomial_sum(direction: Direction, count: int, share: float) -> None:
    """Delta of repeated samples with two categories, from both masses."""
    with mpmath.workdps(50):
        keep, rate = mpmath.exp(2) / (mpmath.exp(2) + 1), mpmath.mpf(1) / 10
        p, q = keep, 1 - keep
        if direction is Direction.REMOVAL:
            p = (1 - rate) * q + rate * p
        else:
            q = (1 - rate) * p + rate * q
        epsilon = float(share * count * mpmath.log(p / q))
        t = mpmath.exp(mpmath.mpf(epsilon))
        true = mpmath.mpf(0)
        for k in range(count + 1):
            first, second = p**k * (1 - p) ** (count - k), q**k * (1 - q) ** (count - k)
            true += mpmath.binomial(count, k) * max(first - t * second, mpmath.mpf(0))
        found = answers.delta(Product((Factor(step(direction), count),)), epsilon)
        assert found.lower <= true <= found.upper
        assert found.relative_width < 1e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("count", [2, 10, 100, 1000])
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_brackets_are_narrow(direction: Direction, count: int, delta: float) -> None:
    """Tables left 0 as the lower end of epsilon, or brackets of 1e-3."""
    found = answers.epsilon(Product((Factor(step(direction), count),)), delta)
    assert found.relative_width < 1e-7


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_sample_agrees_with_its_profile(direction: Direction) -> None:
    """With five categories: what the sampling theorem says of the base, from finite masses."""
    pair = step(direction, categories=5)
    for epsilon in (0.0, 0.01, 0.08):
        by_theorem, by_masses = (
            pair.delta(epsilon),
            profile.delta(Product.of(pair.above(1)), epsilon),
        )
        assert by_masses.lower <= by_theorem.upper
        assert by_theorem.lower <= by_masses.upper
        assert by_masses.relative_width < 1e-9


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("categories", [2, 5])
@pytest.mark.parametrize(
    ("epsilon", "rate"),
    [
        (Fraction(1), Fraction(1, 10**50)),
        (Fraction(1), Fraction(1, 10**99)),
        (Fraction(1, 10**9), Fraction(1, 10**99)),
        (Fraction(500), 1 - Fraction(1, 10**99)),
    ],
)
def test_extreme_rates(
    direction: Direction, categories: int, epsilon: Fraction, rate: Fraction
) -> None:
    """Losses of masses that agree, or that nearly vanish, to a hundred digits."""
    pair = SampledResponsePair(
        response=RandomizedResponsePair(epsilon=epsilon, categories=categories),
        sampling_rate=rate,
        removal=direction is Direction.REMOVAL,
    )
    with mpmath.workdps(500):
        grown = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        q = mpmath.mpf(rate.numerator) / rate.denominator
        for loss, ratio in zip(pair.atoms.loss[:2], (grown, 1 / grown), strict=True):
            sampled = mpmath.log(1 - q + q * ratio)
            if direction is Direction.ADDITION:
                sampled = -mpmath.log(1 - q + q / ratio)
            assert abs(float(loss) - sampled) <= 2.3e-16 * abs(sampled)
        moment = pair.cgf(np.array([1 + 0j]))
        assert moment.value[0].real + moment.radius[0] > 0.0
