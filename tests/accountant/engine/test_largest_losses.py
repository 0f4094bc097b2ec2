"""Sums over the largest losses, against laws multiplied out with 60 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.engine.largest_losses import largest_losses
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair

DIGITS = 60
THIRDS = RandomizedResponsePair(epsilon=Fraction(1, 3))
FIVES = DiscreteLaplacePair(scale=Fraction(93, 10), shift=5)
THREES = RandomizedResponsePair(epsilon=Fraction(2), categories=3)
CASES = [
    [(FIVES, 2)],
    [(FIVES, 30)],
    [(THIRDS, 100)],
    [(THREES, 30)],
    [(RandomizedResponsePair(epsilon=Fraction(1)), 3), (THREES, 7)],
    [(RandomizedResponsePair(epsilon=Fraction(3)), 200)],
]


def law(pair: Pair) -> dict[mpmath.mpf, mpmath.mpf]:
    """Masses under P by loss, from the definition of the mechanism."""
    if isinstance(pair, DiscreteLaplacePair):
        r = mpmath.exp(-1 / mpmath.mpf(pair.scale.numerator) * pair.scale.denominator)
        step: dict[int, mpmath.mpf] = {}
        for x in range(-300, 300):
            loss = abs(x) - abs(x - pair.shift)
            mass = (1 - r) / (1 + r) * r ** abs(x - pair.shift)
            step[loss] = step.get(loss, 0) + mass
        scale = mpmath.mpf(pair.scale.denominator) / pair.scale.numerator
        rest = r**300 * (r**pair.shift + r**-pair.shift)  # the two tails, by their largest loss
        return {loss * scale: mass + (rest if abs(loss) == 0 else 0) for loss, mass in step.items()}
    assert isinstance(pair, RandomizedResponsePair)
    epsilon = mpmath.mpf(pair.epsilon.numerator) / pair.epsilon.denominator
    total = mpmath.exp(epsilon) + pair.categories - 1
    found = {epsilon: mpmath.exp(epsilon) / total, -epsilon: 1 / total}
    if pair.categories > 2:
        found[mpmath.mpf(0)] = (pair.categories - 2) / total
    return found


def power(parts: list[tuple[Pair, int]]) -> dict[mpmath.mpf, mpmath.mpf]:
    """The law of the sum of all losses, equal ones merged."""
    total = {mpmath.mpf(0): mpmath.mpf(1)}
    places: dict[float, mpmath.mpf] = {}
    for pair, count in parts:
        one = law(pair)
        for _ in range(count):
            more: dict[mpmath.mpf, mpmath.mpf] = {}
            for loss, mass in total.items():
                for step, share in one.items():
                    place = places.setdefault(round(float(loss + step), 9), loss + step)
                    more[place] = more.get(place, 0) + mass * share
            total = more
    return total


@pytest.mark.parametrize("parts", CASES)
def test_sums_enclose_the_profile(parts: list[tuple[Pair, int]]) -> None:
    """At epsilons between the largest losses, and next to the largest."""
    found = largest_losses(Product(tuple(Factor(pair, count) for pair, count in parts)))
    assert found is not None
    with mpmath.workdps(DIGITS):
        exact = power(parts)
        top = max(exact)
        first = max(found.start, 0.0)
        shares = 0.0, 0.3, 0.9, 0.999, 1 - 1e-9
        epsilon = np.array([first + share * (float(top) - first) for share in shares])
        low, high = found.log_profile(epsilon)
        for one, below, above in zip(epsilon.tolist(), low.tolist(), high.tolist(), strict=True):
            true = mpmath.log(
                mpmath.fsum(
                    mass * -mpmath.expm1(one - loss) for loss, mass in exact.items() if loss > one
                )
            )
            assert below <= true <= above
            assert above - below < 1e-4


def test_only_losses_on_one_lattice() -> None:
    """Other products are somebody else's."""
    apart = Product.of(THIRDS, RandomizedResponsePair(epsilon=Fraction(1, 2)), FIVES)
    assert largest_losses(apart) is None
    assert largest_losses(Product.of(GaussianPair(mu_squared=Fraction(1)))) is None
    assert largest_losses(Product(())) is None


def test_before_its_start_it_is_a_lower_bound_only() -> None:
    """Not all losses beyond are known there."""
    found = largest_losses(Product((Factor(THIRDS, 1000),)))
    assert found is not None
    low, high = found.log_profile(np.array([found.start - 1.0, found.start]))
    assert np.isinf(high[0])
    assert np.isfinite([*low, high[1]]).all()


@pytest.mark.parametrize(
    ("pair", "count"),
    [
        (DiscreteLaplacePair(scale=Fraction(93, 10), shift=1), 2),
        (DiscreteLaplacePair(scale=Fraction(1, 2), shift=3), 10),
        (RandomizedResponsePair(epsilon=Fraction(10)), 10_000),
        (RandomizedResponsePair(epsilon=Fraction(2)), 61),
    ],
)
@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12])
def test_brackets_next_to_the_largest_loss_are_narrow(pair: Pair, count: int, delta: float) -> None:
    """Where a contour left 0 as the lower end."""
    found = answers.epsilon(Product((Factor(pair, count),)), delta)
    assert found.relative_width < 1e-9


@pytest.mark.parametrize("digits", [3.04, 4.74, 5.25, 6.0, 8.87])
@pytest.mark.parametrize("count", [130, 160, 192, 256, 300])
def test_masses_that_underflow(digits: float, count: int) -> None:
    """A tiny mass of the largest loss, to powers that floats scale out of their range."""
    rare = Fraction(10.0**-digits)
    pair = FinitePair(p=(rare, 1 - rare), q=(rare / 3, 1 - rare / 3))
    found = largest_losses(Product((Factor(pair, count),)))
    if found is None:
        return
    with mpmath.workdps(DIGITS):
        p = mpmath.mpf(rare.numerator) / rare.denominator
        q, total = p / 3, mpmath.mpf(0)
        middle = 0.5 * float(found.losses[119] + found.losses[120])
        for fails in range(count + 1):
            one = p ** (count - fails) * (1 - p) ** fails
            other = q ** (count - fails) * (1 - q) ** fails
            more = one - mpmath.exp(middle) * other
            total += mpmath.binomial(count, fails) * max(more, mpmath.mpf(0))
        lower, upper = found.log_profile(np.array([middle]))
        assert lower[0] <= mpmath.log(total) <= upper[0]
