"""Bad input of every command: one typed line on standard error, status 2, and no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpproof.__main__ import main
from tests.dpproof import test_bad_input
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, LAPLACE, PIPELINE

TEXT = PIPELINE + GAUSSIAN + LAPLACE
ABOUT = "[about]\n"
LONG = "x" * 201
CALIBRATE = ("--stage", "training", "--parameter", "noise_multiplier")
CODE = """
pair = (0.0, 1.0)
def sampler(data, size, rng):
    return data + rng.normal(size=size)
def raising():
    raise ZeroDivisionError("12345")
"""
FILES: dict[str, str] = {
    "p.toml": TEXT,
    "new.toml": TEXT.replace("multiplier = 1.0", "multiplier = 1.25"),
    "none.toml": PIPELINE.replace("epsilon = 8.0", "") + GAUSSIAN,
    "empty.json": "",
    "list.json": "[1, 2]",
    "deep.json": "[" * 100_000,
    "huge.json": '{"format": ' + "9" * 100_000 + "}",
    "other.json": '{"format": "dpproof.budget/1"}',
    "nan.json": '{"class_name": "GaussianDpEvent", "noise_multiplier": NaN}',
    "event.json": '{"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}',
    "negative.json": '{"class_name": "GaussianDpEvent", "noise_multiplier": -1}',
    "unknown.json": '{"class_name": "MagicDpEvent", "noise_multiplier": 1}',
    "field.json": '{"class_name": "GaussianDpEvent", "multiplier": 1}',
    "text.ledger": "no ledger",
    "bad_code.py": CODE,
    "about.toml": f"about = 3\n{TEXT}",
    "about-key.toml": f"{ABOUT}titel = 'x'\n{TEXT}",
    "about-line.toml": f'{ABOUT}title = "a\\nb"\n{TEXT}',
    "about-empty.toml": f'{ABOUT}title = " "\n{TEXT}',
    "about-long.toml": f'{ABOUT}title = "{"x" * 1001}"\n{TEXT}',
    "about-number.toml": f"{ABOUT}owner = 3\n{TEXT}",
    "about-date.toml": f'{ABOUT}date = "01/02/2026"\n{TEXT}',
    "about-time.toml": f"{ABOUT}date = 2026-01-01T10:00:00\n{TEXT}",
    "about-day.toml": f'{ABOUT}date = "2026-02-30"\n{TEXT}',
    "about-product.toml": f'{ABOUT}product = "A spreadsheet"\n{TEXT}',
    "about-model.toml": f'{ABOUT}model = "central"\n{TEXT}',
    "about-approvers.toml": f'{ABOUT}approvers = "A"\n{TEXT}',
    "about-nobody.toml": f"{ABOUT}approvers = []\n{TEXT}",
    "about-approver.toml": f"{ABOUT}approvers = [1]\n{TEXT}",
    "name.toml": TEXT.replace('"training"', f'"{LONG}"'),
    "audit.toml": '[audit]\nsampler = "bad_code:sampler"\npair = [0.0, 1.0]\n',
    "audit-key.toml": '[audit]\nsampler = "bad_code:sampler"\npiar = 1\n',
    "audit-none.toml": TEXT,
}
ONE = '"event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1}'
STAGE = f'{PIPELINE}[[stage]]\nname = "s"\n'
SAMPLE = TEXT.replace("count = 10000", "").replace('"training"', '"training"\nsampling = @', 1)
CHOSEN = '[[stage.stage]]\nname = "a"\nmechanism = "gaussian"\nnoise_multiplier = 1\n'
FILES |= {
    "protect.toml": TEXT.replace("[pipeline]", "[pipeline]\nprotect = 0"),
    "protect-float.toml": TEXT.replace("[pipeline]", "[pipeline]\nprotect = 1e9"),
    "n.toml": TEXT.replace("[pipeline]", "[pipeline]\nn = -3"),
    "nul.toml": TEXT + "\0",
    "ratio.toml": TEXT.replace("multiplier = 1.0", 'multiplier = "1/0"'),
    "hidden.toml": TEXT.replace("[[stage]]", '"\u202e" = 1\n[[stage]]', 1),
    "gamma.toml": STAGE + 'select = { runs = "geometric", gamma = 2 }\n' + CHOSEN,
    "law.toml": STAGE + 'select = { runs = "geometrc", gamma = 0.1 }\n' + CHOSEN,
    "law-none.toml": STAGE + 'select = { runs = "geometric", gamma = 0.1 }\n',
    "steps.toml": SAMPLE.replace("@", '{ scheme = "allocation", steps = 0 }'),
    "bins.toml": SAMPLE.replace("@", '{ scheme = "balls-in-bins", bins = 2 }'),
    "user.toml": SAMPLE.replace("@", '{ scheme = "user-poisson" }'),
    "epochs.toml": TEXT.replace("count", "epochs", 1),
    "correlated.toml": STAGE + 'mechanism = "correlated-gaussian"\nsigma = 1',
    "stated.toml": STAGE + 'mechanism = "stated"\nepsilon = -1',
    "choice.toml": STAGE + 'mechanism = "exponential"\nepsilon = "a"',
    "count.json": f'{{"class_name": "SelfComposedDpEvent", {ONE}, "count": -1}}',
    "half.json": f'{{"class_name": "SelfComposedDpEvent", {ONE}, "count": 2.5}}',
    "large.json": f'{{"class_name": "SelfComposedDpEvent", {ONE}, "count": 1e30}}',
    "rate.json": f'{{"class_name": "PoissonSampledDpEvent", {ONE}, "sampling_probability": 1.5}}',
    "text.json": f'{{"class_name": "PoissonSampledDpEvent", {ONE}, "sampling_probability": "a"}}',
    "none.json": '{"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5}',
    "class.json": '{"class_name": 3}',
    "steps.json": '{"history": [[1.0, 0.1, -5]], "mechanism": "rdp"}',
    "pair.json": '{"history": [[1, 0.1]]}',
    "both.json": '{"history": [[1.0, 0.1, 10]], "mechanism": "rdp", "spent_budget": []}',
    "twice.json": '{"class_name": "GaussianDpEvent", "noise_multiplier": 1, "noise_multiplier": 2}',
    "export.json": '{"format": "dpproof.ledger-export/1", "entries": []}',
    "libraries.toml": "[libraries]\n",
}
AUDIT = ("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "1")
PROGRAM = ("audit", "--datasets", "0", "1", "--epsilon", "1", "--samples", "100")
SPENT = ("--epsilon", "20", "--delta", "1e-5")
OWN: dict[tuple[str, ...], str] = {
    ("budget", "protect.toml"): "protect: expected a whole number from 1",
    ("budget", "protect-float.toml"): "without a point or exponent",
    ("budget", "n.toml"): "n: left out unless",
    ("budget", "nul.toml"): "expected TOML",
    ("budget", "ratio.toml"): 'above 0, got "1/0"',
    ("budget", "hidden.toml"): 'unknown key "\\u202e"',
    ("budget", "gamma.toml"): "select.gamma: expected a number above 0 and below 1",
    ("budget", "law.toml"): 'did you mean "geometric"?',
    ("budget", "law-none.toml"): "mechanism: missing",
    ("budget", "steps.toml"): "sampling.steps: expected a whole number",
    ("budget", "bins.toml"): 'unknown key "sampling.bins"; expected scheme, rate, sample_size, pop',
    ("budget", "user.toml"): "sampling.contributions: missing",
    ("budget", "epochs.toml"): "epochs: expected sampling with batch and population",
    ("budget", "correlated.toml"): "sigma: not a parameter here",
    ("budget", "stated.toml"): "epsilon: expected",
    ("budget", "choice.toml"): "epsilon: expected a finite number above 0",
    ("budget", "p.toml", "--set", "training.noise_multiplier=1e400"): "above 0, got inf",
    ("budget", "p.toml", "--set", "training.name=x"): 'no number "name"',
    ("budget", "p.toml", "--without", "training", "--without", "x"): '"x" is no stage',
    ("import", "count.json", "--relation", "add-remove"): ">= 0, got -1",
    ("import", "half.json", "--relation", "add-remove"): "got 2.5",
    ("import", "large.json", "--relation", "add-remove"): "large.json: count must be",
    ("import", "rate.json", "--relation", "add-remove"): "sampling_rate must be",
    ("import", "text.json", "--relation", "add-remove"): "must be a number",
    ("import", "none.json", "--relation", "add-remove"): "none.json: PoissonSampledDpEvent: event",
    ("import", "class.json", "--relation", "add-remove"): "3 is no event",
    ("import", "steps.json", "--relation", "add-remove"): "num_steps must be",
    ("import", "pair.json", "--relation", "add-remove"): "pair.json: expected (noise_multiplier",
    ("import", "both.json", "--relation", "add-remove"): "one of history and spent_budget",
    ("import", "twice.json", "--relation", "add-remove"): "a name twice",
    ("certify", "p.toml", "-o", "c.json", "--delta", "0"): "no finite epsilon at delta = 0",
    ("certify", "p.toml", "-o", "nowhere/c.json"): "No such file",
    ("certify", "event.json", "-o", "event.json"): "overwritten",
    ("certify", "p.toml", "--formal", "nowhere/f.v"): "a theorem for Coq",
    ("explain", "p.toml", "event.json"): "for JSON of another tool",
    ("plot", "p.toml", "-o", "x"): "has to end in one of",
    ("refute", "--library", "magic"): "expected a file ending in .toml or one of",
    ("refute", "--library", "libraries.toml"): "expected libraries",
    ("refute", "--python", "nowhere/python"): "cannot be run",
    ("refute", "--seed", "x"): "Invalid value for '--seed'",
    ("audit", "--epsilon", "1"): "sampler: missing",
    (*PROGRAM, "--command", "nothing"): "placeholders {size} and {dataset}",
    (*PROGRAM, "--command", "false {size} {dataset}", "--timeout", "nan"): "timeout: expected",
    (*PROGRAM, "--url", "file:///etc/passwd"): "http:// or https://",
    (*PROGRAM, "--url", "http://localhost:1/"): "placeholders",
    (*AUDIT, "--url", "http://x/"): "expected sampler or url",
    (*AUDIT, "--delta", "2"): "delta must be in [0, 1]",
    (*AUDIT, "--seed", "-1"): "seed: expected",
    (*AUDIT, "--chunk", "0"): "chunk: expected",
    (*AUDIT, "--executor", "math:pi"): "executor: expected",
    (*AUDIT, "--pipeline", "p.toml"): "not both",
    ("ledger", "init", "a.ledger", "--rho", "1", "--relation", "add-remove"): "exists already",
    ("ledger", "init", "x", "--rho", "-1", "--relation", "add-remove"): "rho must be",
    ("ledger", "init", "x", "--rho", "1", "--mu", "1", "--relation", "add-remove"): "a budget is",
    ("ledger", "reserve", "a.ledger", "p.toml"): "Missing option '--key'",
    ("ledger", "reserve", "a.ledger", "p.toml", "--key", "held"): "is reserved already",
    ("ledger", "reserve", "a.ledger", "p.toml", "--key", "paid"): "was committed before",
    ("ledger", "reserve", "a.ledger", "event.json", "--key", "z"): "which datasets are neighbours",
    ("ledger", "spend", "a.ledger", "p.toml", "--key", "z", "--delta", "5"): "delta must be",
    ("ledger", "commit", "a.ledger", "--key", "none"): "nothing is reserved",
    ("ledger", "release", "a.ledger", "--key", "paid"): "stays spent",
    ("ledger", "limit", "a.ledger", "--rho", "x"): "expected a number such as",
    ("ledger", "lower", "a.ledger", *SPENT): "must be below",
    ("ledger", "lower", "a.ledger", "--rho", "1"): "in the notion of",
    ("ledger", "raise", "a.ledger", *SPENT): "Missing option '--by'",
    ("ledger", "renew", "a.ledger", "--by", "A"): "a budget is",
    ("ledger", "close", "a.ledger", "--dataset", "none"): "no budget of dataset none",
    ("ledger", "log", "a.ledger", "--json", "--csv"): "one of --json and --csv",
    ("ledger", "status", "a.ledger", "--json", "--metrics"): "one of --json and --metrics",
    ("ledger", "status", "a.ledger", "--older-than", "soon"): "expected a time such as",
    ("ledger", "status", "a.ledger", "--head-file", "none/head"): "no hash of an entry",
    ("ledger", "status", "a.ledger#team_"): "no such ledger",
    ("ledger", "export", "a.ledger", "-o", "a.ledger"): "exists already",
    ("ledger", "import", "export.json", "y.ledger"): "nothing was made",
    ("ledger", "backup", "a.ledger", "nowhere/b"): "the copy is no ledger",
    ("ledger", "restore", "text.ledger", "y.ledger"): "file is not a database",
    ("ledger", "certificate", "a.ledger", "--key", "none"): "nothing is spent for the key",
    ("ledger", "certificate", "a.ledger", "--key", "paid", "--way", "x"): "0 certificates there",
    ("ledger", "report", "a.ledger", "-o", "a.ledger"): "overwritten",
    ("ledger", "what-if", "a.ledger", "nothing.toml"): "cannot read the file",
}
CASES: dict[tuple[str, ...], str] = {
    ("budget", "about.toml"): "about: expected an [about] table",
    ("budget", "about-key.toml"): '[about]: unknown key "titel"; did you mean "title"?',
    ("budget", "about-line.toml"): "title: expected a text on one line",
    ("budget", "about-empty.toml"): "title: expected a text on one line",
    ("budget", "about-long.toml"): "title: expected at most 1000 characters, got 1001",
    ("budget", "about-number.toml"): "owner: expected a text on one line",
    ("budget", "about-date.toml"): "date: expected a date such as 2026-03-01",
    ("budget", "about-time.toml"): "date: expected a date such as 2026-03-01",
    ("budget", "about-day.toml"): "date: expected a date such as 2026-03-01",
    ("budget", "about-product.toml"): 'product: expected "Summary statistics"',
    ("budget", "about-model.toml"): 'did you mean "Central"?',
    ("budget", "about-approvers.toml"): "approvers: expected names",
    ("budget", "about-nobody.toml"): "approvers: expected names",
    ("budget", "about-approver.toml"): "approvers: expected a text on one line",
    ("budget", "name.toml"): "name: expected at most 200 characters, got 201",
    ("budget", "p.toml", "--set", "training"): "expected STAGE.NAME=VALUE",
    ("budget", "p.toml", "--set", "training.noise_multiplier=nan"): "a finite number above 0",
    ("budget", "p.toml", "--set", "training.noise_multiplier=-1"): "a finite number above 0",
    ("budget", "p.toml", "--set", "delta=2"): "a number above 0 and below 1",
    ("budget", "p.toml", "--set", "trainin.count=2"): "did you mean",
    ("budget", "p.toml", "--set", "="): "expected STAGE.NAME=VALUE",
    ("budget", "p.toml", "--without", "nothing"): "is no stage",
    ("budget", "p.toml", "--certify", "p.toml"): "overwritten",
    ("calibrate", "none.toml", *CALIBRATE): "epsilon: missing",
    ("calibrate", "p.toml", "--stage", "trainin", "--parameter", "scale"): "did you mean",
    ("calibrate", "p.toml", "--stage", "training", "--parameter", "scale"): "scale",
    ("calibrate", "p.toml", "--stage", "training", "--parameter", ""): "no number",
    ("calibrate", "p.toml", *CALIBRATE, "--seconds", "nan"): "expected a number of seconds",
    ("certify", "p.toml"): "certify writes a file",
    ("certify", "p.toml", "-o", "c", "--false-positive-rate", "nan"): "false_positive_rate",
    ("certify", "p.toml", "-o", "c", "--false-positive-rate", "2"): "false_positive_rate",
    ("certify", "p.toml", "-o", "c", "--advantage", "--false-positive-rate", "0.1"): "choose one",
    ("certify", "p.toml", "-o", "x", "--formal", "./x"): "a file each",
    ("report", "p.toml"): "report writes a file",
    ("report", "p.toml", "-o", "r.html", "--seconds", "inf"): "expected a number of seconds",
    ("report", "p.toml", "-o", "r.html", "--seconds", "-1"): "expected a number of seconds",
    ("report", "p.toml", "-o", "r.html", "--pdf", "./r.html"): "a file each",
    ("report", "p.toml", "-o", "p.toml"): "overwritten",
    ("report", "p.toml", "--pdf", "p.toml"): "overwritten",
    ("report", "p.toml", "-o", "nowhere/r.html"): "No such file",
    ("report", "p.toml", "-o", "r.html", "--registry", "r.yaml"): "the registry requires [about]",
    ("report", "p.toml", "-o", "."): "directory",
    ("plot", "p.toml", "-o", "x.docx"): "has to end in one of",
    ("plot", "nothing.toml"): "No such file",
    ("explain", "p.toml", "nothing.toml"): "No such file",
    ("explain", "p.toml"): "Missing argument 'AFTER'.",
    ("check", "nothing.json"): "No such file",
    ("import", "empty.json", "--relation", "add-remove"): "JSON",
    ("import", "list.json", "--relation", "add-remove"): "list.json",
    ("import", "deep.json", "--relation", "add-remove"): "deep.json",
    ("import", "huge.json", "--relation", "add-remove"): "huge.json",
    ("import", "other.json", "--relation", "add-remove"): "other.json",
    ("import", "nan.json", "--relation", "add-remove"): "noise",
    ("import", "negative.json", "--relation", "add-remove"): "got -1",
    ("import", "unknown.json", "--relation", "add-remove"): "MagicDpEvent",
    ("import", "field.json", "--relation", "add-remove"): "multiplier",
    ("import", "event.json"): "relation",
    ("import", "event.json", "--relation", "add_remove"): "Invalid value for '--relation'",
    ("import", "event.json", "--relation", "add-remove", "--delta", "nan"): "--delta",
    ("import", "event.json", "--relation", "add-remove", "--delta", "2"): "delta",
    ("import", "event.json", "--relation", "add-remove", "--delta", "-1"): "delta",
    ("compare", "empty.json"): "JSON",
    ("compare", "event.json", "--relation", "add-remove", "--delta", "1e999"): "--delta",
    ("audit", "audit.toml"): "epsilon",
    ("audit", "audit-key.toml"): "did you mean",
    ("audit", "audit-none.toml"): "audit",
    ("audit", "audit.toml", "--epsilon", "1"): "state everything in the file",
    ("audit", "math:pi", "--pair", "bad_code:pair", "--epsilon", "1"): "sampler must be a function",
    ("audit", "bad_code", "--pair", "bad_code:pair", "--epsilon", "1"): "package.module:name",
    ("audit", "bad_code:nothing", "--pair", "bad_code:pair", "--epsilon", "1"): "nothing",
    ("audit", "bad_code:sampler", "--pair", "bad_code:raising", "--epsilon", "1"): "ZeroDivision",
    ("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "nan"): "epsilon",
    ("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "-1"): "epsilon",
    (
        *("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "1"),
        *("--seconds", "nan"),
    ): "seconds",
    (
        *("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "1"),
        *("--samples", "-5"),
    ): "samples",
    (
        *("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "1"),
        *("--significance", "2"),
    ): "significance",
    (
        *("audit", "bad_code:sampler", "--pair", "bad_code:pair", "--epsilon", "1"),
        *("--workers", "0"),
    ): "workers",
    ("certify", "p.toml", "-o", "c.json", "--seconds", "0"): "expected a number of seconds",
    ("compare", "p.toml", "--seconds", "1e10"): "expected a number of seconds",
    ("explain", "p.toml", "p.toml", "--seconds", "ten"): "expected a number of seconds",
    ("import", "event.json", "--seconds", ""): "expected a number of seconds",
    ("plot", "p.toml", "--seconds", "-inf"): "expected a number of seconds",
    ("ledger", "verify", "text.ledger", "--seconds", "1s"): "expected a number of seconds",
    ("ledger", "what-if", "text.ledger", "p.toml", "--seconds", "nan"): "expected a number of",
    ("certify", "p.toml", "-o", "c.json", "--seconds", "1e-9"): "not known after 1e-09 seconds",
    ("certify", "p.toml", "--lower", "-o", "c.json", "--seconds", "1e-9"): "not known after",
    ("compare", "new.toml", "--seconds", "1e-9"): "ε is not known after",
    ("plot", "p.toml", "--seconds", "1e-9"): "the picture is not known after",
    ("report", "p.toml", "-o", "r.html", "--ledger", "nothing.ledger"): "nothing.ledger",
    ("report", "p.toml", "-o", "r.html", "--ledger", "text.ledger"): "text.ledger",
    ("report", "p.toml", "-o", "r.html", "--ledger", "magic://host/d"): "magic",
    ("ledger", "status", "nothing.ledger"): "nothing.ledger",
    ("ledger", "status", "text.ledger"): "text.ledger",
    ("ledger", "spend", "text.ledger", "p.toml", "--key", "a"): "text.ledger",
    ("ledger", "init", "l.ledger", "--relation", "add-remove"): "epsilon",
    ("ledger", "init", "l.ledger", "--epsilon", "1"): "relation",
    ("ledger", "init", "nowhere/l", "--epsilon", "1", "--relation", "add-remove"): "nowhere",
    ("ledger", "verify", "p.toml"): "p.toml",
    **OWN,
}
REVIEWED, ADDED = 135, 60  # bad inputs of the review of operations, and others at least


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all files."""
    made = tmp_path_factory.mktemp("bad")
    for name, text in FILES.items():
        (made / name).write_text(text, encoding="utf-8")
    ledger, pipeline = str(made / "a.ledger"), str(made / "p.toml")
    budget = ("--epsilon", "10", "--delta", "1e-5", "--relation", "add-remove")
    assert main(["ledger", "init", ledger, *budget]) == 0
    assert main(["ledger", "reserve", ledger, pipeline, "--key", "held"]) == 0
    assert main(["ledger", "spend", ledger, pipeline, "--key", "paid"]) == 0
    return made


