"""Geometric, discrete Laplace and discrete Gaussian draws are those of the ideal uniforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import discrete_gaussian, discrete_laplace, geometric
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.rng import ReplayRng, Rng
from dpproof.mechanisms.samplers.uniform import Uniforms
from tests.mechanisms.samplers.support import (
    Scripted,
    digits,
    exactly,
    separate_refinement,
    slow_path,
    split,
)

Sampler = Callable[[Fraction | int | float, int, Rng], Integers]
SAMPLERS: list[Sampler] = [geometric, discrete_laplace, discrete_gaussian]
SCALES = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(10**6 + 1, 3)]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mpmath.workprec(700):
        yield


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_is_the_floor_of_the_ideal_exponential(scale: Fraction) -> None:
    """Both ends of the uniform's known interval, at 60 digits, have the floor returned."""
    count = 300
    drawn = geometric(scale, count, ReplayRng(3))
    batch = Uniforms(count, ReplayRng(3))
    for i in range(count):
        uniform = batch.lazy(i)
        floors = {
            int(mpmath.floor(-exactly(scale) * mpmath.log(mpmath.ldexp(end, -uniform.bits))))
            for end in (uniform.prefix, uniform.prefix + 1)
        }
        assert floors == {int(drawn[i])}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**6)])
@pytest.mark.parametrize("offset", [-1, 0])
@pytest.mark.parametrize("k", [1, 2, 30])
def test_geometric_steps_are_decided_by_late_digits(scale: Fraction, offset: int, k: int) -> None:
    """Digits that agree with e^(-k/scale) for 256 places fall on the side of what follows."""
    bits = 256
    prefix = digits(mpmath.exp(-exactly(k / scale)), bits) + offset
    ending = 2**64 - 1 if offset == 0 else 0
    rng = Scripted([*split(prefix, bits), ending, ending])
    (drawn,) = geometric(scale, 1, rng)
    assert int(drawn) == (k if offset == -1 else k - 1)
    assert rng.drawn >= 4


@pytest.mark.parametrize("scale", [1, 1000])
def test_geometric_far_tail(scale: int) -> None:
    """A uniform of about 2^-200 gives floor(-scale log U)."""
    tail = 2**56 + 999
    (drawn,) = geometric(scale, 1, Scripted([0, 0, 0, tail]))
    assert int(drawn) == int(mpmath.floor(-scale * mpmath.log(mpmath.ldexp(tail, -256))))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**9), Fraction(2**70)])
def test_slow_path_gives_the_same_integers(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler, scale: Fraction
) -> None:
    """With every margin enormous, each draw is decided by integers, and none changes."""
    separate_refinement(monkeypatch, 9)
    fast = sampler(scale, 60, ReplayRng(8))
    counted = separate_refinement(monkeypatch, 9)
    slow_path(monkeypatch)
    slow = sampler(scale, 60, ReplayRng(8))
    assert counted[0] >= 60
    assert [int(k) for k in fast] == [int(k) for k in slow]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("exponent", [-300, -40, 61, 64, 300])
def test_extreme_scales(sampler: Sampler, exponent: int) -> None:
    """Tiny scales give 0; huge ones leave int64 rather than wrap, and keep their size.

    Each output exceeds 60 scales, and 40 outputs all stay below 2^-12 of the scale, with
    probability below 1e-25.
    """
    scale = Fraction(2) ** exponent
    drawn = sampler(scale**2 if sampler is discrete_gaussian else scale, 40, ReplayRng(2))
    assert len(drawn) == 40
    largest = max(abs(int(k)) for k in drawn)
    if exponent < 0:
        assert largest == 0
    else:
        assert scale / 2**12 < largest < 60 * scale
        assert len({int(k) & 1023 for k in drawn}) > 10
    if exponent >= 64:
        assert drawn.dtype == np.object_


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_replay_and_sizes(sampler: Sampler) -> None:
    """The same words give the same output; a size of 0 gives an empty int64 array."""
    first = sampler(Fraction(9, 2), 100, ReplayRng(1))
    assert first.dtype == np.int64
    assert first.shape == (100,)
    assert np.array_equal(first, sampler(4.5, 100, ReplayRng(1)))
    assert sampler(1, 0, ReplayRng(1)).shape == (0,)
    assert sampler(1, 0, ReplayRng(1)).dtype == np.int64


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, Fraction(2) ** 601, True, "1"])
def test_scales_are_checked(sampler: Sampler, scale: float) -> None:
    """A scale outside its domain is refused by name."""
    with pytest.raises(ParameterError, match=r"^(scale|sigma_squared) must"):
        sampler(scale, 1, ReplayRng(1))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("size", [-1, 1.5, True])
def test_sizes_are_checked(sampler: Sampler, size: int) -> None:
    """A size is a whole number."""
    with pytest.raises(ParameterError, match=r"^size must"):
        sampler(1, size, ReplayRng(1))
