"""``dpproof audit``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpproof.commands.audit_requests import from_table
from dpproof.pipeline.section import Section
from tests.dpproof.command import Command

CODE = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np

GRID = 2.0**30

def right(value, size, rng):
    return np.rint((value + rng.laplace(size=size)) * GRID) / GRID

def wrong(value, size, rng):
    return np.rint((value + rng.laplace(scale=0.25, size=size)) * GRID) / GRID

def interrupted(value, size, rng):
    raise KeyboardInterrupt

PAIR = (0.0, 1.0)

def threads():
    return ThreadPoolExecutor(2)

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


RELEASE = """
import random, sys
size, value, seed = sys.argv[1:]
rng = random.Random(int(seed))
for _ in range(int(size)):
    print(round(float(value) + 0.25 * (rng.expovariate(1) - rng.expovariate(1)), 6))
"""


def test_a_program(command: Command, folder: Path) -> None:
    """A program is refuted from options and from a file, and no Python is imported."""
    (folder / "release.py").write_text(RELEASE, encoding="utf-8")
    words = f"{sys.executable} release.py {{size}} {{dataset}} {{seed}}"
    claim = ("--epsilon", "1", "--samples", "500", "--seed", "1")
    outcome = command.run("audit", "--command", words, "--datasets", "0", "1", *claim)
    table = {"command": words, "pair": [0, 1], "epsilon": 1, "samples": 500, "seed": 1}
    report = from_table(Section("audit", table), folder).run()

    assert outcome.status == 1
    assert outcome.out.startswith("VIOLATION")
    assert report.headline() == outcome.out.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--command", "release {size}"), "the placeholders {size} and {dataset}"),
        (("--url", "file:///{size}{dataset}"), "begins with http://"),
        (("audited_code:right", "--url", "http://h/{size}{dataset}"), "not both"),
        (("audited_code:right", "--timeout", "1"), "beside a command or a url alone"),
        (("--command", "no-such-program {size} {dataset}"), "cannot be started"),
        (("--command", "x {size} {dataset}", "--timeout", "-1"), "above 0"),
        (("--command", "x {size} {dataset}", "--pair", "a:b"), "give one of them"),
        ((), "sampler: missing"),
    ],
)
def test_bad_programs(command: Command, folder: Path, options: tuple[str, ...], words: str) -> None:
    """Status 2 and one line that says what is wrong."""
    outcome = command.run("audit", *options, "--datasets", "0", "1", "--epsilon", "1")

    assert folder.exists()
    assert outcome.status == 2
    assert words in outcome.err


def test_the_samples_that_a_claim_needs_are_known_before(folder: Path) -> None:
    """And it is said if more are needed than planned."""
    for epsilon, told in ((1, "10 samples, 20 are planned"), (9, "give more, or a claim of")):
        table = {"sampler": "audited_code:right", "pair": [0.0, 1.0], "epsilon": epsilon}
        request = from_table(Section("audit", {**table, "samples": 10}), folder)
        assert told in request.needs()


def test_an_interrupted_audit_prints_its_report(command: Command, folder: Path) -> None:
    """Status 130, which says neither that the claim holds nor that it is refuted."""
    options = ("--pair", "audited_code:pair", "--epsilon", "1", "--samples", "2000")
    outcome = command.run("audit", "audited_code:interrupted", *options)

    assert folder.exists()
    assert outcome.status == 130
    assert outcome.out.startswith("INCONCLUSIVE")
    assert "interrupted before the planned samples were drawn" in outcome.out


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
        (FILE.format(sampler="right", claim="epsilon = 1\nworkers = 0"), "workers"),
        (FILE.format(sampler="right", claim="epsilon = 1\nchunk = 0.5"), "chunk"),
        (FILE.format(sampler="right", claim='epsilon = 1\nstore = "no/it"'), "no/it"),
        (
            FILE.format(sampler="right", claim='epsilon = 1\nexecutor = "audited_code:PAIR"'),
            "concurrent.futures.Executor",
        ),
        (
            FILE.format(sampler="right", claim='epsilon = 1\nexecutor = "a:b"\nworkers = 2'),
            "not both",
        ),
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


OPTIONS = (
    "audited_code:right",
    *("--pair", "audited_code:pair", "--epsilon", "1", "--samples", "300", "--json"),
)


@pytest.mark.parametrize("where", [("--workers", "2"), ("--executor", "audited_code:threads")])
def test_trials_run_elsewhere(command: Command, folder: Path, where: tuple[str, str]) -> None:
    """Other processes, and any executor, give the report of this process."""
    here = command.run("audit", *OPTIONS, "--seed", "3", "--chunk", "100").json
    there = command.run("audit", *OPTIONS, "--seed", "3", "--chunk", "100", *where).json

    assert folder.exists()
    assert {**here, "seconds": 0} == {**there, "seconds": 0}


def test_a_store_goes_on(command: Command, folder: Path) -> None:
    """The same command again reads its trials, another audit is refused with status 2."""
    first, again = (command.run("audit", *OPTIONS, "--store", "it.sqlite").json for _ in "ab")
    other = command.run("audit", *OPTIONS, "--store", "it.sqlite", "--delta", "1e-6")

    assert (folder / "it.sqlite").exists()
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    assert other.status == 2
    assert "differs in: claim" in other.err
    assert len(other.err.splitlines()) == 1


def test_how_it_runs_may_stand_beside_a_file(command: Command, folder: Path) -> None:
    """A store and workers beside a file; what is in both is refused."""
    (folder / "inner").mkdir()
    file = folder / "inner" / "audit.toml"
    text = FILE.format(sampler="right", claim="epsilon = 1\nseconds = 100\n")
    file.write_text(text, encoding="utf-8")
    made = command.run("audit", str(file), "--store", "it.sqlite", "--json")
    both = command.run("audit", str(file), "--seconds", "10")

    assert made.status == 0
    assert (folder / "it.sqlite").exists()
    assert both.status == 2
    assert "not both" in both.err


def test_a_bar_is_shown_on_a_terminal(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trials are counted on standard error where it is a terminal; JSON stays clean."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    outcome = command.run("audit", *OPTIONS)

    assert folder.exists()
    assert outcome.json["planned"] == 600
    assert "600" in outcome.err


ODD = """
import sys

