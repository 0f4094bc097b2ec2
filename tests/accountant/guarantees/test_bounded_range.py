"""Bounded range."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.relation import AddRemove, ReplaceOne
from tests.accountant.guarantees import oracle
from tests.contracts.guarantee_contract import GuaranteeContract, each


class TestBoundedRange(GuaranteeContract):
    """The battery, and what is particular to the notion."""

    def instances(self) -> Sequence[BoundedRange[AddRemove]]:
        """Small, usual and large."""
        return (BoundedRange(epsilon=0.1), BoundedRange(epsilon=2))

    def replace_one(self) -> BoundedRange[ReplaceOne]:
        """Under the other relation."""
        return BoundedRange(epsilon=1, relation=ReplaceOne())

    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Outside the domain."""
        bad: tuple[Any, ...] = (-0.5, float("nan"), float("inf"), "1", None, True, 1j)
        return each(lambda value: BoundedRange(epsilon=value), bad)

    def test_profile_of_the_logistic_shift(self) -> None:
        """Delta is the largest over logits x of expit(x + range) - e^epsilon expit(x)."""
        guarantee = BoundedRange(epsilon=Fraction(3, 2))
        grid = [k / 1000 for k in range(-20_000, 20_000)]

        for epsilon in (0.0, 0.3, 1.0, 1.4):
            worst = max(
                1 / (1 + math.exp(-x - 1.5)) - math.exp(epsilon) / (1 + math.exp(-x)) for x in grid
            )
            answer = guarantee.delta(epsilon=epsilon)
            assert worst <= answer.upper
            assert answer.upper == pytest.approx(worst, rel=1e-5)

    @pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 0.9, 1.0])
    def test_dominates_two_outcome_mechanisms(self, shift: float) -> None:
        """A mechanism whose loss takes the two ends of an interval is below the bound."""
        low, high = -shift * 1.5, (1 - shift) * 1.5
        if low == 0 or high == 0:
            masses: oracle.Masses = [(1.0, 1.0)]
        else:
            weight = -math.expm1(low) / (math.exp(high) - math.exp(low))
            masses = [(weight * math.exp(high), weight), ((1 - weight) * math.exp(low), 1 - weight)]
        guarantee = BoundedRange(epsilon=1.5)

        for epsilon in (0.0, 0.2, 0.7, 1.2):
            assert oracle.delta(masses, epsilon) <= guarantee.delta(epsilon=epsilon).upper + 1e-15
        for order in (1.5, 2.0, 10.0):
            assert oracle.renyi(masses, order) <= guarantee.rdp(order=order).upper + 1e-15

    @pytest.mark.some(4)
    @pytest.mark.parametrize("width", [0.1, 1.0, 5.0, 12.0])
    @pytest.mark.parametrize("order", [1.05, 2.0, 7.5])
    def test_renyi_divergence_of_the_worst_two_outcomes(self, width: float, order: float) -> None:
        """The largest over where the interval lies, found by a grid, is inside the bracket."""
        worst = 0.0
        for k in range(1, 4000):
            low = -width * k / 4000
            weight = -math.expm1(low) / (math.exp(low + width) - math.exp(low))
            masses = [
                (weight * math.exp(low + width), weight),
                ((1 - weight) * math.exp(low), 1 - weight),
            ]
            worst = max(worst, oracle.renyi(masses, order))
        answer = BoundedRange(epsilon=width).rdp(order=order)

        assert worst <= answer.upper + 1e-14
        assert worst == pytest.approx(answer.lower, rel=1e-5)
        assert answer.relative_width < 1e-7

    @pytest.mark.parametrize("width", [0.1, 1.0, 5.0, 12.0])
    def test_rho_is_above_every_ratio(self, width: float) -> None:
        """The divergence over its order never exceeds rho, and comes close for small ranges."""
        guarantee = BoundedRange(epsilon=width)
        ratios = [guarantee.rdp(order=a).lower / a for a in (1.0001, 1.01, 1.5, 4.0, 50.0)]

        assert max(ratios) <= guarantee.zcdp().upper
        assert guarantee.zcdp().lower == pytest.approx(max(ratios), rel=1e-2)
        assert guarantee.zcdp().upper <= width * width / 8 * (1 + 1e-15)

    @pytest.mark.parametrize("width", [0.01, 0.5, 1.0, 5.0, 50.0])
    def test_rho_is_the_largest_kl_divergence(self, width: float) -> None:
        """Next to order 1 divergences over their order are largest: that of Dong et al. (2019)."""
        with mpmath.workdps(40):
            ratio = mpmath.mpf(width) / mpmath.expm1(width)
            divergence = float(ratio - 1 - mpmath.log(ratio))
        rho = BoundedRange(epsilon=width).zcdp()

        assert rho.upper >= divergence * (1 - 1e-15)
        assert rho.lower <= divergence * (1 + 1e-15)
        assert rho.relative_width < 2e-5

    def test_rho_of_a_small_range_is_an_eighth_of_its_square(self) -> None:
        """Never above it, hardly below, and not 0 where its square is no float."""
        small = BoundedRange(epsilon=Fraction(1, 1024)).zcdp()

        assert small.upper == 2.0**-23
        assert small.relative_width < 1e-6
        assert BoundedRange(epsilon=Fraction(1, 10**200)).zcdp().upper > 0.0
        assert BoundedRange(epsilon=0).zcdp().upper == 0.0
        assert BoundedRange(epsilon=0).rdp(order=2).upper == 0.0
        assert BoundedRange(epsilon=10**400).rdp(order=2).upper == math.inf


def test_divergences_keep_their_digits() -> None:
    """At orders next to 1 and epsilons next to log 2, where logs of numbers next to 1 cancel."""
    rng = random.Random(1)  # noqa: S311
    with mpmath.workdps(400):
        for _ in range(500):
            epsilon = rng.choice(
                [10 ** rng.uniform(-90, 2), math.log(2) + 10 ** rng.uniform(-16, -1)]
            )
            order = 1.0 + 10 ** rng.choice([rng.uniform(-15, -5), rng.uniform(-5, 3)])
            if order == 1.0:
                continue
            e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
            grown = mpmath.expm1(a * e)
            x = (a - 1) / a * mpmath.exp(-e) * grown / mpmath.expm1((a - 1) * e)
            true = mpmath.log(x) + mpmath.log(grown / mpmath.expm1(e) / a) / (a - 1)
            found = BoundedRange(epsilon=epsilon).rdp(order=order)
            assert found.lower <= true <= found.upper <= true * (1 + 1e-12), (epsilon, order)
