"""Rounded continuous noise is the nearest multiple to the ideal real number, for every draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import default_granularity, gaussian_rounded, laplace_rounded
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.rng import ReplayRng, Uniforms
from tests.mechanisms.samplers.support import (
    Scripted,
    digits,
    exactly,
    separate_refinement,
    slow_path,
    split,
)

Sampler = Callable[..., Integers]
SAMPLERS: list[Sampler] = [gaussian_rounded, laplace_rounded]
SCALES = [Fraction(1), Fraction(2, 7), Fraction(10) ** 9, Fraction(1, 10**12), Fraction(2) ** -300]
FIRST = 63


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mpmath.workprec(500):
        yield


def survival(sampler: Sampler, t: mpmath.mpf) -> mpmath.mpf:
    """Return P(M > t) of the magnitude."""
    return mpmath.erfc(t / mpmath.sqrt(2)) if sampler is gaussian_rounded else mpmath.exp(-t)


def magnitude(sampler: Sampler, u: mpmath.mpf) -> mpmath.mpf:
    """Return the M with P(M > m) = u, to about 60 digits."""
    if sampler is laplace_rounded:
        return -mpmath.log(u)
    return mpmath.findroot(
        lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / u),
        mpmath.sqrt(-2 * mpmath.log(u)) * 0.9 + 0.01,
        tol=mpmath.mpf(10) ** -120,
    )


def values_for(scale: Fraction, count: int) -> NDArray[np.float64]:
    """Return zeros, values of the noise's size, and values with far more or fewer digits."""
    source = np.random.default_rng(5)
    spread = source.normal(size=count) * 2.0 ** source.uniform(-60, 30, size=count) * float(scale)
    spread[:3] = [0.0, -0.0, 5e-324]
    return spread


@pytest.mark.some(5)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", SCALES)
def test_draws_are_correctly_rounded(sampler: Sampler, scale: Fraction) -> None:
    """Both ends of the uniform's known interval, at 60 digits, round to the integer returned."""
    count = 60
    grid = default_granularity(scale)
    values = values_for(scale, count)
    drawn = sampler(values, scale, grid, ReplayRng(3))
    batch = Uniforms(count, ReplayRng(3), spent=1)
    open_ends = 0
    for i in range(count):
        uniform = batch.lazy(i)
        sign = -1 if int(batch.first[i]) >> FIRST else 1
        ends = [
            exactly(Fraction(float(values[i])) / grid)
            + sign * exactly(scale / grid) * magnitude(sampler, mpmath.ldexp(end, -uniform.bits))
            for end in (uniform.prefix, uniform.prefix + 1)
        ]
        nearest = {int(mpmath.nint(end)) for end in ends}
        assert int(drawn[i]) in nearest
        open_ends += len(nearest) - 1
    assert open_ends == 0


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("offset", [-1, 0])
@pytest.mark.parametrize("k", [1, 3, 10**6, 7 * 10**6])
def test_near_ties_are_decided_by_late_digits(
    sampler: Sampler, sign: int, offset: int, k: int
) -> None:
    """Digits that agree with a tie for 255 places round by what follows."""
    bits = FIRST + 192
    grid = Fraction(1, 2**20)
    sigma = Fraction(3, 7)
    tie = survival(sampler, exactly((k - Fraction(1, 2)) * grid / sigma))
    prefix = digits(tie, bits) + offset
    words = split(prefix, bits, first=FIRST)
    ending = 2**64 - 1 if offset == 0 else 0
    rng = Scripted([words[0] | sign << FIRST, *words[1:], ending, ending, ending])
    (drawn,) = sampler([0.0], sigma, grid, rng)
    # A smaller uniform is a larger magnitude.
    assert abs(int(drawn)) == (k if offset == -1 else k - 1)
    assert rng.drawn >= 4


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", SCALES)
def test_slow_path_gives_the_same_integers(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler, scale: Fraction
) -> None:
    """With every margin enormous, each draw is decided by integers, and none changes."""
    values = values_for(scale, 300)
    grid = default_granularity(scale)
    fast = sampler(values, scale, grid, ReplayRng(8))
    counted = separate_refinement(monkeypatch, 9)
    slow_path(monkeypatch)
    slow = sampler(values, scale, grid, ReplayRng(8))
    assert counted[0] >= len(values) * 0.99
    assert [int(k) for k in fast] == [int(k) for k in slow]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("zeros", [1, 3])