PAIR = (0.0, 1.0)
THREE = 3

def right(value, size, rng):
    return (value + rng.laplace(size=size)).round(6)

def one(value, size, rng):
    return value

def leaves(value, size, rng):
    sys.exit(3)

def few(value):
    return value

def raises():
    raise KeyError("marker-of-a-record")

def leaving():
    sys.exit(3)

def equal():
    return [0.5, "marker-of-a-record"], [0.5, "marker-of-a-record"]
"""


@pytest.mark.parametrize(
    ("sampler", "pair", "told"),
    [
        ("math:pi", "odd:PAIR", "sampler must be a function (data, size, rng) -> outputs"),
        ("odd:THREE", "odd:PAIR", "sampler must be a function (data, size, rng) -> outputs"),
        ("odd:one", "odd:PAIR", "outputs must be a list or an array of"),
        ("odd:leaves", "odd:PAIR", "it called sys.exit"),
        ("odd:few", "odd:PAIR", "-> outputs, got 'function (value)'"),
        ("odd:right", "odd:THREE", "pair must be a Pair or a tuple (data, neighbour), got 'int'\n"),
        ("odd:right", "odd:raises", 'pair: "odd:raises" raised KeyError when it was called'),
        ("odd:right", "odd:leaving", 'pair: "odd:leaving" raised SystemExit when it was called'),
        ("odd:right", "odd:equal", "pair must be two neighbouring datasets"),
        ("leaving_import:f", "odd:PAIR", 'importing "leaving_import:f" called sys.exit'),
    ],
)
def test_odd_samplers_and_pairs_are_refused(
    command: Command, folder: Path, sampler: str, pair: str, told: str
) -> None:
    """Status 2, and one line that names the argument and shows no record."""
    (folder / "odd.py").write_text(ODD, encoding="utf-8")
    (folder / "leaving_import.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    outcome = command.run("audit", sampler, "--pair", pair, "--epsilon", "1", "--samples", "100")

    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("dpproof: audit: ")
    assert told in outcome.err
    assert "marker-of-a-record" not in outcome.err


def test_a_pipeline_is_audited_at_its_delta(command: Command, folder: Path) -> None:
    """Epsilon is claimed and measured where the file asks for it, or where an option says."""
    (folder / "pipeline.toml").write_text(PIPELINE.replace("1e-6", "1e-5"), encoding="utf-8")
    options = ("--pair", "audited_code:pair", "--pipeline", "pipeline.toml", "--samples", "500")
    audited = ("audit", "audited_code:right", *options, "--json")
    of_file = command.run(*audited).json
    of_option = command.run(*audited, "--delta", "0.25").json

    assert (of_file["delta"], of_option["delta"]) == (1e-5, 0.25)
    assert of_file["claim"] == "count"
    claimed = command.run("budget", "pipeline.toml", "--json").json["epsilon"]["upper"]
    assert of_file["epsilon_claimed"] == claimed
    assert 0 < of_option["epsilon_claimed"] < claimed
