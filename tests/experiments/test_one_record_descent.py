"""Algorithm 3 of Nguyen, Ullman & Zakynthinou as printed: its price, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.one_record_descent import one_record_descent, price, relative_noise


def test_runs_cost_a_fraction_of_what_is_printed() -> None:
    """At n = 200 one run is printed (0.2, 2e-7) and costs 0.0140166 (another program's number)."""
    found = price(records=200, epsilon=0.2, delta=2e-7).epsilon(delta=2e-7)

    assert found.lower == pytest.approx(0.0140166, rel=1e-3)
    assert found.upper == pytest.approx(0.0140166, rel=1e-3)


def test_it_learns_without_noise_and_not_with_the_printed_one() -> None:
    """120 rows of margin 0.3: all right without noise, near guessing with that of epsilon 1."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(120, 5)) * 0.2
    signs = rng.choice([-1, 1], 120)
    rows[:, 0] = signs * rng.uniform(0.3, 0.6, 120)
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    noise = relative_noise(records=120, epsilon=1, delta=1e-6)
    right = [
        float(
            (
                signs * (rows @ one_record_descent(rows, signs, margin=0.3, noise=n, rng=rng)) > 0
            ).mean()
        )
        for n in (0, noise)
    ]

    assert right[0] == 1
    assert right[1] < 0.95
    assert noise > 50
