"""AboveThreshold with normal noise: the finite pair has to be above the bound by tangents."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.isoperimetric import Tangents, gaussian_threshold_pairs, tangents
from dpproof.proofs import VerifiedUnder
from dpproof.proofs.certificate import show_rational
from tests.proofs.support import Case, Object, factor, pairs, said

RULE = "mechanism/gaussian-above-threshold"


def places(*, monotone: bool) -> Tangents:
    """Where the library's tangents lie at these scales."""
    scales = {"threshold": Fraction(1, 8), "query": Fraction(1, 16)}
    return tangents(**scales, queries=300, cutoff=2, monotone=monotone)


@cache
def found(*, monotone: bool = False, rising: bool = False) -> tuple[FinitePair, FinitePair]:
    """The library's pairs at these scales."""
    at = places(monotone=monotone)
    return gaussian_threshold_pairs(
        threshold=Fraction(1, 8),
        query=Fraction(1, 16),
        queries=300,
        cutoff=2,
        monotone=monotone,
        rising=rising,
        at=at,
    )


def given(*, monotone: bool = False, rising: bool = False) -> Object:
    """The witness of these scales."""
    at = places(monotone=monotone)
    lists = {"near": at.near, "deep": at.deep, "levels": at.levels}
    return {
        "threshold_sigma": "8",
        "query_sigma": "16",
        "queries": 300,
        "sensitivity": "1",
        "cutoff": 2,
        "missed": at.missed,
        "monotone": monotone,
        "rising": rising,
        **{name: list(map(show_rational, one)) for name, one in lists.items()},
    }


def written(pair: FinitePair) -> Object:
    """A finite pair in the certificate's JSON."""
    return factor("finite", p=list(map(show_rational, pair.p)), q=list(map(show_rational, pair.q)))


def compared(changes: Object, why: str) -> Case:
    """The pair for queries in any direction, with changes of the witness."""
    return Case(RULE, pairs([written(found()[0])]), witness={**given(), **changes}, why=why)


def risen(order: int, changes: Object, why: str) -> Case:
    """The pairs of rising queries, one way round or the other."""
    both = found(monotone=True, rising=True)[::order]
    claim = pairs([written(both[0])], [written(both[1])])
    witness = {**given(monotone=True, rising=True), **changes}
    return Case(RULE, claim, witness=witness, why=why)


def one_query(changes: Object, why: str) -> Case:
    """GDP of one query, whose noise and the threshold's add up to a variance of 25."""
    names = ("threshold_sigma", "query_sigma", "sensitivity")
    scales: Object = dict(zip(names, ("3", "4", "1"), strict=True))
    flags: Object = {"queries": 1, "cutoff": 1, "monotone": False, "rising": False}
    return Case(
        RULE, said("gdp", mu_squared="1/25"), witness={**scales, **flags, **changes}, why=why
    )


def without_infinite(pair: FinitePair) -> FinitePair:
    """The pair with its infinite loss made finite."""
    little, middle = Fraction(1, 2**120), len(pair.q) // 2
    q = [little, *pair.q[1:]]
    q[middle] -= little
    return FinitePair(p=pair.p, q=tuple(q))


def without_missing(pair: FinitePair) -> FinitePair:
    """The pair with its loss of minus infinity made finite."""
    little, middle = Fraction(1, 2**120), len(pair.p) // 2
    p = [*pair.p[:-1], little]
    p[middle] -= little
    return FinitePair(p=tuple(p), q=pair.q)


CASES = [
    compared({}, ""),
    compared({"query_sigma": "17"}, ""),
    compared({"query_sigma": "31/2"}, "profile at ratio"),
    compared({"threshold_sigma": "15/2"}, "profile at ratio"),
    compared({"queries": 310}, "profile at ratio"),
    compared({"cutoff": 3}, "profile at ratio"),
    compared({"cutoff": 301}, "more answers"),
    compared({"sensitivity": "2"}, "profile at ratio"),
    compared({"sensitivity": "200"}, "losses above"),
    compared({"levels": ["9"]}, "profile at ratio"),
    compared({"levels": []}, "levels must be"),
    compared({"levels": ["-1"]}, "levels must be"),
    compared({"levels": ["21"]}, "levels must be"),
    compared({"near": ["0"]}, "as many points"),
    compared({"rising": True}, "are monotone"),
    Case(
        RULE,
        pairs([written(without_infinite(found()[0]))]),
        witness={**given(), "query_sigma": "20"},
        why="what is missed",
    ),
    Case(
        RULE,
        pairs([written(without_missing(found()[0]))]),
        witness={**given(), "query_sigma": "20"},
        why="what is missed",
    ),
    risen(1, {}, ""),
    risen(-1, {}, "profile at ratio"),
    risen(1, {"rising": False}, "profile at ratio"),
    compared({"missed": 100}, ""),
    compared({"missed": 59}, "missed must be"),
    compared({"missed": 101}, "missed must be"),
    compared({"missed": 60}, "what is missed"),
    one_query({}, ""),
    one_query({"threshold_sigma": "5"}, ""),
    one_query({"threshold_sigma": "2"}, "mu is smaller"),
    one_query({"query_sigma": "3"}, "mu is smaller"),
    one_query({"sensitivity": "2"}, "mu is smaller"),
    one_query({"queries": 2}, "near"),
    one_query({"missed": 100}, "missed"),
    Case(
        RULE,
        {**pairs([written(found()[0])]), "relation": "replace-one"},
        witness=given(monotone=True),
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
    assert "to one threshold that is the same for all datasets, once" in verdict.assumptions[0]
    assert any("independent of each other, of the data" in said for said in verdict.assumptions)
