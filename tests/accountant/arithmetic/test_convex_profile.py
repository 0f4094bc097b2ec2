"""Finite pairs above and below a profile."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.arithmetic import convex_profile
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.convex_profile import ProfileHalf
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.arithmetic.normal_distribution import ndtr
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import gaussian_profile
from tests.accountant.pairs.builders import outcomes
from tests.contracts.definition import ball


def totals(atoms: Atoms) -> tuple[float, float]:
    """How far P and Q are from mass 1."""
    zero = ball(0)
    found = outcomes(atoms).masses
    return float(sum((p for p, _ in found), zero) - 1), float(sum((q for _, q in found), zero) - 1)


@final
@dataclass(frozen=True)
class Known:
    """A finite pair: losses, masses of P and Q, and what either has where the other has none."""

    loss: Reals
    p: Reals
    q: Reals

    def profile(self, epsilon: Reals) -> Reals:
        """P's mass beyond e^epsilon times Q's."""
        gap = -np.expm1(epsilon[None, :] - self.loss[:, None])
        return np.asarray((self.p[:, None] * np.maximum(gap, 0)).sum(axis=0) + 1 - self.p.sum())

    def beyond(self, epsilon: Reals) -> Reals:
        """Q's mass above epsilon."""
        return np.asarray((self.q[:, None] * (self.loss[:, None] > epsilon)).sum(axis=0))

    def flipped(self) -> Known:
        """(Q, P)."""
        return Known(-self.loss, self.q, self.p)


@st.composite
def known(draw: st.DrawFn) -> Known:
    """Up to six outcomes, with and without mass outside."""
    size = draw(st.integers(1, 6))
    loss = np.array(draw(st.lists(st.floats(-4, 4), min_size=size, max_size=size)))
    weights = np.array(draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size)))
    q = weights / (weights.sum() + draw(st.floats(0, 1)))
    p = q * np.exp(loss)
    scale = max(p.sum() + draw(st.floats(0, 1)), 1.0)
    return Known(loss - np.log(scale), p / scale, q)


@given(
    known(),
    st.lists(st.integers(1, 60), min_size=1, max_size=30),
    st.lists(st.integers(1, 60), min_size=1, max_size=30),
)
@settings(max_examples=40)
def test_random_profiles(pair: Known, right: list[int], left: list[int]) -> None:
    """Above and below are so on and off the grid, whatever the convex profile, also by tangents."""
    sides, tangents = [], []
    for one, steps in ((pair, right), (pair.flipped(), left)):
        grid = np.concatenate([[0.0], np.cumsum(steps) / 64.0])
        value = one.profile(grid)
        slack = 1e-14 * value + 1e-15
        rest = max(1 - float(one.p.sum()) - 1e-15, 0.0)
        sides.append(ProfileHalf(grid, np.maximum(value - slack, rest), value + slack, rest))
        slopes = one.beyond(grid + 1e-12) * (1 - 1e-15), one.beyond(grid - 1e-12) * (1 + 1e-15)
        tangents.append(replace(sides[-1], slopes=slopes))
    at = np.linspace(-6, 6, 161)
    true = pair.profile(at)
    try:
        top, _ = convex_profile.above(sides[0], sides[1])
        bottom, _ = convex_profile.below(sides[0], sides[1])
        closer, _ = convex_profile.below(tangents[0], tangents[1])
    except NotCertified:
        assert true.max() > 1 - 1e-6 or sides[0].upper[0] < 1e-9
        return
    assert (top.profile(at)[1] >= true * (1 - 1e-13) - 1e-15).all()
    for atoms in (bottom, closer):
        assert (atoms.profile(at)[0] <= true * (1 + 1e-13) + 1e-15).all()
    for atoms in (top, bottom, closer):
        assert max(map(abs, totals(atoms))) < 1e-14


@pytest.mark.parametrize(
    ("mu", "span", "reach"),
    [(1.0, 0.25, 40), (1.0, 0.25, 200), (1e-4, 2.0**-20, 400), (1e-8, 2.0**-34, 400)],
)
def test_masses_sum_to_one(mu: float, span: float, reach: int) -> None:
    """K is computed from both sums being 1: where all losses are tiny they must be too."""
    grid = np.arange(reach + 1) * span
    side = ProfileHalf(grid, *gaussian_profile(mu, grid))
    for atoms, position in (convex_profile.above(side, side), convex_profile.below(side, side)):
        excess, other = totals(atoms)
        assert abs(excess) < 1e-15
        assert abs(excess - other) < 1e-15 * mu
        assert (np.diff(atoms.loss) > 0).all()
        assert np.array_equal(atoms.loss, np.sign(position) * grid[np.abs(position)])


def test_coarse_grids_still_bracket() -> None:
    """With three points the tables are poor but on the right sides."""
    grid, at = np.array([0.0, 1.0]), np.linspace(-3, 3, 61)
    side = ProfileHalf(grid, *gaussian_profile(1.0, grid))
    true = gaussian_profile(1.0, at)
    assert (convex_profile.above(side, side)[0].profile(at)[1] >= true[0]).all()
    assert (convex_profile.below(side, side)[0].profile(at)[0] <= true[1]).all()


def test_tangents_are_a_tenth_as_far_below() -> None:
    """Of a smooth profile, on a fine grid."""
    grid = np.linspace(0.0, 6.0, 241)
    ends, beyond = gaussian_profile(1.0, grid), ndtr(-grid - 0.5)
    chords, lines = (ProfileHalf(grid, *ends, slopes=one) for one in (None, (beyond, beyond)))
    at = np.linspace(0.5, 2.5, 1001)
    gaps = [
        gaussian_profile(1.0, at)[1] - convex_profile.below(side, side)[0].profile(at)[0]
        for side in (chords, lines)
    ]
    assert gaps[1].min() > -1e-15
    assert gaps[1].mean() < 0.12 * gaps[0].mean()


def test_noise_is_refused_where_it_hides_the_profile() -> None:
    """A total variation distance of 1 leaves no room to round outwards."""
    side = ProfileHalf(np.array([0.0, 1.0]), np.ones(2), np.ones(2))
    with pytest.raises(NotCertified, match="total variation distance of 1"):
        convex_profile.above(side, side)


@pytest.mark.parametrize("largest", [701.0, math.inf, math.nan])
def test_losses_out_of_reach_are_refused(largest: float) -> None:
    """Above 700, infinite, and what is no number."""
    convex_profile.required_reach(700.0)
    with pytest.raises(NotCertified, match="too large for a table"):
        convex_profile.required_reach(largest)