def test_so_many_bad_inputs_are_tried() -> None:
    """As many as the review tried, and sixty that it did not."""
    assert len(OWN) >= ADDED
    assert len(CASES) - len(OWN) + len(test_bad_input.CASES) >= REVIEWED


@pytest.mark.parametrize(
    ("arguments", "told"), CASES.items(), ids=[" ".join(one)[:70] for one in CASES]
)
def test_one_typed_line(
    arguments: tuple[str, ...],
    told: str,
    folder: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status 2, nothing on standard output, and a line of ours that says what is wrong."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    before = {path: path.read_bytes() for path in folder.glob("*.toml")}
    done = command.run(*arguments)

    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("proofs: " if arguments[0] == "check" else "dpproof: ")
    assert told in done.err
    assert "DPPROOF_TRACEBACK" not in done.err
    assert "12345" not in done.err
    assert len(done.err) < 700
    assert {path: path.read_bytes() for path in folder.glob("*.toml")} == before


@pytest.mark.parametrize("name", ["empty", "list", "deep", "huge", "other", "event"])
def test_what_is_no_certificate_is_rejected(
    name: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 1 and a reason, by words and as JSON."""
    monkeypatch.chdir(folder)
    done = command.run("check", f"{name}.json")
    answer = command.run("check", f"{name}.json", "--json")

    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("Rejected")
    assert json.loads(answer.out)["verified"] is False
