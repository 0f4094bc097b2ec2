"""Finite sums for the profiles of products, against enumeration and integration to many digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product as every

import mpmath
import pytest
from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair, Product
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.pair import DiscreteLaplacePair, LogisticPair
from dpproof.proofs.sums.finite_sums import finite_profile, value_work

F = Fraction
HALF, THIRD = F(1, 2), F(1, 3)
TOLD = FinitePair((HALF, F(1, 4), F(1, 4), F(0)), (F(1, 4), HALF, F(0), F(1, 4)))
APART = FinitePair((F(1), F(0)), (F(0), F(1)))
PLACES = (F(0), F(1, 7), THIRD, F(4, 5), F(3, 2))
Atom = tuple[mpmath.mpf, mpmath.mpf]
"""A loss and its mass under P."""


def _mp(value: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator


def atoms(pair: Pair) -> list[Atom]:
    """Finite losses with their masses, from the definition of the mechanism."""
    match pair:
        case RandomizedResponsePair(epsilon, categories, infinite):
            top, bottom = mpmath.exp(_mp(epsilon)), 1
            p = [top, bottom, *[1] * (categories - 2)]
            q = [bottom, top, *[1] * (categories - 2)]
            scale = (1 - _mp(infinite)) / mpmath.fsum(p)
        case DiscreteLaplacePair(scale_of, shift):
            reach = range(-400, 400)
            p = [mpmath.exp(-abs(x - shift) / _mp(scale_of)) for x in reach]
            q = [mpmath.exp(-abs(x) / _mp(scale_of)) for x in reach]
            scale = 1 / mpmath.fsum(q)
        case _:
            assert isinstance(pair, FinitePair)
            p, q = [_mp(a) for a in pair.p], [_mp(b) for b in pair.q]
            scale = mpmath.mpf(1)
    return [(mpmath.log(a / b), a * scale) for a, b in zip(p, q, strict=True) if a and b]


def smooth(pair: Pair) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """The profile of a Laplace or logistic pair at every real epsilon."""
    assert isinstance(pair, LaplacePair | LogisticPair)
    end = _mp(pair.epsilon)

    def profile(epsilon: mpmath.mpf) -> mpmath.mpf:
        if epsilon <= -end:
            return 1 - mpmath.exp(epsilon)
        if epsilon >= end:
            return mpmath.mpf(0)
        if isinstance(pair, LaplacePair):
            return 1 - mpmath.exp((epsilon - end) / 2)
        return (mpmath.exp(end / 2) - mpmath.exp(epsilon / 2)) ** 2 / (mpmath.exp(end) - 1)

    return profile


def after_laplace(
    end: Fraction, profile: Callable[[mpmath.mpf], mpmath.mpf], bends: tuple[Fraction, ...]
) -> Callable[[mpmath.mpf], mpmath.mpf]:
    """The profile with one more Laplace release: its loss has two atoms and a density between."""
    a = _mp(end)

    def more(epsilon: mpmath.mpf) -> mpmath.mpf:
        ends = profile(epsilon - a) / 2 + mpmath.exp(-a) / 2 * profile(epsilon + a)
        cuts = sorted({-a, a, *(epsilon + _mp(x) for x in bends if -a < epsilon + _mp(x) < a)})
        between = mpmath.quad(lambda x: mpmath.exp((x - a) / 2) / 4 * profile(epsilon - x), cuts)
        return ends + between

    return more


def averaged(
    pairs: list[Pair], profile: Callable[[mpmath.mpf], mpmath.mpf], epsilon: Fraction
) -> mpmath.mpf:
    """The profile together with pairs of atoms, by enumeration."""
    known = mpmath.mpf(1)
    total = mpmath.mpf(0)
    for one in pairs:
        known *= 1 - _mp(one.infinite)
    for chosen in every(*(atoms(one) for one in pairs)):
        mass = mpmath.fprod(mass for _, mass in chosen)
        total += mass * profile(_mp(epsilon) - mpmath.fsum(loss for loss, _ in chosen))
    return 1 - known + total


def nothing(epsilon: mpmath.mpf) -> mpmath.mpf:
    """The profile of two equal laws."""
    return max(mpmath.mpf(0), 1 - mpmath.exp(epsilon))


LAPLACE, LOGISTIC = LaplacePair(HALF), LogisticPair(F(3, 4))
BENDS = (HALF, -HALF, F(3, 4), F(-3, 4))
ANSWER = RandomizedResponsePair(F(1), 4, F(1, 10))
COIN = RandomizedResponsePair(F(1, 4), 2, F(0))
WHOLE = DiscreteLaplacePair(F(3), 4)
CASES: list[tuple[Product, list[Pair], Callable[[mpmath.mpf], mpmath.mpf]]] = [
    (((LAPLACE, 2),), [], after_laplace(HALF, smooth(LAPLACE), BENDS)),
    (((LAPLACE, 1), (LOGISTIC, 1)), [], after_laplace(HALF, smooth(LOGISTIC), BENDS)),
    (((LOGISTIC, 1), (ANSWER, 2)), [ANSWER, ANSWER], smooth(LOGISTIC)),
    (((LAPLACE, 1), (TOLD, 2), (COIN, 1)), [TOLD, TOLD, COIN], smooth(LAPLACE)),
    (((COIN, 3), (TOLD, 1)), [COIN, COIN, COIN, TOLD], nothing),
]


@pytest.mark.parametrize(("product", "discrete", "rest"), CASES)
@pytest.mark.parametrize("epsilon", PLACES)
def test_profiles(
    product: Product,
    discrete: list[Pair],
    rest: Callable[[mpmath.mpf], mpmath.mpf],
    epsilon: Fraction,
) -> None:
    """The sum is the definition's integral to 15 digits."""
    with mpmath.workdps(25):
        wanted = averaged(discrete, rest, epsilon)
    found = finite_profile(product)(ball(epsilon))

    assert float(found.rad()) < 1e-15
    assert abs(mpmath.mpf(str(found.mid().str(20, radius=False))) - wanted) < 1e-15


