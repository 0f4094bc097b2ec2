"""Audits of copies that protect less than they claim: they have to be caught."""

from __future__ import annotations

from typing import Any

from dpproof import auditing
from dpproof.accountant import Guarantee
from dpproof.mechanisms import Mechanism
from tests.contracts.mechanism_contract import AUDIT_ALARM


def assert_caught(
    copy: Mechanism[Any], claim: Guarantee[Any], neighbours: tuple[Any, Any], samples: int = 4_000
) -> None:
    """The copy's outputs on two neighbours refute the claim."""
    report = auditing.audit(
        copy.sampler(), neighbours, claim, samples=samples, significance=AUDIT_ALARM
    )

    assert report.outcome is auditing.Outcome.VIOLATION, str(report)
