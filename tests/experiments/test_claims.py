"""The claims ledger: every check runs, the page says what they found, and audits see the same."""

from __future__ import annotations

import re

import pytest

import dpproof as dp
from dpproof import accountant, auditing, mechanisms
from dpproof.accountant import ApproxDP, ReplaceOne
from dpproof.auditing import Outcome
from experiments.claims.claim import Verdict
from experiments.claims.ledger import HEAD, claims, entry
from experiments.claims.parity import ParityInstance, opdisc, rspm
from tests.architecture.tree import ROOT

CLAIMS = claims()
SAMPLES = 8_000
AUDIT_ALARM = 1e-9


LONG = "ghazi2021.lemma19"  # takes seconds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == LONG)) for name in CLAIMS]
)
def test_the_evidence_stands_and_is_what_the_page_says(name: str) -> None:
    """A check asserts what it states, and docs/CLAIMS.md has it word for word."""
    page = (ROOT / "docs" / "CLAIMS.md").read_text(encoding="utf-8")

    assert entry(name, CLAIMS[name], CLAIMS[name].check()) in page


def test_the_page_has_these_claims_and_no_others() -> None:
    """One heading a claim, every kind of verdict, in the order of the files."""
    page = (ROOT / "docs" / "CLAIMS.md").read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]

    assert page.startswith(HEAD)
    assert headings == [f"## {one.title}: {one.verdict}" for one in CLAIMS.values()]
    assert {one.verdict for one in CLAIMS.values()} == set(Verdict)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_stands_here_exists(name: str) -> None:
    """A claim's last line names parts of the product, or files, and nothing waits for its code."""
    shipped = CLAIMS[name].shipped
    codes = re.findall(r"`([^`]+)`", shipped)
    assert codes
    for code in codes:
        if "/" in code:
            assert (ROOT / code).is_file()
            continue
        owner, _, member = code.partition("(")[0].partition(".")
        homes = [home for home in (dp, mechanisms, accountant) if hasattr(home, owner)]
        known = getattr(homes[0], owner) if owner else mechanisms.Mechanism
        assert hasattr(known, member or "__doc__")
    assert not re.search(r"nothing|not yet|missing", shipped)


@pytest.mark.parametrize(
    ("instance", "claimed"),
    [(opdisc(100, 1, 0.01), 1.0), (rspm(1000, 1, 0.01), 1.0)],
    ids=["opdisc", "rspm"],
)
def test_audits_report_a_violation(instance: ParityInstance, claimed: float) -> None:
    """Runs of the mechanism as printed refute its claim, and not what is true of it.

    A true claim is refuted with probability at most 1e-9.
    """
    true = instance.epsilon(0.01) + 1e-6
    for epsilon, outcome in ((claimed, True), (true, False)):
        report = auditing.audit(
            instance,
            (0, 1),
            ApproxDP(epsilon=epsilon, delta=0.01, relation=ReplaceOne()),
            samples=SAMPLES,
            significance=AUDIT_ALARM,
        )

        assert (report.outcome is Outcome.VIOLATION) is outcome, str(report)