def test_far_tails(sampler: Sampler, zeros: int) -> None:
    """A uniform of about 2^-64 zeros gives the far quantile, to the last digit of the grid."""
    tail = 2**60 + 12345
    rng = Scripted([0, *[0] * (zeros - 1), tail])
    grid = Fraction(1, 2**20)
    (drawn,) = sampler([0.0], 1, grid, rng)
    bits = FIRST + 64 * zeros
    true = magnitude(sampler, mpmath.ldexp(tail + mpmath.mpf(0.5), -bits))
    assert int(drawn) == int(mpmath.nint(true * 2**20))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("value", [1e300, -1e300, 2.0**44, -(2.0**45), 1.7e308])
def test_huge_values_keep_every_digit_of_the_noise(sampler: Sampler, value: float) -> None:
    """Where the sum is beyond int64, Python integers carry it, noise and all."""
    rng = ReplayRng(4)
    grid = Fraction(1, 2**20)
    drawn = sampler([value], 1, grid, rng)
    noise = sampler([0.0], 1, grid, ReplayRng(4))
    assert drawn.dtype == np.object_
    assert int(drawn[0]) - Fraction(value) / grid == int(noise[0])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_large_values_do_not_need_the_slow_path(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler
) -> None:
    """Integer parts of the grid are exact, so only the noise's own error counts."""
    counted = separate_refinement(monkeypatch, 1)
    values = np.full(1000, 2.0**40 + 0.25)
    sampler(values, 1, Fraction(1, 2**20), ReplayRng(2))
    assert counted[0] <= 2


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("exponent", [-200, -70, 0, 70, 2000])
def test_any_grid_is_served(sampler: Sampler, exponent: int) -> None:
    """Grids far finer or coarser than the noise give the same real number, rounded there."""
    grid = Fraction(2) ** exponent
    (drawn,) = sampler([0.75], 1, grid, ReplayRng(12))
    (fine,) = sampler([0.75], 1, Fraction(2) ** -150, ReplayRng(12))
    assert abs(int(drawn) * grid - int(fine) * Fraction(2) ** -150) <= max(
        grid, Fraction(2) ** -150
    )


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(SAMPLERS),
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.integers(min_value=-60, max_value=60),
    st.integers(min_value=0, max_value=10**9),
)
def test_shifting_by_grid_steps_shifts_the_output(
    sampler: Sampler, value: float, shift: int, seed: int
) -> None:
    """Law: k(v + j g) = k(v) + j wherever v + j g is representable."""
    grid = Fraction(1, 4)
    moved = Fraction(value) + shift * grid
    if Fraction(float(moved)) != moved:
        return
    before, after = (sampler(v, 3, grid, ReplayRng(seed)) for v in (value, float(moved)))
    assert int(after) - int(before) == shift


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_shape_dtype_and_replay(sampler: Sampler) -> None:
    """The output has the shape of the values, int64, and the same words give the same output."""
    assert sampler(np.zeros((2, 0, 3)), 1, 1, ReplayRng(1)).shape == (2, 0, 3)
    values = np.arange(6).reshape(2, 3)
    first = sampler(values, 1, 1, ReplayRng(1))
    assert first.dtype == np.int64
    assert np.array_equal(first, sampler(values, 1, 1, ReplayRng(1)))
    assert sampler(2.5, 1, 1, ReplayRng(1)).shape == ()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("value", "scale", "grid", "name"),
    [
        ([math.nan], 1, 1, "value"),
        ([math.inf], 1, 1, "value"),
        ([2**53 + 1], 1, 1, "value"),
        (["a"], 1, 1, "value"),
        ([1j], 1, 1, "value"),
        ([0.0], 0, 1, "s"),
        ([0.0], math.nan, 1, "s"),
        ([0.0], Fraction(2) ** 301, 1, "s"),
        ([0.0], 1, 3, "granularity"),
        ([0.0], 1, Fraction(1, 3), "granularity"),
        ([0.0], 1, 0, "granularity"),
        ([0.0], 1, Fraction(2) ** 2001, "granularity"),
    ],
)
def test_arguments_are_checked(
    sampler: Sampler, value: object, scale: float, grid: float, name: str
) -> None:
    """Each argument outside its domain is refused by name."""
    with pytest.raises(ParameterError, match=f"^{name}"):
        sampler(value, scale, grid, ReplayRng(1))


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_default_granularity_is_a_fixed_share_of_the_scale(scale: Fraction) -> None:
    """It is a power of two between 2^-21 and 2^-20 of the scale."""
    grid = default_granularity(scale)
    assert Fraction(2) ** -21 < grid / scale <= Fraction(2) ** -20
    assert grid.numerator == 1 or grid.denominator == 1
