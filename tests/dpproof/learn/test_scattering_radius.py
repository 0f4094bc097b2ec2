"""How far scattering features move with an image."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.learn import attack, certify_radius
from dpproof.learn.certified_radius import _passed, lipschitz
from dpproof.mechanisms import ScatteringFeatures
from dpproof.mechanisms.learning.maps.scattering_features import filters_of


def model(plan: ScatteringFeatures, classes: int, seed: int) -> Any:  # noqa: ANN401
    """A fitted linear classifier of random weights."""
    rng = np.random.default_rng(seed)
    one = SimpleNamespace(
        coef_=rng.normal(size=(classes, plan.output_features)),
        intercept_=rng.normal(size=classes) / 10,
        classes_=np.arange(classes),
        map_=plan,
    )
    one.predict = lambda rows: (plan.apply(rows) @ one.coef_.T + one.intercept_).argmax(axis=1)
    return one


@pytest.mark.parametrize(
    "plan",
    [
        ScatteringFeatures(features=36, floor=None, norm=64),
        ScatteringFeatures(features=24, height=4, scales=3, angles=2, floor=None, norm=64),
        ScatteringFeatures(features=36, floor=0.25, norm=64),
    ],
    ids=["two scales", "three scales", "divided"],
)
def test_no_derivative_exceeds_the_bound(plan: ScatteringFeatures) -> None:
    """Of the map at many images, from constant to noise; the bound is not much above the worst."""
    rng = np.random.default_rng(1)
    steps = np.eye(plan.features) * 2.0**-8
    worst = 0.0
    for trial in range(12):
        size = 10.0 ** rng.uniform(-2, 1)
        image = rng.normal(size=plan.features) if trial % 3 else np.ones(plan.features)
        image = image * size / np.sqrt(plan.features)
        moved = plan.apply(np.concatenate([image + steps, image - steps]))
        jacobian = (moved[: plan.features] - moved[plan.features :]) * 2.0**7
        worst = max(worst, float(np.linalg.norm(jacobian, 2)) * 64)

    assert 0.4 * lipschitz(plan) < worst < lipschitz(plan)


@pytest.mark.parametrize("children", [{}, {0: 0.7}, {0: 0.9, 1: 2.0}], ids=str)
def test_a_layer_is_bounded_exactly(children: dict[int, float]) -> None:
    """The bound is the largest singular value of the layer, written as a matrix of all pixels."""
    plan = ScatteringFeatures(features=49, angles=3)
    low, wavelets = filters_of(plan)[0]
    parts = [(low, 4, 1.0)]
    parts += [(one, 2**j, c) for j, c in children.items() for one in wavelets[j]]
    pixels = np.eye(64).reshape(64, 8, 8)
    outputs = []
    for one, step, weight in parts:
        kept = np.fft.ifft2(np.fft.fft2(pixels) * one)[:, ::step, ::step] * step * weight**0.5
        outputs += [kept.real.reshape(64, -1), kept.imag.reshape(64, -1)]
    exact = np.linalg.norm(np.concatenate(outputs, axis=1), 2)

    assert plan.sides == (8, 8)
    assert exact * (1 - 1e-12) <= np.sqrt(_passed(plan, 0, children)) < exact * (1 + 1e-7)


def test_layers_are_weighted_by_what_follows_them() -> None:
    """Theorem 1 written out for two scales; with fewer layers, or lighter ones, it is smaller."""
    plan = ScatteringFeatures(features=25, angles=3, floor=None)
    last = _passed(plan, 1, {})
    first = {0: _passed(plan, 0, {1: last}), 1: last}
    whole = _passed(plan, 0, first)

    assert lipschitz(plan) ** 2 == pytest.approx(whole, rel=1e-12)
    assert lipschitz(plan) ** 2 >= whole
    assert whole > _passed(plan, 0, {0: _passed(plan, 0, {}), 1: last}) * (1 + 1e-9)
    assert whole > _passed(plan, 0, {}) * (1 + 1e-9)


@pytest.mark.parametrize("norm", [None, 2])
@pytest.mark.parametrize("floor", [None, 0.25])
def test_no_image_within_the_radius_is_called_otherwise(
    norm: float | None, floor: float | None
) -> None:
    """Along random directions, along the gap's own slope, and by every coordinate."""
    rng = np.random.default_rng(3)
    plan = ScatteringFeatures(features=16, scales=1, angles=3, floor=floor, norm=norm)
    one = model(plan, 3, seed=4)
    rows = rng.normal(size=(3, 16)) * 10.0 ** rng.uniform(-1, 1, size=(3, 1))
    labels = one.predict(rows)
    radii = certify_radius(one, rows, labels)
    coordinates = certify_radius(one, rows, labels, norm="linf")
    assert (radii > 0).any()
    for row, label, radius, small in zip(rows, labels, radii, coordinates, strict=True):
        steps = rng.normal(size=(100, 16))
        values = plan.apply(row + steps * 1e-3) @ one.coef_.T
        slopes = np.linalg.lstsq(steps, values - values.mean(axis=0), rcond=None)[0].T
        steps = np.concatenate([steps, slopes[:, :] - slopes[label], -row[np.newaxis]])
        steps /= np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-300)
        near = np.concatenate([steps * radius, steps * radius / 2, np.sign(steps) * small])

        assert (one.predict(row + near * (1 - 1e-9)) == label).all()
    assert coordinates == pytest.approx(radii / 4)


def test_an_attack_is_refused() -> None:
    """Nothing here descends through the transform, so the upper end would be empty."""
    plan = ScatteringFeatures(features=16, scales=1)
    with pytest.raises(ParameterError, match="no attack"):
        attack(model(plan, 2, seed=1), np.ones((1, 16)), [0], radius=1)
