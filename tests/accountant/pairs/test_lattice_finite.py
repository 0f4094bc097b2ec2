"""Pairs given by masses on a lattice, as tables produce them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF
from dpproof.accountant.pairs.above_threshold import above_threshold_pair
from dpproof.accountant.pairs.lattice_finite import LatticePair
from dpproof.accountant.pairs.pair import Pair
from tests.accountant.pairs.builders import balanced, ladders
from tests.contracts.pair_contract import Case, PairContract, flipped


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
