"""The error tree."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant import errors


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (errors.ParameterError, ValueError),
        (errors.RelationMismatch, TypeError),
        (errors.NotImplied, errors.PrivacyError),
        (errors.NotCertified, errors.PrivacyError),
        (errors.CalibrationError, errors.PrivacyError),
        (errors.NoBracket, errors.CalibrationError),
    ],
)
def test_tree(kind: type[Exception], base: type[Exception]) -> None:
    """Everything is a PrivacyError, and what the language would expect."""
    assert issubclass(kind, base)
    assert issubclass(kind, errors.PrivacyError)


def test_parameter_error_says_everything() -> None:
    """What was given, what is allowed, what to do; as text and as fields."""
    error = errors.ParameterError("sigma", -1, "> 0", "give a scale")

    assert str(error) == "sigma must be > 0, got -1; give a scale"
    assert (error.name, error.value, error.allowed, error.hint) == (
        "sigma",
        -1,
        "> 0",
        "give a scale",
    )


def test_parameter_error_survives_pickling() -> None:
    """As from a worker process."""
    error = pickle.loads(pickle.dumps(errors.ParameterError("sigma", -1, "> 0")))  # noqa: S301

    assert isinstance(error, errors.ParameterError)
    assert str(error) == "sigma must be > 0, got -1"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(2000), "2000"),
        (Fraction(-1, 3), "-1/3"),
        (Fraction(0.1), "0.1"),
        (Fraction(1e300), "1e+300"),
        (Fraction(10**5000), "about 1e+5000"),
        (Fraction(1, 10**400), "about 1e-400"),
        ("text", "'text'"),
    ],
)
def test_parameter_error_is_short(value: object, shown: str) -> None:
    """An exact value of thousands of digits does not fill the line."""
    assert str(errors.ParameterError("scale", value, "> 0")) == f"scale must be > 0, got {shown}"


def test_rationals_inside_lists_are_shown_as_typed() -> None:
    """Pairs show 75 and 1/3, other things as their source has them, and what is nested its size."""
    rows = [(Fraction(75),), (Fraction(1, 3), "a"), "b"]

    assert str(errors.ParameterError("x", rows, "small")).endswith("got [(75,), (1/3, 'a'), 'b']")
    for nested in ([[1, 2], [3]], [{"a": 1}], [([1], 2)]):
        told = f"got a list of length {len(nested)}"
        assert str(errors.ParameterError("x", nested, "small")).endswith(told)


@pytest.mark.parametrize("value", [list(range(13)), np.full((2, 2), 5.0), dict.fromkeys(range(20))])
def test_what_is_long_is_told_by_its_size(value: object) -> None:
    """A list, an array or a table in the place of a parameter is not printed: it may be data."""
    message = str(errors.ParameterError("scale", value, "a number"))

    assert "length" in message or "shape" in message
    assert "5" not in message.replace("(2, 2)", "")
    assert len(message) < 80
