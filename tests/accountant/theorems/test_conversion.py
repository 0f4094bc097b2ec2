"""The table of conversions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, strategies as st
from scipy import special

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, value_at
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.theorems.conversion import EDGES, convert, reachable
from tests.accountant.guarantees import oracle

EPSILONS = st.fractions(min_value=0, max_value=30, max_denominator=1000)
CURVE = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))


@given(EPSILONS)
def test_pure_to_zcdp_is_the_sharp_line(epsilon: Fraction) -> None:
    """Rho is epsilon tanh(epsilon/2), and the curve of randomised response stays below it."""
    rho = convert(PureDP(epsilon=epsilon), to=ZCDP).rho
    with mpmath.workdps(40):
        x = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        sharp = x * mpmath.tanh(x / 2)
        assert sharp * (1 - mpmath.mpf("1e-39")) <= mpmath.mpf(rho.numerator) / rho.denominator
        assert mpmath.mpf(rho.numerator) / rho.denominator <= sharp * (1 + mpmath.mpf("2e-15"))
        for order in (1.0001, 1.5, 2, 10, 1000):
            u = mpmath.mpf(order) - mpmath.mpf(1) / 2
            value = mpmath.log(mpmath.cosh(x * u) / mpmath.cosh(x / 2)) / (order - 1)
            assert value <= order * sharp * (1 + mpmath.mpf("1e-30")) + mpmath.mpf("1e-30")


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=600, max_denominator=10**9))
def test_pure_to_gdp_is_the_sharp_mu(epsilon: Fraction) -> None:
    """Mu is 2 Phi^-1(e^epsilon/(1 + e^epsilon)), rounded up by at most 2e-13."""
    mu = convert(PureDP(epsilon=epsilon), to=GDP).mu
    with mpmath.workdps(320):
        half = mpmath.mpf(mu.numerator) / mu.denominator / 2
        x = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        least = 1 / (1 + mpmath.exp(x))  # the type I error at the vertex
        assert mpmath.erfc(half / mpmath.sqrt(2)) / 2 <= least
        assert mpmath.erfc(half * (1 - mpmath.mpf("2e-13")) / mpmath.sqrt(2)) / 2 >= least


def test_pure_to_gdp_at_zero_and_beyond_the_floats() -> None:
    """0 gives 0; an epsilon beyond every float is refused."""
    assert convert(PureDP(epsilon=0), to=GDP) == GDP(mu=0)
    with pytest.raises(NotImplied, match="not representable as a float"):
        convert(PureDP(epsilon=10**400), to=GDP)


def test_exact_edges() -> None:
    """Conversions between parameters that are exact rationals."""
    assert convert(PureDP(epsilon=1), to=ApproxDP) == ApproxDP(epsilon=1, delta=0)
    assert convert(ApproxDP(epsilon=1, delta=0), to=PureDP) == PureDP(epsilon=1)
    assert convert(PureDP(epsilon=1), to=BoundedRange) == BoundedRange(epsilon=2)
    assert convert(BoundedRange(epsilon=1), to=PureDP) == PureDP(epsilon=1)
    assert convert(BoundedRange(epsilon=1), to=ZCDP) == ZCDP(rho=Fraction(1, 8))
    assert convert(GDP(mu=3), to=ZCDP) == ZCDP(rho=Fraction(9, 2))
    assert convert(GDP(mu=2), to=RDP, orders=[3]) == RDP(points=((3, 6),))
    assert convert(ZCDP(rho=2), to=RDP, orders=[3]) == RDP(points=((3, 6),))


def test_a_large_range_costs_no_more_than_pure_dp() -> None:
    """Beyond range 8 the line of epsilon-DP is below epsilon^2/8."""
    rho = convert(BoundedRange(epsilon=20), to=ZCDP).rho

    assert rho == convert(PureDP(epsilon=20), to=ZCDP).rho < Fraction(400, 8)


@given(st.fractions(min_value=Fraction(1, 50), max_value=6), st.floats(0.01, 0.99))
def test_range_line_holds_for_two_outcomes(width: Fraction, place: float) -> None:
    """Renyi divergences of a mechanism whose loss takes both ends of the interval."""
    low, high = -place * float(width), (1 - place) * float(width)
    weight = -math.expm1(low) / (math.exp(high) - math.exp(low))
    masses = [(weight * math.exp(high), weight), ((1 - weight) * math.exp(low), 1 - weight)]
    rho = float(convert(BoundedRange(epsilon=width), to=ZCDP).rho)

    for order in (1.01, 1.5, 3.0, 20.0):
        assert oracle.renyi(masses, order) <= rho * order + 1e-12


def test_pair_edges_against_brute_force() -> None:
    """From a three-outcome curve to one parameter of each notion."""
    masses = [(0.75, 0.25), (0.25, 0.75)]

    pure = convert(CURVE, to=PureDP).stated_epsilon
    assert math.log(3) <= pure <= math.log(3) * (1 + 1e-9)
    assert float(convert(CURVE, to=GDP).mu) == pytest.approx(oracle.smallest_mu(masses))
    assert float(convert(CURVE, to=ZCDP).rho) == pytest.approx(math.log(3) / 2, rel=1e-6)
    approximate = convert(CURVE, to=ApproxDP, delta=0.1)
    assert float(approximate.stated_epsilon) == pytest.approx(oracle.epsilon(masses, 0.1))
    listed = convert(CURVE, to=RDP, orders=[2, 5])
    for order, value in listed.points:
        assert oracle.renyi(masses, float(order)) == pytest.approx(float(value))


def test_profile_and_trade_off_are_the_same_pair() -> None:
    """Points of a profile become vertices with the same numbers, exactly."""
    profile = convert(GDP(mu=1), to=PrivacyProfile, epsilons=[0, 0.5, 1, 2, 4])
    curve = convert(profile, to=TradeOff)

    for epsilon in (-1.0, 0.0, 0.7, 3.0):
        left, right = profile.delta(epsilon=epsilon), curve.delta(epsilon=epsilon)
        assert left.lower <= right.upper
        assert right.lower <= left.upper
    assert curve.derivation.lossless


def test_trade_off_is_supported_from_below() -> None:
    """Between its vertices the curve read from a Gaussian is below the Gaussian's."""
    curve = convert(GDP(mu=1), to=TradeOff, epsilons=[0, 0.25, 0.5, 1, 2, 4])

    for k in range(1, 100):
        rate = k / 100
        gaussian = float(special.ndtr(special.ndtri(1 - rate) - 1))
        assert float(value_at(curve.points, Fraction(rate))) <= gaussian + 1e-15


