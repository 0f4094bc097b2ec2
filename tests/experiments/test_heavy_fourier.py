"""Random Fourier features of kernels with heavy tails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from experiments.heavy_fourier import HeavyFourierFeatures
from tests.contracts.map_contract import MapContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad

GOOD: dict[str, Any] = {"features": 3, "frequencies": 5, "width": 1.5, "seed": 3}


class TestHeavyFourierFeatures(MapContract):
    """The Laplacian kernel."""

    kernel = "laplacian"

    def map(self, features: int = 37) -> HeavyFourierFeatures:
        """Return the map of seed 3."""
        return HeavyFourierFeatures(
            features=features, frequencies=21, width=1.5, seed=3, kernel=self.kernel
        )

    def other(self) -> HeavyFourierFeatures:
        """Return the map of seed 4."""
        return HeavyFourierFeatures(
            features=37, frequencies=21, width=1.5, seed=4, kernel=self.kernel
        )

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "features": (0, 2.5, None, 2**25),
            "frequencies": (0, -1, "2", 2**23 + 1),
            "width": NOT_POSITIVE,
            "smoothness": NOT_POSITIVE,
            "seed": (None, 0.5, True),
            "norm": (0, -1, "1"),
            "kernel": ("gaussian", None),
        }
        return one_bad(HeavyFourierFeatures, good=GOOD, bad=bad)


class TestMaternFeatures(TestHeavyFourierFeatures):
    """The Matern kernel."""

    kernel = "matern"


@pytest.mark.parametrize(
    ("kernel", "smoothness"), [("laplacian", 1), ("matern", 0.5), ("matern", 1.5)]
)
def test_products_are_nearly_the_kernel(kernel: str, smoothness: float) -> None:
    """Within six standard errors, at every distance, by the closed forms."""
    plan = HeavyFourierFeatures(
        features=3,
        frequencies=4_000,
        width=2,
        seed=1,
        kernel=kernel,
        smoothness=smoothness,
        norm=16,
    )
    rows = np.random.default_rng(2).normal(size=(20, 3))
    mapped, apart = plan.apply(rows), rows[:, np.newaxis] - rows
    if kernel == "laplacian":
        expected = np.exp(-np.abs(apart).sum(axis=2) / 2)
    else:
        far = np.sqrt(2 * smoothness) * np.linalg.norm(apart, axis=2) / 2
        expected = np.exp(-far) * (1 if smoothness == 0.5 else 1 + far)

    assert np.abs(mapped @ mapped.T - expected).max() < 6 / np.sqrt(4_000)
    assert np.linalg.norm(mapped, axis=1) == pytest.approx(1)
