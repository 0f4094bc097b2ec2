"""The pytest plugin, run in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.architecture.tree import ROOT

AUDITS = """
import numpy as np
import pytest

GRID = 2.0**30

def laplace(scale):
    def draw(value, size, rng):
        return np.rint((value + rng.laplace(scale=scale, size=size)) * GRID) / GRID
    return draw

def test_true(audit):
    report = audit(laplace(1.0), (0.0, 1.0), (1, 0))
    print("SHARE", report.significance)
    print("SHARE", audit(laplace(1.0), (0.0, 1.0), (1, 0)).significance)

def test_false(audit):
    audit(laplace(0.25), (0.0, 1.0), (1, 0))

@pytest.mark.audit(samples=5)
def test_hopeless(audit):
    audit(laplace(1.0), (0.0, 1.0), (1, 0))

def test_nothing():
    pass
"""

# Other plugins take most of the start of a session; only workers need one of them.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def run(folder: Path, *options: str, text: str = AUDITS) -> subprocess.CompletedProcess[str]:
    """Pytest on one file, in another process."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    plugin = [] if "dpproof.pytest_plugin" in os.environ.get("PYTEST_PLUGINS", "") else ["-p"]
    names = ["dpproof.pytest_plugin"] if plugin else []
    alone = {} if text == SHARES else ALONE
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", *plugin, *names, *options, str(folder)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **alone},
    )


def test_outcomes_budget_and_reports(tmp_path: Path) -> None:
    """A violation fails, a hopeless audit is skipped; shares, JSON and JUnit are as documented."""
    result = run(
        tmp_path,
        "--audit-samples=2000",
        "--audit-json=audits.json",
        "--junit-xml=junit.xml",
        "-o",
        "junit_family=xunit1",
    )
    shares = [float(line.split()[1]) for line in result.stdout.splitlines() if "SHARE" in line]
    saved = json.loads((tmp_path / "audits.json").read_text(encoding="utf-8"))
    outcomes = {made["test"].split("::")[1]: made["outcome"] for made in saved["audits"]}
    junit = ET.parse(tmp_path / "junit.xml")  # noqa: S314  # our own file
    properties = [item.get("name") for item in junit.iter("property")]

    assert "ClaimRefuted" in result.stdout
    summary = result.stdout.partition("wrong with probability at most")[2]
    assert "test_false: VIOLATION. At epsilon 1 the claim allows delta 0; counted " in summary
    assert "test_true: NO EVIDENCE: measured epsilon >= " in summary
    assert "1 failed" in result.stdout
    assert "1 skipped" in result.stdout or "skipped" in result.stdout.splitlines()[-1]
    assert shares[:2] == [1e-6 / 3 / 2, 1e-6 / 3 / 6]
    assert outcomes == {
        "test_true": "no_evidence",
        "test_false": "violation",
        "test_hopeless": "inconclusive",
    }
    assert properties.count("audit_seed") == 4


FAILING = """
def short(value, size, rng):
    return (4 * value + rng.laplace(size=size)).round(6)

def breaks(value, size, rng):
    raise ValueError("marker-of-a-record")

def test_refuted(audit):
    audit(short, (0.0, 1.0), (1, 0), samples=2000)

def test_broken(audit):
    audit(breaks, (0.0, 1.0), (1, 0))

def test_refused(audit):
    audit(3, (0.0, 1.0), (1, 0))
"""


def test_a_failure_shows_the_test_and_none_of_our_frames(tmp_path: Path) -> None:
    """Each failure is the line of the test and the message: no source of ours, no data."""
    shown = run(tmp_path, text=FAILING).stdout

    assert "3 failed" in shown
    for told in (
        ">       audit(short, (0.0, 1.0), (1, 0), samples=2000)",
        "dpproof.auditing.counts.ClaimRefuted: VIOLATION. At epsilon 1 the claim allows delta 0",
        "raises no error, got ValueError at test_it.py:6",
        "sampler must be a function (data, size, rng) -> outputs, got 'int'",
    ):
        assert told in shown
    for ours in ("pytest_plugin.py:", "audit.py:", "report.py:", "form.py:", "marker-of-a-record"):
        assert ours not in shown


def test_a_seed_replays(tmp_path: Path) -> None:
    """The same seed gives the same numbers, another run without one does not."""
    seen = []
    for options in (["--audit-seed=7"], ["--audit-seed=7"], []):
        run(tmp_path, "--audit-samples=500", "--audit-json=it.json", "-k", "test_false", *options)
        made = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))["audits"][0]
        seen.append({name: value for name, value in made.items() if name != "seconds"})

    assert seen[0] == seen[1] != seen[2]


