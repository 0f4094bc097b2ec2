"""Group privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, value_at
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.pairs.finite import smallest_pair_above
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair, LaplacePair, LogisticPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sampling import Poisson, WithoutReplacement
from dpproof.accountant.theorems.composition import compose, self_compose
from dpproof.accountant.theorems.group import group, group_pair, group_rdp, group_trade_off
from dpproof.accountant.theorems.parallel import parallel_compose
from dpproof.accountant.theorems.subsampling import subsample_poisson, subsample_without_replacement
from tests.accountant.guarantees import oracle

SIZE = st.integers(1, 6)
WEIGHTS = st.lists(st.fractions(Fraction(1, 50), 1, max_denominator=50), min_size=3, max_size=3)


@given(SIZE)
def test_one_parameter_notions(size: int) -> None:
    """Epsilon and range grow with the size, mu too, rho with its square."""
    assert group(PureDP(epsilon=2), size=size) == PureDP(epsilon=2 * size)
    assert group(BoundedRange(epsilon=2), size=size) == BoundedRange(epsilon=2 * size)
    assert group(MetricDP(epsilon=2), size=size) == MetricDP(epsilon=2 * size)
    assert group(GDP(mu=2), size=size) == GDP(mu=2 * size)
    assert group(ZCDP(rho=2), size=size) == ZCDP(rho=2 * size**2)


@given(st.integers(1, 60), st.fractions(0, 3, max_denominator=20))
def test_approximate_dp_adds_up_delta(size: int, epsilon: Fraction) -> None:
    """Delta times the sum of e^{i epsilon}, rounded up."""
    result = group(ApproxDP(epsilon=epsilon, delta=Fraction(1, 10**90)), size=size)
    exact = math.fsum(math.exp(i * float(epsilon)) for i in range(size))

    assert isinstance(result, ApproxDP)
    assert result.stated_epsilon == size * epsilon
    factor = float(result.stated_delta * 10**90)
    assert factor == pytest.approx(exact, rel=1e-12)
    assert factor >= exact * (1 - 1e-12)


def test_approximate_dp_reaches_delta_one() -> None:
    """Large groups are not protected; no overflow on the way."""
    result = group(ApproxDP(epsilon=1, delta=1e-6), size=10**12)

    assert result == ApproxDP(epsilon=10**12, delta=1)
    assert group(ApproxDP(epsilon=1, delta=0), size=10**12) == ApproxDP(epsilon=10**12, delta=0)


@settings(max_examples=25)
@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_renyi_triangle_inequality(p: list[Fraction], s: list[Fraction], q: list[Fraction]) -> None:
    """Brute force over a chain of three laws."""
    laws = [[float(x / sum(law)) for x in law] for law in (p, s, q)]
    orders = [1.5, 2.0, 3.0, 4.0, 6.0, 8.0]

    def divergence(a: int, b: int, order: float) -> float:
        return max(0.0, oracle.renyi(list(zip(laws[a], laws[b], strict=True)), order))

    steps = [(a, max(divergence(0, 1, a), divergence(1, 2, a)) + 1e-13) for a in orders]
    for order, value in group_rdp(RDP(points=steps), size=2).points:
        assert divergence(0, 2, float(order)) <= value


def test_renyi_line_scales_like_zcdp() -> None:
    """Points of rho a become points of size^2 rho a, exactly."""
    line = RDP(points=[(k, 3 * k) for k in range(2, 40)])
    result = group(line, size=3)

    assert isinstance(result, RDP)
    assert result.points
    assert all(value == 27 * order for order, value in result.points)


def test_renyi_groups_need_large_orders() -> None:
    """Orders are divided by the size; without any above it the theorem is silent."""
    with pytest.raises(NotImplied, match="needs Renyi orders above 5"):
        group(RDP(points=((4, 1),)), size=5)
    with pytest.raises(NotImplied, match="use ZCDP"):
        group(RDP(points=((4, 1),)), size=10**6)


@settings(max_examples=25)
@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_trade_off_chain(p: list[Fraction], s: list[Fraction], q: list[Fraction]) -> None:
    """No test tells the ends of a chain better than the iterated curve allows."""
    laws = [[x / sum(law) for x in law] for law in (p, s, q)]
    curve = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))]
    for a, b in ((0, 1), (1, 0), (1, 2), (2, 1)):
        ordered = sorted(zip(laws[a], laws[b], strict=True), key=lambda m: -m[0] / m[1])
        type_i, type_ii = Fraction(0), Fraction(1)
        for mass, other in ordered:
            type_i, type_ii = type_i + other, type_ii - mass
            curve.append((type_i, type_ii))
    step = TradeOff(points=lower_hull(curve))
    pair = group(step, size=2)

    masses = [(float(x), float(y)) for x, y in zip(laws[0], laws[2], strict=True)]
    assert isinstance(pair, TradeOff)
    for rate in (0.01, 0.1, 0.3, 0.7):
        misses = float(value_at(pair.points, Fraction(rate)))
        assert misses <= 1 - oracle.power(masses, rate) + 1e-12


def test_trade_off_of_randomised_response() -> None:
    """Two steps of ratio 3 by hand: power 9a up to 1/12, then 1/2 + 3a, then the last piece."""
    curve = TradeOff(points=((0, 1), (Fraction(1, 4), Fraction(1, 4)), (1, 0)))
    twice = group_trade_off(curve, size=2)

    found = [float(coordinate) for point in twice.points for coordinate in point]
    assert found == pytest.approx([0, 1, 1 / 12, 1 / 4, 1 / 4, 1 / 12, 1, 0])
    assert all(
        type_i <= exact
        for (type_i, _), exact in zip(
            twice.points, (Fraction(0), Fraction(1, 12), Fraction(1, 4), Fraction(1)), strict=True
        )
    )


def test_trade_off_of_a_gaussian_is_close_to_its_group() -> None:
    """A fine polygon below a Gaussian curve, iterated, stays below and near size mu."""
    points = [(k / 8, oracle.gaussian_delta(0.5, k / 8)) for k in range(40)]
    three = group(PrivacyProfile(points=points), size=3)
    exact = GDP(mu=1.5)

    for epsilon in (0.0, 1.0, 3.0):
        answer = three.delta(epsilon=epsilon).upper
        assert answer >= exact.delta(epsilon=epsilon).lower - 1e-12
        assert answer == pytest.approx(exact.delta(epsilon=epsilon).upper, rel=0.05)


def test_large_groups_of_a_curve_give_up_everything() -> None:
    """Once everything can be told the iteration stops."""
    curve = TradeOff(points=((0, Fraction(3, 4)), (Fraction(1, 2), 0)))

    assert group(curve, size=1000) == TradeOff(points=((0, 0),))
    with pytest.raises(NotImplied, match="at most 1000"):
        group(curve, size=1001)


@pytest.mark.parametrize(
    ("pair", "shifted"),
    [
        (LaplacePair(epsilon=Fraction(1, 2)), LaplacePair(epsilon=Fraction(3, 2))),
        (LogisticPair(epsilon=Fraction(1, 2)), LogisticPair(epsilon=Fraction(3, 2))),
        (
            DiscreteLaplacePair(scale=Fraction(5), shift=2),
            DiscreteLaplacePair(scale=Fraction(5), shift=6),
        ),
        (
            DiscreteGaussianPair(sigma_squared=Fraction(5), shift=1),
            DiscreteGaussianPair(sigma_squared=Fraction(5), shift=3),
        ),
        (GaussianPair(mu_squared=Fraction(2)), GaussianPair(mu_squared=Fraction(18))),
    ],
)
def test_shifts_of_log_concave_noise(pair: Pair, shifted: Pair) -> None:
    """Three steps are one shift three times as long."""
    result = group(DominatingPair(forward=Product.of(pair)), size=3)

    assert result == DominatingPair(forward=Product.of(shifted))


@pytest.mark.slow
@settings(max_examples=4)
@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_chains_of_other_pairs(p: list[Fraction], s: list[Fraction], q: list[Fraction]) -> None:
    """The ends of a chain are as close as the group of a pair above its steps says."""
    laws = [tuple(x / sum(law) for x in law) for law in (p, s, q)]
    steps = [(laws[a], laws[b]) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1))]
    above = Product.of(smallest_pair_above(steps))
    found = group(DominatingPair(forward=above, backward=above), size=2)

    assert isinstance(found, TradeOff)
    ends = [(float(x), float(y)) for x, y in zip(laws[0], laws[2], strict=True)]
    for epsilon in (0.0, 0.5, 2.0, 5.0):
        truth = sum(max(x - math.exp(epsilon) * y, 0.0) for x, y in ends)
        assert found.delta(epsilon=epsilon).upper >= truth - 1e-12


@pytest.mark.slow
def test_groups_of_a_composition_are_nearly_the_longer_shifts() -> None:
    """Two Laplace releases, each moved three times as far, are below the bound by some percent."""
    twice = DominatingPair(forward=Product.of(LaplacePair(epsilon=Fraction(1, 4))).times(2))
    found = group(twice, size=3).epsilon(delta=1e-6).upper
    longer = DominatingPair(forward=Product.of(LaplacePair(epsilon=Fraction(3, 4))).times(2))
    truth = longer.epsilon(delta=1e-6).lower

    assert truth <= found <= 1.02 * truth
    assert group(twice, size=1) == twice
    with pytest.raises(NotImplied, match="at most 1000"):
        group(twice, size=1001)


def test_pairs_without_a_shift_are_refused_by_the_theorem_on_shifts() -> None:
    """What it takes is one shift of noise, the same in both directions."""
    twice = DominatingPair(forward=Product.of(LaplacePair(epsilon=Fraction(1))).times(2))
    with pytest.raises(NotImplied, match="group each part and compose"):
        group_pair(twice, size=2)


def test_bad_sizes_are_refused() -> None:
    """A size is a whole number of at least 1."""
    for notion in (PureDP(epsilon=1), GDP(mu=1), ZCDP(rho=1)):
        with pytest.raises(ParameterError, match="size must be a whole number"):
            group(notion, size=0)


@pytest.mark.parametrize(
    "one", [PureDP(epsilon=1), GDP(mu=1), ZCDP(rho=1), ApproxDP(epsilon=1, delta=0.125)]
)
def test_groups_and_records_do_not_mix(one: Guarantee[AddRemove]) -> None:
    """A statement about three records and one about one, or two, are not composed."""
    three = group(one, size=3)
    for other, said in ((one, "neighbours"), (group(one, size=2), "groups of 2")):
        with pytest.raises(
            RelationMismatch, match=f"part 0 is about groups of 3, .* {said}; group"
        ):
            compose(three, other)
        with pytest.raises(RelationMismatch, match=f"cannot compose in parallel .* {said}"):
            parallel_compose(other, three)


def test_groups_of_one_size_compose() -> None:
    """Sizes are kept by composition and conversion, and multiply where groups are grouped."""
    three = self_compose(group(GDP(mu=1), size=3), 4)
    assert compose(three, group(GDP(mu=2), size=3)) == GDP(mu_squared=72)
    assert compose(group(compose(GDP(mu=1), GDP(mu=2)), size=3), three) == GDP(mu_squared=81)
    six = group(group(PureDP(epsilon=1), size=2), size=3)
    assert compose(six, group(PureDP(epsilon=1), size=6)).derivation.apart == 6
    assert compose(group(PureDP(epsilon=1), size=1), PureDP(epsilon=1)).derivation.apart == 1


def test_samples_of_groups_are_refused() -> None:
    """Every record of a group is drawn by itself: three are in a sample three times as often."""
    with pytest.raises(NotImplied, match=r"about one record, .* groups of 3; apply it"):
        subsample_poisson(group(GDP(mu=1), size=3), Poisson(sampling_rate=0.01))
    with pytest.raises(NotImplied, match=r"about one record, .* groups of 2; apply it"):
        subsample_without_replacement(
            group(GDP(mu=1, relation=ReplaceOne()), size=2),
            WithoutReplacement(sample_size=1, population_size=100),
        )


def test_disjoint_parts_of_groups_are_refused() -> None:
    """Three records may fall in three parts, and no part's guarantee is about that."""
    three = group(TradeOff(points=((0, 1), (0.5, 0.25), (1, 0))), size=3)
    with pytest.raises(NotImplied, match="parallel composition is about one record"):
        parallel_compose(three, three)
