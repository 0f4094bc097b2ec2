"""Composed bounded ranges: the pairs have to be above the recursion for so many of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof.accountant.certificates.base_profile import RangeParts
from dpproof.accountant.certificates.finite_pairs import Aim
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.proofs.certificate import show_rational
from tests.proofs.support import Case, Object, factor, gaussian, pairs, said

RULE = "compose/ranges"
OTHER = "not the one that follows"
LARGER = "the profile at ratio"
FINE: Object = {"cells": 128, "bits": 128, "level": 40}


def above(length: Fraction, count: int) -> FinitePair:
    """A finite pair slightly above so many mechanisms of one range."""
    parts = RangeParts(BoundedRange(epsilon=length).derivation, (), Aim(tail=1e-3))
    (pair,) = (factor.pair for factor, _ in [parts.above(length, count)])
    assert isinstance(pair, FinitePair)
    return pair


def written(pair: FinitePair) -> Object:
    """A finite pair in the certificate's JSON."""
    return factor("finite", p=list(map(show_rational, pair.p)), q=list(map(show_rational, pair.q)))


def below(pair: FinitePair, place: int) -> FinitePair:
    """The pair with some outcomes as one."""

    def joined(masses: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        both = sum(masses[place : place + 40], Fraction(0))
        return (*masses[:place], both, *masses[place + 40 :])

    return FinitePair(p=joined(pair.p), q=joined(pair.q))


PAIR = above(Fraction(1), 3)
THREE, HALVES = written(PAIR), written(above(Fraction(1, 2), 4))
TWICE = {**THREE, "count": 2}
UNIT, HALF = said("bounded-range", epsilon="1"), said("bounded-range", epsilon="1/2")
BESIDE = pairs([gaussian("1")], [gaussian("2")])
BOTH = pairs([THREE, HALVES, gaussian("1", 5)], [THREE, HALVES, gaussian("2", 5)])


def ranges(
    pair: Object, why: str = "", *, length: str = "1", count: int = 3, **changes: int
) -> Case:
    """So many mechanisms of one range and one pair."""
    premise = said("bounded-range", epsilon=length)
    witness = {"counts": [count], "grids": [{**FINE, **changes}]}
    return Case(RULE, pairs([pair]), [premise], witness, why)


def several(
    conclusion: Object, premises: list[Object], counts: list[int], why: str = "", grids: int = 2
) -> Case:
    """Several premises, each so many times."""
    return Case(RULE, conclusion, premises, {"counts": counts, "grids": [FINE] * grids}, why)


CASES = [
    ranges(THREE),
    ranges(THREE, count=2),
    ranges(THREE, count=1),
    ranges(THREE, length="9/10"),
    ranges(THREE, LARGER, count=4),
    ranges(THREE, LARGER, length="1001/1000"),
    ranges(THREE, LARGER, cells=2),
    ranges(THREE, LARGER, cells=12),
    ranges(THREE, LARGER, level=6),
    ranges(written(below(PAIR, 1)), LARGER),
    ranges(written(below(PAIR, len(PAIR.p) // 2)), LARGER),
    ranges(written(below(PAIR, len(PAIR.p) - 40)), LARGER),
    ranges(TWICE, count=6),
    ranges(TWICE, count=5),
    ranges(TWICE, LARGER, count=7),
    ranges(THREE, "cells must be", cells=1),
    ranges(THREE, "cells must be", cells=513),
    ranges(THREE, "bits must be", bits=32),
    ranges(THREE, "level must be", level=129),
    ranges(THREE, "unknown fields", spare=1),
    ranges(THREE, "takes ranges from", length="65"),
    ranges(THREE, "takes ranges from", length="0"),
    ranges(THREE, "takes ranges from", length="1/2000000"),
    ranges(THREE, "convex", length="60", bits=64),
    ranges(gaussian("1"), "a finite pair"),
    several(BOTH, [UNIT, HALF, BESIDE], [3, 4, 5]),
    several(BOTH, [UNIT, HALF, UNIT, BESIDE], [1, 4, 2, 5]),
    several(BOTH, [UNIT, HALF, BESIDE], [4, 4, 5], LARGER),
    several(BOTH, [UNIT, HALF, UNIT, BESIDE], [1, 4, 3, 5], LARGER),
    several(BOTH, [HALF, UNIT, BESIDE], [4, 3, 5], LARGER),
    several(BOTH, [UNIT, HALF, BESIDE], [3, 4, 6], OTHER),
    several(BOTH, [UNIT, HALF], [3, 4], OTHER),
    several(BOTH, [UNIT, HALF, BESIDE], [3, 4, 5], "one grid", grids=1),
    several(BOTH, [UNIT, HALF, BESIDE], [3, 4], "one count"),
    several(BOTH, [UNIT, HALF, BESIDE], [3, 4, 0], "one count"),
    several(BOTH, [UNIT, HALF, said("gdp", mu_squared="1")], [3, 4, 5], "bounded ranges and"),
    several(pairs([gaussian("1")]), [pairs([gaussian("1")])], [1], "one grid", grids=0),
    several(pairs([]), [UNIT], [3], "one grid", grids=1),
    several(pairs([THREE], [HALVES]), [UNIT], [3], OTHER, grids=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_pairs_are_compared(case: Case) -> None:
    """Accepted for so many mechanisms or fewer, refused for more, longer ranges or less work."""
    case.holds()