SHARES = """
import pytest

def draw(value, size, rng):
    return (value + rng.laplace(size=size)).round(6)

@pytest.mark.parametrize("number", range(3))
def test_share(audit, number, record_property, worker_id):
    for _ in range(2):
        record_property("share", audit(draw, (0.0, 1.0), (1, 0)).significance)
        record_property("worker", worker_id)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [("-n", "2"), ("--dist=each", "--tx=2*popen")], ids=["spread", "each"]
)
def test_workers_share_one_budget(tmp_path: Path, options: tuple[str, ...]) -> None:
    """All audits of all worker processes together take at most the budget."""
    result = run(
        tmp_path,
        "--audit-samples=50",
        "--audit-budget=1e-9",
        "--junit-xml=junit.xml",
        *options,
        text=SHARES,
    )
    junit = ET.parse(tmp_path / "junit.xml")  # noqa: S314  # our own file
    found = [(str(item.get("name")), str(item.get("value"))) for item in junit.iter("property")]
    shares = [float(value) for name, value in found if name == "share"]
    copies = 2 if "each" in options[0] else 1

    assert result.returncode == 0, result.stdout
    assert len({value for name, value in found if name == "worker"}) == 2
    assert len(shares) == 6 * copies
    assert sorted(set(shares)) == [1e-9 / 3 / (k * (k + 1)) for k in range(2 * copies, 0, -1)]
    assert sum(shares) < 1e-9


FORKED = """
def draw(value, size, rng):
    return value + rng.normal(size=size).round(3)

def test_share(audit):
    made = audit(draw, (0.0, 0.5), (1, 0), samples=50).significance
    with open("shares.txt", "a", encoding="utf-8") as file:
        print(made, file=file)
"""
FORKING = """
import os

def pytest_pyfunc_call(pyfuncitem):
    for _ in range(2):
        child = os.fork()
        if child == 0:
            pyfuncitem.obj(pyfuncitem.funcargs["audit"])
            os._exit(0)
        os.waitpid(child, 0)
    return True
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that are forked")
def test_forks_share_one_budget(tmp_path: Path) -> None:
    """A test that runs again in a process forked for it takes the next share."""
    (tmp_path / "conftest.py").write_text(FORKING, encoding="utf-8")
    result = run(tmp_path, "--audit-budget=1e-9", "-p", "no:xdist", text=FORKED)
    shares = (tmp_path / "shares.txt").read_text(encoding="utf-8").split()

    assert result.returncode == 0, result.stdout
    assert [float(share) for share in shares] == [1e-9 / 2, 1e-9 / 6]


TIMED = """
from dpproof import auditing
import pytest

def noise(value, size, rng):
    return value + rng.normal(size=size).round(3)

@pytest.mark.parametrize("own", [None, None, 60, None])
def test_time(audit, monkeypatch, own):
    given, real = [], auditing.audit

    def recorded(*arguments, **options):
        given.append(options["seconds"])
        return real(*arguments, **options)

    monkeypatch.setattr(auditing, "audit", recorded)
    for _ in range(2):
        audit(noise, (0.0, 1.0), (9, 0.1), samples=20, seconds=own)
    print("SECONDS", *given)
"""


def test_time_of_a_session_is_divided(tmp_path: Path) -> None:
    """Equal parts of what is left for all tests that have not begun; the shorter budget holds."""
    result = run(tmp_path, "--audit-session-seconds=1e6", "-s", "-p", "no:randomly", text=TIMED)
    lines = [line.split()[1:] for line in result.stdout.splitlines() if "SECONDS" in line]
    seconds = [float(part) for line in lines for part in line]

    expected = [1e6 / 4, 1e6 / 4, 1e6 / 3, 1e6 / 3, 60, 60, 1e6, 1e6]
    assert seconds == pytest.approx(expected, abs=2e3), result.stdout


def test_an_audit_without_time_is_inconclusive(tmp_path: Path) -> None:
    """The session ends soon, with skipped tests and no failure."""
    result = run(tmp_path, "--audit-session-seconds=1e-9", text=TIMED)

    assert result.returncode == pytest.ExitCode.OK, result.stdout
    assert "4 skipped" in result.stdout


def test_refuses_no_time_for_a_session(tmp_path: Path) -> None:
    """Zero seconds, or a negative number of them, are an error."""
    for seconds in ("0", "-3", "nan"):
        result = run(tmp_path, f"--audit-session-seconds={seconds}")

        assert result.returncode == pytest.ExitCode.USAGE_ERROR


