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


def test_an_answer_without_judgement_is_a_violation() -> None:
    """A judge that fails is reported with its case, and ends nothing."""
    result = run(Case("Fraction(1)", lambda _: f"{1 / 0}"))
    assert result.outcome is Outcome.VIOLATED
    assert "ZeroDivisionError" in result.reason


def test_tiny_ranges_are_judged() -> None:
    """The truth of a bounded range of 1e-84 has no room for cancellation at 80 digits."""
    assert pursue("mixed:242248223", {}) is None
