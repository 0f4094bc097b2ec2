"""Privacy profiles at points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestPrivacyProfile(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[PrivacyProfile[AddRemove]]:
        """Small, usual and large."""
        return (
            PrivacyProfile(points=((1, 1e-6),)),
            PrivacyProfile(points=((0, 0.5), (1, 0.125), (2, 0))),
        )

    def replace_one(self) -> PrivacyProfile[ReplaceOne]:
        """Under the other relation."""
        return PrivacyProfile(points=((1, 1e-6),), relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (
            (),
            "12",
            None,
            ((-1, 0.5),),
            ((1, 1.5),),
            ((701, 0.5),),
            ((1, 0.5), (1, 0.25)),
            ((1,),),
        )
        return each(lambda value: PrivacyProfile(points=value), bad)

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.0, 0.125), (2.0, 0.0)])
    def test_one_point_is_approximate_dp(self, epsilon: float, delta: float) -> None:
        """A single point says what (epsilon, delta)-DP says."""
        profile = PrivacyProfile(points=((epsilon, delta),))
        approximate = ApproxDP(epsilon=epsilon, delta=delta)

        for x in (-1.5, -0.5, 0.0, 0.5, 1.5, 3.0):
            assert profile.delta(epsilon=x).upper == pytest.approx(
                approximate.delta(epsilon=x).upper, rel=1e-9, abs=1e-12
            )

    def test_passes_through_its_points(self) -> None:
        """Convex points are met; one above a chord is lowered to it."""
        profile = PrivacyProfile(points=((0, 0.5), (1, 0.125), (2, 0.0625)))
        slack = PrivacyProfile(points=((0, 0.5), (1, 0.499), (2, 0.0625)))

        assert profile.delta(epsilon=1).upper == pytest.approx(0.125)
        chord = 0.0625 + (0.5 - 0.0625) * (math.exp(2) - math.e) / (math.exp(2) - 1)
        assert slack.delta(epsilon=1).upper == pytest.approx(chord)

    def test_interpolates_in_e_to_the_epsilon(self) -> None:
        """Between two points delta is linear in e^epsilon, constant after the last."""
        profile = PrivacyProfile(points=((1, 0.25), (2, 0.0)))
        middle = math.log((math.e + math.exp(2)) / 2)

        assert profile.delta(epsilon=middle).upper == pytest.approx(0.125)
        assert profile.delta(epsilon=5).upper == pytest.approx(0.0, abs=1e-15)

    def test_dominates_the_gaussian_it_was_read_from(self) -> None:
        """Between points of a true profile the interpolation is above it, on both sides of 0."""
        points = [(x / 4, oracle.gaussian_delta(1.0, x / 4)) for x in range(20)]
        profile = PrivacyProfile(points=points)

        for x in (-3.1, -1.3, -0.1, 0.1, 0.3, 1.6, 4.4, 6.0):
            answer = profile.delta(epsilon=x).upper
            assert oracle.gaussian_delta(1.0, x) <= answer + 1e-14

    def test_vertices_are_a_profile(self) -> None:
        """From (0, 1), falling, convex, at or above 1 - t, exactly."""
        vertices = PrivacyProfile(points=((0, 0.25), (0.3, 0.2), (3, 1e-9))).vertices()
        slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(vertices)]

        assert vertices[0] == (Fraction(0), Fraction(1))
        assert slopes == sorted(slopes)
        assert all(y >= 1 - x for x, y in vertices)
