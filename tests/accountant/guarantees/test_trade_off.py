"""Piecewise linear trade-off curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.guarantees.approx_dp import TradeOff
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestTradeOff(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[TradeOff[AddRemove]]:
        """Small, usual and large."""
        return (
            TradeOff(points=((0, 1), (0.25, 0.25), (1, 0))),
            TradeOff(points=((0, 0.75), (0.125, 0.25), (0.5, 0))),
        )

    def replace_one(self) -> TradeOff[ReplaceOne]:
        """Under the other relation."""
        return TradeOff(points=((0, 1), (1, 0)), relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (
            (),
            "12",
            None,
            ((0.1, 0.5), (1, 0)),
            ((0, 1), (1, 0.1)),
            ((0, 1), (0.5, 0.6), (1, 0)),
            ((0, 1), (0.2, 0.2), (0.3, 0.19), (0.4, 0.1), (1, 0)),
            ((0, 1), (0.5, 0), (0.75, 0.1), (1, 0)),
        )
        return each(lambda value: TradeOff(points=value), bad)

    def test_meets_its_points(self) -> None:
        """Type II error at a vertex and between vertices is the curve."""
        guarantee = TradeOff(points=((0, 0.5), (0.125, 0.125), (0.5, 0)))

        for type_i, type_ii in (
            (0.0, 0.5),
            (0.0625, 0.3125),
            (0.125, 0.125),
            (0.25, 1 / 12),
            (0.7, 0),
        ):
            answer = guarantee.type_ii_error(type_i_error=type_i)
            assert answer.lower <= type_ii + 1e-15
            assert answer.lower == pytest.approx(type_ii, abs=1e-6)

    def test_the_larger_of_the_curve_and_its_inverse(self) -> None:
        """Both orders of the neighbours are claimed, so an asymmetric curve is lifted."""
        guarantee = TradeOff(points=((0, 0.75), (0.125, 0.25), (0.5, 0)))
        inverse = TradeOff(points=((0, 0.5), (0.25, 0.125), (0.75, 0)))

        assert guarantee == inverse
        tenths = ((0, Fraction(3, 4)), (Fraction(1, 10), Fraction(7, 20)))
        mirrored = tuple((y, x) for x, y in reversed(tenths))
        middle = (Fraction(1, 5), Fraction(1, 5))
        assert guarantee.points == (*tenths, middle, *mirrored)

    def test_randomised_response_as_a_curve(self) -> None:
        """The curve of pure DP has its epsilon."""
        ratio = Fraction(3)
        guarantee = TradeOff(points=((0, 1), (1 / (1 + ratio), 1 / (1 + ratio)), (1, 0)))

        assert guarantee.epsilon(delta=0).upper == pytest.approx(math.log(3))
        assert guarantee.advantage().upper == pytest.approx(0.5)

    def test_nothing_and_everything(self) -> None:
        """The diagonal reveals nothing; the zero curve everything."""
        nothing = TradeOff(points=((0, 1), (1, 0)))
        everything = TradeOff(points=((0, 0),))

        assert nothing.advantage().upper <= 1e-11
        assert everything.advantage().upper == 1.0
        assert oracle.delta([(1.0, 0.0), (0.0, 1.0)], 3.0) == everything.delta(epsilon=3).upper

    def test_collinear_points_change_nothing(self) -> None:
        """A point on a segment is dropped, and so is what follows the first zero."""
        plain = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))

        assert TradeOff(points=((0, 1), (0.125, 0.625), (0.25, 0.25), (1, 0))) == plain
        assert TradeOff(points=((0, 0.5), (0.5, 0), (1, 0))).points[-1] == (
            Fraction(1, 2),
            Fraction(0),
        )
