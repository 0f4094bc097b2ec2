"""A learner on the features of its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import AddRemove, ZeroOut
from dpproof.mechanisms import (
    BatchPerceptron,
    ClassMeans,
    Featured,
    FourierFeatures,
    KeslerPerceptron,
    MeanHalfspace,
    Projected,
    Records,
    ReplayRng,
    SignProjection,
)
from experiments.mistake_exponential import CandidateExponential
from tests.contracts.mechanism_contract import MechanismContract, one_bad
from tests.contracts.weakened import assert_caught

WAVES = FourierFeatures(features=2, frequencies=3, width=1, seed=3)


def base(**changes: Any) -> BatchPerceptron[Any]:  # noqa: ANN401
    """A perceptron of two steps."""
    return BatchPerceptron(
        **{"relation": AddRemove(), "margin": 0.1, "steps": 2, "sigma": 2, **changes}
    )


class TestFeatured(MechanismContract):
    """Three frequencies."""

    def mechanism(self) -> Featured[AddRemove]:
        """Two steps."""
        return Featured(base=base(), map=WAVES)

    def data(self) -> Records:
        """A few rows."""
        return Records([[0.5, 0.5], [-1.0, 0.2], [0.0, 0.9]], [1, -1, 1])

    def increasing_noise(self) -> Sequence[Featured[AddRemove]]:
        """Standard deviations from half the norm to fifty times."""
        return [Featured(base=base(sigma=s), map=WAVES) for s in (0.5, 1, 2.5, 50)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Other bases and maps, and widths that do not fit."""
        bad: dict[str, Sequence[Any]] = {
            "base": (None, "perceptron", base(features=2), TestFeatured().mechanism()),
            "map": (None, np.eye(2), "fourier"),
        }
        return one_bad(Featured, good={"base": base(), "map": WAVES}, bad=bad)


@pytest.mark.parametrize(
    "learner",
    [
        base(features=6),
        MeanHalfspace(sigma=1, relation=AddRemove()),
        KeslerPerceptron(classes=2, margin=0.1, steps=2, sigma=1, relation=AddRemove()),
        ClassMeans(classes=3, sigma=1, relation=AddRemove()),
        CandidateExponential(candidates=np.eye(6), margin=0.1, epsilon=1, relation=AddRemove()),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_every_learner_learns_from_mapped_rows(learner: Any) -> None:  # noqa: ANN401
    """The release is the base's on mapped rows, bit for bit; blank and broken rows are left out."""
    rows = np.random.default_rng(1).normal(size=(9, 2))
    labels = np.array([1.0, -1.0, 0.0, 2.0, 1.0, 1.0, 0.0, -1.0, 1.0])
    mapped = Records(WAVES.apply(rows), labels)
    rows = np.concatenate([rows, [[0.0, 0.0], [np.nan, 1.0]]])
    given = Records(rows, np.append(labels, [1.0, 1.0]))
    featured = Featured(base=learner, map=WAVES)
    found, expected = (
        one.release(data, rng=ReplayRng(4)) for one, data in ((featured, given), (learner, mapped))
    )

    assert featured.guarantee() == learner.guarantee()
    for field in expected.dtype.names:
        assert (found[field] == expected[field]).all()


def test_the_map_is_in_the_derivation_and_in_the_certificate() -> None:
    """Its numbers and its seed, where a reader of the certificate finds them."""
    guarantee = Featured(base=base(relation=ZeroOut()), map=WAVES).guarantee()
    certificate = guarantee.certify(delta=1e-6)
    said = "FourierFeatures, 2 features, 3 frequencies, width 1, seed 3, after clipping to norm 1"

    assert said in guarantee.derivation.explain()
    assert said in certificate.to_json()
    assert said in str(proofs.check(certificate))


def test_circles_inside_each_other_are_learned() -> None:
    """No halfspace separates the rows, one of their features does."""
    rng = np.random.default_rng(5)
    radii, angles = rng.choice([0.3, 0.9], size=1_000), rng.uniform(0, 6.3, size=1_000)
    rows = radii[:, np.newaxis] * np.column_stack([np.cos(angles), np.sin(angles)])
    data = Records(rows, np.where(radii > 0.5, 1, -1))
    plan = FourierFeatures(features=2, frequencies=60, width=0.5, seed=1)
    learner = Featured(base=base(steps=60, sigma=8), map=plan)
    weights = learner.release(data, rng=rng).weights

    assert learner.guarantee().gdp().upper < 1
    assert (np.sign(plan.apply(rows) @ weights) == data.labels).mean() > 0.95


PLANE = SignProjection(features=5, dimension=2, seed=3)


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
            "base": (
                None,
                "perceptron",
                ClassMeans(classes=2, sigma=1, relation=AddRemove()),
                base(features=5),
            ),
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
    kesler = KeslerPerceptron(classes=3, margin=0.1, steps=20, sigma=3, relation=AddRemove())
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
