"""Argument checks that mechanisms share."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import Gaussian, Laplace, parameters


def test_a_sensitivity_says_its_norm() -> None:
    """Another norm is refused with the conversion, a bare number with the reason."""
    with pytest.raises(ParameterError, match=r"as_l2\(\)"):
        Gaussian(sigma=1, sensitivity=L1(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="dimension"):
        Laplace(scale=1, sensitivity=LInf(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="norm"):
        Laplace(scale=1, sensitivity=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sensitivity", "units"),
    [
        (Fraction(1), 1),
        (Fraction(29, 10), 2),
        (Fraction(math.sqrt(3)) ** 2, 3),
        (Fraction(math.sqrt(7)) ** 2, 7),
        (Fraction(0.1) * 30, 3),
        (3 - Fraction(1, 2**20), 2),
        (Fraction(2**40), 2**40),
        (Fraction(2**60), 2**60),
        (2**41 + Fraction(1, 2), 2**41 + 1),
    ],
)
def test_whole_part_rounds_to_the_safe_side(sensitivity: Fraction, units: int) -> None:
    """Never below the true whole number that a rounded root stands for."""
    assert parameters.whole_part(sensitivity) == units


def test_whole_part_refuses_a_query_that_never_moves() -> None:
    """Below 1 an integer query is constant."""
    with pytest.raises(ParameterError, match="at least 1"):
        parameters.whole_part(Fraction(1, 2))
