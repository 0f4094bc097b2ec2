"""``dpproof audit``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dpproof.command import Command

CODE = """
import numpy as np

GRID = 2.0**30

def right(value, size, rng):
    return np.rint((value + rng.laplace(size=size)) * GRID) / GRID

def wrong(value, size, rng):
    return np.rint((value + rng.laplace(scale=0.25, size=size)) * GRID) / GRID

PAIR = (0.0, 1.0)

def pair():
    return PAIR
"""
FILE = """
[audit]
sampler = "audited_code:{sampler}"
pair = [0.0, 1.0]
{claim}
samples = 2_000
significance = 1e-6
"""
PIPELINE = """
[pipeline]
relation = "add-remove"
delta = 1e-6

[[stage]]
name = "count"
mechanism = "laplace"
scale = 1
sensitivity = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with code to audit."""
    (tmp_path / "audited_code.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("sampler", "status"), [("right", 0), ("wrong", 1)])
def test_options(command: Command, folder: Path, sampler: str, status: int) -> None:
    """An import path and options: status 1 with the page on a violation, 0 without."""
    options = ("--pair", "audited_code:pair", "--epsilon", "1", "--samples", "2000")
    outcome = command.run("audit", f"audited_code:{sampler}", *options, "--significance", "1e-6")

    assert folder.exists()
    assert outcome.status == status
    assert outcome.out.startswith(("NO EVIDENCE", "VIOLATION")[status])
    assert "seed" in outcome.out


@pytest.mark.parametrize("claim", ["epsilon = 1", 'pipeline = "pipeline.toml"'])
@pytest.mark.parametrize(("sampler", "status"), [("right", 0), ("wrong", 1)])
def test_file(command: Command, folder: Path, claim: str, sampler: str, status: int) -> None:
    """A file whose claim is a point or the total of a pipeline file; JSON has everything."""
    (folder / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    file = folder / "audit.toml"
    file.write_text(FILE.format(sampler=sampler, claim=claim), encoding="utf-8")
    outcome = command.run("audit", str(file), "--json")

    assert outcome.status == status
    assert outcome.json["outcome"] == ("no_evidence", "violation")[status]
    assert outcome.json["significance"] <= 1e-6
    assert outcome.json["findings"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "audit: missing"),
        ("[audit]\npair = [1, 2]\nepsilon = 1", "sampler: missing"),
        ('[audit]\nsampler = "nowhere"\npair = [1, 2]\nepsilon = 1', "package.module:name"),
        ('[audit]\nsampler = "nowhere:f"\npair = [1, 2]\nepsilon = 1', "cannot import"),
        (FILE.format(sampler="right", claim=""), "epsilon: missing"),
        (FILE.format(sampler="right", claim="epsilon = -1"), "at least 0"),
        (FILE.format(sampler="right", claim="epsilon = 1\ndelta = 2"), "delta must be in [0, 1]"),
        (FILE.format(sampler="right", claim="epsilon = 1\nsample = 1"), "did you mean"),
        (FILE.format(sampler="right", claim='epsilon = 1\npipeline = "x"'), "not both"),
        ('[audit]\nsampler = "audited_code:right"\npair = [1]\nepsilon = 1', "two datasets"),
    ],
)
def test_bad_files(command: Command, folder: Path, text: str, words: str) -> None:
    """Status 2 and one line that says where and what."""
    file = folder / "audit.toml"
    file.write_text(text, encoding="utf-8")
    outcome = command.run("audit", str(file))

    assert outcome.status == 2
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == 1
    assert words in outcome.err


def test_a_file_and_options_are_refused(command: Command) -> None:
    """Options beside a file would leave open which of the two holds."""
    outcome = command.run("audit", "audit.toml", "--epsilon", "1")

    assert outcome.status == 2
    assert "state everything in the file" in outcome.err
