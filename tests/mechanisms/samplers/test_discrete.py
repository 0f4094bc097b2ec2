"""Geometric, discrete Laplace and discrete Gaussian draws are those of ideal uniforms."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.samplers import discrete, discrete_gaussian, discrete_laplace, geometric
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.rng import ReplayRng, Rng
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
_ONES = 2**64 - 1
SCALES = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(10**6 + 1, 3)]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    with mpmath.workprec(700):
        yield


def law_of(sampler: Sampler, scale: Fraction) -> discrete._Law:
    """Return the law of a geometric or Laplace scale, or of a Gaussian variance."""
    if sampler is discrete_gaussian:
        return discrete._Law.of(2, 1 / (2 * scale), 2, math.isqrt(math.floor(scale)))
    return discrete._Law.of(1, 1 / scale, 1 + (sampler is discrete_laplace), math.floor(2 * scale))


def shares(law: discrete._Law, cells: int) -> list[mpmath.mpf]:
    """Return the shares of |X| at most 0 and of the first cells, to 300 digits."""
    width, sums = 2**law.digits, [mpmath.mpf(1)]
    added = mpmath.mpf(1)
    while len(sums) < cells or added > sums[-1] * mpmath.mpf(2) ** -300:
        first = (len(sums) - 1) * width + 1
        added = law.sides * width * mpmath.exp(-exactly(law.rate * first**law.power))
        sums.append(sums[-1] + added)
    return [one / sums[-1] for one in sums[:cells]]


TABLES = [
    (sampler, scale)
    for sampler in SAMPLERS
    for scale in (
        Fraction(1, 100),
        Fraction(1, 3),
        Fraction(22, 7),
        Fraction(10**4),
        Fraction(2**70),
    )
]


@pytest.mark.some(5)
@pytest.mark.parametrize(("sampler", "scale"), TABLES)
def test_tables_hold_what_the_law_says(sampler: Sampler, scale: Fraction) -> None:
    """At 200 digits every sum is in its bracket, and every entry is the number at both its ends."""
    law = law_of(sampler, scale)
    low, high = discrete._cumulative(law, 63)
    true = [digits(one, 200) for one in shares(law, len(low) + 1)]
    assert all(a << 137 <= x <= b << 137 for a, x, b in zip(low, true, high, strict=False))
    assert all(b - a <= 2 for a, b in zip(low, high, strict=True))
    table = discrete._table(discrete._cumulative, law)
    ends = [bisect_right(true, top << 185) for top in range(2**15 + 1)]
    clear = 0
    for top, drawn in enumerate(table.tolist()):
        size = abs(drawn)
        clear += drawn != discrete._OPEN
        if drawn != discrete._OPEN:
            assert (drawn >= 0) or top >= 2**15
            assert ends[top % 2**15] == size
            assert size == bisect_right(true, ((top % 2**15 + 1) << 185) - 1)
    assert clear >= 2**16 - 2 * len(low)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_brackets_hold_without_spare_digits(
    monkeypatch: pytest.MonkeyPatch, sampler: Sampler
) -> None:
    """With 20 digits to spare, where roundings and the rest show, every sum is in its bracket."""
    monkeypatch.setattr(discrete, "_GUARD", 20)
    for scale in (Fraction(1, 3), Fraction(5), Fraction(10**4)):
        law = law_of(sampler, scale)
        true = [digits(one, 200) for one in shares(law, 700)]
        for bits in range(30, 64, 2):
            low, high = discrete._cumulative.__wrapped__(law, bits)
            ends = zip(low, true, high, strict=False)
            more = 200 - bits
            assert all(a << more <= x < b << more or b == 1 << bits for a, x, b in ends)


def test_a_number_beyond_the_list_asks_for_a_longer_one() -> None:
    """Digits above every sum that is listed decide nothing until the next sum is listed."""

    def late(_: object, bits: int) -> tuple[list[int], list[int]]:
        sums = [1 << bits - 1, 1 << bits][: 1 + (bits > 200)]
        return sums, sums

    rng = Scripted([2**15 - 1, 0, 0, 0])
    assert discrete.symmetric(late, 0, 1, rng).tolist() == [1]
    assert rng.drawn == 5


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(10**4), Fraction(2**70)])
def test_surely_accepted_words_are_below_every_chance_of_their_cell(
    sampler: Sampler, scale: Fraction
) -> None:
    """No coin in a cell says yes with a smaller probability, and few words are left open."""
    law = law_of(sampler, scale)
    width, used = 2**law.digits, law.digits if law.digits <= 24 else 0
    surely = discrete._accepted_below(law, 64, used)
    for cell in range(1, len(surely) - 1):
        ends = cell * width, (cell - 1) * width + 1
        gamma = exactly(law.rate * (ends[0] ** law.power - ends[1] ** law.power))
        assert 0 <= digits(mpmath.exp(-gamma), 64) - int(surely[cell]) < 2**25 + 2**used


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**4)])
@pytest.mark.parametrize("offset", [-1, 0])
@pytest.mark.parametrize("k", [0, 2, 9])
def test_cells_are_decided_by_late_digits(
    sampler: Sampler, scale: Fraction, offset: int, k: int
) -> None:
    """Digits that agree with the share of the first cells for 255 places fall where they belong."""
    law = law_of(sampler, scale)
    first, *others = split(digits(shares(law, k + 1)[k], 255) + offset, 255, first=63)
    ending = 2 * [_ONES * (1 + offset)]
    rng = Scripted([first >> 48, first << 16 & _ONES, *others, *ending])
    (drawn,) = discrete.symmetric(discrete._cumulative, law, 1, rng)
    assert int(drawn) == (k if offset == -1 else k + 1)
    assert rng.drawn >= 5


@pytest.mark.parametrize("scale", [1, 10])
def test_geometric_far_tail(scale: int) -> None:
    """A uniform about 2^-200 below 1 gives floor(-scale log(1 - U))."""
    tail = 2**56 + 999
    (drawn,) = geometric(scale, 1, Scripted([2**15 - 1, *3 * [_ONES], 2**64 - tail]))
    assert int(drawn) == int(mpmath.floor(-scale * mpmath.log(mpmath.ldexp(tail, -255))))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("late", [-1, 0])
def test_coins_of_a_cell_are_decided_by_late_digits(sampler: Sampler, late: int) -> None:
    """A coin whose digits agree with e^-gamma for 222 places says what the following ones say."""
    law = law_of(sampler, Fraction(10**4))
    place, cell, known = 1, 5, 32 - law.digits
    size, first = cell * 2**law.digits - place, (cell - 1) * 2**law.digits + 1
    gamma = exactly(law.rate * (size**law.power - first**law.power))
    coin, *others = split(digits(mpmath.exp(-gamma), 192) + late, 192)
    inside = digits(sum(shares(law, cell + 1)[cell - 1 :]) / 2, 63)
    words = [inside >> 48, inside << 16 & _ONES, coin >> 64 - known << law.digits | place]
    rng = Scripted([*words, coin << known & _ONES, *others, *2 * [_ONES * (1 + late)]])
    drawn = discrete._accepted(law, 1, rng)
    assert drawn.tolist() == ([size] if late else [])
    assert rng.drawn >= 7


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
