"""Decay of characteristic functions from minorants of densities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, PureDP
from dpproof.accountant.pairs.laplace import (
    DiscreteLaplacePair,
    LaplacePair,
    RandomizedResponsePair,
)
from dpproof.accountant.pairs.pair import (
    Pair,
    Smoothness,
    Tails,
    dirichlet_deficit,
    exponential_layers,
    layers,
    log_decay,
    required_loss,
    required_square,
)
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.theorems.subsampling import subsample_poisson


def test_layers_hold_no_more_than_the_histogram() -> None:
    """The layers' mass is at most the histogram's, and all of it where there is one peak."""
    rng = np.random.default_rng(0)
    widths = rng.uniform(0.1, 1.0, 12)
    rough = rng.uniform(0.0, 1.0, 12)
    one_peak = np.concatenate([np.sort(rough[:6]), np.sort(rough[6:])[::-1]])
    for heights, share in ((rough, 0.0), (one_peak, 1 - 1e-8)):
        masses, _ = layers(heights, widths)
        total = float(heights @ widths)
        assert share * total <= masses.sum() <= total
        assert (masses > 0).all()


def test_exponential_layers() -> None:
    """Below e^{x} on [-1, 1]: total mass under the integral, decay above the transform."""
    masses, widths = exponential_layers(1.0, 1.0, 0.0)
    integral = np.e - 1 / np.e
    assert 0.9 * integral <= masses.sum() <= integral
    y = np.geomspace(0.01, 300, 40)
    true = np.abs((np.exp(1 + 1j * y) - np.exp(-1 - 1j * y)) / (1 + 1j * y)) / integral
    found = log_decay([(Smoothness(masses=masses / integral, widths=widths), 3)], y)
    assert (3 * np.log(true) <= found + 1e-12).all()
    assert found[-1] < -1


def test_dirichlet_deficit() -> None:
    """At or below 1 - |sin kt / (k sin t)| for every t from the angle to pi / 2."""
    t = np.linspace(1e-4, np.pi / 2, 20_000)
    for steps in (2, 3, 8, 101):
        ratio = np.abs(np.sin(steps * t) / (steps * np.sin(t)))
        later = np.maximum.accumulate(ratio[::-1])[::-1]
        found = dirichlet_deficit(t, np.full(t.shape, float(steps)))
        assert (found <= 1 - later + 1e-9).all()
        far = steps * t > np.pi
        assert found[far] == pytest.approx(np.maximum(1 - 0.5 * np.pi / (steps * t[far]), 0.5))


def test_decay_beyond_a_lattice_horizon() -> None:
    """What is known of lattice laws is not used beyond pi over the span."""
    lattice = Smoothness(span=1.0, step_masses=np.array([1.0]), steps=np.array([5.0]))
    y = np.array([0.5, 3.0, 2 * np.pi, 50.0])
    alone = log_decay([(lattice, 1)], y)
    assert (alone == 0.0).all()  # the law is periodic: |phi| comes back to 1
    smooth = Smoothness(gaussian_variance=0.04)
    both = log_decay([(lattice, 1), (smooth, 1)], y)
    angle = 0.5 * y
    true = np.log(np.maximum(np.abs(np.sin(5 * angle) / (5 * np.sin(angle))), 1e-12)) - 0.02 * y * y
    later = np.maximum.accumulate(true[::-1])[::-1]
    assert (later <= both + 1e-12).all()


def test_decay_of_two_lattices_up_to_an_end() -> None:
    """Beyond the horizon of the wider span the other's bound is left, and none beyond its own."""
    y = np.linspace(0.01, 2 * np.pi, 4000)
    uniform = [(1.0, 5, 40), (0.5, 7, 60)]
    parts = [
        (Smoothness(span=h, step_masses=np.array([1.0]), steps=np.array([float(k)])), n)
        for h, k, n in uniform
    ]
    log_size = sum(
        n * np.log(np.abs(np.sin(0.5 * k * h * y) / (k * np.sin(0.5 * h * y))) + 1e-300)
        for h, k, n in uniform
    )
    later = np.maximum.accumulate(log_size[::-1])[::-1]
    found = log_decay(parts, y, end=2 * np.pi)
    assert (later <= found + 1e-9).all()
    assert found[0] > -1.0 > -20.0 > found[2000]
    assert (log_decay(parts, y) == 0.0).all()


LAPLACE = [LaplacePair(epsilon=Fraction(100 + 7 * i * i, 30011)) for i in range(40)]
MIXED = [
    *(
        RandomizedResponsePair(epsilon=Fraction(900 + 7 * i * i, 30011), categories=2 + i % 3)
        for i in range(20)
    ),
    *(DiscreteLaplacePair(scale=Fraction(50 + i, 9), shift=1 + i % 4) for i in range(20)),
]


