"""The shift lemma of docs/shift-lemma.md, by brute force over mass functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Law = Callable[[Reals], Reals]

ORDERS = np.exp(np.linspace(-6.0, 6.0, 41))


def laplace(scale: float) -> Law:
    """Discrete Laplace weights."""
    return lambda z: np.exp(-np.abs(z) / scale)


def gaussian(sigma: float) -> Law:
    """Discrete Gaussian weights."""
    return lambda z: np.exp(-(z**2) / (2 * sigma**2))


def heavy(power: float) -> Law:
    """Polynomial tails: not log-concave."""
    return lambda z: (1 + np.abs(z)) ** -power


def shifted(law: Law, shift: int, reach: int) -> Reals:
    """Mass function of Z + shift on [-reach, reach], normalised by the unshifted total."""
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    return np.asarray(law(z - shift) / law(z).sum(), dtype=np.float64)


def hockey_stick(p: Reals, q: Reals) -> Reals:
    """H_t for every order t, the mass functions given on the same points."""
    return np.array([np.maximum(p - t * q, 0).sum() for t in ORDERS])


def product_of_shifts(law: Law, shifts: tuple[int, ...], reach: int) -> Reals:
    """H_t of the product of the pairs (Z + shift, Z)."""
    p, q = np.ones(1), np.ones(1)
    for shift in shifts:
        p = np.outer(p, shifted(law, shift, reach)).ravel()
        q = np.outer(q, shifted(law, 0, reach)).ravel()
    return hockey_stick(p, q)


def single_shift(law: Law, shift: int, reach: int) -> Reals:
    """H_t of the pair (Z + shift, Z)."""
    return hockey_stick(shifted(law, shift, reach), shifted(law, 0, reach))


LAWS = [
    *[pytest.param(laplace(scale), id=f"laplace-{scale}") for scale in (0.4, 1.0, 2.5)],
    *[pytest.param(gaussian(sigma), id=f"gaussian-{sigma}") for sigma in (0.3, 1.0, 3.0)],
]


@pytest.mark.parametrize("law", LAWS)
def test_one_shift_dominates_two(law: Law) -> None:
    """The shift a + b is at least as distinguishable as shifts a and b of two coordinates."""
    reach = 60
    for a, b in itertools.combinations_with_replacement(range(1, 5), 2):
        gap = single_shift(law, a + b, reach) - product_of_shifts(law, (a, b), reach)

        assert gap.min() >= -1e-9, (a, b)


@pytest.mark.parametrize("law", LAWS)
def test_one_shift_dominates_three(law: Law) -> None:
    """The lemma iterates over coordinates."""
    reach = 25
    for shifts in ((1, 1, 1), (1, 2, 1), (2, 2, 1)):
        cut_off = 1 - shifted(law, sum(shifts), reach).sum()
        gap = single_shift(law, sum(shifts), reach) - product_of_shifts(law, shifts, reach)

        assert gap.min() >= -1e-9 - cut_off, shifts


@pytest.mark.parametrize("law", LAWS)
def test_a_larger_shift_dominates(law: Law) -> None:
    """Monotonicity: the sensitivity may be over-stated, never the privacy."""
    curves = [single_shift(law, shift, 60) for shift in range(6)]
    for smaller, larger in itertools.pairwise(curves):
        assert (larger - smaller).min() >= -1e-9


def test_log_concavity_is_needed() -> None:
    """With polynomial tails a long jump is forgiven, and two short jumps are worse than one."""
    law = heavy(2.5)
    gap = single_shift(law, 8, 400) - product_of_shifts(law, (4, 4), 400)

    assert gap.min() < -1e-3
