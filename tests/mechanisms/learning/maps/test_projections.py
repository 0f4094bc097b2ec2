"""Random projections by scaled signs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.mechanisms import RademacherProjection, SignProjection
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


class TestSignProjection(MapContract):
    """To six dimensions."""

    def map(self, features: int = 37) -> SignProjection:
        """Return the map of seed 3."""
        return SignProjection(features=features, dimension=6, seed=3)

    def other(self) -> SignProjection:
        """Return the map of seed 4."""
        return SignProjection(features=37, dimension=6, seed=4)

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "features": (0, 2.5, None, 2**25),
            "dimension": (0, -1, "2", 2**25),
            "seed": (None, 0.5, True),
        }
        return one_bad(SignProjection, good=GOOD, bad=bad)


def test_rows_have_norm_one_whatever_their_length() -> None:
    """From the smallest to the largest floats, but for the zero row."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(130, 300)) * 10.0 ** rng.integers(-200, 200, size=(130, 1))
    rows[7] = 0.0
    norms = np.linalg.norm(SignProjection(features=300, dimension=40, seed=1).apply(rows), axis=1)

    assert norms[7] == 0
    assert norms.max() <= 1
    assert np.delete(norms, 7).min() > 1 - 1e-6


def test_angles_are_nearly_kept() -> None:
    """Cosines of projected rows are those of the rows up to a few times 1 / sqrt(m)."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 2_000)) + 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    projected = SignProjection(features=2_000, dimension=900, seed=5).apply(rows)

    assert np.abs(projected @ projected.T - rows @ rows.T).max() < 5 / 30


def test_the_matrix_is_public_and_of_fair_signs() -> None:
    """The same seed gives the same matrix, another seed another; no projection to more."""
    one, same, other = (
        SignProjection(features=300, dimension=200, seed=seed).matrix() for seed in (1, 1, 2)
    )

    assert (one == same).all()
    assert not (one == other).all()
    assert set(np.unique(one)) == {-1.0, 1.0}
    assert abs(one.mean()) < 5 / np.sqrt(one.size)
    assert (SignProjection(features=3, dimension=9, seed=1).matrix() == np.eye(3)).all()
