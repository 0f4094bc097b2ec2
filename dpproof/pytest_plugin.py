"""The pytest plugin: one error budget for all audits of a session.

pytest loads this file in every project of an environment that has dpproof, so it imports none
of our packages until a test asks for the ``audit`` fixture.

    def test_my_release(audit):
        audit(sampler, pair=(data, neighbour), claim=(1, 1e-6))

Budget: the probability that a session with only true claims has a failing audit is at most
``--audit-budget`` (1e-6). It is divided by the number of collected tests that use the fixture,
which is known before any sample is drawn; a test's first audit takes half of its share, the next
a quarter, and so on, counted over all runs of the test in the session. Random seeds are fresh.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

if TYPE_CHECKING:
    from auditing import Report

_PROPERTY = "dpproof_audit"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("audit", "audits of differential privacy")
    group.addoption(
        "--audit-budget",
        type=float,
        default=1e-6,
        help="error probability of all audits of the session together (1e-6)",
    )
    group.addoption(
        "--audit-samples", type=int, default=100_000, help="samples per dataset (100000)"
    )
    group.addoption(
        "--audit-seconds", type=float, default=None, help="time budget of one audit (none)"
    )
    group.addoption(
        "--audit-seed", type=int, default=None, help="replay: the seed that a report printed"
    )
    group.addoption("--audit-json", default=None, help="write all reports to this file")


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and the session's state."""
    config.addinivalue_line(
        "markers", "audit(samples=..., seconds=...): options of this test's audits"
    )
    config.pluginmanager.register(_Session(config), "dpproof-audit-session")


@final
class _Session:
    """Counts audits, splits the budget, collects reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests = 1
        self.made: Counter[str] = Counter()
        self.reports: list[dict[str, Any]] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """How many tests share the budget."""
        self.tests = max(1, sum("audit" in getattr(i, "fixturenames", ()) for i in session.items))

    def share(self, test: str) -> float:
        """The error probability of the next audit of a test."""
        self.made[test] += 1
        budget = float(self.config.getoption("--audit-budget"))
        return float(budget / self.tests / 2.0 ** self.made[test])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the reports of a finished test, from whichever process it ran in."""
        if report.when == "call":
            found = [value for name, value in report.user_properties if name == _PROPERTY]
            self.reports += [{"test": report.nodeid, **json.loads(str(text))} for text in found]

    def pytest_sessionfinish(self) -> None:
        """Write the JSON, in the process that has all reports."""
        target = self.config.getoption("--audit-json")
        if target and not hasattr(self.config, "workerinput"):
            budget = self.config.getoption("--audit-budget")
            content = {"error_budget": budget, "audits": self.reports}
            Path(target).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line an audit, with what replays it."""
        if not self.reports:
            return
        budget = self.config.getoption("--audit-budget")
        terminalreporter.section(f"audits, wrong with probability at most {budget:g} together")
        for made in self.reports:
            terminalreporter.write_line(
                f"{made['test']}: {made['outcome'].replace('_', ' ')}, epsilon >= "
                f"{made['epsilon_lower']:.4g} of {made['epsilon_claimed']:.4g} claimed, "
                f"{made['trials']} samples, seed {made['seed']}"
            )


@pytest.fixture
def audit(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Callable[..., Report]]:
    """``auditing.audit`` on the session's error budget, asserting the claim.

    The test fails with ``ClaimRefuted`` on a violation and is skipped when an audit was
    inconclusive: a failure has the session's error probability, whatever else happens.
    """
    import auditing  # noqa: PLC0415  # the plugin is loaded where nobody audits

    session: Any = request.config.pluginmanager.get_plugin("dpproof-audit-session")
    marker = request.node.get_closest_marker("audit")
    options = {
        "samples": request.config.getoption("--audit-samples"),
        "seconds": request.config.getoption("--audit-seconds"),
        "seed": request.config.getoption("--audit-seed"),
        **(marker.kwargs if marker else {}),
    }
    inconclusive: list[str] = []

    def run(sampler: object, pair: object, claim: object, **more: object) -> Report:
        share = session.share(request.node.nodeid)
        report = auditing.audit(
            sampler,  # type: ignore[arg-type]
            pair,  # type: ignore[arg-type]
            claim,
            **{**options, **more, "significance": share},
        )
        record_property(_PROPERTY, report.to_json())
        record_property("audit_outcome", report.outcome.name)
        record_property("audit_epsilon_lower", report.epsilon_lower)
        record_property("audit_seed", report.seed)
        if report.outcome is auditing.Outcome.INCONCLUSIVE:
            inconclusive.append(str(report))
        return report.require()

    yield run
    if inconclusive:
        pytest.skip("\n".join(inconclusive))
