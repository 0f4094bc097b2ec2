"""Numbers in the checker's words."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball, normal_tail, show

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


@pytest.mark.parametrize("root", [10**3, 10**6, 10**12])
def test_far_tails_keep_their_digits(root: int) -> None:
    """The tail beyond a large x that is no exact float, times x e^(x^2/2), against its series."""
    with ctx.workprec(256):
        x = ball(Fraction(2 * root, 3))
        scaled = normal_tail(x) * x * (x * x / 2).exp() * (2 * arb.pi()).sqrt()
        assert abs(scaled - 1 + 1 / (x * x)) < 4 / x**4
