"""Finite pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.pairs.finite import FinitePair, LatticePair
from dpproof.accountant.pairs.isoperimetric import above_threshold_pair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from tests.accountant.pairs.builders import balanced, ladders
from tests.contracts.pair_contract import Case, PairContract, flipped, masses

THIRD = Fraction(1, 3)
TINY = Fraction(1, 10**30)
TABLES: tuple[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ...] = (
    ((THIRD, THIRD, THIRD), (THIRD / 2, THIRD, THIRD * 3 / 2)),
    ((Fraction(1, 10), Fraction(9, 10)), (Fraction(9, 10), Fraction(1, 10))),
    ((Fraction(1, 2), Fraction(1, 2) - TINY, TINY), (Fraction(1, 4), Fraction(3, 4), Fraction(0))),
    ((Fraction(0), THIRD, 2 * THIRD), (THIRD, THIRD / 2, THIRD * 3 / 2)),
    (
        (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)),
        (Fraction(2, 5), Fraction(3, 10), Fraction(3, 10)),
    ),
    (
        (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)),
        (Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)),
    ),
    ((1 - TINY, TINY), (TINY, 1 - TINY)),
    (
        (Fraction(1, 2), Fraction(1, 2)),
        (Fraction(1, 2) + Fraction(1, 10**9), Fraction(1, 2) - Fraction(1, 10**9)),
    ),
)


class TestFinite(PairContract):
    """The sum over outcomes."""

    def cases(self) -> Sequence[Case]:
        """With and without outcomes of one side only; nearly equal; nearly disjoint."""
        found = []
        for p, q in TABLES:
            definition = masses(list(zip(p, q, strict=True)))
            found.append(Case(FinitePair(p=p, q=q), definition, flipped(definition)))
        return found


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((), ()),
        ((Fraction(1),), (Fraction(1, 2), Fraction(1, 2))),
        ((Fraction(1, 2), Fraction(1, 3)), (Fraction(1, 2), Fraction(1, 2))),
        ((Fraction(3, 2), Fraction(-1, 2)), (Fraction(1, 2), Fraction(1, 2))),
    ],
)
def test_refuses_what_is_not_a_pair(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> None:
    """Empty, of unequal lengths, not summing to 1, or negative: refused by name."""
    with pytest.raises(ParameterError):
        FinitePair(p=p, q=q)


TINY = Fraction(1, 10**400)


def test_a_mass_below_all_floats_is_not_none() -> None:
    """P tells on an outcome of mass 1e-400: no epsilon is enough at delta 0, nor a mu."""
    pair = FinitePair(p=(TINY, 1 - TINY), q=(Fraction(0), Fraction(1)))
    product = Product.of(pair)
    assert answers.epsilon(product, 0.0).upper == math.inf
    assert answers.delta(product, 5.0).upper > 0.0
    assert answers.renyi(product, 2.0).upper == math.inf
    assert answers.smallest_mu(product).upper == math.inf
    assert answers.smallest_rho(product).upper == math.inf


@pytest.mark.parametrize("mass", [TINY, Fraction(74, 10**325), Fraction(12, 10**324)])
def test_masses_next_to_the_least_float_are_enclosed(mass: Fraction) -> None:
    """Beyond the finite losses delta is the infinite mass, of which floats have no digit."""
    pair = FinitePair(p=(mass, 1 - mass), q=(Fraction(0), Fraction(1)))
    low, high = deltas(Product.of(pair), np.array([5.0, 50.0]))
    for least, most in zip(low.tolist(), high.tolist(), strict=True):
        assert Fraction(least) <= mass <= Fraction(most)


def test_sharestoo_close_to_tell_are_refused() -> None:
    """Masses 1e-400 apart would have a loss of 0, which would reveal nothing."""
    half = Fraction(1, 2)
    product = Product.of(FinitePair(p=(half + TINY, half - TINY), q=(half, half)))
    with pytest.raises(NotCertified, match="less than floats can tell"):
        answers.smallest_mu(product)


def test_divergences_below_all_floats_are_not_none() -> None:
    """A rare outcome that is twice as likely under Q has a small divergence, not none."""
    pair = FinitePair(p=(TINY, 1 - TINY), q=(2 * TINY, 1 - 2 * TINY))
    assert answers.renyi(Product.of(pair), 2.0).upper > 0.0
    assert answers.delta(Product.of(pair.swapped()), 0.1).upper > 0.0


@given(
    weights=st.lists(st.integers(1, 30), min_size=2, max_size=3),
    ratio=st.fractions(2, 9, max_denominator=8),
    c=st.integers(0, 3),
)
def test_adjacency_is_that_of_the_tilted_losses(
    weights: list[int], ratio: Fraction, c: int
) -> None:
    """Twice the sum of neighbouring masses after a tilt, in rationals, from below."""
    ratios = [ratio, 1 / ratio] if len(weights) == 2 else [ratio, Fraction(1), 1 / ratio]
    p = [w / (1 + 1 / one) for w, one in zip(weights, ratios, strict=True)]
    q = [a / one for a, one in zip(p, ratios, strict=True)]
    left = sum(q, Fraction(0)) - sum(p, Fraction(0))
    p, q = [*p, max(left, Fraction(0))], [*q, max(-left, Fraction(0))]
    total = sum(p)
    pair = FinitePair(p=tuple(a / total for a in p), q=tuple(b / total for b in q))
    lattice = pair.lattice(float(c))
    tilted = [a * one**c for a, one in zip(p, ratios, strict=False)]
    shares = [mass / sum(tilted) for mass in tilted]
    exact = 2 * sum(a * b for a, b in pairwise(shares))

    assert lattice is not None
    assert exact * (1 - Fraction(1, 10**6)) <= Fraction(lattice.adjacency) <= exact


def test_an_infinite_mass_next_to_1_is_not_1() -> None:
    """Its lower end stays at or below 1 - 10^-400, and nothing but 1 is stated as 1."""
    tiny = Fraction(1, 10**400)
    nearly = FinitePair(p=(1 - tiny, tiny), q=(Fraction(0), Fraction(1)))
    apart = FinitePair(p=(Fraction(1), Fraction(0)), q=(Fraction(0), Fraction(1)))

    assert answers.delta(Product.of(nearly), 1.0).lower < 1.0
    assert answers.delta(Product.of(nearly), 1.0).upper == 1.0
    assert answers.delta(Product.of(apart), 1.0).lower == 1.0


class TestLadder(PairContract):
    """The table's own masses."""

    tilts = (1e-6, 0.7, 30.0)
    heights = (0.0, 1e-5, 3.0, 300.0)
    frequencies = (0.1, 4.0, 400.0)
    bracket_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """With a little mass outside on both sides."""
        found = []
        for pair in ladders():
            definition = balanced(pair.atoms)
            found.append(Case(pair, definition, flipped(definition)))
        return found

    def assert_same(self, one: Pair, other: Pair) -> None:
        """Equal entry by entry, up to one rounding: ladders are compared by identity."""
        assert isinstance(one, LatticePair)
        assert isinstance(other, LatticePair)
        assert np.array_equal(one.index, other.index)
        assert np.allclose(one.atoms.log_p, other.atoms.log_p, rtol=0, atol=1e-13)

    def test_steering(self) -> None:
        """K, K' and K'' as differences of K have them, also where K is tiny."""
        c = np.array([0.05, 0.5, 20.0])
        for pair in ladders():
            step = 1e-4 * c
            left, value, right = (pair.cgf(at + 0j).value.real for at in (c - step, c, c + step))
            found = pair.steer(c)
            assert np.allclose(found[0], value, rtol=1e-9, atol=0)
            assert np.allclose(found[1], (right - left) / (2 * step), rtol=1e-5, atol=0)
            second = (right - 2 * value + left) / step**2
            assert np.allclose(found[2], second, rtol=1e-2, atol=0)

    def test_fourier_transform(self) -> None:
        """K over a whole period by the transform agrees with K node by node."""
        for pair in ladders():
            half = 1024
            fast = pair.cgf_on_period(0.7, half, pair.span)
            step = np.pi / (half * pair.span)
            index = np.array([0, 1, 2, 17, 300, half - 1, half])
            slow = pair.cgf(0.7 + 1j * step * index)
            ratio = np.exp(fast.value[index] - slow.value)
            known = np.isfinite(fast.radius[index]) & np.isfinite(slow.radius)
            # the nodes themselves are rounded, which moves K by at most |y| u times the losses
            away = 1e-13 * (1 + step * index * abs(pair.atoms.loss).max())
            width = np.where(known, fast.radius[index] + slow.radius + away, np.inf)
            assert (np.abs(ratio - 1) <= np.expm1(np.minimum(width, 700.0)))[known].all()
            assert known[0]


