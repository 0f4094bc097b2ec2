"""``dpproof check CERTIFICATE --against FILE``: whether a certificate speaks of a file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

import dpproof as dp
from tests.dpproof.command import Command, Outcome

PIPELINE = """
[pipeline]
relation = "add-remove"
delta = 1e-6

[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = { scheme = "poisson", rate = 0.01 }
count = 100

[[stage]]
name = "report"
mechanism = "laplace"
scale = 20
sensitivity = 1
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where to write a certificate."""
    return tmp_path / "certificate.json"


def certified(command: Command, out: Path, *question: str) -> str:
    """Return the path of the certificate of the pipeline."""
    made = command.run("certify", command.file(PIPELINE), "-o", str(out), *question)
    assert made.status == 0, made.err
    return str(out)


def against(command: Command, out: Path, text: str, *options: str) -> Outcome:
    """Compare a certificate with a file of this text."""
    return command.run("check", str(out), "--against", command.file(text), *options)


@pytest.mark.parametrize(
    "question", [[], ["--advantage"], ["--false-positive-rate", "0.01"], ["--lower"]], ids=" ".join
)
def test_a_certificate_of_the_file(command: Command, out: Path, question: list[str]) -> None:
    """Every certificate that certify writes speaks of its file: status 0."""
    certified(command, out, *question)
    answer = against(command, out, PIPELINE)

    assert (answer.status, answer.err) == (0, "")
    assert "pipeline.toml: yes" in answer.out
    assert ("it carries the digest of this file" in answer.out) is ("--lower" not in question)


def test_the_digest_is_that_of_the_file(command: Command, out: Path) -> None:
    """The label is what sha256sum prints, and a comment more is another digest of the same."""
    certified(command, out)
    digest = sha256(PIPELINE.encode()).hexdigest()
    answer = against(command, out, f"# a remark\n{PIPELINE}")

    assert f'is called "file sha256 {digest}' in answer.out
    assert answer.status == 0
    assert "it carries the digest of another file, or of this one before a change" in answer.out


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "noise_multiplier = 1.0",
            "noise_multiplier = 2.0",
            "'mean 0 and standard deviation 2, independent in every coordinate, to' by the file",
        ),
        ("count = 100", "count = 101", "\"training\": 'M3 runs M2 100 times on the same data'"),
        ("rate = 0.01", "rate = 0.02", "every record independently with probability 0.02"),
        ("delta = 1e-6", "delta = 1e-5", "delta: 1e-06 in the certificate, 1e-05 by the file"),
        ("add-remove", "zero-out", "relation: add-remove in the certificate, zero-out by the file"),
        ("scale = 20", "scale = 21", '"report": \'adds Laplace noise of scale 20, of'),
    ],
)
def test_another_file(command: Command, out: Path, old: str, new: str, why: str) -> None:
    """One number of the file is another: no, status 1, and what is different."""
    certified(command, out)
    answer = against(command, out, PIPELINE.replace(old, new))

    assert answer.status == 1
    assert answer.out.startswith("Verified: ")
    assert "pipeline.toml: no" in answer.out
    assert why in answer.out


SURVEY = """
[[stage]]
name = "survey"
mechanism = "randomized-response"
epsilon = 0.5
"""


def test_stages_in_another_order(command: Command, out: Path) -> None:
    """All of them run on the same data: their order and their names change nothing."""
    certified(command, out)
    head, training, report = PIPELINE.split("[[stage]]")
    same = against(command, out, f"{head}[[stage]]{report}[[stage]]{training}")
    renamed = against(command, out, PIPELINE.replace('"report"', '"table"'))

    assert (same.status, renamed.status) == (0, 0)
    assert "it carries the digest of another file" in renamed.out


def test_one_stage_more(command: Command, out: Path) -> None:
    """A stage before the others gives them other numbers: what is told is that stage alone."""
    certified(command, out)
    head, *stages = PIPELINE.split("[[stage]]")
    more = against(command, out, "[[stage]]".join([f"{head}{SURVEY}", *stages]))
    told = [line for line in more.out.splitlines() if line.startswith("  - ")]

    assert more.status == 1
    assert len(told) == 2
    assert "in the certificate, 'M6 runs M1 and M4 and M5 on the same data'" in told[0]
    assert told[1].startswith("  - the file alone says: M1 computes")


def test_counts_in_other_places(command: Command, out: Path) -> None:
    """The same sentences with parts exchanged are another pipeline."""
    once = """
[pipeline]
relation = "add-remove"
delta = 1e-6

[[stage]]
name = "first"
mechanism = "laplace"
scale = 20
sensitivity = 1
count = 4

[[stage]]
name = "second"
mechanism = "laplace"
scale = 30
sensitivity = 1
count = 5
"""
    assert command.run("certify", command.file(once), "-o", str(out)).status == 0
    head, first, second = once.split("[[stage]]")
    other = first.replace("4", "5"), second.replace("5", "4")
    answer = against(command, out, "[[stage]]".join([head, *other]))

    assert answer.status == 1
    assert "runs M1 4 times on the same data' in the certificate" in answer.out


def test_json(command: Command, out: Path) -> None:
    """What is printed in words, for programs."""
    certified(command, out)
    yes = against(command, out, PIPELINE, "--json")
    no = against(command, out, PIPELINE.replace("scale = 20", "scale = 21"), "--json")
    alone = command.run("check", str(out), "--json")
    out.write_text("{}", encoding="utf-8")
    rejected = against(command, out, PIPELINE, "--json")

    assert (yes.status, yes.json["speaks_of_file"], yes.json["differences"]) == (0, True, [])
    assert (no.status, no.json["verified"], no.json["speaks_of_file"]) == (1, True, False)
    assert len(no.json["differences"]) == 1
    assert alone.json["claim"] == yes.json["claim"]
    assert "speaks_of_file" not in alone.json
    assert (rejected.status, rejected.json["verified"], rejected.json["rule"]) == (
        1,
        False,
        "format",
    )


@pytest.mark.parametrize("question", ["--lower", "--advantage"])
def test_another_file_by_other_questions(command: Command, out: Path, question: str) -> None:
    """Facts about the pair are compared by the pair, attacks by what is assumed."""
    certified(command, out, question)
    answer = against(command, out, PIPELINE.replace("scale = 20", "scale = 21"))

    assert answer.status == 1
    assert ("its pair of laws is another" in answer.out) is (question == "--lower")


def test_protected_groups(command: Command, out: Path) -> None:
    """A certificate about one record does not speak of a file that protects two."""
    alone = PIPELINE.split("[[stage]]")
    text = f"{alone[0]}[[stage]]{alone[2]}"
    command.run("certify", command.file(text), "-o", str(out))
    answer = against(command, out, text.replace("delta = 1e-6", "delta = 1e-6\nprotect = 2"))

    assert answer.status == 1
    assert "steps: 1 in the certificate, 2 by the file" in answer.out


def test_a_claim_of_another_kind(command: Command, out: Path) -> None:
    """A certificate of a Renyi divergence is none that files have."""
    guarantee = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).guarantee()
    out.write_text(guarantee.certify(order=8).to_json(), encoding="utf-8")
    answer = against(command, out, PIPELINE)

    assert answer.status == 1
    assert "of another kind than what is certified of files" in answer.out


def test_rejected_and_unreadable(command: Command, out: Path, tmp_path: Path) -> None:
    """A rejected certificate is status 1 and is compared with nothing; no file is status 2."""
    certified(command, out)
    out.write_text(out.read_text(encoding="utf-8").replace('"scale":"20"', '"scale":"21"'))
    rejected = against(command, out, PIPELINE)

    assert rejected.status == 1
    assert rejected.out.startswith("Rejected: ")
    assert "Speaks of" not in rejected.out
    certified(command, out)
    assert command.run("check", str(out), "--against", str(tmp_path / "none")).status == 2
    assert command.run("check", str(tmp_path / "none"), "--against", str(out)).status == 2
    assert command.run("check", "-", "--against", "-").status == 2
    shown = against(command, out, PIPELINE, "--show", "0")
    assert (shown.status, "leave out --against" in shown.err) == (2, True)
