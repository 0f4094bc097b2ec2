"""Renyi differential privacy at points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestRDP(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[RDP[AddRemove]]:
        """Small, usual and large."""
        return (RDP(points=((2, 1),)), RDP(points=[(k, 0.05 * k) for k in range(2, 65)]))

    def replace_one(self) -> RDP[ReplaceOne]:
        """Under the other relation."""
        return RDP(points=((2, 1),), relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (
            (),
            "12",
            3,
            None,
            ((1, 1),),
            ((2, -1),),
            ((2, float("inf")),),
            ((2, 1), (2, 1)),
            ((2,),),
            ((2, True),),
        )
        return each(lambda value: RDP(points=value), bad)

    def test_interpolates_between_orders(self) -> None:
        """(a - 1) R is convex, 0 at order 1: the chord bounds it, below the first order too."""
        guarantee = RDP(points=((2, 1), (4, 2)))

        assert guarantee.rdp(order=2).upper == 1.0
        assert guarantee.rdp(order=3).upper == pytest.approx((1 + 6) / 2 / 2)
        assert guarantee.rdp(order=1.5).upper == 1.0
        assert guarantee.rdp(order=4.5).upper == math.inf

    def test_a_point_above_the_chord_is_ignored(self) -> None:
        """A point that convexity already implies does not matter."""
        with_point = RDP(points=((2, 1), (3, 50), (4, 2)))

        assert with_point.rdp(order=3).upper == RDP(points=((2, 1), (4, 2))).rdp(order=3).upper

    def test_matches_zcdp_on_its_curve(self) -> None:
        """Points of rho a give the epsilon of rho-zCDP, as far as the orders reach."""
        points = [(Fraction(k, 10), Fraction(k, 20)) for k in range(11, 200)]
        listed = RDP(points=points).epsilon(delta=1e-6)
        whole = ZCDP(rho=Fraction(1, 2)).epsilon(delta=1e-6)

        assert listed.upper >= whole.upper * (1 - 1e-12)
        assert listed.upper == pytest.approx(whole.upper, rel=1e-3)
        assert listed.lower == pytest.approx(whole.lower)

    def test_no_zcdp_above_the_largest_order(self) -> None:
        """Finitely many orders imply no rho."""
        answer = RDP(points=((2, 1), (8, 3))).zcdp()

        assert answer == Bound(0.375, math.inf)

    def test_orders_are_sorted(self) -> None:
        """Points may come in any order, as lists or tuples."""
        guarantee = RDP(points=[[3, 2], (2, 1)])  # type: ignore[list-item]

        assert guarantee.largest_order == 3
        assert guarantee == RDP(points=((2, 1), (3, 2)))


@pytest.mark.parametrize("order", [3, 11, 40])
def test_listing_what_a_curve_says_tells_nothing(order: int) -> None:
    """Conversions see the orders below those that are listed: its values there do not help."""
    end = (64, Fraction(7, 2))
    few = RDP(points=(end,))
    said = few.divergence_up(Fraction(order))
    assert said is not None
    more = RDP(points=((order, said), end))
    for epsilon in (3.0, 3.3, 3.45):
        assert few.delta(epsilon=epsilon).upper <= more.delta(epsilon=epsilon).upper * 1.01
