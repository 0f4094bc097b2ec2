"""Finite mechanisms: the pair has to be above all neighbours, exactly."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, factor, pairs

RULE = "mechanism/finite"
GIVEN: Object = {"table": [["3/4", "1/4"], ["1/2", "1/2"]], "neighbours": [[0, 1]]}
BOTH: Object = {**GIVEN, "neighbours": [[0, 1], [1, 0]]}
AHEAD, BEHIND = (("3/4", "1/4"), ("1/2", "1/2")), (("1/2", "1/2"), ("1/4", "3/4"))
WORST = (("3/4", "1/4"), ("1/4", "3/4"))  # above both


def finite(masses: tuple[tuple[str, str], tuple[str, str]]) -> Object:
    """A finite pair."""
    return factor("finite", p=list(masses[0]), q=list(masses[1]))


SWAPPED = finite((AHEAD[1], AHEAD[0]))
CASES = [
    Case(RULE, pairs([finite(AHEAD)], [SWAPPED]), witness=GIVEN),
    Case(RULE, pairs([finite(WORST)]), witness=BOTH),
    Case(RULE, pairs([finite(AHEAD)]), witness=GIVEN, why="above"),
    Case(RULE, pairs([finite(AHEAD)], [SWAPPED]), witness=BOTH, why="above"),
    Case(RULE, pairs([finite(BEHIND)]), witness=GIVEN, why="above"),
    Case(RULE, pairs([factor("laplace", epsilon="9")]), witness=GIVEN, why="one finite"),
    Case(RULE, pairs([finite(WORST)]), witness={**GIVEN, "neighbours": [[0, 2]]}, why="datasets"),
    Case(RULE, pairs([finite(WORST)]), witness={**GIVEN, "neighbours": []}, why="at least one"),
    Case(RULE, pairs([finite(WORST)]), witness={**GIVEN, "neighbours": [[0]]}, why="pairs of"),
    Case(
        RULE, pairs([finite(WORST)]), witness={**GIVEN, "neighbours": [[0, -1]]}, why="at or above"
    ),
    Case(RULE, pairs([finite(WORST)]), witness={**GIVEN, "neighbours": [[True, 0]]}, why="whole"),
    Case(RULE, pairs([finite(WORST)]), witness={**GIVEN, "table": [["1/2"]]}, why="sum to 1"),
    Case(RULE, pairs([finite(WORST)]), witness={**GIVEN, "table": ["1"]}, why="must be a list"),
    Case(
        RULE, pairs([finite(WORST)]), witness={**GIVEN, "table": [["x"]]}, why="expected a rational"
    ),
    Case(
        RULE, pairs([finite(WORST)]), witness={**GIVEN, "table": [["1"], ["0", "1"]]}, why="length"
    ),
    Case(
        RULE,
        {**pairs([finite(WORST)]), "relation": "replace-one"},
        witness=GIVEN,
        why="both orders",
    ),
    Case(RULE, {**pairs([finite(WORST)]), "relation": "replace-one"}, witness=BOTH),
    Case(
        RULE,
        pairs([finite(WORST)]),
        witness={"table": [["1", "0"], ["1/2", "1/2"]], "neighbours": [[1, 0]]},
        why="infinite",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_step(case: Case) -> None:
    """Accepted, or refused for the reason given."""
    case.holds()
