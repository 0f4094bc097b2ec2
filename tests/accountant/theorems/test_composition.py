"""Composition of any notions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant import GDP, AddRemove, Attained, BoundedRange, DominatingPair, post_process
from dpproof.accountant.errors import NotCertified, NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.theorems.composition import _composed_level, compose, self_compose
from dpproof.accountant.theorems.conversion import convert
from dpproof.accountant.theorems.subsampling import subsample_poisson
from tests.accountant.guarantees import oracle

SIZES = st.fractions(min_value=0, max_value=4, max_denominator=50)
CURVE = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))


def any_guarantee() -> st.SearchStrategy[Guarantee[AddRemove]]:
    """Every notion with one parameter or two."""
    return st.one_of(
        st.builds(lambda x: PureDP(epsilon=x), SIZES),
        st.builds(lambda x: GDP(mu=x), SIZES),
        st.builds(lambda x: ZCDP(rho=x), SIZES),
        st.builds(lambda x: BoundedRange(epsilon=x), SIZES),
        st.builds(lambda x: ApproxDP(epsilon=x, delta=1e-9), SIZES),
        st.builds(lambda x: RDP(points=((2, x), (5, 3 * x))), SIZES),
    )


def content(guarantee: Guarantee[Any]) -> object:
    """The statement with the factors of products unordered."""
    if isinstance(guarantee, DominatingPair):
        return frozenset(guarantee.forward.factors), frozenset(guarantee.backward.factors)
    return guarantee


def composed(*parts: Guarantee[AddRemove]) -> object:
    """What compose gives, or that it refuses."""
    try:
        return content(compose(*parts))
    except NotImplied:
        return "refused"


@settings(max_examples=20)
@given(any_guarantee(), any_guarantee(), any_guarantee())
def test_commutes(
    a: Guarantee[AddRemove], b: Guarantee[AddRemove], c: Guarantee[AddRemove]
) -> None:
    """The order of the parts does not matter."""
    assert composed(a, b, c) == composed(c, a, b) == composed(b, a, c)


@settings(max_examples=20)
@given(any_guarantee(), any_guarantee(), any_guarantee())
def test_associates_within_a_kind(
    a: Guarantee[AddRemove], b: Guarantee[AddRemove], c: Guarantee[AddRemove]
) -> None:
    """Grouping does not matter where all parts keep their pair."""
    if any(isinstance(part, ZCDP | RDP) for part in (a, b, c)):
        return
    left, right = compose(compose(a, b), c), compose(a, compose(b, c))
    if isinstance(left, DominatingPair) and isinstance(right, DominatingPair):
        assert left.epsilon(delta=1e-3).upper >= right.epsilon(delta=1e-3).lower
        assert right.epsilon(delta=1e-3).upper >= left.epsilon(delta=1e-3).lower


@settings(max_examples=30)
@given(any_guarantee(), st.integers(1, 5))
def test_self_compose_is_repeated_compose(guarantee: Guarantee[AddRemove], count: int) -> None:
    """The same statement, also in its parameters."""
    assert self_compose(guarantee, count) == compose(*[guarantee] * count)


@given(any_guarantee(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_counts_multiply(guarantee: Guarantee[AddRemove], m: int, n: int) -> None:
    """M times n times is m n times."""
    twice = self_compose(self_compose(guarantee, m), n)

    assert twice == self_compose(guarantee, m * n)


def test_keeps_the_most_informative_notion() -> None:
    """Gaussian stays Gaussian, pairs multiply, zCDP absorbs Gaussian, Renyi curves force RDP."""
    curve = RDP(points=((2, 1), (4, 2)))

    assert compose(GDP(mu=3), GDP(mu=4)) == GDP(mu=5)
    assert isinstance(compose(GDP(mu=1), PureDP(epsilon=1)), DominatingPair)
    assert isinstance(compose(PureDP(epsilon=1), BoundedRange(epsilon=1)), DominatingPair)
    assert compose(ZCDP(rho=1), GDP(mu=2)) == ZCDP(rho=3)
    assert compose(curve, curve) == RDP(points=((2, 2), (4, 4)))
    assert isinstance(compose(curve, GDP(mu=1)), RDP)
    assert isinstance(compose(ZCDP(rho=1), PureDP(epsilon=1)), RDP)


def test_a_renyi_part_forces_renyi_and_says_so() -> None:
    """The derivation marks the part that lost its pair."""
    total = compose(RDP(points=((2, 1), (4, 2))), GDP(mu=1))

    assert total.rdp(order=2).upper == pytest.approx(2)
    assert total.derivation.rule == "compose/rdp"
    assert "convert/notion-rdp: Renyi divergence at 2 orders (loses information)" in (
        total.derivation.explain()
    )


def test_orders_are_the_common_ones() -> None:
    """Every listed order up to the smallest of the largest; others by interpolation."""
    total = compose(RDP(points=((2, 1), (4, 3))), RDP(points=((3, 1), (9, 9))))

    assert isinstance(total, RDP)
    assert [order for order, _ in total.points] == [2, 3, 4]
    chosen = compose(ZCDP(rho=1), GDP(mu=1), orders=[2])
    assert chosen == RDP(points=((2, 3),))


def test_orders_without_a_renyi_part_are_refused() -> None:
    """Nothing is made lossy by an option that is not needed."""
    with pytest.raises(ParameterError, match="orders must be left out"):
        compose(GDP(mu=1), GDP(mu=1), orders=[2])


def test_delta_and_a_renyi_curve_do_not_compose() -> None:
    """No order is finite for both; the message says what to do."""
    with pytest.raises(NotImplied, match="to=PrivacyProfile"):
        compose(ApproxDP(epsilon=1, delta=1e-6), ZCDP(rho=1))
    profile = convert(ZCDP(rho=1), to=PrivacyProfile, epsilons=[1, 2, 4, 8])
    assert isinstance(compose(ApproxDP(epsilon=1, delta=1e-6), profile), DominatingPair)


def test_equal_pairs_are_merged() -> None:
    """A thousand parts of two kinds are two factors."""
    parts = [PureDP(epsilon=Fraction(1, 1 + k % 2)) for k in range(1000)]
    total = compose(*parts)

    assert isinstance(total, DominatingPair)
    assert sorted(factor.count for factor in total.forward.factors) == [500, 500]
    assert len(total.derivation.premises) == 1000


def test_nothing_to_compose_is_refused() -> None:
    """An empty composition and things that are no guarantees."""
    with pytest.raises(ParameterError, match="one guarantee or more"):
        compose()
    with pytest.raises(ParameterError, match=r"call \.guarantee\(\)"):
        compose(GDP(mu=1), 3)  # type: ignore[arg-type]


def test_mixed_relations_are_refused() -> None:
    """Both relations and positions are named."""
    with pytest.raises(RelationMismatch, match="part 0 is AddRemove, part 1 is ReplaceOne"):
        compose(GDP(mu=1), GDP(mu=1, relation=ReplaceOne()))  # type: ignore[misc]


def test_replace_one_stays_one_product() -> None:
    """Under a symmetric relation both directions stay the same object."""
    one = ReplaceOne()
    total = compose(PureDP(epsilon=1, relation=one), GDP(mu=1, relation=one))

    assert isinstance(total, DominatingPair)
    assert total.forward == total.backward
    assert total.relation == one


@pytest.mark.parametrize("count", [0, -1, 1.5, True, 10**12 + 1])
def test_bad_counts_are_refused(count: Any) -> None:  # noqa: ANN401
    """A count is a whole number from 1 to 10**12."""
    with pytest.raises(ParameterError, match="count must be"):
        self_compose(GDP(mu=1), count)


def test_counts_are_limited_in_total() -> None:
    """A factor that already counts 10**6 takes at most 10**6 more."""
    many = self_compose(PureDP(epsilon=Fraction(1, 10**7)), 10**6)

    assert isinstance(self_compose(many, 10**6), DominatingPair)
    with pytest.raises(ParameterError, match="count must be at most 1000000"):
        self_compose(many, 10**6 + 1)


def test_repetition_is_one_node() -> None:
    """The derivation of a trillion runs has one node with the count in it."""
    total = self_compose(GDP(mu=1), 10**12)

    assert total.derivation.statement == "1-GDP, 1000000000000 times"
    assert len(total.derivation.premises) == 1


@pytest.mark.slow
def test_published_numbers_of_the_exponential_mechanism() -> None:
    """100 uses at range 0.1 and 10 at range 1, by three theorems (THEORY section 5)."""
    expected = {(0.1, 100): (2.251, 2.42, 4.77), (1.0, 10): (7.716, 8.85, 10.0)}
    for (epsilon, count), (adaptive, concentrated, pure) in expected.items():
        ranged = BoundedRange(epsilon=epsilon)
        costs = (
            self_compose(ranged, count),
            self_compose(convert(ranged, to=ZCDP), count),
            self_compose(convert(ranged, to=PureDP), count),
        )
        for guarantee, value in zip(costs, (adaptive, concentrated, pure), strict=True):
            cost = guarantee.epsilon(delta=1e-6).upper
            assert cost <= value + 0.005
            assert cost == pytest.approx(value, rel=5e-3)


def test_a_product_costs_what_its_outcomes_cost() -> None:
    """Two releases of randomised response against brute force over four outcomes."""
    masses = oracle.product([(0.75, 0.25), (0.25, 0.75)], [(0.75, 0.25), (0.25, 0.75)])
    total = compose(CURVE, CURVE)

    for epsilon in (0.0, 0.4, 1.5, 2.0):
        answer = total.delta(epsilon=epsilon)
        assert answer.lower - 1e-15 <= oracle.delta(masses, epsilon) <= answer.upper + 1e-15
    for rate in (0.01, 0.1, 0.5):
        power = total.true_positive_rate(false_positive_rate=rate).upper
        assert power == pytest.approx(oracle.power(masses, rate))
    for order in (1.5, 8.0):
        assert total.rdp(order=order).upper == pytest.approx(oracle.renyi(masses, order))


@pytest.mark.peer
def test_a_mixed_composition_against_dp_accounting() -> None:
    """A Gaussian and three randomised responses: at most the pessimistic PLD, and near it."""
    peer = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    gaussian = peer.from_gaussian_mechanism(standard_deviation=1.0)
    pure = peer.from_privacy_parameters(peer.common.DifferentialPrivacyParameters(0.5, 0.0))
    theirs = gaussian.compose(pure.self_compose(3)).get_epsilon_for_delta(1e-6)
    ours = compose(GDP(mu=1), self_compose(PureDP(epsilon=0.5), 3)).epsilon(delta=1e-6)

    assert ours.lower <= theirs
    assert ours.upper == pytest.approx(theirs, rel=1e-3)


def test_orders_that_are_too_large_to_compute_are_left_out() -> None:
    """Of those listed by default, not of those asked for; without any the reason is told."""
    sampled = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=0.01))
    found = compose(ZCDP(rho=0.1), sampled)
    orders = [order for order, _ in found.points]  # type: ignore[attr-defined]

    assert 100 < max(orders) < 10_000
    assert found == compose(ZCDP(rho=0.1), sampled, orders=orders)
    with pytest.raises(NotCertified, match="too little noise"):
        compose(ZCDP(rho=0.1), sampled, orders=[2, 10_000])
    with pytest.raises(NotCertified, match="too little noise"):
        compose(RDP(points=((10_000, 1),)), sampled)


_RANGE = BoundedRange(epsilon=1).to_pair()
_FORGOTTEN = post_process(BoundedRange(epsilon=1).to_pair(), description="rounding")
_GAUSSIAN = GDP(mu=1).to_pair()


@pytest.mark.parametrize(
    ("parts", "level"),
    [
        ([_RANGE, _RANGE], Attained.POINTS),
        ([_RANGE, _FORGOTTEN], Attained.NO),
        ([_RANGE, _GAUSSIAN], Attained.NO),
        ([_GAUSSIAN, _GAUSSIAN], Attained.WHOLE),
        ([_RANGE] * 513, Attained.NO),
    ],
    ids=["ranges", "post-processed", "beside", "whole", "too many"],
)
def test_ranges_alone_attain_points(
    parts: list[DominatingPair[AddRemove]], level: Attained
) -> None:
    """Up to 512 mechanisms of one range, each attained at points, attain points together."""
    product = Product.merge([factor for one in parts for factor in one.forward.factors])

    assert _composed_level(parts, product, product) is level
