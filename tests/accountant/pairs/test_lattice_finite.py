"""Pairs given by masses on a lattice, as tables produce them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from accountant.arithmetic import convex_profile
from accountant.arithmetic.atoms import Atoms
from accountant.arithmetic.convex_profile import ProfileHalf
from accountant.pairs.gaussian import gaussian_profile
from accountant.pairs.lattice_finite import LatticePair
from accountant.pairs.pair import Pair
from tests.contracts.definition import Outcomes, ball
from tests.contracts.pair_contract import Case, PairContract, flipped


def outcomes(atoms: Atoms) -> Outcomes:
    """The atoms as they are, and the two masses outside them."""
    zero = ball(0)
    found = [
        (ball(log_p).exp(), (ball(log_p) - ball(loss)).exp())
        for log_p, loss in zip(atoms.log_p.tolist(), atoms.loss.tolist(), strict=True)
    ]
    found += [(ball(atoms.infinite_mass), zero)] if atoms.infinite_mass else []
    found += [(zero, ball(atoms.missing_mass))] if atoms.missing_mass else []
    return Outcomes(found)


def balanced(atoms: Atoms) -> Outcomes:
    """The atoms as K takes them: two masses absorb what rounding leaves of either sum."""
    found = list(outcomes(atoms).masses)
    rest_p = 1 - ball(atoms.infinite_mass) - sum((p for p, q in found if q > 0 and p > 0), ball(0))
    rest_q = 1 - ball(atoms.missing_mass) - sum((q for p, q in found if q > 0 and p > 0), ball(0))
    first = int(np.argmax(atoms.log_p))
    lever = np.abs(np.expm1(-atoms.loss) - np.expm1(-atoms.loss[first])) * np.exp(atoms.log_p)
    second = int(np.argmax(lever))
    e = [(-ball(float(atoms.loss[k]))).exp() for k in (first, second)]
    change = (rest_q - e[0] * rest_p) / (e[1] - e[0])
    for at, k, more in ((0, first, rest_p - change), (1, second, change)):
        p, q = found[k]
        assert abs(more) < 1e-14 * p
        found[k] = (p + more, q + more * e[at])
    return Outcomes(found)


@functools.cache
def ladders() -> tuple[LatticePair, ...]:
    """Tables above and below a Gaussian profile: few wide steps, and many narrow ones."""
    found = []
    for mu, span, reach in ((1.0, 2.0**-2, 40), (0.01, 2.0**-12, 300), (1e-4, 2.0**-20, 400)):
        index = np.arange(-reach, reach + 1, dtype=float)
        loss = index[reach:] * span
        side = ProfileHalf(loss, *gaussian_profile(mu, loss))
        for atoms, position in (convex_profile.above(side, side), convex_profile.below(side, side)):
            found.append(LatticePair(atoms, position.astype(float), span))
    return tuple(found)


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