def test_renyi_curve_to_approximate_dp() -> None:
    """Canonne, Kamath and Steinke's formula at the best order, against a dense grid."""
    for rho, delta in ((0.005, 1e-2), (0.5, 1e-6), (8.0, 1e-50)):
        orders = [1 + 10 ** (k / 500) for k in range(-2000, 2000)]
        best = min(
            rho * a + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders
        )
        epsilon = float(convert(ZCDP(rho=rho), to=ApproxDP, delta=delta).stated_epsilon)
        assert epsilon == pytest.approx(best, rel=1e-5)
        assert epsilon <= best * (1 + 1e-12)


@pytest.mark.peer
def test_renyi_curve_against_dp_accounting() -> None:
    """The same points give the same epsilon, ours no larger."""
    peer = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = [1.25, 1.5, 2, 3, 4, 8, 16, 32, 64, 128]
    values = [0.05 * a for a in orders]
    theirs, _ = peer.compute_epsilon(orders, values, 1e-5)
    ours = RDP(points=list(zip(orders, values, strict=True))).epsilon(delta=1e-5).upper

    assert ours <= theirs * (1 + 1e-12)
    assert ours == pytest.approx(theirs, rel=0.05)


@pytest.mark.parametrize(
    ("guarantee", "target"),
    [
        (ZCDP(rho=1), GDP),
        (ZCDP(rho=1), PureDP),
        (ZCDP(rho=1), DominatingPair),
        (RDP(points=((2, 1),)), ZCDP),
        (GDP(mu=1), BoundedRange),
        (ApproxDP(epsilon=1, delta=1e-6), BoundedRange),
    ],
)
def test_no_theorem_lists_what_can_be_reached(
    guarantee: Guarantee[Any], target: type[GDP[Any]]
) -> None:
    """The error names both notions and every notion one theorem away."""
    with pytest.raises(NotImplied, match="no theorem leads from") as caught:
        convert(guarantee, to=target)
    for notion in reachable(guarantee):
        assert notion.__name__ in str(caught.value)


