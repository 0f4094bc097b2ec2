"""Positions drawn with replacement."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import GDP, ReplaceLabel, ReplaceOne, ZeroOut, group
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.subsampling.occurrences import occurrences
from dpproof.accountant.theorems.subsampling.repeated_positions import repeated_positions

HALVES = [10_000 >> phase for phase in range(1, 14)]


@pytest.mark.parametrize(("mu", "epsilon"), [(0.05, 0.556), (0.1, 1.246), (0.2, 2.875)])
def test_numbers_of_the_specification(mu: float, epsilon: float) -> None:
    """At n = 10^4 and delta = 1e-6, from above, within 0.2 %."""
    one = GDP(mu=mu, relation=ReplaceOne())
    found = repeated_positions(one, records=10_000, draws=HALVES).epsilon(delta=1e-6)

    assert epsilon * 0.999 < found.upper < epsilon * 1.002


def test_the_law_is_that_of_enumeration() -> None:
    """Three phases of a few draws from five positions, every outcome listed."""
    records, draws = 5, (3, 2, 1)
    masses, beyond = occurrences(records, draws)
    exact = np.zeros(len(masses))
    for times in product(*(range(n + 1) for n in draws)):
        mass = 1.0
        for n, c in zip(draws, times, strict=True):
            mass *= comb(n, c) * 0.2**c * 0.8 ** (n - c)
        exact[sum(c * c for c in times)] += mass

    assert masses == pytest.approx(exact, abs=1e-15)
    assert 0 < beyond < 1e-11
    listed = repeated_positions(GDP(mu=1, relation=ReplaceOne()), records=5, draws=draws)
    assert len(listed.derivation.assumptions) == 3
    assert "uniformly from 5" in listed.derivation.assumptions[0]
    assert occurrences(1, [3])[0][9] == 1


def test_the_profile_is_the_mean_and_above_it() -> None:
    """At listed epsilons next to the mean of Gaussian profiles; never below it in between."""
    one = GDP(mu=0.5, relation=ReplaceLabel())
    found = repeated_positions(one, records=50, draws=[25, 12, 6, 3, 1])
    masses, _ = occurrences(50, [25, 12, 6, 3, 1])
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        parts = [
            mass * GDP(mu=0.5 * total**0.5).delta(epsilon=epsilon).upper
            for total, mass in enumerate(masses)
            if mass > 0 and total
        ]
        mean = float(sum(parts))

        assert mean * (1 - 1e-9) <= found.delta(epsilon=epsilon).upper <= mean * 1.01


def test_one_draw_is_the_release_of_one_position() -> None:
    """One phase with one draw of n: delta / n, the classic upper end."""
    one = GDP(mu=1, relation=ZeroOut())
    found = repeated_positions(one, records=4, draws=[1])

    assert found.delta(epsilon=0).upper == pytest.approx(
        GDP(mu=1).delta(epsilon=0).upper / 4, rel=1e-6
    )


def test_refusals() -> None:
    """Other notions, add-remove, groups and counts."""
    one = GDP(mu=1, relation=ReplaceOne())
    wrong: Any = 3
    with pytest.raises(ParameterError):
        repeated_positions(wrong, records=4, draws=[1])
    with pytest.raises(NotImplied, match="positions"):
        repeated_positions(GDP(mu=1), records=4, draws=[1])
    grouped: Any = group(one, size=2)
    with pytest.raises(NotImplied, match="one record"):
        repeated_positions(grouped, records=4, draws=[1])
    listed: list[dict[str, Any]] = [{"records": 0}, {"draws": []}, {"draws": [0]}]
    for bad in listed:
        with pytest.raises(ParameterError):
            repeated_positions(one, **{"records": 4, "draws": [1], **bad})


def test_the_certificate_states_what_the_engine_does() -> None:
    """Within 1e-6 of it, for positions drawn in several phases, and says how many are drawn."""
    found = repeated_positions(GDP(mu=0.5, relation=ReplaceOne()), records=50, draws=[4, 2, 1])
    verdict = proofs.check(found.certify(delta=1e-6))

    assert isinstance(verdict, proofs.VerifiedUnder)
    said = float(verdict.claim.split("(")[1].split(",")[0])
    assert 0 <= said - found.epsilon(delta=1e-6).upper < 1e-6
    assert "independently from 50, whatever the data: 4, 2, 1 of them" in verdict.assumptions[-1]
