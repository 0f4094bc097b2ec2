"""Random allocation of bounded losses, against laws of all outcomes of few rounds."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    BallsInBins,
    NotCertified,
    NotImplied,
    PureDP,
    RandomAllocation,
    answers,
    compose,
)
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.theorems.allocation import allocate_random
from dpproof.mechanisms import DiscreteGaussian, Gaussian, Laplace
from dpproof.proofs import check

RATIOS = (0.0, 0.1, 0.4, 0.9, 1.6)


def exact(p: Reals, q: Reals, rounds: int, epsilon: float) -> tuple[float, float]:
    """Both orders' divergences of the mean over rounds, by all outcomes."""
    with_record = without = 0.0
    t = math.exp(epsilon)
    for outcome in product(range(p.size), repeat=rounds):
        least = float(np.prod(q[list(outcome)]))
        most = least * float(np.mean(p[list(outcome)] / q[list(outcome)]))
        with_record += max(most - t * least, 0.0)
        without += max(least - t * most, 0.0)
    return with_record, without


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_randomised_response_is_exact(rounds: int) -> None:
    """Both ends are the divergence over all outcomes, in both orders."""
    epoch = allocate_random(PureDP(epsilon=2), RandomAllocation(steps=rounds)).to_pair()
    p = np.array([math.exp(2), 1.0]) / (math.exp(2) + 1)
    for epsilon in RATIOS:
        both = exact(p, p[::-1], rounds, epsilon)
        for way, value in zip((epoch.forward, epoch.backward), both, strict=True):
            found = answers.delta(way, epsilon)

            assert found.lower <= value * (1 + 1e-12)
            assert found.upper >= value * (1 - 1e-12)
            assert found.upper - found.lower <= 1e-9 * value


def test_no_bounded_loss_is_above_it() -> None:
    """Random pairs of three or four outcomes, of losses within 1, are never above the upper end."""
    rng, worst = np.random.default_rng(7), 0.0
    epochs = {n: allocate_random(PureDP(epsilon=1), RandomAllocation(steps=n)) for n in (2, 3, 4)}
    for _ in range(60):
        q = rng.dirichlet(np.full(rng.integers(3, 5), 0.5)) + 1e-9
        q /= q.sum()
        p = _within(q, rng.uniform(-1, 1, q.size))
        rounds, epsilon = int(rng.integers(2, 5)), float(rng.uniform(0, 0.8))
        delta = epochs[rounds].delta(epsilon=epsilon).upper
        worst = max(worst, *(one / delta for one in exact(p, q, rounds, epsilon)))

    assert 0.3 < worst <= 1 + 1e-9


def _within(q: Reals, loss: Reals) -> Reals:
    """A law whose losses against q are these, moved as one and cut to [-1, 1], of sum 1."""
    low, high = -3.0, 3.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        total = float((q * np.exp(np.clip(loss + middle, -1, 1))).sum())
        low, high = (middle, high) if total < 1 else (low, middle)
    return np.asarray(q * np.exp(np.clip(loss + low, -1, 1)))


def test_kept_rounds_and_several_of_them() -> None:
    """Kept rounds add their losses up; k of t are the parts; all of it is between one and t."""
    kept = allocate_random(PureDP(epsilon=1), BallsInBins(steps=30, epochs=2))
    once = allocate_random(PureDP(epsilon=2), RandomAllocation(steps=30))
    assert kept.epsilon(delta=1e-4) == once.epsilon(delta=1e-4)

    one = PureDP(epsilon=1)
    two = allocate_random(one, RandomAllocation(steps=31, chosen=2))
    parts = [allocate_random(one, RandomAllocation(steps=n)) for n in (15, 16)]
    assert two.epsilon(delta=1e-4) == compose(*parts).epsilon(delta=1e-4)
    many = allocate_random(one, RandomAllocation(steps=10**6))
    assert many.epsilon(delta=1e-6).upper < 0.003


