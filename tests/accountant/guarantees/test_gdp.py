"""Gaussian differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestGDP(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[GDP[AddRemove]]:
        """Small, usual and large."""
        return (GDP(mu=0.1), GDP(mu=1), GDP(mu_squared=30))

    def replace_one(self) -> GDP[ReplaceOne]:
        """Under the other relation."""
        return GDP(mu=1, relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (-0.5, float("nan"), float("inf"), "1", None, True, 1j)
        return each(lambda value: GDP(mu=value), bad)

    def test_takes_mu_or_its_square(self) -> None:
        """Exactly one of the two."""
        assert GDP(mu=Fraction(3, 2)) == GDP(mu_squared=Fraction(9, 4))
        with pytest.raises(ParameterError, match="mu_squared, and not both"):
            GDP(mu=1, mu_squared=1)
        with pytest.raises(ParameterError, match="mu must be given"):
            GDP()

    def test_mu_is_rounded_up_when_irrational(self) -> None:
        """The root is exact when rational, and a hair above otherwise."""
        assert GDP(mu_squared=Fraction(25, 4)).mu == Fraction(5, 2)
        root = GDP(mu_squared=2).mu
        assert 0 < root**2 - 2 < Fraction(1, 2**78)

    @pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
    def test_profile_is_the_gaussian_one(self, mu: float) -> None:
        """Balle and Wang's formula, and the power of the best test."""
        guarantee = GDP(mu=mu)

        for epsilon in (0.0, 0.5, 2.0):
            assert oracle.gaussian_delta(mu, epsilon) == pytest.approx(
                guarantee.delta(epsilon=epsilon).upper, rel=1e-9
            )
        assert guarantee.rdp(order=3).upper == pytest.approx(1.5 * mu * mu)
        assert guarantee.zcdp().upper == pytest.approx(0.5 * mu * mu)
        assert guarantee.gdp().upper == pytest.approx(mu)

    def test_no_pure_guarantee(self) -> None:
        """Without delta no epsilon is enough; at mu 0 none is needed."""
        assert GDP(mu=1).epsilon(delta=0).upper == math.inf
        assert GDP(mu=0).epsilon(delta=0).upper == 0.0
        assert GDP(mu=0).gdp().upper == 0.0
