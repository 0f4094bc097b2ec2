"""Histograms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L2
from dpproof.mechanisms import DiscreteGaussian, Histogram
from dpproof.mechanisms.noise.histogram import Noise
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad


class TestHistogram(MechanismContract):
    """Discrete Gaussian noise on a table."""

    def mechanism(self) -> Histogram[AddRemove]:
        """A record is in two cells, up to twice in each."""
        return Histogram(scale=3, contributions=2, largest=2, relation=AddRemove())

    def data(self) -> object:
        """Five counts."""
        return [3, 0, 7, 1, 0]

    def neighbour(self) -> object:
        """Two of them larger by two."""
        return [5, 0, 9, 1, 0]

    def increasing_noise(self) -> Sequence[Histogram[AddRemove]]:
        """From one count to thirty."""
        return [Histogram(scale=s, relation=AddRemove()) for s in (1, 4, 30)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "scale": NOT_POSITIVE,
            "noise": ("geometric", None),
            "contributions": (0, -1, 1.5, None),
            "largest": (0, 0.5, None),
            "relation": (AddRemove, "add-remove"),
            "query": ([1],),
        }
        return one_bad(Histogram, good={"scale": 1, "relation": AddRemove()}, bad=bad)


def four_cells(records: Sequence[int]) -> list[int]:
    """How many records are in each of four cells."""
    return [list(records).count(cell) for cell in range(4)]


@pytest.mark.slow
class TestHistogramOnRecords(TestHistogram):
    """Discrete Laplace noise, on records."""

    def mechanism(self) -> Histogram[AddRemove]:
        """Each record is in one cell."""
        return Histogram(scale=2, noise="laplace", query=four_cells, relation=AddRemove())

    def data(self) -> object:
        """Cells of records."""
        return [0, 3, 3, 1]

    def neighbour(self) -> object:
        """One record less."""
        return [0, 3, 3]


def law(noise: Noise, scale: float, shift: int) -> NDArray[np.float64]:
    """Masses on -40..40 of integer noise plus a shift."""
    x = np.arange(-40, 41) - shift
    weight = np.exp(-(x**2) / (2 * scale**2)) if noise == "gaussian" else np.exp(-np.abs(x) / scale)
    return np.asarray(weight / weight.sum(), dtype=np.float64)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_replaced_records_stay_below(noise: Noise) -> None:
    """All moves of three cells by replacing a record of at most two, brute force."""
    mechanism = Histogram(scale=2, noise=noise, contributions=1, largest=2, relation=ReplaceOne())
    records = [tuple(v if i == j else 0 for j in range(3)) for i in range(3) for v in (0, 1, 2)]
    worst = dict.fromkeys((0.0, 0.5, 1.5), 0.0)
    for old, new in itertools.product(records, repeat=2):
        moves = [b - a for a, b in zip(old, new, strict=True) if a != b]
        p, q = np.ones(1), np.ones(1)
        for move in moves:
            p = np.outer(p, law(noise, 2.0, move)).ravel()
            q = np.outer(q, law(noise, 2.0, 0)).ravel()
        for epsilon in worst:
            found = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
            worst[epsilon] = max(worst[epsilon], found)
    for epsilon, found in worst.items():
        stated = mechanism.guarantee().delta(epsilon=epsilon)
        assert stated.lower - 1e-9 <= found <= stated.upper + 1e-9


def test_a_replaced_record_costs_root_two() -> None:
    """As two shifts by 1, not as one by 2."""
    counts = Histogram(scale=4, relation=ReplaceOne()).guarantee()
    norm = DiscreteGaussian(sigma=4, sensitivity=L2(math.sqrt(2), ReplaceOne()))

    assert counts.forward == norm.guarantee().to_pair().forward
    assert counts.epsilon(delta=1e-6).upper < 1.62


def test_refuses_shifts_out_of_reach() -> None:
    """Of a discrete Laplace pair whose losses could not be listed."""
    with pytest.raises(NotCertified, match="whole shifts"):
        Histogram(scale=10, noise="laplace", largest=10**9, relation=AddRemove())
