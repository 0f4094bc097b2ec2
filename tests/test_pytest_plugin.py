"""The pytest plugin, run in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

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


def run(folder: Path, *options: str, text: str = AUDITS) -> subprocess.CompletedProcess[str]:
    """Pytest on one file, in another process."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    plugin = [] if "dpproof.pytest_plugin" in os.environ.get("PYTEST_PLUGINS", "") else ["-p"]
    names = ["dpproof.pytest_plugin"] if plugin else []
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", *plugin, *names, *options, str(folder)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
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
    assert "1 failed" in result.stdout
    assert "1 skipped" in result.stdout or "skipped" in result.stdout.splitlines()[-1]
    assert shares[:2] == [1e-6 / 3 / 2, 1e-6 / 3 / 4]
    assert outcomes == {
        "test_true": "no_evidence",
        "test_false": "violation",
        "test_hopeless": "inconclusive",
    }
    assert properties.count("audit_seed") == 4


def test_a_seed_replays(tmp_path: Path) -> None:
    """The same seed gives the same numbers, another run without one does not."""
    seen = []
    for options in (["--audit-seed=7"], ["--audit-seed=7"], []):
        run(tmp_path, "--audit-samples=500", "--audit-json=it.json", "-k", "test_false", *options)
        made = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))["audits"][0]
        seen.append({name: value for name, value in made.items() if name != "seconds"})

    assert seen[0] == seen[1] != seen[2]


def test_loading_the_plugin_imports_nothing_of_ours(tmp_path: Path) -> None:
    """In a session without audits neither our packages nor numpy are imported."""
    text = """
import sys

def test_nothing():
    assert not {"auditing", "accountant", "mechanisms", "numpy"} & set(sys.modules)
"""
    result = run(tmp_path, text=text)

    assert result.returncode == 0, result.stdout