def test_a_share_has_to_be_known_in_advance(tmp_path: Path) -> None:
    """A test that asks for the fixture while it runs was not counted, and is refused."""
    text = "def test_it(request):\n    request.getfixturevalue('audit')(None, (0, 1), (1, 0))\n"
    result = run(tmp_path, text=text)

    assert result.returncode == 1
    assert "name it as a parameter" in result.stdout


@pytest.mark.parametrize("budget", ["0", "1", "nan"])
def test_refuses_budgets_that_are_none(tmp_path: Path, budget: str) -> None:
    """A probability inside (0, 1)."""
    result = run(tmp_path, f"--audit-budget={budget}", text="")

    assert result.returncode == 4
    assert "--audit-budget" in result.stderr


NIGHTLY = """
import os

def test_release(audit, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    def draw(value, size, rng):
        return (value + rng.laplace(size=size)).round(6)
    audit(draw, (0.0, 1.0), (float(os.environ["EPSILON"]), 0))
"""
# Several sessions in one process: starting one takes seconds.
DRIVER = """
import json, os, sqlite3, sys, pytest

options = ["-q", "-p", "dpproof.pytest_plugin", "--audit-store=kept", "--audit-json=it.json"]
options += ["--junit-xml=it.xml"]
options += ["--audit-samples=300", "--audit-budget=1e-9"]
for more, epsilon, added in json.loads(sys.argv[1]):
    os.environ["EPSILON"] = epsilon
    status = pytest.main([*options, *more, "test_it.py"])
    with sqlite3.connect("kept") as database:
        database.execute("UPDATE runs SET log_evidence = log_evidence + ? WHERE id = 1", (added,))
    print("SAID", json.dumps([int(status), json.load(open("it.json"))["audits"][0]]))
"""


def nights(
    folder: Path, sessions: list[tuple[list[str], str, float]], text: str = NIGHTLY
) -> tuple[list[tuple[int, dict[str, Any]]], str]:
    """Sessions with a store: what each says with given options and claim, and all its output."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    environment = {**os.environ, **ALONE, "PYTHONPATH": str(ROOT), "PYTEST_PLUGINS": ""}
    result = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(sessions)],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    lines = [line for line in result.stdout.splitlines() if line.startswith("SAID")]
    return [tuple(json.loads(line.removeprefix("SAID"))) for line in lines], result.stdout


@pytest.mark.slow
def test_evidence_adds_up_for_one_code_and_claim(tmp_path: Path) -> None:
    """Fresh runs multiply and refute by the store; a replay, other claims and code do not.

    The claim is exactly true, so that the product reaches e^22, where it refutes, by itself with
    probability at most 2.5e-10; two stages leave at least 1/25 of it, so e^40 is enough.
    """
    plain: tuple[list[str], str, float] = ([], "1", 0.0)
    said, output = nights(
        tmp_path, [plain, plain, (["--audit-seed=5"], "1", 40.0), plain, ([], "1.5", 0.0)]
    )
    (_, first), (_, second), (_, replay), (ended, refuted), (_, claim) = said
    ((_, code),), _ = nights(tmp_path, [plain], NIGHTLY + "# changed\n")
    total = sum(made["log_evidence"] for made in (first, second, refuted))

    assert [m["evidence"]["runs"] for m in (first, second, refuted, claim, code)] == [1, 2, 3, 1, 1]
    assert replay["evidence"] is None
    assert refuted["evidence"]["log_total"] == pytest.approx(40 + total)
    assert refuted["evidence"]["refutes"]
    assert ended == 1
    assert not second["evidence"]["refutes"]
    assert first["significance"] == first["evidence"]["significance"] == 1e-9 / 2 / 2
    assert claim["evidence"]["log_total"] == claim["log_evidence"]
    assert "refuted by the evidence of 3 runs" in output
    assert "of 3 runs, which refutes the claim" in output
    junit = (tmp_path / "it.xml").read_text(encoding="utf-8")
    assert all(f'name="audit_{name}"' in junit for name in ("log_evidence", "runs", "seed"))


def test_loading_the_plugin_imports_nothing_of_ours(tmp_path: Path) -> None:
    """In a session without audits neither our packages nor numpy are imported."""
    text = """
import sys

def test_nothing():
    ours = {f"dpproof.{part}" for part in ("auditing", "accountant", "mechanisms")}
    assert not {"numpy", *ours} & set(sys.modules)
"""
    result = run(tmp_path, text=text)

    assert result.returncode == 0, result.stdout
