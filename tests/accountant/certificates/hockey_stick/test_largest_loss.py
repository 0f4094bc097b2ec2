"""Beyond the largest loss delta is the infinite mass, against rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st

from dpproof import proofs
from dpproof.accountant import ApproxDP, compose, self_compose
from dpproof.accountant.certificates.hockey_stick.largest_loss import LargestLoss
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Factor, Product

PARTS = st.lists(
    st.tuples(st.fractions(Fraction(1, 10**12), Fraction(9, 10)), st.integers(1, 40)),
    min_size=1,
    max_size=3,
)


def _pair(delta: Fraction) -> FinitePair:
    """Give the answer away with a chance, else release nothing."""
    return FinitePair(p=(delta, 1 - delta, Fraction(0)), q=(Fraction(0), 1 - delta, delta))


@given(PARTS)
def test_the_infinite_mass_of_a_product(parts: list[tuple[Fraction, int]]) -> None:
    """1 - prod (1 - delta)^n lies in the bracket, and what is certified is not below it."""
    product = Product.merge([Factor(_pair(delta), count) for delta, count in parts])
    exact = 1 - math.prod((1 - delta) ** count for delta, count in parts)
    found = infinite_mass(product)
    logs = LargestLoss(product).log_upper(np.array([0.0, 200.0]))

    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper <= float(exact) * (1 + 1e-12)
    assert logs[0] == 0.0
    assert logs[1] == np.log(found.upper)


def test_a_certificate_far_out() -> None:
    """What is claimed beyond all losses is verified, of a mass that no float is."""
    whole = compose(
        self_compose(ApproxDP(epsilon=Fraction(1, 8), delta=Fraction(1, 3 * 10**5)), 7),
        self_compose(ApproxDP(epsilon=Fraction(1, 4), delta=Fraction(1, 7 * 10**5)), 11),
    )
    certificate = whole.certify(epsilon=8)

    assert not isinstance(proofs.check(certificate), proofs.Rejected)
