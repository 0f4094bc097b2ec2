"""Numbers in the checker's words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from proofs.balls.arithmetic import show

LONG = Fraction(10**6000 + 1, 3 * 10**6000)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(1, 2), "0.5"),
        (Fraction(-7), "-7"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**11 - 1), "99999999999"),
        (Fraction(1, 10**10), "1.0000000000000000e-10"),
        (LONG, "0.33333333333333333"),
        (-LONG, "-0.33333333333333333"),
        (LONG / 10**9000, "3.3333333333333333e-9001"),
        (Fraction(10**9000), "1.0000000000000000e+9000"),
    ],
)
def test_numbers_are_shown_short(value: Fraction, shown: str) -> None:
    """Exactly where that is short, else by 17 digits, however long the rational is."""
    assert show(value) == shown
