"""Robust accuracy as a bracket, and the attack."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof.accountant import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.learn import PerceptronClassifier, attack, certify_radius, robust_accuracy
from dpproof.mechanisms import FourierFeatures
from tests.dpproof.learn.builders import model

datasets = pytest.importorskip("sklearn.datasets")
X, Y = datasets.load_digits(return_X_y=True)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_of_linear_scores_the_bracket_is_next_to_a_number(norm: str) -> None:
    """The attack finds nearly all that is not certified; accuracy falls with the radius."""
    digits = PerceptronClassifier(epsilon=4, delta=1e-5, classes=range(10)).fit(X, Y)
    rows, labels = X[:300], Y[:300]
    reach = 2.0 if norm == "l2" else 0.25
    found = [
        robust_accuracy(digits, rows, labels, radius=share * reach, norm=norm)
        for share in (0, 1, 4)
    ]

    assert found[0] == Bound(digits.score(rows, labels), digits.score(rows, labels))
    assert all(one.upper - one.lower < 0.02 for one in found)
    assert found[0].lower > found[1].upper > found[2].upper > 0


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_an_attack_stays_within_its_radius_and_never_beats_a_certificate(norm: str) -> None:
    """Of waves: no certified row is lost, many others are, and every point is in the ball."""
    rng = np.random.default_rng(8)
    plan = FourierFeatures(features=4, frequencies=80, width=1.5, seed=3, norm=6)
    waves = model(rng.normal(size=(3, 160)), plan=plan)
    rows = rng.normal(size=(300, 4))
    labels = waves.predict(rows)
    radius = float(np.median(certify_radius(waves, rows, labels, norm=norm))) * 1.2
    moved = attack(waves, rows, labels, radius=radius, norm=norm)
    order = np.inf if norm == "linf" else 2
    lost = waves.predict(moved) != labels
    certified = certify_radius(waves, rows, labels, norm=norm) > radius

    assert np.linalg.norm(moved - rows, ord=order, axis=1).max() <= radius
    assert not (lost & certified).any()
    assert lost.sum() > 30
    assert (moved[~lost] == rows[~lost]).all()
    bracket = robust_accuracy(waves, rows, labels, radius=radius, norm=norm)
    assert bracket == Bound(float(certified.mean()), float((~lost).mean()))


def test_unknown_labels_and_broken_rows_are_wrong() -> None:
    """They are neither certified nor left by the attack."""
    line = model([1.0, 0.0])
    rows = [[5.0, 0.0], [5.0, 0.0], [np.nan, 0.0], [np.nan, 0.0]]

    assert robust_accuracy(line, rows, [1, 7, 1, 7], radius=1) == Bound(0.25, 0.25)


def test_refusals() -> None:
    """Negative radii, other norms, and nothing to average."""
    line = model([1.0, 0.0])
    with pytest.raises(ParameterError, match="radius"):
        robust_accuracy(line, [[1.0, 0.0]], [1], radius=-1)
    with pytest.raises(ParameterError, match="norm"):
        attack(line, [[1.0, 0.0]], [1], radius=1, norm="l0")
    with pytest.raises(ParameterError, match="at least one row"):
        robust_accuracy(line, np.zeros((0, 2)), [], radius=1)
    with pytest.raises(ParameterError, match="steps"):
        attack(line, [[1.0, 0.0]], [1], radius=1, steps=0)
