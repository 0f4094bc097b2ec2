"""Gaussian projections, and monomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.mechanisms import GaussianProjection, MonomialFeatures
from tests.contracts.map_contract import MapContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad

SHARED: dict[str, Sequence[Any]] = {
    "features": (0, 2.5, None, 2**25),
    "norm": (*NOT_POSITIVE, None),
}


class TestGaussianProjection(MapContract):
    """To six dimensions."""

    def map(self, features: int = 37) -> GaussianProjection:
        """Return the map of seed 3."""
        return GaussianProjection(features=features, dimension=6, seed=3)

    def other(self) -> GaussianProjection:
        """Return the map of seed 4."""
        return GaussianProjection(features=37, dimension=6, seed=4)

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {**SHARED, "dimension": (0, -1, "2"), "seed": (None, 0.5, True)}
        return one_bad(GaussianProjection, good={"features": 5, "dimension": 2, "seed": 3}, bad=bad)


class TestMonomialFeatures(MapContract):
    """Of degree two."""

    def map(self, features: int = 37) -> MonomialFeatures:
        """Offset 1; of wide rows the first degree alone."""
        return MonomialFeatures(features=features, degree=2 if features < 100 else 1)

    def other(self) -> MonomialFeatures:
        """Offset 2."""
        return MonomialFeatures(features=37, degree=2, offset=2)

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {**SHARED, "degree": (0, 1.5, 30), "offset": (-1, "1", None)}
        return one_bad(MonomialFeatures, good={"features": 5, "degree": 2}, bad=bad)


def test_projections_keep_lengths_on_average() -> None:
    """The matrix times the clipped row; the identity where nothing is gained."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 300))
    plan = GaussianProjection(features=300, dimension=150, seed=2, norm=40)
    ratio = np.square(plan.apply(rows)).sum(axis=1) / np.square(rows).sum(axis=1)

    assert plan.apply(rows) == pytest.approx(rows @ plan.matrix().T, abs=1e-3)
    assert ratio.mean() == pytest.approx(1, abs=0.1)
    same = GaussianProjection(features=300, dimension=300, seed=2, norm=40)
    assert same.apply(rows) == pytest.approx(rows, abs=1e-4)


def test_monomials_are_the_kernel_with_its_right_norm() -> None:
    """Products are (<x, x'> + c)^p; a row of norm r attains (r^2 + c)^(p/2), not r^p."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(9, 4))
    for degree, offset in ((1, 0), (2, 1), (3, 0.5), (4, 0)):
        plan = MonomialFeatures(features=4, degree=degree, offset=offset, norm=64)
        mapped = plan.apply(rows)

        assert mapped @ mapped.T == pytest.approx(
            (rows @ rows.T + offset) ** degree, rel=1e-3, abs=1e-3
        )
    plan = MonomialFeatures(features=2, degree=2, offset=1)
    assert np.linalg.norm(plan.apply(np.array([[1.0, 0.0]]))) == pytest.approx(2)
    assert plan.output_norm == 2
