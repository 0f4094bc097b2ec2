"""The pytest plugin: one error budget for all audits of a session.

pytest loads this file in every project of an environment that has dpproof, so it imports none
of our packages until a test asks for the ``audit`` fixture.

    def test_my_release(audit):
        audit(sampler, pair=(data, neighbour), claim=(1, 1e-6))

Budget: the probability that a session with only true claims has a failing audit is at most
``--audit-budget`` (1e-6). It is divided by the number of collected tests that use the fixture,
which is known before any sample is drawn; of a test's share its first audit takes 1/2, the next
1/6, then 1/12, ..., 1/k(k+1), counted over all runs of the test in the session and over all
worker processes. Random seeds are fresh.

With ``--audit-store`` an audit takes half of that, and the other half is for the evidence of all
runs of the same code and claim: e-values multiply in a file, and the test fails when the product
reaches 2 / share. Audits with a given seed add nothing to it.

Time: with ``--audit-session-seconds`` an audit may take as much as every test that has not begun:
an equal part of what is left of the session's, added up over worker processes. What it does not
use is for later ones.
"""

from __future__ import annotations

import json
import math
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import pytest

if TYPE_CHECKING:
    from dpproof.auditing import Report

_PROPERTY = "dpproof_audit"
_SESSION = "dpproof-audit-session"
_OPTIONS: Final[tuple[tuple[str, type, float | None, str], ...]] = (
    ("budget", float, 1e-6, "error probability of all audits of the session together (1e-6)"),
    ("samples", int, 100_000, "samples per dataset (100000)"),
    ("seconds", float, None, "time budget of one audit (none)"),
    (
        "session-seconds",
        float,
        None,
        "time budget of all audits of the session, divided among them (none)",
    ),
    ("seed", int, None, "replay: the seed that a report printed"),
    ("store", str, None, "multiply the evidence of runs of the same code and claim in this file"),
    ("json", str, None, "write all reports to this file"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("audit", "audits of differential privacy")
    for name, kind, default, words in _OPTIONS:
        group.addoption(f"--audit-{name}", type=kind, default=default, help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and create the state of the session."""
    config.addinivalue_line(
        "markers", "audit(samples=..., seconds=..., version=...): options of this test's audits"
    )
    if not 0 < config.getoption("--audit-budget") < 1:
        raise pytest.UsageError("--audit-budget: expected a probability above 0 and below 1")
    session_seconds = config.getoption("--audit-session-seconds")
    if session_seconds is not None and not 0 < session_seconds < math.inf:
        raise pytest.UsageError("--audit-session-seconds: expected seconds above 0")
    config.pluginmanager.register(_Session(config), _SESSION)


@final
class _Session:
    """Counts audits, splits the budget, collects reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: frozenset[str] = frozenset()
        self.reports: list[dict[str, Any]] = []
        # A worker of pytest-xdist uses the files of the process that started it.
        self.files: tuple[str, str | None] | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.is_worker = hasattr(config, "workerinput")
        if self.is_worker:
            self.files = getattr(config, "workerinput")[_SESSION]  # noqa: B009  # xdist adds it

    def ledger_and_store(self) -> tuple[str, str | None]:
        """Return the files that count the session's audits and that keep evidence."""
        if self.files is None:
            self.folder = tempfile.TemporaryDirectory(prefix="dpproof-audits-")
            self.files = str(Path(self.folder.name, "made.sqlite")), self._file("--audit-store")
        return self.files

    def _file(self, option: str) -> str | None:
        """Return the absolute path of a file that an option names."""
        named = self.config.getoption(option)
        return str(self.config.invocation_params.dir / named) if named else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401  # a type of pytest-xdist
        """Tell a worker of pytest-xdist which files."""
        node.workerinput[_SESSION] = self.ledger_and_store()

    def pytest_unconfigure(self) -> None:
        """Delete the file of counts."""
        if self.folder is not None:
            self.folder.cleanup()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests that share the error budget."""
        self.tests = frozenset(
            item.nodeid for item in session.items if "audit" in getattr(item, "fixturenames", ())
        )
        if self.tests:  # before any test runs in a process of its own
            self.ledger_and_store()

    def share(self, test: str) -> float:
        """Return the error probability of the next audit of a test."""
        if test not in self.tests:
            raise pytest.UsageError(
                f"{test} asks for the audit fixture while it runs: name it as a parameter of the "
                "test or of a fixture, so that its share of the error budget is known in advance"
            )
        count = _count(self.ledger_and_store()[0], test)
        budget = float(self.config.getoption("--audit-budget"))
        return budget / len(self.tests) / (count * (count + 1))

    @contextmanager
    def timed(self, test: str, own: float | None) -> Iterator[float | None]:
        """Yield the seconds for the next audit of a test: its own or its part of the rest."""
        # They are taken from the session's before it begins, and corrected when it has ended.
        total = self.config.getoption("--audit-session-seconds")
        if total is None:
            yield own
            return
        ledger = self.ledger_and_store()[0]
        audit, part = _reserve(ledger, test, self.tests, total)
        started = time.monotonic()
        try:
            yield part if own is None else min(own, part)
        finally:
            with _opened(ledger) as database:
                taken = time.monotonic() - started, audit
                database.execute("UPDATE taken SET seconds = ? WHERE id = ?", taken)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the reports of a finished test, from whichever process it ran in."""
        if report.when == "call":
            reports = [value for name, value in report.user_properties if name == _PROPERTY]
            self.reports += [{"test": report.nodeid, **json.loads(str(text))} for text in reports]

    def pytest_sessionfinish(self) -> None:
        """Write the JSON, in the process that has all reports."""
        target = self._file("--audit-json")
        if target and not self.is_worker:
            budget = self.config.getoption("--audit-budget")
            content = {"error_budget": budget, "audits": self.reports}
            Path(target).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line an audit, with the values that replay it."""
        if not self.reports:
            return
        budget = self.config.getoption("--audit-budget")
        terminalreporter.section(f"audits, wrong with probability at most {budget:g} together")
        for made in self.reports:
            terminalreporter.write_line(
                f"{made['test']}: {made['headline']}, {made['trials']} samples, "
                f"--audit-seed={made['seed']}{_evidence(made)}"
            )


@contextmanager
def _opened(ledger: str) -> Iterator[sqlite3.Connection]:
    """Open the counts of the session for one transaction."""
    with closing(sqlite3.connect(ledger, timeout=60.0, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute("CREATE TABLE IF NOT EXISTS made (test TEXT)")
        database.execute(
            "CREATE TABLE IF NOT EXISTS taken (id INTEGER PRIMARY KEY, test TEXT, seconds REAL)"
        )
        yield database
        database.execute("COMMIT")


def _count(ledger: str, test: str) -> int:
    """Return how many audits of a test have begun, including this one."""
    with _opened(ledger) as database:
        database.execute("INSERT INTO made VALUES (?)", (test,))
        (made,) = database.execute("SELECT count(*) FROM made WHERE test = ?", (test,)).fetchone()
    return int(made)


def _reserve(ledger: str, test: str, tests: frozenset[str], total: float) -> tuple[int, float]:
    """Return the seconds for an audit, a thousandth if none are left, and the row of them."""
    with _opened(ledger) as database:
        begun = {name for (name,) in database.execute("SELECT DISTINCT test FROM taken")}
        (taken,) = database.execute("SELECT total(seconds) FROM taken").fetchone()
        part = max((total - taken) / (len(tests - begun - {test}) + 1), 1e-3)
        row = database.execute("INSERT INTO taken (test, seconds) VALUES (?, ?)", (test, part))
    return int(row.lastrowid or 0), part


def _evidence(report: dict[str, Any]) -> str:
    evidence = report["evidence"]
    if evidence is None:
        return ""
    verdict = ", which refutes the claim" if evidence["refutes"] else ""
    return f", evidence e^{evidence['log_total']:.3g} of {evidence['runs']} runs{verdict}"


@pytest.fixture
def audit(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Callable[..., Report]]:
    """Yield ``dpproof.auditing.audit`` on the session's error budget, asserting the claim.

    The test fails with ``ClaimRefuted`` on a violation, or when the evidence of all runs refutes
    the claim, and is skipped when an audit was inconclusive: a failure has the session's error
    probability, whatever else happens.
    """
    from dpproof import auditing  # noqa: PLC0415  # the plugin is loaded where nobody audits
    from dpproof.accountant.errors import PrivacyError  # noqa: PLC0415  # as above

    session: Any = request.config.pluginmanager.get_plugin(_SESSION)
    marker = request.node.get_closest_marker("audit")
    options = {
        "samples": request.config.getoption("--audit-samples"),
        "seconds": request.config.getoption("--audit-seconds"),
        "seed": request.config.getoption("--audit-seed"),
        **(marker.kwargs if marker else {}),
    }
    made: list[Report] = []

    def run(sampler: Any, pair: Any, claim: Any, **more: Any) -> Report:  # noqa: ANN401
        __tracebackhide__ = True  # Pytest shows the test and the page, none of our frames.
        try:
            return measured(sampler, pair, claim, **more)
        except PrivacyError as error:
            raise error.with_traceback(None) from None

    def measured(sampler: Any, pair: Any, claim: Any, **more: Any) -> Report:  # noqa: ANN401
        chosen: dict[str, Any] = {**options, **more}
        share = session.share(request.node.nodeid)
        _, store = session.ledger_and_store()
        level = share if store is None else share / 2
        fresh = chosen.get("seed") is None and chosen.get("store") is None
        runs = _Runs(request.node.nodeid, len(made) + 1, store if fresh else None)
        runs.begin(sampler, claim, chosen)
        with session.timed(request.node.nodeid, chosen.get("seconds")) as seconds:
            chosen |= {"significance": level, "seconds": seconds}
            report = auditing.audit(sampler, pair, claim, **chosen)
        made.append(report)
        evidence = runs.finish(report, level)
        _record(record_property, report, evidence)
        if evidence is not None and evidence["refutes"]:
            raise auditing.ClaimRefuted(_refuted(report, evidence))
        return report.require()

    yield run
    vague = [str(report) for report in made if report.outcome is auditing.Outcome.INCONCLUSIVE]
    if vague:
        pytest.skip("\n".join(vague))


@final
class _Runs:
    """The evidence of all runs of one audit of a test, kept in a store if there is one."""

    def __init__(self, test: str, number: int, store: str | None) -> None:
        self.name = f"{test} {number}"
        self.path = store
        self.run = 0

    def begin(self, sampler: object, claim: object, chosen: dict[str, Any]) -> None:
        """Count the run, told by its code, or the version that was given, and its claim."""
        if self.path is None:
            return
        from dpproof import auditing  # noqa: PLC0415  # as in the fixture
        from dpproof.auditing.evidence import LEAST  # noqa: PLC0415  # as in the fixture

        version = chosen.get("version")
        code = auditing.identity((sampler, chosen.get("features"))) if version is None else version
        fingerprint = auditing.fingerprint(code, auditing.identity(claim, code=False))
        self.store = auditing.EvidenceStore(self.path)
        self.run = self.store.begin(self.name, fingerprint, least=LEAST)

    def finish(self, report: Report, level: float) -> dict[str, Any] | None:
        """Return the evidence of all runs, this one multiplied in."""
        if self.path is None:
            return None
        total = self.store.finish(self.run, report.log_evidence)
        return {
            "log_total": total,
            "runs": self.store.runs(self.name),
            "significance": level,
            "refutes": total >= -math.log(level) * (1 + 1e-12),
        }


def _record(
    record_property: Callable[[str, object], None], report: Report, evidence: dict[str, Any] | None
) -> None:
    """Record everything for the JSON, and the numbers that readers of JUnit files look for."""
    record_property(_PROPERTY, json.dumps({**report.to_dict(), "evidence": evidence}))
    record_property("audit_outcome", report.outcome.name)
    record_property("audit_epsilon_lower", report.epsilon_lower)
    record_property("audit_seed", report.seed)
    if evidence is not None:
        record_property("audit_log_evidence", evidence["log_total"])
        record_property("audit_runs", evidence["runs"])


def _refuted(report: Report, evidence: dict[str, Any]) -> str:
    return (
        f"the claim is refuted by the evidence of {evidence['runs']} runs of this code: their "
        f"e-values multiply to e^{evidence['log_total']:.4g}, and reach 1 / "
        f"{evidence['significance']:.3g} with at most that probability while the claim holds; "
        f"this run alone says\n{report}"
    )
