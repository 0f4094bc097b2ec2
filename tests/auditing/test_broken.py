"""Implementations that break their promise are caught with at most three times the listed samples.

The listed number is what the best event known in advance needs at a significance of 5 %; each case
draws three times that. Answers of several coordinates need a larger pilot. A case may be missed
with a few per cent probability, so the seed is fixed: what is tested is the witness, not luck; the
power over fresh seeds is in docs/AUDITS.md.
"""

from __future__ import annotations

import pytest

from dpproof import auditing
from dpproof.auditing import Outcome
from tests.auditing.builders import BROKEN
from tests.auditing.samplers import Case


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_broken_implementations_are_caught(case: Case) -> None:
    """A violation with three times the listed samples."""
    report = auditing.audit(
        case.draw,
        (case.data, case.neighbour),
        case.claim,
        samples=3 * case.samples,
        seed=1,
        pilot=case.pilot,
    )

    assert report.outcome is Outcome.VIOLATION, str(report)
