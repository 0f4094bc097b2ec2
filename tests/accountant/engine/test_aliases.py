"""K beside a contour, and what bounds its aliases."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.arithmetic.enclosure import rounded_short
from dpproof.accountant.engine.aliases import Aliases, alias_step, along, expected, real_bounds
from dpproof.accountant.engine.saddle_point import find_saddle, saddle_at, total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from tests.contracts.pair_contract import gaussian_hockey_stick

PAIRS: list[Pair] = [
    GaussianPair(mu_squared=Fraction(1, 7)),
    LaplacePair(epsilon=Fraction(1, 3)),
    SubsampledGaussianPair(mu_squared=Fraction(1), sampling_rate=Fraction(1, 50), removal=True),
    SubsampledGaussianPair(mu_squared=Fraction(4), sampling_rate=Fraction(1, 3), removal=False),
    FinitePair(p=(Fraction(1, 4), Fraction(3, 4)), q=(Fraction(2, 3), Fraction(1, 3))),
]


@pytest.mark.parametrize("nodes", [5, 40, 2000])
def test_points_and_line_together_are_each_by_itself(nodes: int) -> None:
    """Whatever the pairs share, enclosures on the line and beside it overlap those alone."""
    for product in [*(Product((Factor(one, 3),)) for one in PAIRS), Product.of(*PAIRS)]:
        saddle = saddle_at(product, 1.5)
        s = rounded_short(saddle.c) + 0.125j * np.arange(nodes)
        line, known = along(product, saddle, s)
        alone, beside = total_cgf(product, s), real_bounds(product, saddle)

        assert line.value.shape == s.shape
        assert (np.abs(line.value - alone.value) <= line.radius + alone.radius).all()
        assert (known.points == beside.points).all()
        assert np.allclose(known.upper, beside.upper, rtol=1e-9, atol=1e-12)
        assert known.at(rounded_short(saddle.c)) >= alone.value[0].real - alone.radius[0]
        assert len(known.moments) == len(product.factors)


@pytest.mark.parametrize("pairs", [PAIRS[:1], PAIRS[2:3], PAIRS])
def test_expectations_come_true(pairs: list[Pair]) -> None:
    """K is where a saddle expects it, and each pair's within what is left open for it."""
    product = Product.of(*pairs)
    saddle = find_saddle(product, lambda one: one.epsilon - 1.0)
    guess, known = expected(product, saddle), real_bounds(product, saddle)
    assert (guess.points == known.points).all()
    assert np.allclose(guess.upper, known.upper, rtol=1e-4, atol=1e-9)
    for around, true in zip(guess.moments, known.moments, strict=True):
        assert true.lower in around
        assert true.upper in around


def test_alias_bound() -> None:
    """It exceeds the sum of the aliases themselves."""
    c, period, epsilon = 1.5, 5.0, 0.7
    points = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0])
    aliases = np.column_stack([points, 0.5 * points * (points + 1)])
    bound = float(Aliases.of(aliases, c, period).log_excess(np.array([epsilon]))[0])
    true = sum(
        float(gaussian_hockey_stick(1.0, epsilon + m * period)) * math.exp(c * m * period)
        for m in range(-8, 9)
        if m
    )
    assert true <= math.exp(bound) <= 100 * true


def test_aliases_of_a_side_without_points_are_unbounded() -> None:
    """Nothing is known of them, so nothing is claimed."""
    for points in ([[0.0, 0.0]], [[3.0, 6.0]], np.empty((0, 2))):
        bound = Aliases.of(np.array(points), 1.5, 5.0).log_excess(np.array([0.7]))
        assert bound[0] == math.inf


def test_a_vanishing_step_is_refused() -> None:
    """Next to the largest loss no period is long enough; so where K is known no further."""
    product = Product.of(PAIRS[0])
    one = saddle_at(product, 1.5)
    for saddle in (replace(one, log_delta=-1e200), replace(one, points=(), values=())):
        with pytest.raises(
            NotCertified, match=r"near the largest privacy loss.*ask at a larger delta"
        ):
            alias_step(saddle, real_bounds(product, saddle))


def test_alias_points_stand_where_k_turns() -> None:
    """Where K explodes within a few per cent, the ridge is refined: the sum stays short."""
    pair = SubsampledGaussianPair(
        mu_squared=Fraction(1), sampling_rate=Fraction(1, 1000), removal=True
    )
    product = Product((Factor(pair, 10**4),))
    for target in (1e-6, 1e-30, 1e-100):
        found = find_saddle(product, lambda one, x=target: math.log(x) - one.log_delta)  # type: ignore[misc]
        assert alias_step(found, real_bounds(product, found)) > 0.01