@pytest.mark.parametrize(
    ("guarantee", "target"),
    [
        (ApproxDP(epsilon=1, delta=1e-6), PureDP),
        (ApproxDP(epsilon=1, delta=1e-6), GDP),
        (ApproxDP(epsilon=1, delta=1e-6), ZCDP),
        (GDP(mu=1), PureDP),
    ],
)
def test_infinite_results_are_refused(guarantee: Guarantee[Any], target: type[GDP[Any]]) -> None:
    """Where no parameter is large enough the theorem says so, and what to do."""
    with pytest.raises(NotImplied, match=r"for no|keep it"):
        convert(guarantee, to=target)


def test_options_are_asked_for_by_name() -> None:
    """A missing option and one that does not belong are ParameterErrors."""
    with pytest.raises(ParameterError, match="orders must be given: Renyi orders"):
        convert(GDP(mu=1), to=RDP)
    with pytest.raises(ParameterError, match="delta must be given: a number"):
        convert(GDP(mu=1), to=ApproxDP)
    with pytest.raises(ParameterError, match="delta must be left out when converting to ZCDP"):
        convert(GDP(mu=1), to=ZCDP, delta=0.1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="orders must be one order or more"):
        convert(GDP(mu=1), to=RDP, orders=[])
    with pytest.raises(ParameterError, match="epsilons must be one epsilon or more"):
        convert(GDP(mu=1), to=PrivacyProfile, epsilons=[])
    with pytest.raises(ParameterError, match="repeated"):
        convert(GDP(mu=1), to=PrivacyProfile, epsilons=[1, 1])


def test_no_finite_epsilon_or_order_is_refused() -> None:
    """A delta below what is known, or only infinite divergences."""
    approximate = ApproxDP(epsilon=1, delta=1e-3)

    with pytest.raises(NotImplied, match="try a larger delta"):
        convert(approximate, to=ApproxDP, delta=1e-4)
    with pytest.raises(NotImplied, match="no finite Renyi divergence"):
        convert(approximate, to=RDP, orders=[2])


def test_identity_keeps_the_object() -> None:
    """The notion itself without an option."""
    guarantee = GDP(mu=1)

    assert convert(guarantee, to=GDP) is guarantee


def test_every_edge_is_recorded_and_keeps_the_relation() -> None:
    """The result's derivation starts from the original's, under the same relation."""
    one = ReplaceOne()
    sources: dict[type[object], Guarantee[ReplaceOne]] = {
        PureDP: PureDP(epsilon=1, relation=one),
        ApproxDP: ApproxDP(epsilon=1, delta=0, relation=one),
        BoundedRange: BoundedRange(epsilon=1, relation=one),
        MetricDP: MetricDP(epsilon=1, relation=one),
        GDP: GDP(mu=1, relation=one),
        PrivacyProfile: PrivacyProfile(points=((1, 0.125),), relation=one),
    }
    options: dict[str, dict[str, Any]] = {
        "orders": {"orders": [2]},
        "epsilons": {"epsilons": [1]},
        "delta": {"delta": 0.25},
    }
    for edge in EDGES:
        source = sources.get(edge.source, PureDP(epsilon=1, relation=one))
        result = edge.theorem(source, **(options[edge.option.name] if edge.option else {}))
        assert type(result) is edge.target
        assert result.relation == one
        assert source.derivation.statement in result.derivation.explain()


def test_relation_survives_in_the_type() -> None:
    """What the type checker infers is what comes out."""
    added: ZCDP[AddRemove] = convert(GDP(mu=1), to=ZCDP)
    replaced: ZCDP[ReplaceOne] = convert(GDP(mu=1, relation=ReplaceOne()), to=ZCDP)

    assert (added.relation, replaced.relation) == (AddRemove(), ReplaceOne())
