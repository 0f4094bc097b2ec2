"""Categories are those of the ideal uniform."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import categorical_exp, discrete
from dpproof.mechanisms.samplers.discrete import Exponents
from dpproof.mechanisms.samplers.rng import ReplayRng
from tests.mechanisms.samplers.support import (
    Scripted,
    digits,
    exactly,
    separate_refinement,
    slow_path,
    split,
)

CASES: list[tuple[Exponents, Fraction]] = [
    ([0, 1, 2], Fraction(1)),
    ([Fraction(1, 3), Fraction(-2, 7), Fraction(5)], Fraction(1, 2)),
    (np.random.default_rng(1).normal(size=50), Fraction(7, 3)),
    (np.arange(40), Fraction(1, 10)),
    ([0.0, 1e300, -1e300, 1e300], Fraction(1)),
    ([0, -500, -900, 0], Fraction(1)),
]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mpmath.workprec(600):
        yield


def cumulative(exponents: Exponents, factor: Fraction) -> list[mpmath.mpf]:
    """Return the exact distribution function at every category."""
    numbers = [Fraction(x) * factor for x in np.asarray(exponents, dtype=np.object_).tolist()]
    weights = [mpmath.exp(exactly(x - max(numbers))) for x in numbers]
    total = mpmath.fsum(weights)
    return [mpmath.fsum(weights[: i + 1]) / total for i in range(len(weights))]


@pytest.mark.parametrize(("exponents", "factor"), CASES)
def test_binary64_brackets_contain_the_distribution_function(
    exponents: Exponents, factor: Fraction
) -> None:
    """The bounds hold, are ordered, and are narrow enough to decide nearly every draw."""
    gaps, _ = discrete._gaps(exponents, factor)
    low, high = discrete._cumulative_bounds(gaps)
    for lower, true, upper in zip(low, cumulative(exponents, factor), high, strict=True):
        assert mpmath.mpf(float(lower)) <= true <= mpmath.mpf(float(upper))
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert (high - low).max() < 1e-12


@pytest.mark.parametrize(("exponents", "factor"), CASES[:4])
@pytest.mark.parametrize("offset", [-1, 0])
def test_boundaries_are_decided_by_late_digits(
    exponents: Exponents, factor: Fraction, offset: int
) -> None:
    """Digits that agree with a boundary for 256 places fall on the side of what follows."""
    ending = 2**64 - 1 if offset == 0 else 0
    for i, boundary in enumerate(cumulative(exponents, factor)[:-1]):
        words = split(digits(boundary, 256) + offset, 256)
        rng = Scripted([*words, ending, ending])
        (drawn,) = categorical_exp(exponents, 1, rng, factor=factor)
        assert drawn == (i if offset == -1 else i + 1)


@pytest.mark.parametrize(("exponents", "factor"), CASES)
def test_slow_path_gives_the_same_categories(
    monkeypatch: pytest.MonkeyPatch, exponents: Exponents, factor: Fraction
) -> None:
    """With every margin enormous, each draw is decided by integers, and none changes."""
    fast = categorical_exp(exponents, 300, ReplayRng(5), factor=factor)
    counted = separate_refinement(monkeypatch, 6)
    slow_path(monkeypatch)
    slow = categorical_exp(exponents, 300, ReplayRng(5), factor=factor)
    assert counted[0] >= 300
    assert np.array_equal(fast, slow)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.fractions(min_value=-30, max_value=30), min_size=1, max_size=8),
    st.lists(st.integers(min_value=0, max_value=2**64 - 1), min_size=1, max_size=8),
)
def test_draws_invert_the_distribution_function(
    exponents: list[Fraction], words: list[int]
) -> None:
    """The category drawn is the first whose distribution function exceeds U."""
    ends = cumulative(exponents, Fraction(1))[:-1]
    for word in words:
        (drawn,) = categorical_exp(exponents, 1, Scripted([word, 2**63]))
        u = mpmath.ldexp((word << 64) + 2**63 + mpmath.mpf(0.5), -128)
        assert drawn == sum(end <= u for end in ends)


def test_floats_integers_and_fractions_mean_the_same() -> None:
    """The law depends on the exact numbers, not on how they are written."""
    spellings: list[Exponents] = [
        [1, 3, 2],
        [1.0, 3.0, 2.0],
        [Fraction(1), 3, 2.0],
        np.array([1, 3, 2]),
    ]
    drawn = [
        categorical_exp(exponents, 200, ReplayRng(1), factor=Fraction(1, 2))
        for exponents in spellings
    ]
    assert all(np.array_equal(drawn[0], other) for other in drawn)


def test_a_negligible_category_is_still_possible() -> None:
    """A weight of e^-100 is drawn by a uniform below it: its digits start with 144 zeros."""
    words = Scripted([0, 0, 1, 0, 0])
    assert categorical_exp([0, 100], 1, words)[0] == 0
    assert categorical_exp([0, 100], 1, Scripted([0, 2**60, 0, 0]))[0] == 1


def test_factor_zero_is_uniform_and_one_category_is_certain() -> None:
    """Factor 0 forgets the scores, however large; a single category needs no luck."""
    drawn = categorical_exp([-1e308, 1e308, 0.0], 3, Scripted([0, 2**63, 2**64 - 1]), factor=0)
    assert drawn.tolist() == [0, 1, 2]
    assert categorical_exp([3.5], 4, ReplayRng(1)).tolist() == [0, 0, 0, 0]
    assert categorical_exp([3.5], 0, ReplayRng(1)).shape == (0,)


def test_sums_of_many_categories_stay_decidable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand categories leave fewer than one draw in a thousand open."""
    counted = separate_refinement(monkeypatch, 6)
    categorical_exp(np.zeros(100_000), 1000, ReplayRng(5))
    assert counted[0] == 0


