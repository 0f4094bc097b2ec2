"""Finite pairs above the pairs of isoperimetric bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.isoperimetric import DIGITS, Line, finite_pair_above, isoperimetric
from dpproof.accountant.pairs.laplace import LaplacePair

EPSILONS = np.linspace(-1.2, 1.2, 25)


def lines_of(*heights: tuple[float, float]) -> list[Line]:
    """Lines by floats."""
    return [(Fraction(a), Fraction(b)) for a, b in heights]


SKEW = lines_of((0, 2), (0.5, 1), (0.5, 0.5), (1.5, 0))


def profile(lines: Sequence[Line], epsilon: float) -> float:
    """sup_x F(x + 1) - t F(x) by integrating 1/kappa over logits of masses."""
    logits = np.linspace(-40, 40, 160_001)
    grid, rest = 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(logits))
    kappa = np.min([float(a) * rest + float(b) * grid for a, b in lines], axis=0)
    speed = grid * rest / kappa
    steps = (speed[1:] + speed[:-1]) / 2 * np.diff(logits)
    places = np.concatenate([[0.0], np.cumsum(steps)])
    later = np.interp(places + 1, places, grid, right=1.0)
    return float((later - math.exp(epsilon) * grid).max())


def test_the_least_of_two_lines_is_the_laplace_pair() -> None:
    """Kappa = e min(p, 1 - p) gives two Laplace variables e scales apart."""
    pair = finite_pair_above([isoperimetric(lines_of((0, 0.75), (0.75, 0)))])
    lower, upper = LaplacePair(epsilon=Fraction(3, 4)).profile(EPSILONS)
    found = pair.atoms.profile(EPSILONS)

    assert (found[1] >= lower).all()
    assert (found[0] <= upper + 3e-6).all()


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_skew_kappa(mirrored: bool) -> None:  # noqa: FBT001
    """Profiles agree with an integration of F, and reversed lines give the pair swapped."""
    lines = [(b, a) for a, b in SKEW] if mirrored else SKEW
    curve = isoperimetric(lines)
    pair = finite_pair_above([curve])
    for epsilon in (-0.8, -0.1, 0.0, 0.4, 1.1):
        true = profile(lines, epsilon)
        with localcontext(Context(prec=DIGITS)) as context:
            found = curve.profile(context.create_decimal_from_float(math.exp(epsilon)))
        assert float(found) == pytest.approx(true, abs=3e-7)
        assert pair.atoms.profile(np.array([epsilon]))[1][0] >= true - 3e-7
    swapped = pair.swapped()
    assert isinstance(swapped, FinitePair)
    back = finite_pair_above([isoperimetric([(b, a) for a, b in lines])])
    assert np.allclose(
        swapped.atoms.profile(EPSILONS)[0], back.atoms.profile(EPSILONS)[0], atol=3e-6
    )


def test_several_curves_are_all_dominated() -> None:
    """A pair above two curves is above the pair of each, and not far above the larger."""
    mirrored = [(b, a) for a, b in SKEW]
    both = finite_pair_above([isoperimetric(SKEW), isoperimetric(mirrored)])
    each = [finite_pair_above([isoperimetric(one)]) for one in (SKEW, mirrored)]
    worst = np.max([one.atoms.profile(EPSILONS)[0] for one in each], axis=0)

    assert (both.atoms.profile(EPSILONS)[1] >= worst - 3e-6).all()


@pytest.mark.parametrize("size", [Fraction(1, 10**10), 17])
def test_refuses_losses_out_of_reach(size: Fraction | int) -> None:
    """Losses have to be representable with 80 digits."""
    zero, one = Fraction(0), Fraction(size)
    with pytest.raises(ParameterError, match="losses lie from"):
        finite_pair_above([isoperimetric([(zero, one), (one, zero)])])


@pytest.mark.parametrize("power", [60, 300])
@pytest.mark.parametrize("monotone", [False, True])
def test_corners_next_to_an_end_are_not_forgotten(power: int, monotone: bool) -> None:  # noqa: FBT001
    """A mass of 2^-130 at the largest loss counts, which a chord past its corner left out."""
    slow = Fraction(1, 1 << power)
    lines = [(Fraction(0), slow if monotone else 1 + slow), (1 + slow, Fraction(0)), (slow, slow)]
    curve = isoperimetric(lines)
    pair = finite_pair_above([curve])
    with localcontext(Context(prec=DIGITS)) as context:
        for t in (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(27, 10)):
            found = sum(max(p - t * q, Fraction(0)) for p, q in zip(pair.p, pair.q, strict=True))
            true = curve.profile(context.create_decimal(t.numerator) / t.denominator)
            assert Fraction(true) <= found
