"""AboveThreshold: the finite pair has to be above the isoperimetric pair, at every corner."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.isoperimetric import above_threshold_pair, rising_pairs
from dpproof.proofs import VerifiedUnder
from dpproof.proofs.certificate import show_rational
from dpproof.proofs.core.rule import FRESH
from tests.proofs.support import Case, Object, factor, pairs

RULE = "mechanism/above-threshold"
GIVEN: Object = {
    "threshold_scale": "2",
    "query_scale": "4",
    "sensitivity": "1",
    "cutoff": 1,
    "monotone": False,
}


@cache
def found(*, monotone: bool = False, cutoff: int = 1) -> FinitePair:
    """The library's pair at these scales."""
    return above_threshold_pair(
        threshold=Fraction(1, 2), query=Fraction(1, 4), cutoff=cutoff, monotone=monotone
    )


def written(pair: FinitePair) -> Object:
    """A finite pair in the certificate's JSON."""
    return factor("finite", p=list(map(show_rational, pair.p)), q=list(map(show_rational, pair.q)))


def merged(pair: FinitePair, first: int, last: int) -> FinitePair:
    """Outcomes first to last as one: a pair below."""

    def joined(masses: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        return (*masses[:first], sum(masses[first:last], Fraction(0)), *masses[last:])

    return FinitePair(p=joined(pair.p), q=joined(pair.q))


def compared(pair: FinitePair, changes: Object, why: str) -> Case:
    """One pair at the given scales, with changes."""
    return Case(RULE, pairs([written(pair)]), witness={**GIVEN, **changes}, why=why)


RISING: Object = {**GIVEN, "monotone": True, "rising": True}
UP = rising_pairs(threshold=Fraction(1, 2), query=Fraction(1, 4))
CASES = [
    *(
        compared(*row)
        for row in (
            (found(), {}, ""),
            (found(), {"threshold_scale": "3"}, ""),
            (found(), {"gap": True}, ""),
            (found(), {"gap": 1}, "gap"),
            (found(), {"threshold_scale": "1"}, "profile at ratio"),
            (found(), {"query_scale": "39/10"}, "profile at ratio"),
            (found(), {"cutoff": 2}, "profile at ratio"),
            (found(cutoff=2), {"cutoff": 2}, ""),
            (found(), {"sensitivity": "2"}, "profile at ratio"),
            (found(), {"monotone": True}, ""),
            (found(monotone=True), {"monotone": True}, ""),
            (found(monotone=True), {}, "profile at ratio"),
            (merged(found(), 200, 204), {}, "profile at ratio"),
            (merged(found(), 0, 2), {}, "profile at ratio"),
            (FinitePair(p=(Fraction(1),), q=(Fraction(1),)), {}, "profile at ratio"),
        )
    ),
    *(
        Case(RULE, pairs([written(one)], [written(other)]), witness={**RISING, **changes}, why=why)
        for one, other, changes, why in (
            (*UP, {}, ""),
            (*UP[::-1], {}, "profile at ratio"),
            (UP[0], UP[0], {}, "profile at ratio"),
            (found(monotone=True), UP[1], {}, ""),
            (*UP, {"rising": False}, "profile at ratio"),
            (*UP, {"monotone": False}, "are monotone"),
        )
    ),
    Case(RULE, pairs([factor("laplace", epsilon="1")]), witness=GIVEN, why="one finite"),
    Case(RULE, pairs([{**written(found()), "count": 2}]), witness=GIVEN, why="one finite"),
    Case(
        RULE,
        {**pairs([written(found(monotone=True))]), "relation": "replace-one"},
        witness={**GIVEN, "monotone": True},
        why="not monotone",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_pair_is_compared(case: Case) -> None:
    """Accepted at the scales it is made for and at more noise, refused with anything less."""
    case.holds()


def test_the_threshold_is_fixed() -> None:
    """The verdict asks for a threshold and noise that the data do not choose."""
    verdict = CASES[0].verdict()

    assert isinstance(verdict, VerifiedUnder)
    assert "to one threshold that is the same for all datasets, once; " in verdict.assumptions[0]
    assert "independent of that and in every coordinate" in verdict.assumptions[0]
    assert f"for M1, {FRESH}" in verdict.assumptions
