"""The profile of listed outcomes against its definition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st

from dpproof.accountant.selection.finite_base import Outcomes, corners


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
