"""Halfspaces of public covers as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import BoundedRange, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.learn import CoverClassifier
from dpproof.mechanisms import CoverUnion, FourierFeatures, RademacherProjection, RandomDirections

datasets = pytest.importorskip("sklearn.datasets")
X, Y = datasets.load_breast_cancer(return_X_y=True)
X = X[:, :6] / np.array([30, 40, 200, 2000, 0.2, 0.4])
PLAN = RademacherProjection(features=6, dimension=3, seed=2, norm=3)
WAVES = FourierFeatures(features=6, frequencies=2, width=2, seed=1, norm=3)


def cover(dimension: int, seed: int = 1) -> RandomDirections:
    """Two thousand directions."""
    return RandomDirections(size=2_000, dimension=dimension, seed=seed)


def model(**changes: Any) -> CoverClassifier:  # noqa: ANN401  # whatever it takes
    """The classifier of tumours with an offset, purely private."""
    given = {"epsilon": 1, "classes": [0, 1], "cover": cover(7), "fit_intercept": True}
    return CoverClassifier(**{"relation": ReplaceOne(), **given, **changes})


def test_tumours_end_to_end() -> None:
    """Pure, priced before the fit, better than the larger class after it, and certified."""
    found = model().fit(X, Y)

    assert found.guarantee_ == BoundedRange(epsilon=1, relation=ReplaceOne())
    assert found.score(X, Y) > 0.7
    assert found.coef_.shape == (1, 6)
    assert 0 <= found.index_ < 2_000
    assert isinstance(proofs.check(found.certificate()), proofs.VerifiedUnder)
    assert found.guarantee_.epsilon(delta=0).upper == 1


@pytest.mark.parametrize(
    ("changes", "width", "mapped"),
    [
        ({"map": PLAN, "cover": cover(3)}, 6, False),
        ({"map": WAVES, "cover": cover(4)}, 4, True),
        (
            {"cover": CoverUnion(covers=(cover(3), cover(6)), maps=(PLAN, None)), "prior": (1, 2)},
            6,
            False,
        ),
    ],
    ids=["linear", "waves", "union"],
)
def test_maps_go_with_the_model(changes: dict[str, Any], width: int, *, mapped: bool) -> None:
    """Weights after a projection are for the rows; else predictions map their rows first."""
    found = model(fit_intercept=False, epsilon=50, **changes).fit(X, Y)

    assert found.coef_.shape == (1, width)
    assert (found.map_ is not None) == mapped
    wrong = int(
        found.learner().mistakes(  # type: ignore[attr-defined]
            found.labelled(X, Y), start=found.index_, stop=found.index_ + 1
        )[0]
    )
    assert round((1 - found.score(X, Y)) * len(Y)) == pytest.approx(wrong, abs=1)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"classes": [0, 1, 2]}, "two labels"),
        ({"cover": None}, "cover must be"),
        ({"epsilon": None}, "epsilon, factor must be"),
        (
            {"fit_intercept": False, "cover": CoverUnion(covers=(cover(4),), maps=(WAVES,))},
            "linear",
        ),
        ({"map": PLAN}, "fit_intercept must be"),
    ],
)
def test_refusals(changes: dict[str, Any], text: str) -> None:
    """What has no price or no prediction is refused before there is data."""
    with pytest.raises(ParameterError, match=text):
        model(**changes).guarantee()
