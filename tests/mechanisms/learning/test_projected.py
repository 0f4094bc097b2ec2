"""A learner on randomly projected records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from accountant import AddRemove
from mechanisms import (
    BatchPerceptron,
    ClassMeans,
    KeslerPerceptron,
    Projected,
    Records,
    SignProjection,
)
from tests.contracts.mechanism_contract import MechanismContract, one_bad

PLANE = SignProjection(features=5, dimension=2, seed=3)


def base(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """A perceptron of two steps."""
    return BatchPerceptron(**{"margin": 0.1, "steps": 2, "sigma": 2, **changes})


class TestProjected(MechanismContract):
    """From five features to two."""

    def mechanism(self) -> Projected[AddRemove]:
        """Two steps."""
        return Projected(base=base(), projection=PLANE)

    def data(self) -> Records:
        """A few rows."""
        return Records(np.eye(5), [1, -1, 1, 1, -1])

    def increasing_noise(self) -> Sequence[Projected[AddRemove]]:
        """Standard deviations from half the norm to fifty times."""
        return [Projected(base=base(sigma=s), projection=PLANE) for s in (0.5, 1, 2.5, 50)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other bases and projections, and widths that do not fit."""
        bad: dict[str, Sequence[Any]] = {
            "base": (None, "perceptron", ClassMeans(classes=2, sigma=1), base(features=5)),
            "projection": (None, np.eye(5), 2),
        }
        projections: dict[str, Sequence[Any]] = {
            "features": (0, 2.5, None, 2**25),
            "dimension": (0, -1, "2", 2**25),
            "seed": (None, 0.5, True),
        }
        good = {"features": 5, "dimension": 2, "seed": 3}
        return [
            *one_bad(Projected, good={"base": base(), "projection": PLANE}, bad=bad),
            *one_bad(SignProjection, good=good, bad=projections),
        ]


def test_rows_are_projected_alone_and_to_norm_one() -> None:
    """Every row by itself gives the same bits; blank rows stay blank, broken ones broken."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(130, 300)) * 10.0 ** rng.integers(-200, 200, size=(130, 1))
    rows[7], rows[9, 4] = 0.0, np.inf
    projection = SignProjection(features=300, dimension=40, seed=1)
    together = projection.project(rows)
    norms = np.linalg.norm(together, axis=1)

    assert norms[7] == 0
    assert np.isnan(together[9]).all()
    assert np.nanmax(norms) <= 1
    assert np.delete(norms, [7, 9]).min() > 1 - 1e-6
    for i in range(0, 130, 3):
        alone = projection.project(rows[i : i + 1])

        assert np.array_equal(alone[0], together[i], equal_nan=True)


def test_angles_are_nearly_kept() -> None:
    """Cosines of projected rows are those of the rows up to a few times 1 / sqrt(m)."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 2_000)) + 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    projected = SignProjection(features=2_000, dimension=900, seed=5).project(rows)

    assert np.abs(projected @ projected.T - rows @ rows.T).max() < 5 / 30


def test_the_matrix_is_public_and_of_fair_signs() -> None:
    """The same seed gives the same matrix, another seed another; no projection to more."""
    one, other = (SignProjection(features=200, dimension=100, seed=s).matrix() for s in (1, 2))

    assert (SignProjection(features=200, dimension=100, seed=1).matrix() == one).all()
    assert set(one.ravel()) == {-1.0, 1.0}
    assert abs(one.mean()) < 0.05
    assert abs((one * other).mean()) < 0.05
    assert (SignProjection(features=3, dimension=9, seed=1).matrix() == np.eye(3)).all()


def test_weights_are_for_the_rows_before_projecting() -> None:
    """A halfspace with margin is learned through a projection, for two classes and for more."""
    rng = np.random.default_rng(6)
    centres = rng.normal(size=(3, 400))
    labels = rng.integers(0, 3, size=600)
    rows = centres[labels] + 0.3 * rng.normal(size=(600, 400))
    plan = SignProjection(features=400, dimension=60, seed=8)
    kesler = KeslerPerceptron(classes=3, margin=0.1, steps=20, sigma=3)
    several = Projected(base=kesler, projection=plan).release(Records(rows, labels)).weights
    signs = np.where(labels == 0, 1, -1)
    two = Projected(base=base(steps=20), projection=plan).release(Records(rows, signs)).weights

    assert ((rows @ several.T).argmax(axis=1) == labels).mean() > 0.95
    assert (np.sign(rows @ two) == signs).mean() > 0.9
    with pytest.raises(ValueError, match="wide"):
        Projected(base=kesler, projection=plan).release(Records(rows[:, 1:], labels))