@pytest.mark.parametrize("epsilon", PLACES)
def test_whole_noise(epsilon: Fraction) -> None:
    """Discrete Laplace losses are those of its definition, summed over the integers."""
    with mpmath.workdps(25):
        wanted = averaged([WHOLE], smooth(LAPLACE), epsilon)
    found = finite_profile(((WHOLE, 1), (LAPLACE, 1)))(ball(epsilon))

    assert abs(mpmath.mpf(str(found.mid().str(20, radius=False))) - wanted) < 1e-15


@pytest.mark.parametrize("count", [1, 7, 40])
def test_cancellation_costs_no_digits(count: int) -> None:
    """Small losses many times, where the terms are large against their sum, out to the end."""
    profile, known = finite_profile(((LaplacePair(F(1, 100)), count),)), 0.0
    for k in range(1, 11):
        exact = arb(count * (10 - k)) / 1000
        found = profile(arb(exact.mid()))
        assert float(found.rad()) <= 1e-15 * float(found.mid())
        assert float(found.mid()) > known
        known = float(found.mid())


def test_an_epsilon_that_is_a_loss() -> None:
    """Where the sign of a term's argument is not certain, the value is enclosed all the same."""
    profile = finite_profile(((LaplacePair(THIRD), 2),))
    with ctx.workprec(256):
        exact = profile(ball(F(0)))

    assert profile(ball(F(0))).overlaps(exact)
    assert profile(ball(F(2, 3))).contains(0)
    assert float(profile(ball(F(2, 3))).abs_upper()) < 1e-15


def test_each_precision_has_its_own_sum() -> None:
    """More bits give more digits of the same number."""
    profile = finite_profile(((LAPLACE, 2),))
    with ctx.workprec(64):
        coarse = profile(ball(THIRD))
    with ctx.workprec(256):
        fine = profile(ball(THIRD))

    assert coarse.overlaps(fine)
    assert float(fine.rad()) < 1e-70 < float(coarse.rad())


WORK: list[tuple[Product, int]] = [
    (((LAPLACE, 3), (LOGISTIC, 1)), 24 + 8 * 3),
    (((ANSWER, 2), (COIN, 3)), 24 + 6 * 4 * 2),
    (((WHOLE, 2), (TOLD, 1)), 24 + 15 * 2 * 2),
    (((LAPLACE, 101),), 0),
    (((LAPLACE, 60), (LOGISTIC, 60)), 0),
    (((ANSWER, 63),), 0),
    (((LAPLACE, 1), (GaussianPair(F(1)), 1)), 0),
    (((LAPLACE, 1), (APART, 1)), 0),
    (((DiscreteLaplacePair(F(1), 10**11), 2),), 0),
]


@pytest.mark.parametrize(("product", "units"), WORK)
def test_long_sums_are_left_out(product: Product, units: int) -> None:
    """The number of terms times what each needs, 0 where there are too many or no sum."""
    assert value_work(product) == units
