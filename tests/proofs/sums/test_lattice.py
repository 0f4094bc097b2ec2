"""Profiles of products on one lattice, against enumeration, single pairs and finite sums."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as every

import mpmath
import pytest
from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import LaplacePair, Pair, Product
from dpproof.proofs.pairs.finite import RandomizedResponsePair
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, DiscreteLaplacePair
from dpproof.proofs.sums.finite_sums import cells, finite_profile, lattice_profile

F = Fraction
ANSWER, COIN = (
    RandomizedResponsePair(F(1, 2), 4, F(1, 10)),
    RandomizedResponsePair(F(1, 4), 2, F(0)),
)
WHOLE, NEXT = DiscreteLaplacePair(F(4), 3), DiscreteLaplacePair(F(2), 1)
GAUSS, WIDE = DiscreteGaussianPair(F(2), 1), DiscreteGaussianPair(F(3, 2), 3)
PLACES = (F(0), F(1, 7), F(1, 2), F(3, 4), F(2), F(9, 4))


@pytest.mark.parametrize("pair", [ANSWER, COIN, WHOLE, NEXT, GAUSS, WIDE], ids=repr)
@pytest.mark.parametrize("epsilon", PLACES)
def test_one_pair(pair: Pair, epsilon: Fraction) -> None:
    """A pair that occurs once has the profile of its own formula."""
    found = lattice_profile(((pair, 1),))(ball(epsilon))

    assert found.overlaps(pair.profile(ball(epsilon)))
    assert float(found.rad()) < 1e-15


@pytest.mark.parametrize("product", [((ANSWER, 3), (COIN, 2)), ((WHOLE, 2), (NEXT, 3), (COIN, 1))])
@pytest.mark.parametrize("epsilon", PLACES)
def test_bounded_losses(product: Product, epsilon: Fraction) -> None:
    """Where there is a finite sum as well, both are the same number."""
    found = lattice_profile(product)(ball(epsilon))

    assert found.overlaps(finite_profile(product)(ball(epsilon)))
    assert float(found.rad()) < 1e-15


def _gaussian(epsilon: mpmath.mpf, losses: list[tuple[mpmath.mpf, mpmath.mpf]]) -> mpmath.mpf:
    return mpmath.fsum(mass * max(0, 1 - mpmath.exp(epsilon - loss)) for loss, mass in losses)


@pytest.mark.parametrize("epsilon", PLACES)
def test_discrete_gaussians(epsilon: Fraction) -> None:
    """Two discrete Gaussians of variance 2 and one discrete Laplace, by the definition."""
    with mpmath.workdps(30):
        reach = range(-18, 19)
        bell = [mpmath.exp(-mpmath.mpf(x * x) / 4) for x in reach]
        one = [
            ((2 * mpmath.mpf(x) + 1) / 4, mass / mpmath.fsum(bell))
            for x, mass in zip(reach, bell, strict=True)
        ]
        r = mpmath.exp(-mpmath.mpf(1) / 2)
        two = [(mpmath.mpf(1) / 2, 1 / (1 + r)), (-mpmath.mpf(1) / 2, r / (1 + r))]
        total = [(a[0] + b[0] + c[0], a[1] * b[1] * c[1]) for a, b, c in every(one, one, two)]
        wanted = _gaussian(mpmath.mpf(epsilon.numerator) / epsilon.denominator, total)
    found = lattice_profile(((GAUSS, 2), (NEXT, 1)))(ball(epsilon))

    assert abs(mpmath.mpf(str(found.mid().str(20, radius=False))) - wanted) < 1e-15
    assert float(found.rad()) < 1e-15


def test_what_is_left_out_is_added() -> None:
    """The enclosure holds at every precision, as far as the masses reach in each."""
    profile = lattice_profile(((WIDE, 2),))
    coarse = profile(ball(F(1, 3)))
    with ctx.workprec(300):
        fine = profile(ball(F(1, 3)))

    assert coarse.overlaps(fine)
    assert float(fine.rad()) < 1e-80
    assert profile(ball(F(200))).contains(0)
    assert float(profile(ball(F(200))).upper()) < 1e-15


def test_an_epsilon_that_is_a_loss() -> None:
    """Either neighbour may be the first loss above; a ball around more of them is refused."""
    third = RandomizedResponsePair(F(1, 3), 2, F(0))
    profile = lattice_profile(((third, 2),))

    assert profile(ball(F(2, 3))).contains(0)
    assert profile(ball(F(0))).overlaps(finite_profile(((third, 2),))(ball(F(0))))
    for wide in (arb(0.5, 2), arb(0, float("inf"))):
        with pytest.raises(RefusedError, match="one step of the lattice"):
            profile(wide)


CELLS: list[tuple[Product, int]] = [
    (((ANSWER, 3), (COIN, 2)), 3 * 2 + 2 + 1),
    (((WHOLE, 2), (NEXT, 3)), 2 * 3 + 3 * 2 + 1),
    (((WHOLE, 1), (LaplacePair(F(1)), 1)), 0),
    (((COIN, 10**9),), 0),
    (((DiscreteGaussianPair(F(10**6), 1), 1),), 0),
    (((COIN, 1), (RandomizedResponsePair(F(10**6 + 1, 4 * 10**6), 2, F(0)), 1)), 0),
    (((DiscreteGaussianPair(F(2), 1), 2),), 4 * 17 + 1),
]


@pytest.mark.parametrize(("product", "losses"), CELLS)
def test_cells(product: Product, losses: int) -> None:
    """The number of losses on the common lattice; 0 where there is none, or they are too many."""
    assert cells(product) == losses
