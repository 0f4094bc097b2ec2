"""Coins are those of the ideal uniform."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import bernoulli, bernoulli_exp, bernoulli_exp_ratios
from dpproof.mechanisms.samplers.rng import Coins, ReplayRng, Rng
from tests.mechanisms.samplers.support import (
    Scripted,
    digits,
    exactly,
    separate_refinement,
    slow_path,
    split,
)

TOSSES: list[Callable[[Fraction, int, Rng], Coins]] = [
    bernoulli_exp,
    lambda gamma, size, rng: bernoulli_exp_ratios([gamma.numerator] * size, gamma.denominator, rng),
    lambda gamma, size, rng: bernoulli_exp_ratios(
        np.array([gamma.numerator * 2**1100] * size, dtype=object), gamma.denominator << 1100, rng
    ),
]
GAMMAS = [Fraction(1, 10**12), Fraction(1, 3), Fraction(1), Fraction(40), Fraction(170)]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mpmath.workprec(900):
        yield


@pytest.mark.parametrize("toss", TOSSES)
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("offset", [-1, 0])
def test_exponential_coins_are_decided_by_late_digits(
    toss: Callable[[Fraction, int, Rng], Coins], gamma: Fraction, offset: int
) -> None:
    """Digits that agree with e^-gamma for 384 places fall on the side of what follows."""
    bits = 384
    prefix = digits(mpmath.exp(-exactly(gamma)), bits) + offset
    ending = 2**64 - 1 if offset == 0 else 0
    (coin,) = toss(gamma, 1, Scripted([*split(prefix, bits), ending, ending]))
    assert bool(coin) == (offset == -1)


@settings(max_examples=200, deadline=None)
@given(
    st.fractions(min_value=0, max_value=60, max_denominator=10**12),
    st.integers(min_value=0, max_value=2**64 - 1),
    st.integers(min_value=0, max_value=64),
)
def test_coins_agree_with_a_full_comparison(gamma: Fraction, word: int, shift: int) -> None:
    """Every word gives the coin of the real comparison U < e^-gamma."""
    words = [word >> shift, word, word ^ shift]
    prefix = (words[0] << 128) | (words[1] << 64) | words[2]
    expected = mpmath.ldexp(mpmath.mpf(prefix) + 0.5, -192) < mpmath.exp(-exactly(gamma))
    for toss in TOSSES:
        assert bool(toss(gamma, 1, Scripted(words))[0]) == bool(expected)


@given(st.fractions(min_value=0, max_value=1), st.integers(min_value=0, max_value=2**64 - 1))
def test_rational_coins_agree_with_a_full_comparison(x: Fraction, word: int) -> None:
    """Every word gives the coin of the rational comparison U < x."""
    prefix = (word << 64) | 2**63
    assert bool(bernoulli(x, 1, Scripted([word, 2**63]))[0]) == (Fraction(prefix, 2**128) < x)


def test_certain_coins_do_not_depend_on_the_words() -> None:
    """Probability 0 never comes up and probability 1 always does, at both extreme words."""
    extremes = [0, 2**64 - 1]
    assert not bernoulli(0, 2, Scripted(extremes)).any()
    assert bernoulli(1, 2, Scripted(extremes)).all()
    assert bernoulli_exp(0, 2, Scripted(extremes)).all()
    assert bernoulli_exp_ratios([0, 0], 5, Scripted(extremes)).all()
    assert not bernoulli_exp(10**9, 2, Scripted([1, 2**64 - 1])).any()


def test_slow_path_gives_the_same_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every margin enormous, each coin is decided by integers, and none changes."""
    tops = np.arange(400)

    def coins() -> list[Coins]:
        return [
            bernoulli(Fraction(1, 3), 400, ReplayRng(1)),
            bernoulli_exp(Fraction(1, 3), 400, ReplayRng(2)),
            bernoulli_exp_ratios(tops, 77, ReplayRng(3)),
        ]

    fast = coins()
    counted = separate_refinement(monkeypatch, 4)
    slow_path(monkeypatch)
    slow = coins()
    assert counted[0] >= 1200
    assert all(np.array_equal(a, b) for a, b in zip(fast, slow, strict=True))


def test_fast_path_leaves_almost_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than one coin in a hundred thousand asks for a second word (expected: 1e-14)."""
    counted = separate_refinement(monkeypatch, 4)
    bernoulli(Fraction(1, 3), 100_000, ReplayRng(1))
    bernoulli_exp(Fraction(1, 3), 100_000, ReplayRng(2))
    bernoulli_exp_ratios(np.arange(100_000), 50_000, ReplayRng(3))
    assert counted[0] <= 1


@pytest.mark.parametrize(
    ("toss", "name"),
    [
        (lambda: bernoulli(Fraction(3, 2), 1, ReplayRng(1)), "probability"),
        (lambda: bernoulli(math.nan, 1, ReplayRng(1)), "probability"),
        (lambda: bernoulli(0.5, -1, ReplayRng(1)), "size"),
        (lambda: bernoulli_exp(-1, 1, ReplayRng(1)), "gamma"),
        (lambda: bernoulli_exp(math.inf, 1, ReplayRng(1)), "gamma"),
        (lambda: bernoulli_exp_ratios([-1], 1, ReplayRng(1)), "numerators"),
        (lambda: bernoulli_exp_ratios([0.5], 1, ReplayRng(1)), "numerators"),
        (lambda: bernoulli_exp_ratios([[1]], 1, ReplayRng(1)), "numerators"),
        (lambda: bernoulli_exp_ratios([1], 0, ReplayRng(1)), "denominator"),
        (lambda: bernoulli_exp_ratios([1], -3, ReplayRng(1)), "denominator"),
    ],
)
def test_arguments_are_checked(toss: Callable[[], Coins], name: str) -> None:
    """Each argument outside its domain is refused by name."""
    with pytest.raises(ParameterError, match=f"^{name} must"):
        toss()
