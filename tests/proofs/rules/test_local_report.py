"""Local reports: exactly the masses that follow from their probabilities."""

from __future__ import annotations

import pytest

from dpproof.proofs import VerifiedUnder
from tests.proofs.support import Case, Object, factor, pairs

RULE, OTHER = "mechanism/local-report", "not the one that follows"
BITS: Object = {"kind": "bits", "categories": 4, "keep": "1/2", "flip": "1/4"}
HASH: Object = {"kind": "hash", "categories": 9, "keep": "1/2", "cells": 3}
SUBSET: Object = {"kind": "subset", "categories": 5, "keep": "1/2", "size": 2}


def report(up: str, down: str, rest: str) -> Object:
    """A pair of three outcomes."""
    return pairs([factor("finite", p=[up, down, rest], q=[down, up, rest])])


CASES = [
    Case(RULE, report("3/8", "1/8", "1/2"), witness=BITS),
    Case(RULE, report("3/8", "1/4", "3/8"), witness=BITS, why=OTHER),
    Case(RULE, report("1/3", "1/6", "1/2"), witness=HASH),
    Case(RULE, report("1/2", "1/4", "1/4"), witness=HASH, why=OTHER),
    Case(RULE, report("3/8", "1/4", "3/8"), witness=SUBSET),
    Case(RULE, report("1/4", "3/8", "3/8"), witness=SUBSET, why=OTHER),
    Case(RULE, report("3/8", "1/4", "3/8"), witness={**SUBSET, "size": 5}, why="fewer than all"),
    Case(RULE, report("3/8", "1/8", "1/2"), witness={**BITS, "kind": "x"}, why="knows reports"),
    Case(RULE, report("3/8", "1/8", "1/2"), witness={**BITS, "flip": "2"}, why="from 0 to 1"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_step(case: Case) -> None:
    """Accepted, or refused for the reason given."""
    case.holds()


@pytest.mark.parametrize("witness", [BITS, HASH, SUBSET], ids=str)
def test_a_probability_is_said_to_be_one(witness: Object) -> None:
    """The sentence says "with probability 1/2", and of nothing that it is proportional."""
    accepted = next(one for one in CASES if one.witness == witness and not one.why).verdict()
    assert isinstance(accepted, VerifiedUnder)

    assert "with probability 0.5" in accepted.assumptions[0]
    assert "proportional" not in accepted.assumptions[0]
