"""The profile of listed outcomes against its definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st

from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.selection.finite_base import Outcomes, corners, curve


@given(
    losses=st.lists(st.sampled_from([math.inf, 2.0, 0.5, 0.0, -0.5, -3.0]), min_size=1),
    epsilon=st.floats(-5.0, 5.0),
)
def test_the_sum_over_outcomes(losses: list[float], epsilon: float) -> None:
    """Equal losses are one, and nothing is below the sum of what P has more."""
    loss = np.sort(losses)[::-1]
    p = np.full(loss.size, 1.0 / loss.size)
    q = p * np.exp(-loss)
    true = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
    found = float(corners(Outcomes(p, q, loss, 0.0)).at(np.array([epsilon]))[0])
    # Q has more mass than 1 here or less: below all losses the profile is of a Q with mass 1
    if epsilon >= loss[-1]:
        assert true * (1 - 1e-12) <= found <= true * (1 + 1e-10) + 1e-300


def test_a_lattice_is_met_at_its_losses() -> None:
    """Pairs from above and from below are the one of 9 answers, to many digits, by few points."""
    base = Product((Factor(RandomizedResponsePair(epsilon=Fraction(3, 4)), 9),))
    found = curve(base)
    assert found.forward.loss.size < 50
    epsilon = np.array([0.1, 1.0, 3.0, 5.9])
    k = np.arange(10)
    many = np.array([math.comb(9, int(one)) for one in k])
    p = many * (1 / (1 + math.exp(-0.75))) ** k * (1 / (1 + math.exp(0.75))) ** (9 - k)
    loss = 0.75 * (2 * k - 9)
    true = [np.maximum(p * -np.expm1(one - loss), 0.0).sum() for one in epsilon]
    above = corners(found.above(*found.size, every=2)).at(epsilon)
    below = corners(found.below(*found.size)).at(epsilon)
    assert np.allclose(above, true, rtol=1e-5, atol=0)
    assert np.allclose(below, true, rtol=1e-5, atol=0)
    assert (below <= above).all()
