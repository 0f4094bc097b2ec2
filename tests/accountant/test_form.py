"""What is said of data: its form."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any, Never

import numpy as np
import pytest

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.form import DataError, Form, withholding


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "None"),
        (3.5, "a float"),
        (math.nan, "a float, not a finite number"),
        (10**400, "an int"),
        ("marker", "a str of length 6"),
        ([10**400, Fraction(1, 3)], "a list of length 2"),
        ([1.0, math.inf], "a list of length 2, not a finite number at position 1"),
        ([{"name": "marker"}], "a list of length 1, a dict of length 1 at position 0"),
        (np.array([[1, math.nan]]), "an array of float64 of shape (1, 2), not a finite number"),
        (np.array([1, "a"], dtype=object), "an array of object of shape (2,), a str of length 1"),
        ([[1.0], [2.0]], "a list of length 2"),
    ],
)
def test_a_form_is_type_shape_and_place(data: Any, text: str) -> None:  # noqa: ANN401
    """The words start as expected, and no cell is among them."""
    assert str(Form.of(data)).startswith(text)
    assert Form.of(Form.of(data)) == Form.of(data)
    assert "marker" not in repr(Form.of(data))


def test_a_data_error_holds_no_data() -> None:
    """Neither the message nor any attribute, pickled or not, has a value."""
    error = DataError("value", ["marker", 8675309.125], "a number", at=7)

    for one in (error, pickle.loads(pickle.dumps(error))):  # noqa: S301
        assert isinstance(one, ParameterError)
        assert str(one) == "value must be a number, got a list of length 2, at position 7"
        assert "marker" not in repr(vars(one))


@withholding
def failing(error: Exception) -> Never:
    """Raise an error."""
    raise error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ValueError("marker"),
            "data must be such that the called code raises no error, got ValueError at",
        ),
        (ParameterError("k", "marker", "small", "try"), "k must be small, got a str of length 6"),
        (DataError("k", "marker", "small"), "k must be small, got a str of length 6"),
    ],
)
def test_what_a_computation_raises_is_told_by_its_form(error: Exception, text: str) -> None:
    """Neither the message nor the cause or the context of what is raised has the value."""
    with pytest.raises(DataError) as refusal:
        failing(error)

    assert str(refusal.value).startswith(text)
    assert refusal.value.__cause__ is refusal.value.__context__ is None


def test_other_refusals_and_interrupts_pass() -> None:
    """What says nothing of values, or is no error, is raised as it is."""
    with pytest.raises(NotImplied, match="no theorem"):
        failing(NotImplied("no theorem"))

    @withholding
    def interrupted() -> Never:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
