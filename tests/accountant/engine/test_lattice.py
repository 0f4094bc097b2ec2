"""Losses on one lattice: the folded sum against enumeration."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.engine.lattice import (
    CommonLattice,
    LatticeNodes,
    build_lattice,
    common_lattice,
)
from dpproof.accountant.engine.saddle_point import find_saddle, saddle_at
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs import isoperimetric
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.isoperimetric import above_threshold_pair
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair
from tests.contracts.definition import Ball, ball


def binomial(epsilon: Fraction, count: int, at: float) -> Ball:
    """n-fold randomised response: losses (2k - n) epsilon with binomial masses."""
    e, total = ball(epsilon).exp(), flint.arb(0)
    for k in range(count + 1):
        loss = (2 * k - count) * ball(epsilon)
        mass = math.comb(count, k) * e**k / (1 + e) ** count
        total += mass * (1 - (ball(at) - loss).exp()).max(flint.arb(0))
    return total


@pytest.mark.parametrize(
    ("pair", "count"),
    [
        (DiscreteLaplacePair(scale=Fraction(93, 10), shift=1), 2),
        (DiscreteLaplacePair(scale=Fraction(1, 2), shift=3), 10),
        (RandomizedResponsePair(epsilon=Fraction(2)), 61),
    ],
)
@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12])
def test_brackets_next_to_the_largest_loss_are_narrow(pair: Pair, count: int, delta: float) -> None:
    """The tilt grows without end there, and the contour on the lattice still finds epsilon."""
    found = answers.epsilon(Product((Factor(pair, count),)), delta)
    assert found.relative_width < 1e-9


@pytest.mark.parametrize("count", [1, 2, 7, 60, 700])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.201, 0.6, 0.99])
def test_randomized_response(count: int, share: float) -> None:
    """The binomial sum is inside, on lattice points and between."""
    epsilon = Fraction(1, 4)
    product = Product((Factor(RandomizedResponsePair(epsilon=epsilon), count),))
    for x in (share * count * 0.25, round(share * count) * 0.25):
        true = binomial(epsilon, count, x)
        saddle = find_saddle(product, lambda one, x=x: one.epsilon - x)  # type: ignore[misc]
        lattice = common_lattice(product, saddle.c)
        assert lattice is not None
        low, high = build_lattice(product, saddle, lattice).log_profile(np.array([x]))
        assert ball(float(low[0])).exp().lower() <= true.upper() if low[0] > -math.inf else True
        assert true.lower() <= ball(float(high[0])).exp().upper()
        if true > 1e-250 and share < 0.9:
            assert high[0] - low[0] < 1e-9


@pytest.mark.parametrize("c", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_a_bad_abscissa_only_widens(c: float) -> None:
    """Far from the saddle the bracket still holds."""
    product = Product((Factor(RandomizedResponsePair(epsilon=Fraction(1, 4)), 20),))
    lattice = common_lattice(product, c)
    assert lattice is not None
    made = build_lattice(product, saddle_at(product, c), lattice)
    for x in (0.0, 0.7, 2.0, 4.9):
        true = binomial(Fraction(1, 4), 20, x)
        low, high = made.log_profile(np.array([x]))
        assert low[0] == -math.inf or ball(float(low[0])).exp().lower() <= true.upper()
        assert true.lower() <= ball(float(high[0])).exp().upper()


def test_common_lattice() -> None:
    """Multiples of one span share it; anything else shares none."""
    half = RandomizedResponsePair(epsilon=Fraction(1, 2))
    whole = RandomizedResponsePair(epsilon=Fraction(1))
    found = common_lattice(Product((Factor(half, 3), Factor(whole, 2))), 0.5)
    assert found is not None
    assert found.span == 1.0
    assert found.offset == -3.5
    laplace = DiscreteLaplacePair(scale=Fraction(2), shift=3)
    assert common_lattice(Product.of(half, laplace), 0.5) is not None
    third = RandomizedResponsePair(epsilon=Fraction(1, 3))
    assert common_lattice(Product.of(half, third), 0.5) is None
    assert common_lattice(Product.of(half, GaussianPair(mu_squared=Fraction(1))), 0.5) is None


def test_refuses_absurd_lattices() -> None:
    """A span far too fine for the count is refused with both numbers, not by a crash."""
    losses = Fraction(1), Fraction(1, 10**18)
    product = Product(tuple(Factor(RandomizedResponsePair(epsilon=one), 9) for one in losses))
    saddle = find_saddle(product, lambda one: one.epsilon - 1.0)
    lattice = common_lattice(product, saddle.c)
    assert lattice is not None
    with pytest.raises(
        NotCertified, match=r"too fine to be added up in .* sums, at most 8388608: round"
    ):
        build_lattice(product, saddle, lattice)


SHARED = SubsampledPair(
    base=Product(
        (
            Factor(DiscreteLaplacePair(scale=Fraction(4), shift=3), 1),
            Factor(RandomizedResponsePair(epsilon=Fraction(1, 4)), 1),
        )
    ),
    sampling_rate=Fraction(1, 10),
    direction=Direction.REMOVAL,
)


@pytest.mark.parametrize("at", [0.3, 1.0, 2.0])
def test_many_epsilons_by_one_transform(at: float) -> None:
    """What a Fourier transform says of many epsilons is what each says alone, hardly wider."""
    product = Product((Factor(SHARED, 30),)).above()
    saddle = find_saddle(product, lambda one: one.epsilon - at)
    lattice = common_lattice(product, saddle.c)
    assert lattice is not None
    made = build_lattice(product, saddle, lattice)
    assert made.nodes.s.size > 1 << 11
    epsilon = np.linspace(0.8 * at, 1.2 * at, (1 << 19) // made.nodes.s.size + 1)
    low, high = made.log_profile(epsilon)
    alone = [made.log_profile(epsilon[k : k + 1]) for k in range(0, epsilon.size, 7)]

    for k, (below, above) in zip(range(0, epsilon.size, 7), alone, strict=True):
        assert low[k] <= above[0] + 1e-15
        assert below[0] <= high[k] + 1e-15
        assert high[k] - low[k] <= 4 * (above[0] - below[0]) + 1e-11


def test_nodes_that_are_not_known_widen_the_transform() -> None:
    """Where K is not known at some nodes all of their size is an error."""
    product = Product((Factor(SHARED, 30),)).above()
    saddle = find_saddle(product, lambda one: one.epsilon - 2.0)
    lattice = common_lattice(product, saddle.c)
    assert lattice is not None
    made = build_lattice(product, saddle, lattice)
    nodes = made.nodes
    unknown = np.where(nodes.s.imag > nodes.s.imag[1], np.inf, nodes.radius)
    far = replace(made, nodes=replace(nodes, radius=unknown))
    epsilon = np.linspace(1.9, 2.1, (1 << 19) // made.nodes.s.size + 1)
    low, high = made.log_profile(epsilon)
    wide = far.log_profile(epsilon)

    assert (wide[0] <= low + 1e-12).all()
    assert (wide[1] >= high - 1e-12).all()
    assert (wide[1] > high + 0.1).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.4, 1.99])
@pytest.mark.parametrize("swapped", [False, True])
def test_losses_next_to_a_lattice(
    epsilon: float,
    swapped: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two uses of a pair whose losses were chosen on a lattice, against all pairs of outcomes."""
    monkeypatch.setattr(isoperimetric, "_OUTCOMES", 64)
    skew = [(Fraction(0), Fraction(2, 3)), (Fraction(1), Fraction(0))]
    made = isoperimetric.finite_pair_above([isoperimetric.isoperimetric(skew)])
    pair = made.swapped() if swapped else made
    assert isinstance(pair, FinitePair)
    assert pair.near_lattice()[0] is not pair
    t = Fraction(Decimal(epsilon).exp(Context(prec=60)))
    outcomes = list(zip(pair.p, pair.q, strict=True))
    true = sum(max(a * b - t * x * y, Fraction(0)) for a, x in outcomes for b, y in outcomes)
    found = answers.delta(Product.of(pair).times(2), epsilon)

    assert found.lower <= true * (1 + Fraction(1, 10**40))
    assert true * (1 - Fraction(1, 10**40)) <= found.upper
    assert found.upper - found.lower <= 1e-8 * found.upper + 1e-15


