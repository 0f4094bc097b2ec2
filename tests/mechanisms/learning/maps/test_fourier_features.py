"""Random Fourier features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from dpproof.mechanisms import FourierFeatures
from dpproof.mechanisms.learning.maps.feature_map import cosine, sine
from tests.contracts.map_contract import MapContract
from tests.contracts.mechanism_contract import NOT_POSITIVE, one_bad

GOOD: dict[str, Any] = {"features": 3, "frequencies": 5, "width": 1.5, "seed": 3}


class TestFourierFeatures(MapContract):
    """Of clipped rows."""

    norm: float | None = 4

    def map(self, features: int = 37) -> FourierFeatures:
        """Return the map of seed 3."""
        return FourierFeatures(features=features, frequencies=21, width=1.5, seed=3, norm=self.norm)

    def other(self) -> FourierFeatures:
        """Return the map of seed 4."""
        return FourierFeatures(features=37, frequencies=21, width=1.5, seed=4, norm=self.norm)

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "features": (0, 2.5, None, 2**25),
            "frequencies": (0, -1, "2", 2**23 + 1),
            "width": (*NOT_POSITIVE, 2.0**-15),
            "seed": (None, 0.5, True),
            "norm": (0, -1, "1", 2**16),
        }
        return one_bad(FourierFeatures, good=GOOD, bad=bad)


class TestFourierFeaturesOfUnitRows(TestFourierFeatures):
    """Of rows scaled to norm 1."""

    norm = None


@pytest.mark.parametrize("norm", [2.0**-60, 1.0, 3.0, 2.0**200])
def test_features_are_cosines_and_sines(norm: float) -> None:
    """As the formula says, of the rows as clipped and the frequencies as rounded, in any unit."""
    plan = FourierFeatures(features=3, frequencies=40, width=norm / 5, seed=9, norm=norm)
    rows = np.random.default_rng(1).normal(size=(50, 3)) * norm
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    clipped = rows * np.minimum(1, norm / lengths)
    phases = clipped @ plan.matrix().T
    formula = np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / np.sqrt(40)

    assert plan.apply(rows) == pytest.approx(formula, abs=1e-5)
    assert plan.clipped(rows) == pytest.approx(clipped, abs=1e-6 * norm)


def test_products_are_nearly_the_gaussian_kernel() -> None:
    """Within five standard errors, at every distance."""
    plan = FourierFeatures(features=6, frequencies=4_000, width=2, seed=1, norm=16)
    rows = np.random.default_rng(2).normal(size=(25, 6)) * 1.2
    mapped = plan.apply(rows)
    squares = np.square(rows[:, np.newaxis] - rows).sum(axis=2)

    assert np.abs(mapped @ mapped.T - np.exp(-squares / 8)).max() < 5 / np.sqrt(8_000)
    assert plan.matrix().std() == pytest.approx(1 / 2, rel=0.02)
    assert abs(plan.matrix().mean()) < 5 / 2 / np.sqrt(24_000)


def test_agrees_with_the_textbook() -> None:
    """At multiples of an eighth turn, beside them, and at random: within 2^-50 of mpmath."""
    eighths = np.arange(-4, 5) / 8
    beside = np.concatenate([np.nextafter(eighths, 1)[:-1], np.nextafter(eighths, -1)[1:]])
    turns = np.concatenate([eighths, beside, np.random.default_rng(1).uniform(-0.5, 0.5, 300)])
    with mpmath.workdps(40):
        for found, exact in ((sine(turns), mpmath.sin), (cosine(turns), mpmath.cos)):
            errors = [
                abs(mpmath.mpf(float(value)) - exact(2 * mpmath.pi * mpmath.mpf(float(t))))
                for value, t in zip(found, turns, strict=True)
            ]

            assert max(errors) < 2.0**-50


def test_a_number_stands_alone() -> None:
    """Every number beside others gives the bits that it gives alone."""
    turns = np.random.default_rng(2).uniform(-0.5, 0.5, 67)
    for function in (sine, cosine):
        together = function(turns)

        assert all(function(turns[i : i + 1])[0] == together[i] for i in range(len(turns)))
        assert (function(turns[::-1]) == together[::-1]).all()
