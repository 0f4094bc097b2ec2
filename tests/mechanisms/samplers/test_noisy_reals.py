"""Real numbers that are compared and never rounded."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.mechanisms.samplers import enclosure
from dpproof.mechanisms.samplers.rng import GeneratorRng, LazyUniform, ReplayRng, Rng
from dpproof.mechanisms.samplers.rounded import NoisyReal, NoisyReals, exceeding, largest_of_rows


def rng(seed: int) -> Rng:
    """Return random words of a seeded generator."""
    return GeneratorRng(np.random.default_rng(seed))


def test_brackets_hold_the_number() -> None:
    """Value - scale log U lies in the bracket at every precision, and brackets shrink."""
    for seed in range(40):
        uniform = LazyUniform((1 + seed) << 58, 64, ReplayRng(seed))
        scale = Fraction(3 if seed % 2 else -3, 1 + seed)
        number = NoisyReal(Fraction(seed, 3), scale, uniform)
        for bits in (64, 128, 700):
            low, high = number.bracket(bits)
            with mpmath.workprec(2_000):
                u = mpmath.mpf(uniform.prefix) / mpmath.mpf(2) ** uniform.bits
                noise = -mpmath.log(u) * scale.numerator / scale.denominator
                true = noise + mpmath.mpf(seed) / 3
                slack = mpmath.mpf(2) ** (20 - bits)
                assert mpmath.mpf(low.numerator) / low.denominator <= true + slack
                assert true - slack <= mpmath.mpf(high.numerator) / high.denominator
            assert 0 <= high - low < abs(scale) * Fraction(2) ** (40 - bits)


def test_the_fast_path_agrees_with_exact_comparisons() -> None:
    """What binary64 decides is what further digits would have decided."""
    values = np.random.default_rng(1).normal(size=600)
    left, right = (
        NoisyReals(v, s, rng(2), signed=True)
        for v, s in ((values, Fraction(1, 3)), (values[:100], Fraction(5)))
    )
    found = exceeding(left, right, 6)
    for i in range(100):
        for j in range(6):
            assert found[i, j] == left.exact(6 * i + j).exceeds(right.exact(i))


def test_everything_can_be_decided_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """With margins so wide that nothing is decided fast, all outputs are the same."""
    values = np.random.default_rng(3).normal(size=400)

    def both() -> tuple[list[int], list[bool]]:
        one = NoisyReals(values, Fraction(1), rng(4), signed=False)
        other = NoisyReals(values[:100], Fraction(2), rng(5), signed=True)
        return largest_of_rows(one, 4).tolist(), exceeding(one, other, 4).ravel().tolist()

    fast = both()
    monkeypatch.setattr(enclosure, "LIBM", 1e6)
    assert both() == fast


def test_values_beyond_the_noise() -> None:
    """Values so large that noise is lost in binary64 are compared exactly nonetheless."""
    huge = np.array([2.0**60, 2.0**60, -(2.0**1000), 2.0**60])
    picks = [
        int(largest_of_rows(NoisyReals(huge, Fraction(1), rng(seed), signed=True), 4)[0])
        for seed in range(60)
    ]

    assert set(picks) == {0, 1, 3}


def test_signed_noise_is_symmetric_and_exponential_noise_is_positive() -> None:
    """Means and signs of a hundred thousand numbers."""
    zeros = np.zeros(100_000)
    laplace = NoisyReals(zeros, Fraction(2), rng(6), signed=True).near
    exponential = NoisyReals(zeros, Fraction(2), rng(7), signed=False).near

    assert (exponential >= 0).all()
    assert abs(exponential.mean() - 2) < 6 * 2 / math.sqrt(1e5)
    assert abs(laplace.mean()) < 6 * 2 * math.sqrt(2) / math.sqrt(1e5)
    assert abs(np.abs(laplace).mean() - 2) < 6 * 2 / math.sqrt(1e5)
