"""What pairs with finitely many outcomes share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.pairs.finite import FinitePair, ListedPair
from dpproof.accountant.pairs.pair import Pair
from tests.accountant.pairs.builders import balanced, ladders
from tests.contracts.pair_contract import Case, PairContract, flipped

HALF = Fraction(1, 2)
UNEVEN = FinitePair(p=(HALF, HALF), q=(Fraction(1, 3), Fraction(2, 3)))
TELLING = FinitePair(p=(HALF, HALF, Fraction(0)), q=(Fraction(0), HALF, HALF))


def test_rho_is_half_the_square_of_the_largest_loss() -> None:
    """The largest absolute loss log(3/2) gives its square over 2, to fifteen digits."""
    assert UNEVEN.zcdp_bound == pytest.approx(0.5 * math.log(1.5) ** 2, rel=1e-14)
    assert UNEVEN.zcdp_bound >= 0.5 * math.log(1.5) ** 2


def test_mu_is_that_of_the_largest_loss() -> None:
    """As large as that of randomised response at log(3/2): 2 Phi^-1(3/5)."""
    assert UNEVEN.gdp_bound == pytest.approx(0.50669420627, rel=1e-10)


def test_an_outcome_of_one_side_leaves_no_bound() -> None:
    """Where P or Q has an outcome of its own, neither rho nor mu is finite."""
    assert TELLING.zcdp_bound == TELLING.gdp_bound == math.inf


def test_equal_laws_cost_nothing() -> None:
    """Losses that are all 0 have bounds 0."""
    same = FinitePair(p=(HALF, HALF), q=(HALF, HALF))
    assert same.zcdp_bound == same.gdp_bound == 0.0


def test_rho_is_rounded_up() -> None:
    """At many losses, against forty digits."""
    with mpmath.workdps(40):
        for k in range(1, 200):
            p = Fraction(k, 401)
            pair = FinitePair(p=(p, 1 - p), q=(1 - p, p))
            exact = mpmath.log(mpmath.mpf(401 - k) / k) ** 2 / 2
            assert exact <= pair.zcdp_bound <= exact * (1 + mpmath.mpf(10) ** -13)


def test_an_outcome_of_one_law_alone_leaves_no_bound() -> None:
    """Whichever of the two has it."""
    one_sided = FinitePair(p=(HALF, HALF), q=(Fraction(1), Fraction(0)))
    for pair in (one_sided, one_sided.swapped()):
        assert pair.zcdp_bound == math.inf


def test_large_losses_are_rounded_up() -> None:
    """The loss that bounds rho and mu is above the exact one, by little, at hundreds of nats."""
    with mpmath.workdps(40):
        for k in range(1, 300):
            p = Fraction(1, 10**k)
            exact = mpmath.log(mpmath.mpf(10) ** k - 1)
            bound = FinitePair(p=(p, 1 - p), q=(1 - p, p))._bounded_loss()
            assert exact <= bound <= exact * (1 + mpmath.mpf(10) ** -12)


class TestListed(PairContract):
    """The table's own masses."""

    tilts = (1e-6, 0.7, 30.0)
    heights = (0.0, 1e-5, 3.0, 300.0)
    frequencies = (0.1, 4.0, 400.0)
    bracket_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """Ladders without their lattice, with a little mass outside on both sides."""
        found = []
        for pair in ladders()[:2]:
            definition = balanced(pair.atoms)
            found.append(Case(ListedPair(pair.atoms), definition, flipped(definition)))
        return found

    def assert_same(self, one: Pair, other: Pair) -> None:
        """Equal entry by entry, up to one rounding: the pairs are compared by identity."""
        assert isinstance(one, ListedPair)
        assert isinstance(other, ListedPair)
        assert np.array_equal(one.atoms.loss, other.atoms.loss)
        assert np.allclose(one.atoms.log_p, other.atoms.log_p, rtol=0, atol=1e-13)
