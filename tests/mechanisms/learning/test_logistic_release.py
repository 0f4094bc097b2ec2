"""The scale of the output noise of an approximate minimum, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.logistic_objective import (
    _FINER,
    _MOST_RECORDS,
    _PARTS,
    GRADIENT,
    Release,
    _root_up,
)
from dpproof.mechanisms.samplers import default_granularity


def unused(*_: object) -> Any:  # noqa: ANN401
    """No noise is drawn here."""
    raise AssertionError


RELEASE = Release(
    decay=Fraction(3, 7),
    scale=Fraction(5),
    perturb=unused,
    share=Fraction(1, 10),
    blur=unused,
    by_coordinates=False,
)


@pytest.mark.parametrize("width", [1, 2, 4, 5, 100])
def test_output_noise_hides_twice_the_radius(width: int) -> None:
    """R = (g + beta)/c exactly; scale 2 r over the share, times the root of the width for L1."""
    root = next(k for k in range(width + 1) if k * k >= width)
    beta = default_granularity(RELEASE.scale) / _FINER / 2 * root
    radius = (GRADIENT + beta) / RELEASE.decay
    assert RELEASE.output_scale(width) == 20 * radius
    assert replace(RELEASE, by_coordinates=True).output_scale(width) == 20 * radius * root


def test_roots_are_rounded_up() -> None:
    """The least integer at or above the root."""
    for width in range(1, 200):
        assert (_root_up(width) - 1) ** 2 < width <= _root_up(width) ** 2


@pytest.mark.parametrize("width", [1, 9, 10])
def test_the_largest_grid_is_the_last_that_is_not_refused(width: int) -> None:
    """A unit of the output grid moves the gradient by a quarter of its bound at most."""
    most = GRADIENT / 4 * _PARTS / ((RELEASE.decay + _MOST_RECORDS) * _root_up(width))
    RELEASE._ends(width, most)
    with pytest.raises(ParameterError, match="larger for so much noise"):
        RELEASE._ends(width, most * Fraction(1001, 1000))
