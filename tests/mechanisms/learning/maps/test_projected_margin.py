"""What a projection keeps of a margin."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import margin_after_projection, projection_dimension
from dpproof.mechanisms.learning.maps.projected_margin import sign_projection_dimension


@pytest.mark.parametrize(("k", "c", "kept"), [(1, 0.5, 0.2), (40, 0.3, 0.15), (800, 0.3, 0.15)])
def test_the_integral_at_thirty_digits(k: int, c: float, kept: float) -> None:
    """The law of chi and normal, integrated by mpmath."""
    with mpmath.workdps(30):
        half, root = mpmath.mpf(k) / 2, mpmath.sqrt(k)
        spread = mpmath.sqrt(1 - mpmath.mpf(c) ** 2)

        def mass(t: Any) -> Any:  # noqa: ANN401  # mpmath's numbers
            density = 2 ** (1 - half) * t ** (k - 1) * mpmath.exp(-t * t / 2) / mpmath.gamma(half)
            return density * mpmath.ncdf((kept * root - c * t) / spread)

        expected = mpmath.quad(mass, [0, root / 2, root, root + 2, root + 5, root + 15])
    found = margin_after_projection(dimension=k, margin=c, kept=kept)

    assert found == pytest.approx(float(expected), rel=1e-10)


def test_projected_margins_have_the_law() -> None:
    """Gaussian matrices in 12 dimensions, within five standard errors; seed 3."""
    rng = np.random.default_rng(3)
    u, v = np.eye(12)[0], np.zeros(12)
    v[:2] = 0.3, math.sqrt(1 - 0.09)
    matrices = rng.normal(size=(20_000, 10, 12)) / math.sqrt(10)
    mapped, other = matrices @ u, matrices @ v
    kept = (mapped * other).sum(axis=1) / np.linalg.norm(mapped, axis=1)
    expected = margin_after_projection(dimension=10, margin=0.3, kept=0.1)

    assert np.mean(kept < 0.1) == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(20_000))


@pytest.mark.parametrize(
    ("margin", "gaussian", "signs"),
    [(0.3, 829, 2766), (0.2, 1913, 6000), (0.1, 7767, 23169), (0.05, 31181, 91105)],
)
def test_dimensions_for_half_of_the_margin(margin: float, gaussian: int, signs: int) -> None:
    """Those of the specification, for 10^4 points and failure 0.05; one less is too few."""
    half = margin / 2
    given: dict[str, Any] = {"margin": margin, "kept": half}

    assert projection_dimension(**given, points=10_000, failure=0.05) == gaussian
    assert 10_000 * margin_after_projection(**given, dimension=gaussian) <= 0.05
    assert 10_000 * margin_after_projection(**given, dimension=gaussian - 1) > 0.05
    assert sign_projection_dimension(distortion=half, points=10_000, failure=0.05) == signs


def test_refusals() -> None:
    """A share in place of a margin, and numbers that are none."""
    good: dict[str, Any] = {"dimension": 10, "margin": 0.3, "kept": 0.1}
    for name, values in (
        ("dimension", (0, 1.5)),
        ("margin", (0, 1.5, None)),
        ("kept", (0.5, 0.3, -1)),
    ):
        for value in values:
            with pytest.raises(ParameterError, match=name):
                margin_after_projection(**{**good, name: value})

    assert margin_after_projection(dimension=9, margin=1, kept=0.5) < 0.1


def test_the_dimension_is_the_inverse_of_the_probability() -> None:
    """The stated dimension is enough for all points together, and one less is not."""
    for margin, points in ((0.3, 10_000), (0.2, 50)):
        stated = projection_dimension(margin=margin, kept=margin / 2, points=points, failure=0.05)
        chances = [
            points * margin_after_projection(dimension=k, margin=margin, kept=margin / 2)
            for k in (stated - 1, stated)
        ]

        assert chances[1] <= 0.05 < chances[0]
