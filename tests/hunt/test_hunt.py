"""A slice of the hunt that is the same every time: past findings, and some cases of each family."""

from __future__ import annotations

import pytest

from tests.hunt.case import Case, Outcome, run
from tests.hunt.findings import findings
from tests.hunt.hunter import Tally, pursue
from tests.hunt.registry import FAMILIES


@pytest.mark.parametrize("finding", list(findings()), ids=lambda finding: finding[0])
def test_past_finding(finding: tuple[str, Case]) -> None:
    """What was wrong once is right, or refused by type where that is allowed."""
    result = run(finding[1], 60.0)
    assert result.outcome in (Outcome.HELD, Outcome.REFUSED), result.reason


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    """The first cases of each family hold, and most are answered."""
    tallies: dict[str, Tally] = {}
    cases = min(3 + FAMILIES[family].weight // 10, 30)
    found = [pursue(f"{family}:{number}", tallies) for number in range(cases)]
    assert [violation for violation in found if violation] == []
    assert tallies[family].outcomes[Outcome.REFUSED] <= 1 + cases // 2
