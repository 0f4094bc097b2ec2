"""A slice of the hunt that is the same every time: past findings, and some cases of each family."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.hunt.case import Case, Outcome, run
from tests.hunt.findings import findings
from tests.hunt.hunter import Tally, pursue
from tests.hunt.laws import Neighbours
from tests.hunt.registry import FAMILIES
from tests.hunt.truth import MP, Enumerated, quantile, real

LONG = "Those of a small false-positive rate asked the checker for too much work"  # takes seconds


@pytest.mark.parametrize(
    "finding",
    [
        pytest.param(finding, id=finding[0], marks=[pytest.mark.slow] * (finding[0] == LONG))
        for finding in findings()
    ],
)
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


def test_far_tails_have_a_mu() -> None:
    """Masses below all digits of 1 cost no digit of the largest mu, which is that of the corner."""
    tail = Fraction(1, 10**130)
    pair = (1 - tail, tail), (tail, 1 - tail)
    found = Enumerated(Neighbours.symmetric(pair)).mu()
    assert abs(found + 2 * quantile(real(tail))) < MP.mpf(10) ** -70


def test_tiny_ranges_are_judged() -> None:
    """The truth of a bounded range of 1e-84 has no room for cancellation at 80 digits."""
    assert pursue("mixed:242248223", {}) is None
