"""Robust accuracy as a bracket, and the attack."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpproof.accountant import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.learn import PerceptronClassifier, attack, certify_radius, robust_accuracy
from dpproof.learn.certified_radius import shares_of_length
from dpproof.mechanisms import FourierFeatures, MonomialFeatures
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


def test_robust_accuracy_refusals() -> None:
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


def test_two_classes_by_hand() -> None:
    """The distance to the line, 0 on the wrong side, of an unknown label and of a broken row."""
    rows = [[3.0, 4.0], [-1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [np.nan, 0.0]]
    found = certify_radius(model([3.0, 4.0], [5.0]), rows, [1, 1, 0, 7, 1])
    coordinates = certify_radius(model([3.0, 4.0], [5.0]), rows, [1, 1, 0, 7, 1], norm="linf")

    assert found == pytest.approx([6, 2, 0, 0, 0])
    assert coordinates == pytest.approx([30 / 7, 10 / 7, 0, 0, 0])
    assert (found[:2] <= [6, 2]).all()
    assert certify_radius(model([3.0, 4.0]), [[-3.0, -4.0]]) == pytest.approx([5])
    words = model([1.0, 0.0], classes=["no", "yes"])
    assert certify_radius(words, [[2.0, 0.0]] * 2, ["yes", "no"]) == pytest.approx([2, 0])


def test_equal_weights_are_a_tie_or_never_lost() -> None:
    """Two classes of the same weights differ by their offsets alone."""
    weights = [[1.0, 0.0], [1.0, 0.0]]

    assert certify_radius(model(weights), [[1.0, 1.0]], [0]) == 0
    assert certify_radius(model(weights, [2, 1]), [[1.0, 1.0]] * 2, [0, 1]).tolist() == [np.inf, 0]
    tiny = model(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]) * 1e-250, [0, 0, -1])
    assert certify_radius(tiny, [[5.0, 0.0]], [1]) == pytest.approx([5])


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_several_classes_are_exact(norm: str) -> None:
    """On circles of the norm just inside all is kept, just outside something is lost."""
    rng = np.random.default_rng(1)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    if norm == "linf":
        circle /= np.abs(circle).max(axis=1, keepdims=True)
        circle = np.concatenate([circle, [[1, 1], [1, -1], [-1, 1], [-1, -1]]])
    for _ in range(10):
        one = model(rng.normal(size=(4, 2)), rng.normal(size=4))
        row = rng.normal(size=(1, 2))
        label = one.predict(row)
        radius = certify_radius(one, row, label, norm=norm)[0]
        if not np.isfinite(radius):
            continue
        assert (one.predict(row + circle * radius * (1 - 1e-7)) == label).all()
        assert (one.predict(row + circle * radius * (1 + 1e-4)) != label).any()


@pytest.mark.some(3)
@pytest.mark.parametrize(("features", "norm"), [(2, 6.0), (2, 1.0), (2, None), (7, 6.0), (7, None)])
def test_fourier_radii_hold_and_are_larger_than_the_papers(
    features: int, norm: float | None
) -> None:
    """No point of a dense search inside is called otherwise; the paper's radius is never larger."""
    rng = np.random.default_rng(4)
    plan = FourierFeatures(features=features, frequencies=60, width=1, seed=2, norm=norm)
    one = model(rng.normal(size=(3, 120)), [0.1, 0, -0.1], plan=plan)
    rows = rng.normal(size=(12, features)) * 1.5
    labels = one.predict(rows)
    radii = certify_radius(one, rows, labels)
    paper = certify_radius(one, rows, labels, curvature=False)
    coordinates = certify_radius(one, rows, labels, norm="linf")
    for row, label, radius, small in zip(rows, labels, radii, coordinates, strict=True):
        steps = rng.normal(size=(1_500, features))
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        near = np.concatenate([steps * radius, steps * radius / 2, np.sign(steps) * small])

        assert (one.predict(row + near * (1 - 1e-9)) == label).all()
    assert (radii >= paper * (1 - 1e-9)).all()
    assert radii.mean() > 1.15 * paper.mean()
    assert coordinates == pytest.approx(radii / np.sqrt(features))


def test_one_wave_is_known_exactly() -> None:
    """Of cos(x) against 0 the border is a quarter turn away; the radius knows it from the slope."""
    plan = FourierFeatures(features=1, frequencies=1, width=1, seed=5, norm=8)
    wave = abs(float(plan.matrix()[0, 0]))
    one = model([1.0, 0.0], plan=plan)
    at_top, beside = certify_radius(one, [[0.0], [0.9 / wave]], [1, 1]) * wave

    # From the top: g = 1, slope min(t, 1): t = 1 + 1/2. Beside it: gap cos, slope sin.
    assert at_top == pytest.approx(1.5, abs=1e-4)
    assert 0.62 < beside < np.pi / 2 - 0.9
    assert certify_radius(one, [[0.0]], [1], curvature=False) * wave == pytest.approx(1, abs=1e-4)


def test_chords_become_shares_of_a_length() -> None:
    """A move turns a row by less than the chord allows, and one as much beyond turns it further."""
    for chord in (0.1, 0.7, 1.3):
        share = float(shares_of_length(np.array([chord]))[0])
        for moved, inside in ((share, True), (share * 1.001, False)):
            # The move that turns most is orthogonal to where it ends.
            end = np.array([1 - moved**2, moved * np.sqrt(1 - moved**2)])
            turned = np.linalg.norm(end / np.linalg.norm(end) - [1, 0])

            assert bool(turned <= chord * (1 + 1e-12)) == inside
    assert shares_of_length(np.array([1.5, np.inf])) == pytest.approx([1, 1])


@pytest.mark.parametrize("norm", [1.0, None])
def test_rows_are_mapped_near_where_they_are_clipped(norm: float | None) -> None:
    """Within the stated rounding, of rows of all sizes and widths."""
    rng = np.random.default_rng(6)
    for features in (1, 3, 784):
        plan = FourierFeatures(features=features, frequencies=1, width=1, seed=1, norm=norm)
        rows = rng.normal(size=(40, features)) * 10.0 ** rng.integers(-4, 4, size=(40, 1))
        exact = rows.astype(np.longdouble)
        sizes = np.sqrt(np.square(exact).sum(axis=1, keepdims=True))
        clipped = exact / sizes if norm is None else exact / np.maximum(sizes, 1)
        moved = np.sqrt(np.square(plan.clipped(rows) - clipped).sum(axis=1))

        assert moved.max() <= plan.rounding
        assert plan.rounding < 1e-4


def test_certified_radius_refusals() -> None:
    """Other norms, shapes, maps and models."""
    with pytest.raises(ParameterError, match="norm"):
        certify_radius(model([1.0]), [[1.0]], norm="l1")
    with pytest.raises(ParameterError, match="wide"):
        certify_radius(model([1.0]), [[1.0, 2.0]])
    with pytest.raises(ParameterError, match="one label"):
        certify_radius(model([1.0]), [[1.0]], [1, 1])
    with pytest.raises(ParameterError, match="fitted"):
        certify_radius(SimpleNamespace(), [[1.0]])
    with pytest.raises(ParameterError, match="finite"):
        certify_radius(model([np.nan]), [[1.0]])
    monomials = MonomialFeatures(features=1, degree=1)
    with pytest.raises(ParameterError, match="Fourier or scattering features"):
        certify_radius(model([1.0, 1.0], plan=monomials), [[1.0]])
