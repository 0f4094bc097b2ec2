"""Argument checks: each is seen to pass and to fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError

NEVER: tuple[Any, ...] = (
    float("nan"),
    float("inf"),
    float("-inf"),
    np.nan,
    "1",
    None,
    True,
    np.True_,
    1j,
    Decimal("NaN"),
    Decimal("Infinity"),
    Decimal("1e999999"),
    [1],
)

DOMAINS: tuple[tuple[Callable[..., Fraction], tuple[Any, ...], tuple[Any, ...]], ...] = (
    (arguments.real, (-1, 0, 2.5, Fraction(-1, 3)), ()),
    (arguments.positive, (1, 5e-324, Fraction(1, 3), Decimal("0.1")), (0, -0.0, -1)),
    (arguments.non_negative, (0, -0.0, 1.5), (-5e-324, -1)),
    (arguments.probability, (0, 1, 0.5), (-5e-324, 1.0000001)),
    (arguments.open_probability, (0.5, Fraction(1, 3)), (0, 1, -1, 2)),
    (arguments.rate, (1, 5e-324), (0, 1.5)),
)


@pytest.mark.parametrize(("checked", "good", "bad"), DOMAINS)
def test_domain(
    checked: Callable[..., Fraction], good: tuple[Any, ...], bad: tuple[Any, ...]
) -> None:
    """Inside the domain the exact value comes back, outside it is refused by name."""
    for value in good:
        assert checked(value=value) == Fraction(value)
    for value in (*bad, *NEVER):
        with pytest.raises(ParameterError, match="sigma must be"):
            checked(sigma=value)


@pytest.mark.parametrize(
    "value", [np.float64(0.1), np.float32(0.1), np.int64(3), np.uint8(3), Fraction(1, 3), 0.1, 3]
)
def test_every_kind_of_real_number_is_exact(value: Any) -> None:  # noqa: ANN401
    """Numpy's scalars, ints, floats and Fractions keep their exact value."""
    expected = value if isinstance(value, Fraction) else Fraction(float(value))
    assert arguments.real(value=value) == expected


def test_large_integers_are_exact() -> None:
    """An int beyond 2**53 is not rounded."""
    assert arguments.real(value=2**80 + 1) == 2**80 + 1


@pytest.mark.parametrize("bad", [0, -1, 10**12 + 1, 1.0, True, "1", None, float("nan")])
def test_counts(bad: Any) -> None:  # noqa: ANN401
    """From 1 to 10**12, whole, and an int."""
    assert arguments.count(count=10**12) == 10**12
    assert arguments.count(count=np.int64(7)) == 7
    with pytest.raises(ParameterError, match="count must be a whole number from 1 to"):
        arguments.count(count=bad)


@pytest.mark.parametrize("bad", [-1, 1.0, True, "1", None])
def test_whole(bad: Any) -> None:  # noqa: ANN401
    """At or above 0, whole, and an int."""
    assert arguments.whole(shift=0) == 0
    with pytest.raises(ParameterError, match="shift must be a whole number >= 0"):
        arguments.whole(shift=bad)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.0, -1.0], r"sigma at \(1,\) must be above 0, got -1"),
        ([[1.0], [math.inf]], r"sigma at \(1, 0\)"),
        (math.nan, "sigma must be above 0"),
        ([True], "an array of bool"),
        ([Fraction(1, 3)], "give ints or floats"),
        (np.array([0.1], dtype=np.longdouble), "give ints or floats"),
        ([2**53 + 1], r"sigma at \(0,\)"),
    ],
)
def test_arrays_are_refused_by_place(given: Any, said: str) -> None:  # noqa: ANN401  # any
    """What is no float, or outside the domain, is named with its place."""
    with pytest.raises(ParameterError, match=said):
        arguments.array("above 0", lambda x: x > 0.0, sigma=given)


def test_arrays_keep_exact_values() -> None:
    """Ints and short floats are the same numbers afterwards."""
    found = arguments.array("above 0", lambda x: x > 0.0, sigma=np.array([[3, 2**53]]))
    assert found.tolist() == [[3.0, 2.0**53]]
    assert arguments.array("above 0", lambda x: x > 0.0, sigma=np.float32(0.1)) == np.float32(0.1)
