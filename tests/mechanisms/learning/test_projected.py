"""A learner on randomly projected records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove
from dpproof.mechanisms import (
    BatchPerceptron,
    ClassMeans,
    KeslerPerceptron,
    Projected,
    Records,
    SignProjection,
)
from tests.contracts.mechanism_contract import MechanismContract, one_bad
from tests.contracts.weakened import assert_caught

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
        return one_bad(Projected, good={"base": base(), "projection": PLANE}, bad=bad)


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


def test_weakened_copies_are_caught() -> None:
    """A quarter of the noise; and projected rows longer than 1, as if their norm were 1."""
    claim = Projected(base=base(steps=1), projection=PLANE).guarantee()
    row = Records(PLANE.matrix()[:1], [1])
    projected = Records(row.rows @ PLANE.matrix().T, [1])
    longer = base(steps=1, norm=5)

    assert_caught(Projected(base=base(steps=1, sigma=0.5), projection=PLANE), claim, (row, row[:0]))
    assert_caught(longer, claim, (projected, projected[:0]))
