"""The fewest samples that can refute a claim."""

from __future__ import annotations

import math

import pytest

import dpproof as dp
from dpproof.auditing import Design, EventCounts, RandomisedLabel, samples_needed


@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 8])
@pytest.mark.parametrize("significance", [0.05, 1e-6])
def test_as_many_right_guesses_refute_and_one_fewer_do_not(
    epsilon: float, significance: float
) -> None:
    """The exact test of guesses needs exactly so many if all of them are right."""
    least = int(samples_needed((epsilon, 0), significance=significance))
    bound = RandomisedLabel(significance=significance)
    refuted = [
        bound.refutes(EventCounts(n, n, 0, 0, Design.GUESSES), epsilon=epsilon)
        for n in (least - 1, least)
    ]

    assert refuted == [False, True]


def test_claims_of_every_kind() -> None:
    """A delta needs more samples, a curve what its advantage says; some claims allow anything."""
    assert samples_needed((1, 0.5)) > samples_needed((1, 0)) == 10
    assert samples_needed(dp.GDP(mu=1)) == math.ceil(math.log(0.05) / math.log(0.6914624612740131))
    assert samples_needed(dp.ApproxDP(epsilon=1, delta=1)) == math.inf
    assert samples_needed((0, 0)) == 5
