"""Propose, test, release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, L2, JointSensitivity
from dpproof.mechanisms import ClippedSum, Gaussian, Laplace, ProposeTestRelease, ReplayRng
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

TOTAL = ClippedSum(lower=0, upper=1)


def careful(
    sigma: float = 4,
    epsilon: float = 1,
    distance: Callable[[list[float]], int] = len,
    delta: float = 1e-3,
) -> ProposeTestRelease[AddRemove]:
    """A sum, far from unstable where there are many records."""
    total = Gaussian(sigma=sigma, sensitivity=L2(1), query=TOTAL)
    return ProposeTestRelease(release=total, distance=distance, epsilon=epsilon, delta=delta)


class TestProposeTestRelease(MechanismContract):
    """On data where the test passes about half of the time."""

    def mechanism(self) -> ProposeTestRelease[AddRemove]:
        """The number of records as distance."""
        return careful(delta=1e-9)

    def data(self) -> object:
        """As many records as the margin, log(5e8)."""
        return [0.5, 1.0, 0.25, 0.5] * 5

    def increasing_noise(self) -> Sequence[ProposeTestRelease[AddRemove]]:
        """More and more noise on the value and in the test."""
        return [careful(sigma, 4 / sigma, delta=1e-9) for sigma in (1, 4, 20)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        few = JointSensitivity(l1=2, linf=1)
        return one_bad(
            ProposeTestRelease,
            good={
                "release": Laplace(scale=1, sensitivity=L1(1), query=TOTAL),
                "distance": len,
                "epsilon": 1,
                "delta": 0.01,
            },
            bad={
                "release": (
                    Gaussian(sigma=1, sensitivity=L2(1)),
                    Laplace(scale=1, sensitivity=few, query=TOTAL),
                    None,
                ),
                "distance": (3, None),
                "epsilon": NOT_POSITIVE,
                "delta": (0, 0.75, -1, "1", 2.0**-201),
            },
        )


def test_the_pair_is_above_what_happens() -> None:
    """Bits of the test with a value's best case, on all pairs of distances, by enumeration."""
    careful_one = careful(sigma=2, epsilon=0.7)
    stated = careful_one.guarantee()
    margin = float(careful_one.margin)
    assert math.exp(-margin) / 2 <= 1e-3 < math.exp(-margin) / 2 * (1 + 1e-6)

    def passing(distance: int) -> float:
        missing = margin - 0.7 * distance
        return math.exp(-missing) / 2 if missing >= 0 else 1 - math.exp(missing) / 2

    value = Gaussian(sigma=2, sensitivity=L2(1)).guarantee()
    for far, epsilon in product((0, 1, 2, 4, 7, 8, 9, 12, 19), (-1.0, 0.0, 0.4, 1.5)):
        for one, other in ((far, far + 1), (far + 1, far), (far, far)):
            p, q = passing(one), passing(other)
            stable = max(one, other) > 0
            inside = epsilon + math.log(q / p)
            cost = value.delta(epsilon=inside).upper if stable else 1.0
            failed = max((1 - p) - math.exp(epsilon) * (1 - q), 0)
            assert p * cost + failed <= stated.delta(epsilon=epsilon).upper + 1e-12


def test_it_passes_where_it_is_far() -> None:
    """Never where the distance is 0 but with probability delta; nearly always far away."""
    near = np.asarray(careful(distance=lambda _: 0).release_many([1.0], 40_000, rng=ReplayRng(1)))
    far = np.asarray(careful(distance=lambda _: 60).release_many([1.0], 500, rng=ReplayRng(1)))

    assert 10 < near[:, 0].sum() < 90  # 40 on average
    assert (near[near[:, 0] == 0] == 0).all()
    assert far[:, 0].all()
    with pytest.raises(ParameterError, match="whole number from 0"):
        careful(distance=lambda _: -1).release([1.0])
