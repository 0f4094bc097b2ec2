"""Typed sensitivities."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sensitivity import L1, L2, LInf


@pytest.mark.parametrize("norm", [L1, L2, LInf])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_refuses_anything_but_a_positive_number(
    norm: type[L1[Any] | L2[Any] | LInf[Any]],
    bad: Any,  # noqa: ANN401
) -> None:
    """A sensitivity is finite and above 0."""
    with pytest.raises(ParameterError, match="sensitivity"):
        norm(bad)


def test_norms_are_different_types() -> None:
    """Equal numbers under different norms are not equal."""
    assert L1(1) == L1(1.0)
    assert len({L1(1), L2(1), LInf(1), L1(1)}) == 3


def test_norms_bound_each_other() -> None:
    """Each conversion is the worst case, rounded up."""
    assert L1(3).as_l2() == L2(3)
    assert L2(3).as_l1(dimension=4) == L1(6)
    assert LInf(Fraction(1, 2)).as_l1(dimension=10) == L1(5)
    root = LInf(1).as_l2(dimension=2).value
    assert 2 < root**2 < 2 + Fraction(1, 2**36)


def test_dimension_is_a_count() -> None:
    """At least one coordinate."""
    with pytest.raises(ParameterError, match="dimension"):
        LInf(1).as_l1(dimension=0)