@pytest.mark.parametrize("pairs", [LAPLACE, MIXED], ids=["Laplace", "discrete"])
@pytest.mark.parametrize("c", [0.3, 8.0])
def test_tails_by_atoms(pairs: list[Pair], c: float) -> None:
    """Bounds by atoms are above the product from each y to the end, and far below 1."""
    parts = []
    found = [pair.cgf(np.array([c + 0j])) for pair in pairs]
    for pair, at in zip(pairs, found, strict=True):
        value, radius = float(at.value.real[0]), float(at.radius[0])
        parts.append((pair.smoothness(c, Bound(value - radius, value + radius)), 2))
    tails = Tails.of(parts, 3000.0)
    y = np.linspace(3.0, tails.end, 30_000, endpoint=False)
    moduli = [pair.cgf(c + 1j * y).value.real for pair in pairs]
    true = 2 * np.sum(moduli, axis=0) - 2 * np.sum([one.value.real for one in found])
    later = np.maximum.accumulate(true[::-1])[::-1]
    stated = tails.largest[np.minimum((y / tails.width).astype(int), tails.largest.size - 1)]
    assert (later <= stated + 1e-9).all()
    assert stated[y > 100.0].max(initial=-np.inf) < -5.0
    density = np.exp(true) / (np.pi * y * y)
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(y)
    left = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    assert (left <= np.exp(tails.log_tail(y))).all()
    beyond = np.array([2 * tails.end])
    assert tails.log_tail(beyond) == log_decay(parts, beyond) - np.log(np.pi * beyond)


def test_tails_of_one_distance() -> None:
    """Atoms at one distance are aligned again and again, and few of them never cancel."""
    parts = [(LaplacePair(epsilon=Fraction(1, 9)).smoothness(1.0, Bound(0.0, 0.1)), 100)]
    assert not Tails.of(parts, 1000.0).end
    assert not Tails.of([*parts, (Smoothness(), 5)], 1000.0).end
    different = [(Smoothness(atoms=(0.5, 0.5, one)), 1) for one in (1.0, 1.3)]
    assert not Tails.of(different, 1000.0).end
    assert Tails.of([(one, 8) for one, _ in different], 1000.0).end >= 1000.0


TINY, HUGE = Fraction(1, 10**400), Fraction(10**400)


@pytest.mark.parametrize(
    "guarantee",
    [
        kind(epsilon=epsilon)
        for kind in (PureDP, BoundedRange)
        for epsilon in (TINY, Fraction(1, 10**200), Fraction(10**200), HUGE)
    ]
    + [GDP(mu=TINY), GDP(mu=HUGE), ApproxDP(epsilon=HUGE, delta=Fraction(1, 10))],
)
def test_guarantees_are_not_answered_beyond_floats(guarantee: Guarantee[AddRemove]) -> None:
    """Every question is refused by name, where one was answered by 0 or by an overflow."""
    refused = pytest.raises(ParameterError, match="for its pair to be computed, got ")
    with refused:
        guarantee.epsilon(delta=1e-9)
    with refused:
        guarantee.advantage()
    with refused:
        guarantee.gdp()


def test_ends_of_the_domain() -> None:
    """Both ends belong to it, and beyond them the hint says which way to go."""
    required_loss(epsilon=Fraction(1, 10**100))
    required_loss(epsilon=Fraction(10**100))
    required_square(mu_squared=Fraction(1, 10**200))
    with pytest.raises(ParameterError, match="round it up"):
        required_loss(epsilon=Fraction(1, 10**101))
    with pytest.raises(ParameterError, match="add noise"):
        LaplacePair(epsilon=Fraction(10**101))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**99), Fraction(1, 10**30), Fraction(1, 10**17)])
def test_small_guarantees_are_never_none(epsilon: Fraction) -> None:
    """Next to the end of the domain, upper ends stay above 0 and above the truth."""
    for guarantee in (PureDP(epsilon=epsilon), BoundedRange(epsilon=epsilon), GDP(mu=epsilon)):
        assert guarantee.advantage().upper > 0.2 * float(epsilon)
        assert guarantee.gdp().upper > 0.5 * float(epsilon)
        assert guarantee.rdp(order=2).upper > 0.2 * float(epsilon) ** 2
        assert guarantee.zcdp().upper > 0.1 * float(epsilon) ** 2


@pytest.mark.parametrize("rate", [TINY, 1 - TINY, Fraction(1e-310), Fraction(1, 10**101)])
def test_samples_are_not_answered_beyond_floats(rate: Fraction) -> None:
    """A rate closer than 1e-100 to an end is refused by name, where logs of 0 were taken."""
    for base in (GDP(mu=1), PureDP(epsilon=1)):
        with pytest.raises(ParameterError, match="sampling_rate must be from 1e-100"):
            subsample_poisson(base, Poisson(sampling_rate=rate))


@pytest.mark.parametrize("rate", [Fraction(1, 10**100), 1 - Fraction(1, 10**100)])
def test_samples_next_to_the_ends_are_answered(rate: Fraction) -> None:
    """By brackets that hold what total variation distances of the base allow."""
    for base in (GDP(mu=1), PureDP(epsilon=1)):
        found = subsample_poisson(base, Poisson(sampling_rate=rate)).delta(epsilon=0)
        true = float(rate) * base.delta(epsilon=0).lower
        assert found.lower * (1 - 1e-9) <= true <= found.upper * (1 + 1e-9)