@pytest.mark.parametrize("uses", [3, 100, 10**6])
def test_above_threshold_has_narrow_brackets(uses: int) -> None:
    """AboveThreshold is answered on the lattice of its losses."""
    pair = above_threshold_pair(threshold=Fraction(1, 2), query=Fraction(1, 4))
    for delta in (1e-3, 1e-6, 1e-12):
        assert answers.epsilon(Product.of(pair).times(uses), delta).relative_width <= 1e-9


@pytest.mark.parametrize("count", [1, 2, 5])
def test_moments_move_with_the_losses(count: int) -> None:
    """M of three outcomes moved by up to b changes by b times the pull at most, also next to 0.

    Their tilted masses are 1/4, 1/2 and 1/4: M is 0 at the last node; seed 11.
    """
    rng, c = np.random.default_rng(11), 0.7
    lattice = CommonLattice(offset=0.0, span=1.0, decay=0.0, size=1.0, fewest=count)
    s = c + 1j * np.linspace(0.0, math.pi, 9)
    loss = np.array([-1.0, 0.0, 1.0])
    mass = np.array([0.25, 0.5, 0.25]) * np.exp(-c * loss)
    most = []
    for blur in np.geomspace(1e-9, 3.0, 60):
        moment = np.exp(np.outer(s, loss)) @ mass
        there = np.exp(np.outer(s, loss + blur / count * rng.choice([-1, 0, 1], 3))) @ mass
        log_size = count * np.log(np.maximum(np.abs(moment), 1e-300))
        known = log_size.astype(complex)
        pull = LatticeNodes(s, known, np.full(9, 1e-12), np.ones(9), lattice, 18.0).pull(blur)
        moved = np.abs(there**count - moment**count) / np.abs(moment[0]) ** count
        assert (moved <= blur * pull * (1 + 1e-6) + 1e-15).all()
        most.append(moved[1:] / (blur * pull[1:]))
    assert np.max(most) > 0.5


def test_spans_far_below_1_keep_their_digits() -> None:
    """10^4 uses of 10^-15-DP at delta = 2e-181, against the binomial sum at 60 digits."""
    uses, unit = 10_000, Fraction(1, 10**15)
    product = Product((Factor(RandomizedResponsePair(epsilon=unit), uses),))
    found = answers.epsilon(product, 2e-181)

    def delta(epsilon: float) -> mpmath.mpf:
        step = mpmath.mpf(1) / 10**15
        kept, first = 1 / (1 + mpmath.exp(-step)), int((epsilon / float(unit) + uses) / 2) + 1
        return mpmath.fsum(
            mpmath.binomial(uses, k)
            * kept**k
            * (1 - kept) ** (uses - k)
            * -mpmath.expm1(epsilon - (2 * k - uses) * step)
            for k in range(first, first + 900)
        )

    with mpmath.workdps(60):
        assert delta(found.lower) >= mpmath.mpf("2e-181") >= delta(found.upper)
    assert found.relative_width < 1e-9
