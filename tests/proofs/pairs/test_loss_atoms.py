"""The losses of what shares a sample, listed, against the laws of small mechanisms."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product as every

import numpy as np
import pytest
from flint import acb, arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import (
    GaussianPair,
    LaplacePair,
    Pair,
    Product,
    SubsampledGaussianPair,
)
from dpproof.proofs.limits import atoms
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.pair import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    LogisticPair,
    Terms,
    moments,
    outcomes_of,
    power,
    terms_of,
)
from dpproof.proofs.sampled.sampled import Direction, SampledPair
from dpproof.proofs.sums.finite_sums import finite_profile
from tests.proofs.builders import drawn_masses

F = Fraction
RATE = F(2, 7)
POISSON = (Direction.REMOVAL, Direction.ADDITION)
EVEN = FinitePair((F(1, 2), F(1, 2)), (F(1, 4), F(3, 4)))
TELLS = FinitePair((F(1, 2), F(1, 4), F(1, 4), F(0)), (F(1, 4), F(1, 2), F(0), F(1, 4)))
ANSWER = RandomizedResponsePair(F(1), 4, F(1, 10))
WHOLE = DiscreteLaplacePair(F(3), 4)


def together(pairs: list[FinitePair]) -> FinitePair:
    """The pair of independent pairs, by enumeration."""
    p, q = [F(1)], [F(1)]
    for one in pairs:
        p = [a * b for a, b in every(p, one.p)]
        q = [a * b for a, b in every(q, one.q)]
    return FinitePair(tuple(p), tuple(q))


def mixed(base: FinitePair, direction: Direction) -> FinitePair:
    """What is sampled, by its definition."""
    both = list(zip(base.p, base.q, strict=True))
    if direction is Direction.REMOVAL:
        return FinitePair(tuple((1 - RATE) * b + RATE * a for a, b in both), base.q)
    return FinitePair(base.p, tuple((1 - RATE) * a + RATE * b for a, b in both))


def merged(terms: Terms) -> list[tuple[float, arb]]:
    """Masses by loss, those of equal losses added up."""
    found: dict[float, arb] = {}
    for loss, mass in terms.losses:
        place = round(float(loss.mid()), 12) + 0.0
        found[place] = found.get(place, arb(0)) + mass
    return sorted(found.items(), key=lambda one: one[0])


def agree(found: Terms, wanted: Terms) -> None:
    """One law of the loss."""
    left, right = merged(found), merged(wanted)
    assert [loss for loss, _ in left] == [loss for loss, _ in right]
    assert all(a.overlaps(b) for (_, a), (_, b) in zip(left, right, strict=True))
    assert all(float(mass.rad()) < 1e-15 for _, mass in left)
    assert found.infinite.overlaps(wanted.infinite)
    assert found.infinite.is_zero() == wanted.infinite.is_zero()


@pytest.mark.parametrize("direction", POISSON)
@pytest.mark.parametrize("seed", range(20))
def test_samples_of_small_mechanisms(direction: Direction, seed: int) -> None:
    """Losses, masses and what is infinite are those of the mixture's exact masses."""
    rng = np.random.default_rng(seed)
    p, q = drawn_masses(rng, int(rng.integers(2, 6)))
    base = FinitePair(tuple(p), tuple(q))
    pair = SampledPair(((base, 1),), RATE, direction)

    agree(terms_of(pair), terms_of(mixed(base, direction)))
    assert len(terms_of(pair).losses) == outcomes_of(pair)


@pytest.mark.parametrize("direction", POISSON)
def test_samples_of_several_releases(direction: Direction) -> None:
    """Powers and products of bases, where some outcomes tell, and samples of samples."""
    pair = SampledPair(((TELLS, 2), (EVEN, 1)), RATE, direction)
    exact = mixed(together([TELLS, TELLS, EVEN]), direction)
    twice, known = SampledPair(((pair, 1),), RATE, direction), mixed(exact, direction)

    agree(terms_of(pair), terms_of(exact))
    agree(terms_of(twice), terms_of(known))
    assert (outcomes_of(pair), outcomes_of(twice)) == (7, 7)
    assert pair.infinite >= exact.infinite


@pytest.mark.parametrize("direction", POISSON)
@pytest.mark.parametrize("epsilon", [F(0), F(1, 9), F(1, 3), F(2)])
def test_profiles_of_many_samples(direction: Direction, epsilon: Fraction) -> None:
    """The finite sum of samples beside a Laplace release is that of the mixtures' masses."""
    pair, exact = SampledPair(((TELLS, 1),), RATE, direction), mixed(TELLS, direction)
    rest = (LaplacePair(F(1, 2)), 1)
    found = finite_profile(((pair, 3), rest))(ball(epsilon))

    assert found.overlaps(finite_profile(((exact, 3), rest))(ball(epsilon)))
    assert float(found.rad()) < 1e-15


