"""Several filters that share a delta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpproof.accountant import GDP, RDP, ZCDP, AddRemove, ParameterError
from dpproof.accountant.adaptive.several_filters import (
    SHARES,
    limits,
    order_of,
    several_filters,
    ways,
)
from dpproof.proofs import VerifiedUnder, check

EPSILON, DELTA = Fraction(3), Fraction(1, 10**6)


def test_every_share_is_private_and_they_add_up_to_delta() -> None:
    """Each limit keeps epsilon at its share, and is near the largest that does."""
    found = limits(epsilon=EPSILON, delta=DELTA, ways=ways(epsilon=EPSILON, delta=DELTA))
    (rho,), (squared,) = found.pop("zcdp"), found.pop("gdp")
    epsilon, delta = found.pop("basic")
    share = (DELTA - 2 * DELTA / 4 - delta) / 4

    assert epsilon == EPSILON
    assert 2.999 < ZCDP(rho=rho).epsilon(delta=DELTA / 4).upper <= 3
    assert 2.999 < GDP(mu_squared=squared).epsilon(delta=DELTA / 4).upper <= 3
    assert len(found) == 4
    for way, (divergence,) in found.items():
        bound = RDP(points=((order_of(way) or 0, divergence),)).epsilon(delta=share).upper
        assert 2.999 < bound <= 3


def test_orders_are_about_the_best_of_the_budget() -> None:
    """A small epsilon is reached at large orders only, and delta = 0 at none."""
    assert ways(epsilon=Fraction(1), delta=DELTA)[3:] == (
        "renyi-21",
        "renyi-29",
        "renyi-41",
        "renyi-68",
    )
    assert ways(epsilon=Fraction(1, 10**6), delta=DELTA) == tuple(SHARES)
    assert ways(epsilon=Fraction(50), delta=DELTA)[3:] == ("renyi-2", "renyi-4")
    assert ways(epsilon=Fraction(1), delta=Fraction(0)) == tuple(SHARES)


def _reached(basic: Fraction, gdp: Fraction) -> float:
    """Delta at epsilon = 1 of an adversary who looks, under sums and under GDP with these deltas.

    Half of mu squared first. Where its loss is small, a round that tells everything with what the
    sums have left of delta; where it is large, the other half.
    """
    epsilon, threshold = 1.0, 0.5
    squared = float(limits(epsilon=Fraction(1), delta=gdp, ways=["gdp"])["gdp"][0]) / 2
    half = GDP(mu_squared=squared)
    failing = float(basic) - half.delta(epsilon=epsilon).upper
    loss = norm(squared / 2, squared**0.5)
    losses = np.linspace(threshold, squared / 2 + 12 * squared**0.5, 400)
    tail = [half.delta(epsilon=epsilon - one).lower * loss.pdf(one) for one in losses]
    return float(failing * loss.cdf(threshold) + np.trapezoid(tail, losses))


def test_filters_with_all_of_delta_each_are_not_private_and_with_shares_they_are() -> None:
    """Why delta is shared: an adversary reaches far more than delta where two filters have it."""
    delta = Fraction(1, 10**6)

    assert _reached(delta, delta) > 1.6e-6
    assert 0.8e-6 < _reached(delta / 2, delta / 2) < 1e-6


def test_one_way_has_all_of_delta_and_no_delta_leaves_sums() -> None:
    """A way alone has the whole budget; at delta = 0 only pure sums are left."""
    assert limits(epsilon=EPSILON, delta=DELTA, ways=["basic"]) == {"basic": (EPSILON, DELTA)}
    assert limits(epsilon=EPSILON, delta=Fraction(0), ways=["gdp", "zcdp"]) == {
        "zcdp": (Fraction(0),),
        "gdp": (Fraction(0),),
    }


def test_unknown_ways_are_refused() -> None:
    """A way that is no filter is named."""
    with pytest.raises(ParameterError, match="basic, zcdp, gdp"):
        limits(epsilon=EPSILON, delta=DELTA, ways=["profile"])


def test_the_guarantee_is_the_budget() -> None:
    """What is promised is the budget itself, under the condition that costs are spent before."""
    found = several_filters(epsilon=3, delta=DELTA, relation=AddRemove())

    assert (found.stated_epsilon, found.stated_delta) == (EPSILON, DELTA)
    assert found.derivation.rule == "filter/several"
    assert len(found.derivation.all_assumptions()) == 1


def test_a_certificate_proves_the_budget_of_every_way() -> None:
    """Each filter is listed with its own parameters, and the checker accepts all together."""
    delta = Fraction(1, 2**20)
    small = (Fraction(1, 100),)
    budgets = {
        "basic": (EPSILON, delta / 2),
        "zcdp": small,
        "gdp": small,
        "renyi-9": (EPSILON / 9,),
    }
    found = several_filters(epsilon=EPSILON, delta=delta, relation=AddRemove(), budgets=budgets)

    certificate = found.certify(delta=delta)
    assert isinstance(check(certificate), VerifiedUnder)
    assert certificate.claim["epsilon"] == "3"
