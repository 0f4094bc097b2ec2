"""Permute-and-flip."""

from __future__ import annotations

import functools
import itertools
import math
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import PermuteAndFlip
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.selection import laws


class TestPermuteAndFlip(MechanismContract):
    """On scores."""

    def mechanism(self) -> PermuteAndFlip[AddRemove]:
        """Fractional sensitivity."""
        return PermuteAndFlip(epsilon=1.5, sensitivity=LInf(0.5))

    def data(self) -> object:
        """Scores of two candidates that are equal."""
        return [0.5, 0.5]

    def neighbour(self) -> object:
        """They move apart: the worst there is."""
        return [0.0, 1.0]

    def increasing_noise(self) -> Sequence[PermuteAndFlip[AddRemove]]:
        """Epsilon from 3 down to 1/10."""
        return [PermuteAndFlip(epsilon=e, sensitivity=LInf(1)) for e in (3, 1, 0.1)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each, and monotone scores under replace-one."""
        good: dict[str, Any] = {"epsilon": 1, "sensitivity": LInf(1)}
        replaced = {**good, "monotone": True, "sensitivity": LInf(1, ReplaceOne())}
        bad: dict[str, Sequence[Any]] = {
            "epsilon": NOT_POSITIVE,
            "sensitivity": (L1(1), 2, None),
            "monotone": (1, None),
            "query": ([1, 2],),
        }
        return [
            functools.partial(PermuteAndFlip, **replaced),
            *one_bad(PermuteAndFlip, good=good, bad=bad),
        ]


def test_is_the_largest_with_exponential_noise() -> None:
    """The published algorithm and the integral over exponential noise agree.

    P(i is largest) is the integral over x > 0 of e^-x times the product over j of
    (1 - e^-(x + (u_i - u_j)/b))_+; expanded over subsets of the others.
    """
    for scores in ((0.0, 1.0, 2.5), (1.0, 1.0, 0.25, -3.0)):
        law = laws.permute_and_flip(scores, 2.0)
        for i, mine in enumerate(scores):
            start = max(0.0, (max(scores) - mine) / 2.0)
            gaps = [(mine - other) / 2.0 for j, other in enumerate(scores) if j != i]
            total = 0.0
            for size in range(len(gaps) + 1):
                for chosen in itertools.combinations(gaps, size):
                    total += (-1) ** size * math.exp(-sum(chosen) - (size + 1) * start) / (size + 1)
            assert total == pytest.approx(law[i], rel=1e-12)


@pytest.mark.parametrize("monotone", [False, True])
def test_two_candidates_attain_the_statement(monotone: bool) -> None:  # noqa: FBT001
    """The worst pair of scores meets the stated delta: the Laplace pair is exact for one use."""
    mechanism = PermuteAndFlip(epsilon=1.5, monotone=monotone, sensitivity=LInf(1))
    scale = float(mechanism.scale)
    starts = [(x / 20, 0.0) for x in range(-60, 61)]
    for epsilon in laws.EPSILONS:
        stated = mechanism.guarantee().delta(epsilon=epsilon)
        worst = laws.worst_delta(
            lambda scores: laws.permute_and_flip(scores, scale),
            starts,
            (0, 1) if monotone else (-1, 1),
            epsilon,
        )
        assert worst <= stated.upper + 1e-12
        assert worst >= stated.lower * 0.99


def test_outputs_follow_the_law() -> None:
    """Frequencies stay in their band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    mechanism, scores = PermuteAndFlip(epsilon=1.5, sensitivity=LInf(1)), [3.0, 1.0, 2.5, 3.0]
    outputs = mechanism.release_many(scores, 200_000, rng=np.random.default_rng(seed))

    law = laws.permute_and_flip(scores, float(mechanism.scale))
    assert laws.within_band(outputs, law, 0, FALSE_ALARM)