@pytest.mark.parametrize(
    ("exponents", "factor", "size", "name"),
    [
        ([], 1, 1, "exponents"),
        ([[1]], 1, 1, "exponents"),
        ([math.nan, 1.0], 1, 1, "exponents"),
        ([Fraction(1), math.inf], 1, 1, "exponents"),
        (["a"], 1, 1, "exponents"),
        ([2**53 + 1], 1, 1, "exponents"),
        ([1], -1, 1, "factor"),
        ([1], math.nan, 1, "factor"),
        ([1], Fraction(2) ** 301, 1, "factor"),
        ([1], 1, -1, "size"),
    ],
)
def test_arguments_are_checked(exponents: Exponents, factor: float, size: int, name: str) -> None:
    """Each argument outside its domain is refused by name."""
    with pytest.raises(ParameterError, match=f"^{name} must"):
        categorical_exp(exponents, size, ReplayRng(1), factor=factor)


@pytest.mark.parametrize("times", [[1, 1, 1], [3, 1, 10**9], [1, 2**70, 10**40], [10**350, 1, 7]])
def test_multiplicities_are_repeated_categories(times: list[int]) -> None:
    """Brackets contain the distribution function with every weight so many times."""
    exponents, factor = [0, 3, -2], Fraction(7, 3)
    gaps, exact = discrete._gaps(exponents, factor)
    low, high = discrete._cumulative_bounds(gaps, times)
    weights = [mpmath.exp(exactly(-exact(i))) * times[i] for i in range(3)]
    true = [mpmath.fsum(weights[: i + 1]) / mpmath.fsum(weights) for i in range(3)]
    sums = discrete._Sums([exact(i) for i in range(3)], times)
    below, above = sums._at(256)

    for i in range(3):
        assert mpmath.mpf(float(low[i])) <= true[i] <= mpmath.mpf(float(high[i]))
        assert below[i] <= true[i] * mpmath.fsum(weights) * 2**256 <= above[i]


def test_multiplicities_are_refused() -> None:
    """One integer from 1 for every category."""
    for times in ([1], [1, 0], [1, -1], [1, 1.5]):
        with pytest.raises(ParameterError, match="multiplicities"):
            categorical_exp([0, 1], 1, ReplayRng(1), multiplicities=times)  # type: ignore[arg-type]


def test_draws_follow_multiplicities() -> None:
    """Three equal scores, 1 : 2 : 5, within six standard errors of 40,000 draws; seed 3."""
    drawn = categorical_exp([4, 4, 4], 40_000, ReplayRng(3), multiplicities=[1, 2, 5])
    seen = np.bincount(drawn, minlength=3) / 40_000

    assert seen == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=6 * 0.5 / 200)
