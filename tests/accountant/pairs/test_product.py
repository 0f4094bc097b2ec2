"""Products of very many pairs that are not equal."""

from __future__ import annotations

import math
from fractions import Fraction

from mpmath import mp

from dpproof.accountant.engine.profile import infinite_mass, max_loss
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Product

COUNT = 1500


def test_the_largest_loss_of_very_many_pairs() -> None:
    """It is at or above the sum, whose rounding would grow with their number."""
    losses = [Fraction(7, 100) + Fraction(k, 10**25) for k in range(COUNT)]
    found = max_loss(Product.of(*(RandomizedResponsePair(epsilon=e) for e in losses)))

    assert sum(losses) <= found <= sum(losses) * (1 + Fraction(3, 10**15))


def test_the_infinite_mass_of_very_many_pairs() -> None:
    """Both ends hold the truth at 40 digits."""
    masses = [Fraction(7, 10**5) + Fraction(k, 10**25) for k in range(COUNT)]
    product = Product.of(
        *(RandomizedResponsePair(epsilon=Fraction(1, 9), infinite=one) for one in masses)
    )
    found = infinite_mass(product)

    with mp.workdps(40):
        truth = -mp.expm1(sum(mp.log1p(-mp.mpf(m.numerator) / m.denominator) for m in masses))
        assert found.lower <= truth <= found.upper


def test_sums_beyond_floats() -> None:
    """They are infinite, and no number where opposite infinities meet."""
    both = Product.of(*(RandomizedResponsePair(epsilon=Fraction(k)) for k in (1, 2)))

    assert both.added(lambda pair: 1.5e308 + pair.infinite_mass) == math.inf
    assert math.isnan(both.added(lambda pair: math.inf if pair.max_loss > 1.5 else -math.inf))
