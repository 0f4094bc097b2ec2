"""Certified radii of linear classifiers on randomly projected rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpproof.learn import certify_radius, robust_accuracy
from dpproof.mechanisms import GaussianProjection, RademacherProjection, SignProjection

SHAPE = {"features": 3, "dimension": 2, "seed": 3}
PLANS = [
    SignProjection(**SHAPE),
    SignProjection(features=3, dimension=3, seed=1),  # the identity, with rows scaled to norm 1
    GaussianProjection(**SHAPE, norm=2),
    RademacherProjection(**SHAPE, norm=2),
    RademacherProjection(features=3, dimension=5, seed=1, norm=2),  # clipping alone
]


def model(weights: Any, offsets: Any, plan: Any) -> Any:  # noqa: ANN401  # as if fitted
    """A fitted classifier of several classes on mapped rows."""
    coef, intercept = np.asarray(weights, dtype=float), np.asarray(offsets, dtype=float)
    return SimpleNamespace(
        coef_=coef,
        intercept_=intercept,
        classes_=np.arange(len(coef)),
        predict=lambda rows: (plan.apply(rows) @ coef.T + intercept).argmax(axis=1),
        map_=plan,
    )


def directions(norm: str) -> Any:  # noqa: ANN401
    """Many moves of size 1 in a norm."""
    moves = np.random.default_rng(5).normal(size=(4_000, 3))
    if norm == "linf":
        corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
        return np.concatenate([moves / np.abs(moves).max(axis=1, keepdims=True), corners])
    return moves / np.linalg.norm(moves, axis=1, keepdims=True)


@pytest.mark.some(10)
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
@pytest.mark.parametrize("offset", [0.0, 0.3, 3.0])
def test_no_row_within_a_radius_is_called_otherwise(plan: Any, norm: str, offset: float) -> None:  # noqa: ANN401
    """On a dense sphere just inside, and on smaller ones, the kept class wins; radii are useful."""
    rng, moves = np.random.default_rng(8), directions(norm)
    found = []
    for size in (0.2, 1.0, 5.0):
        one = model(rng.normal(size=(3, plan.output_features)), rng.normal(size=3) * offset, plan)
        rows = rng.normal(size=(6, 3)) * size
        labels = one.predict(rows)
        radii = certify_radius(one, rows, labels, norm=norm)
        for row, label, radius in zip(rows, labels, radii, strict=True):
            for share in (1 - 1e-9, 0.9, 0.5):
                if np.isfinite(radius):
                    assert (one.predict(row + moves * radius * share) == label).all()
        found.append(radii)
    assert (np.concatenate(found) > 0).mean() > (0.3 if offset else 0.99)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_radii_without_offsets_are_those_of_the_weights_before_projecting(
    plan: Any,  # noqa: ANN401
    norm: str,
) -> None:
    """Scaling and clipping change no sign, so at most 1e-4 of the exact radius is lost."""
    rng = np.random.default_rng(9)
    one = model(rng.normal(size=(3, plan.output_features)), np.zeros(3), plan)
    rows = rng.normal(size=(50, 3)) * 4
    plain = SimpleNamespace(
        coef_=one.coef_ @ plan.matrix(),
        intercept_=np.zeros(3),
        classes_=one.classes_,
        predict=one.predict,
        map_=None,
    )
    exact = certify_radius(plain, rows, norm=norm)
    radii = certify_radius(one, rows, norm=norm)

    assert (radii <= exact * (1 + 1e-12)).all()
    assert radii == pytest.approx(exact, rel=1e-4, abs=1e-4)


def test_offsets_cost_the_operator_norm_and_attacks_find_what_is_left() -> None:
    """With an offset the radius is the gap over the sum of both slopes; a bracket holds it."""
    plan = SignProjection(features=2, dimension=2, seed=1)
    one = model([[0.0, 0.0], [1.0, 0.0]], [0.0, -0.5], plan)
    # x is called 1 if x_1 / ||x|| > 1/2: (2, 0) is 2 sin(60 degrees) from the border.
    radius = certify_radius(one, [[2.0, 0.0]], [1])[0]
    bracket = robust_accuracy(one, [[2.0, 0.0]], [1], radius=0.6)

    assert radius == pytest.approx((2 - 1) / 1.5, rel=1e-4)
    assert radius < 2 * np.sin(np.pi / 3)
    assert (bracket.lower, bracket.upper) == (1.0, 1.0)
    assert robust_accuracy(one, [[2.0, 0.0]], [1], radius=1.9).upper == 0


def test_equal_weights_are_decided_by_their_offsets() -> None:
    """No move changes the order of scores that differ by a constant; ties have radius 0."""
    plan = GaussianProjection(features=2, dimension=1, seed=1, norm=1)
    rows = [[0.5, 0.5]] * 2

    assert certify_radius(model([[1.0], [1.0]], [2, 1], plan), rows, [0, 1]).tolist() == [np.inf, 0]
    assert certify_radius(model([[1.0], [1.0]], [1, 1], plan), rows, [0, 1]).tolist() == [0, 0]
