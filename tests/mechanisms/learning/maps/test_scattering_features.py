"""The scattering transform of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import ScatteringFeatures
from dpproof.mechanisms.learning.maps.scattering_features import filters_of
from tests.contracts.map_contract import MapContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad


class TestScatteringFeatures(MapContract):
    """Of images one pixel high."""

    def map(self, features: int = 37) -> ScatteringFeatures:
        """One scale and two angles."""
        return ScatteringFeatures(features=features, height=1, scales=1, angles=2)

    def other(self) -> ScatteringFeatures:
        """Another floor."""
        return ScatteringFeatures(features=37, height=1, scales=1, angles=2, floor=0.5)

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {
            "features": (0, 2.5, None, 2**25),
            "height": (0, 4, 2.0, True),
            "scales": (0, 6, 1.5),
            "angles": (0, 2**24, "8"),
            "floor": [bad for bad in NOT_POSITIVE if bad is not None],
            "norm": [bad for bad in NOT_POSITIVE if bad is not None],
        }
        return one_bad(ScatteringFeatures, good={"features": 6, "height": 2}, bad=bad)


def _slow(values: np.ndarray, filter_: np.ndarray) -> np.ndarray:
    """Convolve by the definition of the Fourier transform, in long doubles."""
    turn = 8 * np.arctan(np.longdouble(1)) * np.clongdouble(-1j)
    down, across = (
        np.exp(turn * (np.outer(np.arange(side), np.arange(side)) % side) / side)
        for side in values.shape
    )
    product = (down @ values @ across) * filter_
    found: np.ndarray = down.conj() @ product @ across.conj() / values.size
    return found


@pytest.mark.parametrize("floor", [None, 0.25])
def test_features_are_those_of_the_definition(floor: float | None) -> None:
    """Filter by sums over all pixels, keep every other value, take sizes, and again."""
    plan = ScatteringFeatures(features=45, height=5, angles=3, floor=floor, norm=8)
    image = np.random.default_rng(1).normal(size=45) / 8
    (fine, middle), padded = filters_of(plan), np.zeros((8, 12))
    padded[:5, :9] = image.reshape(5, 9)
    assert plan.sides == (8, 12)

    found, second = [_slow(padded, fine[0]).real[::4, ::4] * 4], []
    for wavelet in fine[1][0]:
        sizes = np.abs(_slow(padded, wavelet))
        found.append(_slow(sizes, fine[0]).real[::4, ::4] * 4)
        for coarser in fine[1][1]:
            twice = np.abs(_slow(sizes, coarser))[::2, ::2] * 2
            second.append(_slow(twice, middle[0]).real[::2, ::2] * 2)
    for wavelet in fine[1][1]:
        sizes = np.abs(_slow(padded, wavelet))[::2, ::2] * 2
        found.append(_slow(sizes, middle[0]).real[::2, ::2] * 2)
    expected = np.array(found + second).reshape(plan.channels, -1)
    if floor is not None:
        expected -= expected.mean(axis=1, keepdims=True)
        expected /= np.sqrt(np.square(expected).sum(axis=1, keepdims=True) + floor)

    assert np.abs(plan._scattered(image) - expected.ravel()).max() < 2.0**-44
    assert plan.apply(image[np.newaxis] * 8)[0] == pytest.approx(
        expected.ravel().astype(float), abs=1e-5
    )


def test_wavelets_have_no_mean_and_keep_energy() -> None:
    """A constant image has no waves; the finest wavelets together add no energy."""
    for low, wavelets in filters_of(ScatteringFeatures(features=784)):
        assert low[0, 0] == pytest.approx(1)
        assert all(np.abs(waves[:, 0, 0]).max() < 1e-12 for waves in wavelets.values())
    energy = sum(
        np.square(waves).sum(axis=0)
        for waves in filters_of(ScatteringFeatures(features=784))[0][1].values()
    )
    mirrored = np.roll(energy[::-1, ::-1], (1, 1), axis=(0, 1))

    assert (energy + mirrored).max() / 2 == pytest.approx(1, abs=1e-12)


def test_bright_and_dark_images_are_alike() -> None:
    """Rows scaled to norm 1 forget their size, but for the grid."""
    plan = ScatteringFeatures(features=64)
    rows = np.abs(np.random.default_rng(2).normal(size=(3, 64)))

    assert plan.apply(rows * 1e-9) == pytest.approx(plan.apply(rows * 1e9), abs=1e-5)


def test_a_height_is_needed_unless_images_are_square() -> None:
    """Forty-eight pixels are no square."""
    with pytest.raises(ParameterError, match="height"):
        ScatteringFeatures(features=48)
    assert ScatteringFeatures(features=48, height=6).sides == (8, 12)
