"""Random projections by scaled signs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.mechanisms import RademacherProjection
from tests.contracts.map_contract import MapContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad

GOOD: dict[str, Any] = {"features": 5, "dimension": 2, "seed": 3}


class TestRademacherProjection(MapContract):
    """To six dimensions."""

    def map(self, features: int = 37) -> RademacherProjection:
        """Return the map of seed 3."""
        return RademacherProjection(features=features, dimension=6, seed=3)

    def other(self) -> RademacherProjection:
        """Return the map of seed 4."""
        return RademacherProjection(features=37, dimension=6, seed=4)

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "features": (0, 2.5, None, 2**25),
            "dimension": (0, -1, "2", 2**25),
            "seed": (None, 0.5, True),
            "norm": (*NOT_POSITIVE, None),
        }
        return one_bad(RademacherProjection, good=GOOD, bad=bad)


def test_it_is_the_matrix_times_the_clipped_row() -> None:
    """In any unit; lengths are kept on average; the identity where nothing is gained."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 300)) * 10
    plan = RademacherProjection(features=300, dimension=150, seed=2, norm=120)
    same = RademacherProjection(features=300, dimension=300, seed=2, norm=120)
    clipped = rows * np.minimum(1, 120 / np.linalg.norm(rows, axis=1, keepdims=True))

    assert plan.apply(rows) == pytest.approx(clipped @ plan.matrix().T, abs=1e-3)
    assert set(np.unique(np.abs(plan.matrix()))) == {150**-0.5}
    ratio = np.square(plan.apply(rows)).sum(axis=1) / np.square(clipped).sum(axis=1)
    assert ratio.mean() == pytest.approx(1, abs=5 * (2 / 150 / 200) ** 0.5)
    assert same.apply(rows) == pytest.approx(clipped, abs=1e-4)
    assert same.output_norm == 120
    assert plan.output_norm is None
