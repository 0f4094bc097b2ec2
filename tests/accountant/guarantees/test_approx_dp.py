"""Approximate differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestApproxDP(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[ApproxDP[AddRemove]]:
        """Small, usual and large."""
        return (
            ApproxDP(epsilon=1, delta=1e-6),
            ApproxDP(epsilon=0, delta=0.125),
            ApproxDP(epsilon=2, delta=0),
        )

    def replace_one(self) -> ApproxDP[ReplaceOne]:
        """Under the other relation."""
        return ApproxDP(epsilon=1, delta=1e-6, relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (-0.5, 1.5, float("nan"), float("inf"), "1", None, True)
        return each(lambda value: ApproxDP(epsilon=1, delta=value), bad)

    def test_refuses_a_negative_epsilon(self) -> None:
        """Epsilon is at or above 0, the message names it."""
        with pytest.raises(ParameterError, match="epsilon must be a finite number >= 0, got -1"):
            ApproxDP(epsilon=-1, delta=0.5)

    def test_is_its_own_pair(self) -> None:
        """Every answer brackets brute force on the four-outcome pair."""
        high = 1 / (1 + math.exp(-1.0))
        masses = [(0.1, 0.0), (0.9 * high, 0.9 - 0.9 * high), (0.9 - 0.9 * high, 0.9 * high)]
        masses.append((0.0, 0.1))
        guarantee = ApproxDP(epsilon=1.0, delta=0.1)

        for epsilon in (-2.0, -0.5, 0.0, 0.5, 1.5):
            assert oracle.delta(masses, epsilon) == pytest.approx(
                guarantee.delta(epsilon=epsilon).upper
            )
        for rate in (0.0, 0.01, 0.3, 0.95):
            assert oracle.power(masses, rate) == pytest.approx(
                guarantee.true_positive_rate(false_positive_rate=rate).upper
            )

    def test_delta_forbids_renyi_and_gaussian_claims(self) -> None:
        """With delta above 0 no divergence is finite, no rho and no mu is enough."""
        guarantee = ApproxDP(epsilon=1, delta=1e-9)

        assert guarantee.rdp(order=1.001) == Bound(math.inf, math.inf)
        assert guarantee.zcdp().upper == guarantee.gdp().upper == math.inf
        assert guarantee.epsilon(delta=1e-10).upper == math.inf

    def test_delta_one_claims_nothing(self) -> None:
        """At delta 1 everything may be revealed."""
        nothing = ApproxDP(epsilon=0, delta=1)

        assert nothing.advantage().upper == 1.0
        assert nothing.epsilon(delta=0.5).upper == math.inf
        assert nothing.stated_delta == Fraction(1)