@pytest.mark.parametrize(
    ("noise", "steps", "chosen", "least"),
    [(1, 1000, 10, 1.3675), pytest.param(Fraction(1, 2), 1000, 2, 4.1059, marks=pytest.mark.slow)],
)
def test_several_rounds_have_a_lower_end(
    noise: Fraction, steps: int, chosen: int, least: float
) -> None:
    """The sum of all rounds, or the largest, below the parts' upper end, and certified."""
    scheme = RandomAllocation(steps=steps, chosen=chosen)
    found = allocate_random(GDP(mu=1 / Fraction(noise)), scheme)
    if chosen == 10:
        plain = GDP(mu=10 / math.sqrt(1000)).epsilon(delta=1e-6)
        assert plain.lower == pytest.approx(least, rel=1e-4)
    epsilon = found.epsilon(delta=1e-6)

    assert found.attained
    assert epsilon.lower == pytest.approx(least, rel=1e-4)
    assert epsilon.upper > 1.2 * epsilon.lower
    assert check(found.certify(delta=1e-6, lower=True)).ok


def test_noise_is_used_by_its_largest_loss() -> None:
    """Laplace noise costs what it states; unbounded losses, and large ones, are refused."""
    scheme = RandomAllocation(steps=100)
    noise = Laplace(scale=Fraction(1, 2), sensitivity=L1(1))
    found = noise.allocate(scheme).guarantee()
    stated = allocate_random(PureDP(epsilon=2), scheme).epsilon(delta=1e-6)
    assert found.epsilon(delta=1e-6).upper == pytest.approx(stated.upper, rel=1e-12)
    assert not found.attained

    with pytest.raises(NotImplied, match="Gaussian noise, and for a largest loss"):
        DiscreteGaussian(sigma=1, sensitivity=L1(1)).allocate(scheme).guarantee()
    with pytest.raises(NotImplied, match="got 40"):
        noise.allocate(BallsInBins(steps=5, epochs=20)).guarantee()


@pytest.mark.parametrize("rounds", [1, 100, 10**5])
def test_certificates_are_close_to_the_brackets(rounds: int) -> None:
    """In both orders of datasets, at Renyi orders, and at delta 0, where nothing is infinite."""
    found = Laplace(scale=1, sensitivity=L1(1)).allocate(RandomAllocation(steps=rounds)).guarantee()
    for delta in (1e-6, 0):
        certificate: Any = found.certify(delta=delta)
        claim = float(Fraction(str(certificate.steps[-1].conclusion["epsilon"])))
        assert check(certificate).ok
        assert 1 <= claim / found.epsilon(delta=delta).upper <= 1 + 1e-7
    for order in (2, 8):
        certificate = found.certify(order=order)
        points = dict(certificate.steps[-1].conclusion["points"])
        claim = float(Fraction(points[str(order)]))
        assert check(certificate).ok
        assert 1 <= claim / found.rdp(order=order).upper <= 1.01


def test_refused_certificates_say_what_is_missing() -> None:
    """Bits of several rounds, and the largest loss of an allocation, have no rule."""
    scheme, base = RandomAllocation(steps=10), PureDP(epsilon=1)
    several = allocate_random(base, RandomAllocation(steps=10, chosen=3))
    with pytest.raises(NotCertified, match="records that draw several rounds"):
        several.certify(delta=1e-6)
    with pytest.raises(NotCertified, match="a pair that the checker knows from above"):
        allocate_random(allocate_random(base, scheme), scheme).certify(delta=1e-6)

    noise = Gaussian(sigma=Fraction(1, 2), sensitivity=L2(1))
    two = noise.allocate(RandomAllocation(steps=1_000, chosen=2)).guarantee()
    start = time.process_time()
    with pytest.raises(NotCertified, match="Renyi divergences of allocated rounds"):
        two.certify(order=8)
    assert time.process_time() - start < 1
