"""Pure differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestPureDP(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[PureDP[AddRemove]]:
        """Small, usual and large."""
        return (PureDP(epsilon=0.1), PureDP(epsilon=1), PureDP(epsilon=20))

    def replace_one(self) -> PureDP[ReplaceOne]:
        """Under the other relation."""
        return PureDP(epsilon=1, relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (-0.5, float("nan"), float("inf"), "1", None, True, 1j)
        return each(lambda value: PureDP(epsilon=value), bad)

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
    def test_is_randomised_response(self, epsilon: float) -> None:
        """Every answer brackets brute force on binary randomised response."""
        guarantee, masses = PureDP(epsilon=epsilon), oracle.randomized_response(epsilon)

        assert oracle.delta(masses, 0.05) == pytest.approx(guarantee.delta(epsilon=0.05).upper)
        assert oracle.epsilon(masses, 0.01) == pytest.approx(guarantee.epsilon(delta=0.01).upper)
        assert oracle.renyi(masses, 2.5) == pytest.approx(guarantee.rdp(order=2.5).upper)
        assert oracle.smallest_mu(masses) == pytest.approx(guarantee.gdp().upper)
        assert oracle.smallest_rho(masses) == pytest.approx(guarantee.zcdp().upper, rel=1e-4)
        assert oracle.power(masses, 0.2) == pytest.approx(
            guarantee.true_positive_rate(false_positive_rate=0.2).upper
        )

    def test_epsilon_at_delta_zero_is_the_statement(self) -> None:
        """Without delta it costs what it says."""
        assert PureDP(epsilon=0.75).epsilon(delta=0).upper == pytest.approx(0.75)

    def test_zero_reveals_nothing(self) -> None:
        """At epsilon 0 every cost is 0."""
        nothing = PureDP(epsilon=0)

        assert nothing.epsilon(delta=0) == nothing.advantage()
        assert nothing.advantage().upper == 0.0
        assert nothing.zcdp().upper == nothing.gdp().upper == nothing.rdp(order=9).upper == 0.0
        assert nothing.true_positive_rate(false_positive_rate=0.25).upper == 0.25

    def test_huge_epsilon_is_answered(self) -> None:
        """Far beyond e^epsilon as a float, still the right answer."""
        huge = PureDP(epsilon=10_000)

        assert huge.epsilon(delta=0.5).upper <= 10_000.001
        assert huge.advantage().upper == pytest.approx(1.0)
        assert huge.zcdp().upper == pytest.approx(10_000)

    def test_keeps_the_exact_value(self) -> None:
        """A float is its binary value, a Fraction itself."""
        assert PureDP(epsilon=Fraction(1, 3)).stated_epsilon == Fraction(1, 3)
        assert PureDP(epsilon=0.1).stated_epsilon == Fraction(0.1)
        assert math.isclose(PureDP(epsilon=0.1).epsilon(delta=0).upper, 0.1)
