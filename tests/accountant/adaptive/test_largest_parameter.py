"""The largest parameter of a notion within (epsilon, delta)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant import GDP, ZCDP
from dpproof.accountant.adaptive import several_filters
from dpproof.accountant.adaptive.privacy_filter import largest_parameter
from dpproof.accountant.adaptive.several_filters import SHARES, limits, within

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("3", "1e-6"), ("1/100", "1e-9"), ("1e-8", "1e-30"), ("1e-60", "1e-6")]
)
def test_found_is_proved_and_nearly_the_largest(epsilon: str, delta: str) -> None:
    """Whether steps or halving find it, its epsilon is at most the one asked for, and near."""
    size, share = Fraction(epsilon), Fraction(delta)
    found = largest_parameter(lambda rho: ZCDP(rho=rho), size, share, size + 1)

    assert Fraction(ZCDP(rho=found).epsilon(delta=share).upper) <= size
    if size > MILLIONTH:
        assert Fraction(ZCDP(rho=found).epsilon(delta=share).upper) > size * (
            1 - Fraction(1, 10**8)
        )


def test_limits_are_accepted_if_they_are_proved() -> None:
    """Smaller limits, as other roundings may divide them, are within the budget; larger are not."""
    found = limits(epsilon=Fraction(3), delta=MILLIONTH, ways=[*SHARES, "renyi-8", "renyi-15"])
    assert within(found, Fraction(3), MILLIONTH)
    for way, limit in found.items():
        for place in range(len(limit)):
            for factor in (1 - MILLIONTH, 1 + MILLIONTH):
                changed = [one * (factor if at == place else 1) for at, one in enumerate(limit)]
                other = {**found, way: tuple(changed)}
                assert within(other, Fraction(3), MILLIONTH) == (factor < 1)


def test_what_is_no_division_is_refused() -> None:
    """No way at all, unknown ways and negative limits are not within a budget."""
    assert not within({}, Fraction(3), MILLIONTH)
    for order in ("", "x", "1", "2.5", "-3", "²", str(2**53)):
        assert not within({f"renyi-{order}": (Fraction(1, 10**9),)}, Fraction(3), MILLIONTH)
    assert not within({"other": (Fraction(1, 10**9),)}, Fraction(3), MILLIONTH)
    assert not within({"gdp": (Fraction(-1),)}, Fraction(3), MILLIONTH)
    assert not within({"basic": (Fraction(3), Fraction(-1))}, Fraction(3), MILLIONTH)


def test_gdp_alone_may_use_all_of_delta() -> None:
    """A single way is proved at the whole delta, and two of them only where deltas add up to it."""
    goal = {"epsilon": Fraction(3), "delta": MILLIONTH}
    alone = several_filters.limits(**goal, ways=["gdp"])["gdp"]
    assert within({"gdp": alone}, **goal)
    for way in ("zcdp", "renyi-11"):
        assert not within({"gdp": alone, **several_filters.limits(**goal, ways=[way])}, **goal)
    assert GDP(mu_squared=alone[0]).epsilon(delta=MILLIONTH).upper <= 3
