"""Smooth sensitivity: epsilon has to be what the scale and the shift cost, or more."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, said

RULE = "mechanism/smooth-sensitivity"
GIVEN = {"beta": "1/4", "scale": "2"}

CASES = [
    Case(RULE, said("pure-dp", epsilon="3/4"), witness=GIVEN),
    Case(RULE, said("pure-dp", epsilon="14899/20000"), witness=GIVEN),  # 0.74493...
    Case(RULE, said("pure-dp", epsilon="7449/10000"), witness=GIVEN, why="costs"),
    Case(RULE, said("pure-dp", epsilon="1/4"), witness=GIVEN, why="costs"),
    Case(RULE, said("pure-dp", epsilon="3/4"), witness={**GIVEN, "beta": "0"}, why="above 0"),
    Case(RULE, said("zcdp", rho="2"), witness=GIVEN, why="PureDP"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_epsilon_is_compared(case: Case) -> None:
    """Accepted at the cost and above, refused below it."""
    case.holds()
