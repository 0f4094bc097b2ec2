"""What a projection keeps of a cosine: against simulation, closed cases, and its own inverse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms.learning.planning.cosine_projection import (
    cosine_after_projection,
    cosine_dimension,
)


def test_in_the_plane_the_probability_is_known() -> None:
    """Two dimensions turn an acute angle into an obtuse one with probability (1 - rho) / 2."""
    for rho in (0.1, 0.5, 0.9):
        below = cosine_after_projection(dimension=2, margin=rho, kept=0)

        assert below == pytest.approx((1 - rho) / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("dimension", "margin", "kept"), [(3, 0.5, 0.2), (20, 0.3, 0.1), (50, 0.2, 0.1), (7, 0.1, 0.0)]
)
def test_simulation_agrees(dimension: int, margin: float, kept: float) -> None:
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
def test_dimensions_are_those_computed_elsewhere(margin: float, shares: tuple[int, ...]) -> None:
    """For half, a tenth and none of the margin, at failures 1e-3 and 1e-6."""
    found = [
        cosine_dimension(margin=margin, share=share, failure=failure)
        for share in (0.5, 0.1, 0)
        for failure in (1e-3, 1e-6)
    ]

    assert tuple(found) == shares


def test_the_dimension_is_the_inverse_of_the_probability() -> None:
    """At the dimension the failure is kept, at one less it is not."""
    for margin, share, failure in ((0.3, 0.5, 1e-3), (0.9, 0.1, 0.01), (0.05, 0.0, 1e-9)):
        m = cosine_dimension(margin=margin, share=share, failure=failure)
        at, before = (
            cosine_after_projection(dimension=k, margin=margin, kept=share * margin)
            for k in (m, m - 1)
        )

        assert at <= failure < before


def test_refusals() -> None:
    """Dimensions, cosines, shares and failures outside their domains are refused."""
    for bad in ({"dimension": 1}, {"margin": 1}, {"margin": 0}, {"kept": 0.3}, {"kept": -0.1}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            cosine_after_projection(**{"dimension": 9, "margin": 0.3, "kept": 0.1, **bad})  # type: ignore[arg-type]
    for other in ({"share": 1}, {"share": -1}, {"failure": 0}, {"failure": 1}):
        with pytest.raises(ParameterError, match=next(iter(other))):
            cosine_dimension(**{"margin": 0.3, "share": 0.5, "failure": 0.1, **other})
    with pytest.raises(CalibrationError, match="no dimension"):
        cosine_dimension(margin=1e-4, share=0.5, failure=1e-3)
