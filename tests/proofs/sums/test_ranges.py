"""The checker's recursion for bounded ranges: against all chords, one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.sums.ranges import Recursion, _Chords

BITS = 160
RANGES = [(Fraction(1), 8), (Fraction(1, 10), 5), (Fraction(6), 3), (Fraction(1), 2)]


def value(known: Recursion, j: int) -> float:
    """The bound at a power of r, from both sides of 1."""
    held = [Fraction(x, 1 << BITS) for x in known.values]
    at = held[min(abs(j), len(held) - 1)]
    u = math.exp(known_step(known) * j)
    return float(at) if j >= 0 else 1 - u + u * float(at)


def known_step(known: Recursion) -> float:
    """The log of r."""
    return math.log(known.growth / 2**known.scale)


def largest(known: Recursion, j: int, fine: int = 64) -> float:
    """The largest chord at r^j, by left ends on a fine grid within each cell."""
    h, found = known_step(known), 0.0
    a, u = math.exp(h * known.cells), math.exp(h * j)
    for i in range(j - known.cells, j):
        ends = [value(known, k) for k in (i, i + 1, i + known.cells, i + known.cells + 1)]
        for part in range(fine + 1):
            share = part / fine
            w = math.exp(h * i) * (1 + share * math.expm1(h))
            low, high = (one + (other - one) * share for one, other in (ends[:2], ends[2:]))
            found = max(found, low + (u / w - 1) / (a - 1) * (high - low))
    return found


@pytest.mark.parametrize(("length", "cells"), RANGES)
def test_a_step_takes_the_largest_chord(length: Fraction, cells: int) -> None:
    """Three steps are those of a search among all chords, and never below it."""
    known = Recursion(length, cells, BITS)
    for _ in range(3):
        wanted = [largest(known, j) for j in range(len(known.values) + cells)]
        known.step(1 << BITS - 60)
        assert len(known.values) <= len(wanted)
        for found, least in zip(known.values, wanted, strict=False):
            assert found / 2**BITS == pytest.approx(least, rel=1e-3, abs=1e-12)
            assert found / 2**BITS >= least * (1 - 1e-12)


@pytest.mark.parametrize(("length", "cells"), RANGES)
def test_one_mechanism(length: Fraction, cells: int) -> None:
    """The first bound is that of one mechanism, and 0 from its range on; chords join its points."""
    known, a = Recursion(length, cells, BITS), math.exp(length)
    for u in (1.0, 1.1, math.exp(float(length) * 0.7), a * (1 + 1e-9), 10 * a):
        (found,) = known.at([Fraction(u)]).values()
        least = max(math.sqrt(a) - math.sqrt(u), 0.0) ** 2 / (a - 1)
        assert least * (1 - 1e-12) <= found <= least + (float(length) / cells) ** 2 + 1e-9


def kinked(known: Recursion) -> list[int]:
    """A convex bound with a kink, next to which the left end of the largest chord jumps."""
    growth = Fraction(known.growth, 1 << known.scale)
    lines = (max(Fraction(9, 10) - growth**j / 5, Fraction(0)) for j in range(-8, 44))
    return [int(height * (1 << BITS)) + (52 - j) ** 2 for j, height in enumerate(lines)]


def test_largest_chords_that_jump() -> None:
    """A cell that turns out to be larger is looked at in the rows before, too."""
    known = Recursion(Fraction(1), 8, BITS)
    chords = _Chords(known, kinked(known))
    spare = chords.spare
    found = chords.largest(27, 0)

    every = [max(chords._chord(i, j) for i in range(j - 8, j)) for j in range(len(found))]
    assert found == every
    assert chords.spare < spare


def test_much_to_look_at_again_is_refused() -> None:
    """Looking back is limited, as nothing else limits it."""
    known = Recursion(Fraction(1), 8, BITS)
    chords = _Chords(known, kinked(known))
    chords.spare = 0

    with pytest.raises(RefusedError, match="next to others"):
        chords.largest(27, 0)


@pytest.mark.parametrize("place", [1, 9, 13])
def test_what_is_not_convex_is_refused(place: int) -> None:
    """A bound that one unit makes concave somewhere is no start of a step."""
    known = Recursion(Fraction(1), 8, BITS)
    known.step(1 << BITS - 40)
    known.values[place] += one_bend(known, place)

    with pytest.raises(RefusedError, match="convex"):
        known.step(1 << BITS - 40)


def one_bend(known: Recursion, place: int) -> int:
    """As much as a value exceeds the chord of its neighbours, and a unit."""
    before, at, after = known.values[place - 1 : place + 2]
    share = Fraction(1 << known.scale, (1 << known.scale) + known.growth)
    return math.ceil(before + (after - before) * share) - at + 2
