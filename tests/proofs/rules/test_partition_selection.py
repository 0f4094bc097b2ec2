"""Partition selection: the pair has to be above the coins of all consecutive counts, exactly."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, factor, pairs

RULE = "mechanism/partition-selection"
GIVEN: Object = {"kept": ["1/4", "3/4", "1"], "cells": 2}


def finite(*p: str) -> Object:
    """A finite pair of p and p in reverse."""
    return {**factor("finite", p=list(p), q=list(p[::-1])), "count": 2}


PAIR = finite("1/4", "1/2", "1/4", "0")
LOW = finite("1/8", "5/8", "1/4", "0")
CASES = [
    Case(RULE, pairs([PAIR]), witness=GIVEN),
    Case(RULE, {**pairs([PAIR]), "relation": "replace-one"}, witness=GIVEN),
    Case(RULE, pairs([LOW]), witness=GIVEN, why="infinite"),
    Case(RULE, pairs([PAIR], [LOW]), witness=GIVEN, why="infinite"),
    Case(RULE, pairs([finite("1/4", "3/8", "3/8", "0")]), witness=GIVEN, why="above"),
    Case(RULE, pairs([PAIR]), witness={**GIVEN, "kept": ["1/4", "1"]}, why="above"),
    Case(RULE, pairs([PAIR]), witness={**GIVEN, "cells": 3}, why="3 times"),
    Case(RULE, pairs([{**PAIR, "count": 1}]), witness=GIVEN, why="one finite pair"),
    Case(
        RULE, pairs([{**factor("laplace", epsilon="9"), "count": 2}]), witness=GIVEN, why="finite"
    ),
    Case(RULE, pairs([PAIR]), witness={**GIVEN, "kept": []}, why="at least one"),
    Case(RULE, pairs([PAIR]), witness={**GIVEN, "kept": ["5/4"]}, why="from 0 to 1"),
    Case(RULE, pairs([PAIR]), witness={**GIVEN, "kept": ["-1/4", "1"]}, why="from 0 to 1"),
    Case(RULE, pairs([PAIR]), witness={**GIVEN, "kept": ["x"]}, why="expected a rational"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_step(case: Case) -> None:
    """Accepted, or refused for the reason given."""
    case.holds()
