"""Zero-concentrated differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestZCDP(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[ZCDP[AddRemove]]:
        """Small, usual and large."""
        return (ZCDP(rho=0.005), ZCDP(rho=0.5), ZCDP(rho=8))

    def replace_one(self) -> ZCDP[ReplaceOne]:
        """Under the other relation."""
        return ZCDP(rho=1, relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (-0.5, float("nan"), float("inf"), "1", None, True, 1j)
        return each(lambda value: ZCDP(rho=value), bad)

    @pytest.mark.parametrize("rho", [0.005, 0.5, 8.0])
    def test_holds_the_gaussian_that_meets_it(self, rho: float) -> None:
        """The Gaussian with mu^2 = 2 rho is inside every bracket."""
        guarantee, mu = ZCDP(rho=rho), math.sqrt(2 * rho)

        for epsilon in (0.0, 0.5, 2.0, 10.0):
            assert oracle.gaussian_delta(mu, epsilon) <= guarantee.delta(epsilon=epsilon).upper
        assert guarantee.gdp().lower == pytest.approx(mu)
        assert guarantee.gdp().upper == math.inf

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
    def test_holds_randomised_response(self, epsilon: float) -> None:
        """Randomised response at its own rho is below the upper ends."""
        masses = oracle.randomized_response(epsilon)
        guarantee = ZCDP(rho=epsilon * math.tanh(epsilon / 2))

        for x in (0.0, 0.5 * epsilon, 0.99 * epsilon):
            assert oracle.delta(masses, x) <= guarantee.delta(epsilon=x).upper
        for rate in (0.001, 0.1, 0.5):
            power = guarantee.true_positive_rate(false_positive_rate=rate).upper
            assert oracle.power(masses, rate) <= power

    def test_renyi_values_are_exact(self) -> None:
        """The divergence at order a is rho a, to the nearest floats."""
        assert ZCDP(rho=Fraction(1, 2)).rdp(order=3) == Bound(1.5, 1.5)
        third = ZCDP(rho=Fraction(1, 3)).rdp(order=2)
        assert third.lower < third.upper == math.nextafter(third.lower, 1)

    def test_zero_reveals_nothing(self) -> None:
        """At rho 0 every cost is 0, whatever the delta."""
        nothing = ZCDP(rho=0)

        assert nothing.epsilon(delta=0).upper == nothing.advantage().upper == 0.0
        assert nothing.true_positive_rate(false_positive_rate=0.25).upper == 0.25

    def test_has_no_pair(self) -> None:
        """A Renyi curve does not give a dominating pair, and says what to do."""
        with pytest.raises(NotImplied, match="to=PrivacyProfile"):
            ZCDP(rho=1).to_pair()

    def test_no_pure_guarantee(self) -> None:
        """Without delta no epsilon is enough."""
        assert ZCDP(rho=1).epsilon(delta=0).upper == math.inf


@pytest.mark.parametrize("exponent", [-300, -201, 135, 150, 201, 300])
def test_curves_beyond_every_pair_are_answered(exponent: int) -> None:
    """A Gaussian of less rho witnesses the lower end, or none does."""
    claim = ZCDP(rho=Fraction(10) ** exponent)
    epsilon, delta = claim.epsilon(delta=1e-6), claim.delta(epsilon=1)

    assert epsilon.lower <= epsilon.upper
    assert (delta.upper == 1.0) is (exponent > 0)
    assert (epsilon.lower > 1e100) is (exponent > 0)


def test_nothing_released_has_no_power() -> None:
    """With rho = 0 the rate of true positives is that of false ones, to the last bit."""
    assert ZCDP(rho=0).true_positive_rate(false_positive_rate=0.1) == Bound.exactly(0.1)