@pytest.mark.parametrize("half", [1, 8, 1024])
def test_the_radius_covers_the_transform_where_losses_are_small(half: int) -> None:
    """No other rounding hides that of a transform of masses near 1/2: 8 u log2 of its length."""
    masses, step = np.array([0.5, 0.5]), 2.0**-40
    table = Atoms(np.log(masses), np.array([-step, step]), 0.0, 0.0)
    pair = LatticePair(table, np.array([-1.0, 1.0]), step)
    fast = pair.cgf_on_period(0.7, half, step)
    assert (fast.radius >= 8 * UNIT_ROUNDOFF * np.log2(2 * half)).all()


def test_an_offset_turns_the_transform() -> None:
    """On a period K of a lattice with an offset is what the sum over its outcomes is."""
    pair = above_threshold_pair(threshold=Fraction(1, 3), query=Fraction(1, 4))
    near, moved = pair.near_lattice()
    assert isinstance(near, LatticePair)
    assert 0.0 < moved < 1e-14
    assert near.offset < 0.0
    for one in (near, near.swapped()):
        fast = one.cgf_on_period(0.5, 64, one.span)
        slow = one.cgf(0.5 + 1j * np.pi / (64 * one.span) * np.arange(65))
        turns = (fast.value - slow.value).imag / (2 * np.pi)
        away = np.abs(fast.value - slow.value - 2j * np.pi * np.rint(turns))
        known = np.isfinite(fast.radius + slow.radius)
        assert known.sum() > 32
        assert (away[known] <= (fast.radius + slow.radius)[known]).all()
