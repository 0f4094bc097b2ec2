"""What a projection keeps of a margin."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms import GaussianProjection
from experiments.plans.projected_margin import (
    cosine_after_projection,
    cosine_dimension,
    margin_after_projection,
    projection_dimension,
    sign_projection_dimension,
    sign_projection_failure,
)


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


def test_gaussian_projections_have_the_law_of_the_calculator() -> None:
    """Over 1,500 seeds, the share of lost margins, within five standard errors."""
    u, v = np.array([1.0, 0, 0, 0, 0, 0]), np.array([0.5, 0.75**0.5, 0, 0, 0, 0])
    lost = 0
    for seed in range(1_500):
        mapped, other = GaussianProjection(features=6, dimension=4, seed=seed).apply(
            np.array([u, v])
        )
        lost += mapped @ other / np.linalg.norm(mapped) < 0.2
    expected = margin_after_projection(dimension=4, margin=0.5, kept=0.2)

    assert lost / 1_500 == pytest.approx(expected, abs=5 * 0.5 / 1_500**0.5)


def test_sign_dimensions_are_the_inverse_of_their_failure() -> None:
    """The fewest dimensions of sign projections; what no number reaches is refused."""
    for distortion, points, failure in ((0.1, 1, 1e-9), (0.5, 10**6, 0.5), (0.99, 7, 0.01)):
        least = sign_projection_dimension(distortion=distortion, points=points, failure=failure)
        chances = [
            sign_projection_failure(dimension=k, distortion=distortion, points=points)
            for k in (least, least - 1)
        ]

        assert chances[0] <= failure < chances[1]
    with pytest.raises(CalibrationError, match="larger distortion"):
        sign_projection_dimension(distortion=1e-200, points=9, failure=0.1)
    assert math.isfinite(sign_projection_dimension(distortion=1e-100, points=9, failure=0.1))


def test_in_the_plane_the_probability_is_known() -> None:
    """Two dimensions turn an acute angle into an obtuse one with probability (1 - rho) / 2."""
    for rho in (0.1, 0.5, 0.9):
        below = cosine_after_projection(dimension=2, margin=rho, kept=0)

        assert below == pytest.approx((1 - rho) / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("dimension", "margin", "kept"), [(3, 0.5, 0.2), (20, 0.3, 0.1), (50, 0.2, 0.1), (7, 0.1, 0.0)]
)
def test_simulated_cosines_agree(dimension: int, margin: float, kept: float) -> None:
    """A hundred thousand projections with a fixed seed agree to five standard errors."""
    rng = np.random.default_rng(7)
    u = rng.normal(size=(100_000, dimension))
    v = margin * u + math.sqrt(1 - margin**2) * rng.normal(size=u.shape)
    cosine = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    exact = cosine_after_projection(dimension=dimension, margin=margin, kept=kept)

    assert abs(np.mean(cosine <= kept) - exact) < 5 * math.sqrt(exact * (1 - exact) / 100_000)


@pytest.mark.parametrize(
    ("margin", "shares"),
    [
        (0.3, (382, 905, 125, 294, 102, 241)),
        (0.2, (912, 2159, 288, 681, 235, 554)),
        (0.1, (3777, 8937, 1173, 2774, 951, 2249)),
        (0.05, (15236, 36050, 4710, 11142, 3816, 9028)),
    ],
)
def test_cosine_dimensions_computed_elsewhere(margin: float, shares: tuple[int, ...]) -> None:
    """For half, a tenth and none of the margin, at failures 1e-3 and 1e-6."""
    found = [
        cosine_dimension(margin=margin, share=share, failure=failure)
        for share in (0.5, 0.1, 0)
        for failure in (1e-3, 1e-6)
    ]

    assert tuple(found) == shares


def test_a_cosine_dimension_is_the_inverse_of_the_probability() -> None:
    """At the dimension the failure is kept, at one less it is not."""
    for margin, share, failure in ((0.3, 0.5, 1e-3), (0.9, 0.1, 0.01), (0.05, 0.0, 1e-9)):
        m = cosine_dimension(margin=margin, share=share, failure=failure)
        at, before = (
            cosine_after_projection(dimension=k, margin=margin, kept=share * margin)
            for k in (m, m - 1)
        )

        assert at <= failure < before


def test_cosine_projection_refusals() -> None:
    """Dimensions, cosines, shares and failures outside their domains are refused."""
    for bad in ({"dimension": 1}, {"margin": 1}, {"margin": 0}, {"kept": 0.3}, {"kept": -0.1}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            cosine_after_projection(**{"dimension": 9, "margin": 0.3, "kept": 0.1, **bad})  # type: ignore[arg-type]
    for other in ({"share": 1}, {"share": -1}, {"failure": 0}, {"failure": 1}):
        with pytest.raises(ParameterError, match=next(iter(other))):
            cosine_dimension(**{"margin": 0.3, "share": 0.5, "failure": 0.1, **other})
    with pytest.raises(CalibrationError, match="no dimension"):
        cosine_dimension(margin=1e-4, share=0.5, failure=1e-3)