@pytest.mark.parametrize("base", [((ANSWER, 1),), ((WHOLE, 1),), ((ANSWER, 1), (WHOLE, 2))])
@pytest.mark.parametrize("direction", POISSON)
def test_profile_of_one_sample(base: Product, direction: Direction) -> None:
    """By its listed losses it is what the subsampling theorem makes of the base's."""
    pair = SampledPair(base, RATE, direction)
    for epsilon in (F(0), F(1, 7), F(1, 2), F(3)):
        by_losses, by_theorem = finite_profile(((pair, 1),)), pair.profile
        assert by_losses(ball(epsilon)).overlaps(by_theorem(ball(epsilon)))


def test_moments_of_a_sample() -> None:
    """Without a witness M is the sum over the listed losses, at one place and along a line."""
    pair = SampledPair(((EVEN, 2),), RATE, Direction.REMOVAL)
    exact = moments(mixed(together([EVEN, EVEN]), Direction.REMOVAL), None)
    found = moments(pair, None).along(F(3), arb(1) / 3, 40)

    for one, other in zip(found, exact.along(F(3), arb(1) / 3, 40), strict=True):
        assert one.overlaps(other)
        assert float(one.real.rad()) < 1e-12
    assert pair.moment(None, F(3)).overlaps(exact.along(F(3), arb(0), 1)[0].real)


def test_each_precision_has_its_own_losses() -> None:
    """More bits give more digits of the same losses."""
    pair = SampledPair(((WHOLE, 1),), RATE, Direction.ADDITION)
    with ctx.workprec(53):
        (coarse, _), *_ = terms_of(pair).losses
    with ctx.workprec(256):
        (fine, _), *_ = terms_of(pair).losses

    assert coarse.overlaps(fine)
    assert float(fine.rad()) < 1e-70 < float(coarse.rad())


UNLISTED: list[Pair] = [
    GaussianPair(F(1)),
    LaplacePair(F(1)),
    LogisticPair(F(1)),
    DiscreteGaussianPair(F(1), 1),
    SubsampledGaussianPair(F(1), RATE, True),
    SampledPair(((EVEN, 1),), RATE, Direction.REPLACEMENT),
    SampledPair(((LaplacePair(F(1)), 1),), RATE, Direction.REMOVAL),
    SampledPair(((EVEN, 1), (LogisticPair(F(1)), 1)), RATE, Direction.ADDITION),
    SampledPair(((ANSWER, 63),), RATE, Direction.REMOVAL),
    SampledPair(((EVEN, 101),), RATE, Direction.REMOVAL),
    SampledPair(((DiscreteLaplacePair(F(1), 2_000), 1),), RATE, Direction.REMOVAL),
]


@pytest.mark.parametrize("pair", UNLISTED, ids=lambda pair: pair.describe()[:40])
def test_other_losses_are_not_listed(pair: Pair) -> None:
    """Densities, endless or too many losses, and samples of a fixed size are refused."""
    assert outcomes_of(pair) == 0
    with pytest.raises(RefusedError, match="not listed"):
        terms_of(pair)


def test_a_pair_that_tells_everything() -> None:
    """No loss is finite: M is 0 everywhere, and P(L = inf) is 1."""
    found = moments(FinitePair((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))), None)

    assert found.along(Fraction(1), arb(1), 3) == [acb(0)] * 3
    assert found.infinite == 1


@pytest.mark.parametrize(("outcomes", "count"), [(1, 3), (2, 100), (3, 4), (62, 2), (2_000, 1)])
def test_a_power_has_every_term_once(outcomes: int, count: int) -> None:
    """A power has one term for each way to share the count; their factors add up to its value."""
    one = [(arb(k), arb(1)) for k in range(outcomes)]

    found = power(one, count)

    assert len(found) == atoms([(outcomes, count)])
    total = arb(outcomes) ** count
    assert sum((factor for _, factor in found), arb(0)).overlaps(total)
    assert sum((a * factor for a, factor in found), arb(0)).overlaps(
        total * count * (outcomes - 1) / 2
    )


def test_many_outcomes_are_listed_in_no_time() -> None:
    """All losses of a sample of as many outcomes as the format allows are listed."""
    masses = tuple(F(2 * k + 1, 4_000_000) for k in range(2_000))
    pair = SampledPair(((FinitePair(masses, masses[::-1]), 1),), RATE, Direction.REMOVAL)
    start = time.process_time()

    assert len(terms_of(pair).losses) == 2_000
    assert time.process_time() - start < 2


def test_sums_along_a_line_begin_with_the_moment() -> None:
    """At the first node M(c) = sum p e^(c loss), for a tilt that is not 0."""
    terms = Terms([(arb(1), arb("0.25")), (arb(-1), arb("0.75"))], arb(0))
    with ctx.workprec(128):
        first = terms.along(F(2), arb(1), 3)[0].real
        assert first.overlaps(arb("0.25") * arb(2).exp() + arb("0.75") * arb(-2).exp())
        assert first.rad() < 1e-20
