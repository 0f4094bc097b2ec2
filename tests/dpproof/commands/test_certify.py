"""``dpproof certify``, ``dpproof check`` and ``dpproof budget --certify``."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpproof.proofs import Certificate
from tests.dpproof.command import Command

PIPELINE = """
[pipeline]
relation = "add-remove"
delta = 1e-6
epsilon = 9

[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = { scheme = "poisson", rate = 0.01 }
count = 10000

[[stage]]
name = "report"
mechanism = "laplace"
scale = 20
sensitivity = { l1 = 1 }
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where to write a certificate."""
    return tmp_path / "certificate.json"


def test_certify_and_check(command: Command, out: Path) -> None:
    """What is written is verified, before and after."""
    made = command.run("certify", command.file(PIPELINE), "-o", str(out))
    checked = command.run("check", str(out))

    assert (made.status, made.err) == (0, "")
    assert made.out == checked.out
    assert checked.status == 0
    assert checked.out.startswith("Verified: M5 is (6.9125")
    assert "M3 runs M2 10000 times" in checked.out


def test_budget_certifies_too(command: Command, out: Path) -> None:
    """The certificate's epsilon is the budget's upper end, at most a millionth above."""
    spent = command.run("budget", command.file(PIPELINE), "--json", "--certify", str(out))
    upper = spent.json["epsilon"]["upper"]
    claim = Certificate.from_json(out.read_text(encoding="utf-8")).claim
    top, bottom = str(claim["epsilon"]).split("/")

    assert spent.status == 0
    assert upper <= int(top) / int(bottom) <= upper * (1 + 1e-6)


def test_the_lower_end(command: Command, out: Path) -> None:
    """A fact about the dominating pair, which assumes nothing, just below the upper end."""
    made = command.run("certify", command.file(PIPELINE), "--lower", "-o", str(out))
    checked = command.run("check", str(out))
    spent = command.run("budget", command.file(PIPELINE), "--json")
    claim = Certificate.from_json(out.read_text(encoding="utf-8")).claim
    top, bottom = str(claim["epsilon"]).split("/")

    assert (made.status, made.err) == (0, "")
    assert made.out == checked.out
    assert checked.out.startswith("Verified: hockey-stick divergence at 6.9125")
    assert claim["notion"] == "hockey-stick-at-least"
    assert 0 <= 1 - int(top) / int(bottom) / spent.json["epsilon"]["lower"] < 1e-6


REPORTS = """
[pipeline]
relation = "replace-one"
delta = 1e-6
epsilon = 1

[[stage]]
name = "survey"
mechanism = "randomized-response"
epsilon = 1
categories = 4
sampling = { scheme = "shuffled-reports", records = 10000 }
"""


def test_the_lower_end_of_shuffled_reports(command: Command, out: Path) -> None:
    """A fact about the histograms of two datasets, in a millionth of the bracket's lower end."""
    made = command.run("certify", command.file(REPORTS), "--lower", "-o", str(out))
    spent = command.run("budget", command.file(REPORTS), "--json")
    text = out.read_text(encoding="utf-8")
    claim = Certificate.from_json(text).claim
    top, bottom = str(claim["epsilon"]).split("/")
    out.write_text(text.replace(f"{top}/{bottom}", f"{101 * int(top)}/{100 * int(bottom)}"))

    assert (made.status, made.err) == (0, "")
    assert "all others in a third" in made.out
    assert 0 <= 1 - int(top) / int(bottom) / spent.json["epsilon"]["lower"] < 1e-6
    assert command.run("check", str(out)).status != 0


def test_attack_risk(command: Command, out: Path) -> None:
    """What the budget's table says that attacks reach is certified, to a millionth."""
    spent = command.run("budget", command.file(PIPELINE), "--json").json
    known = {
        "advantage": (["--advantage"], spent["advantage"]),
        "true_positive_rate": (["--false-positive-rate", "0.01"], spent["true_positive_rate"][0]),
    }
    for name, (options, shown) in known.items():
        made = command.run("certify", command.file(PIPELINE), *options, "-o", str(out))
        claim = Certificate.from_json(out.read_text(encoding="utf-8")).claim
        top, bottom = str(claim[name]).split("/")

        assert (made.status, made.err) == (0, "")
        assert shown["lower"] <= int(top) / int(bottom) <= shown["upper"] * (1 + 1e-6)


def test_two_questions_at_once(command: Command, out: Path) -> None:
    """Refused in one line, and nothing is written."""
    questions = ("--advantage", "--false-positive-rate", "0.01")
    refused = command.run("certify", command.file(PIPELINE), *questions, "-o", str(out))

    assert refused.status == 2
    assert "choose one" in refused.err
    assert not out.exists()


def test_a_lower_end_that_no_rule_shows(command: Command, out: Path) -> None:
    """Refused in one line, and nothing is written."""
    selects = 'select = { runs = "truncated-negative-binomial", eta = 1, gamma = 0.1 }\n'
    refused = command.run("certify", command.file(PIPELINE + selects), "--lower", "-o", str(out))

    assert refused.status == 2
    assert len(refused.err.splitlines()) == 1
    assert not out.exists()


def test_a_rejected_certificate_is_status_1(command: Command, out: Path) -> None:
    """A wrong certificate is told from bad input."""
    command.run("certify", command.file(PIPELINE), "-o", str(out))
    out.write_text(out.read_text(encoding="utf-8").replace("10000", "10001"), encoding="utf-8")
    wrong = command.run("check", str(out))

    assert wrong.status == 1
    assert wrong.out.startswith("Rejected: step")


def test_bad_input_is_status_2(command: Command, out: Path, tmp_path: Path) -> None:
    """A missing file, and a place that cannot be written."""
    assert command.run("check", str(tmp_path / "none.json")).status == 2
    assert command.run("certify", str(tmp_path / "none.toml"), "-o", str(out)).status == 2
    refused = command.run("certify", command.file(PIPELINE), "-o", str(tmp_path / "a" / "b"))
    assert refused.status == 2
    assert not out.exists()


def test_what_cannot_be_certified_is_refused_in_one_line(command: Command, out: Path) -> None:
    """No certificate is written for a pipeline without a finite epsilon."""
    text = PIPELINE.replace("delta = 1e-6", "delta = 0")
    refused = command.run("certify", command.file(text), "-o", str(out))

    assert refused.status == 2
    assert len(refused.err.splitlines()) == 1
    assert not out.exists()


def test_a_theorem_is_about_epsilon_alone(command: Command, out: Path) -> None:
    """Other questions, and one file for both, are refused; the epsilon is rounded up."""
    laplace = PIPELINE[: PIPELINE.index("[[stage]]")] + PIPELINE[PIPELINE.rindex("[[stage]]") :]
    file = command.file(laplace)

    for wrong in (["--lower"], ["--advantage"], ["-o", str(out)]):
        assert command.run("certify", file, "--formal", str(out), *wrong).status == 2
        assert not out.exists()
    said = command.run("certify", file, "--formal", str(out)).out
    assert "a theorem of epsilon 0.05" in said
    assert "coqc" in said
