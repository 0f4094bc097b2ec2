"""Streams and files of a new user: status 1 only ever means that something does not hold."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris

import dpproof as dp
from dpproof import streams, time_limit
from dpproof.__main__ import main
from dpproof.accountant import progress
from dpproof.learn import PerceptronClassifier
from tests.architecture.tree import ROOT
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, PIPELINE

TEXT = PIPELINE + GAUSSIAN
FULL = Path("/dev/full")
BROKEN = "pair = (0.0, 1.0)\ndef sampler(data, size, rng):\n    raise RuntimeError('two\\nlines')\n"
AUDIT = ("audit", "broken:sampler", "--pair", "broken:pair", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, made the current one, with a pipeline, its certificate and a sampler."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    return tmp_path


def _given(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Put bytes on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


COMMANDS = {
    "budget": ("budget", "x.toml"),
    "budget, JSON": ("budget", "x.toml", "--json"),
    "calibrate": ("calibrate", "x.toml", "--stage", "training", "--parameter", "noise_multiplier"),
    "certify": ("certify", "x.toml", "-o", "x.json"),
    "check": ("check", "c.json"),
    "explain": ("explain", "x.toml", "x.toml"),
    "help": ("--help",),
    "ledger": ("ledger", "init", "l.db", "--epsilon", "1", "--relation", "add-remove"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
def test_a_full_output_is_no_answer(
    arguments: tuple[str, ...],
    folder: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever the command is, status 2 and one line."""
    if "c.json" in arguments:
        assert command.run("certify", "x.toml", "-o", str(folder / "c.json")).status == 0
    with FULL.open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(": No space left on device\n")


def test_a_closed_output_is_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would see it: status 2, and nothing is written."""
    monkeypatch.setattr(sys, "stdout", None)
    for arguments in COMMANDS.values():
        assert main(arguments) == 2
    assert not (folder / "x.json").exists()


@pytest.mark.usefixtures("folder")
def test_a_closed_standard_error_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings and progress have nowhere to go; the answer and its status are the same."""
    monkeypatch.setattr(sys, "stderr", None)

    assert main(("budget", "x.toml")) == 0
    assert main(("budget", "nothing.toml")) == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_narrow_output_gets_words_for_letters(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command answers: Greek letters by their names, and JSON that reads back the same."""
    Path("é.toml").write_text(TEXT.replace("training", "μ"), encoding="utf-8")
    event = '{"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}'
    Path("event.json").write_text(event, encoding="utf-8")
    for arguments, printed in (
        (("budget", "x.toml"), "eps = "),
        (("explain", "x.toml", "é.toml"), "eps = "),
        (("import", "event.json", "--relation", "add-remove"), "epsilon lies in"),
        (COMMANDS["calibrate"], "eps = "),
        (COMMANDS["certify"], "Verified"),
        (("ledger", "init", "l", "--rho", "1", "--relation", "add-remove"), "1-zCDP"),
        (("ledger", "spend", "l", "é.toml", "--key", "a", "--label", "μ"), "spent for 'a'"),
        (("ledger", "log", "l", "--delta", "1e-6"), "a: eps "),
        (("budget", "é.toml", "--json"), '"name": "\\u03bc"'),
    ):
        content = io.BytesIO()
        stream = io.TextIOWrapper(content, encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(arguments) == 0
        assert printed in content.getvalue().decode(encoding)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", ["0", "1", "19"])
def test_a_width_that_nobody_can_read_is_none(
    columns: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is printed 80 columns wide."""
    usual = command.run("budget", "x.toml").out
    monkeypatch.setenv("COLUMNS", columns)

    assert "Within the budget: ε = " in usual
    assert command.run("budget", "x.toml").out == usual


def test_letters_without_a_name_are_escaped() -> None:
    """Accents go, Greek letters are named, the rest is escaped."""
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")

    assert streams.shown("Rényi ε … \u4e2d", narrow) == "Renyi eps ... \\u4e2d"


@pytest.mark.usefixtures("folder")
def test_a_sampler_that_raises_is_no_refutation(command: Command) -> None:
    """Its kind and place on one line, status 2, and nothing of its message."""
    found = command.run(*AUDIT)

    assert (found.status, found.err.count("\n")) == (2, 1)
    assert "got RuntimeError at broken.py:3" in found.err
    assert "two" not in found.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ("budget", "-"),
        ("budget", "-", "--certify", "c.json"),
        ("calibrate", "-", "--stage", "training", "--parameter", "noise_multiplier"),
        ("certify", "-", "-o", "c.json"),
        ("compare", "-"),
        ("explain", "-", "x.toml"),
    ],
)
def test_pipelines_come_from_standard_input(
    arguments: tuple[str, ...], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its usual name stands for it, with a byte order mark or without."""
    _given(monkeypatch, b"\xef\xbb\xbf" + TEXT.encode())

    assert command.run(*arguments).status == 0


@pytest.mark.usefixtures("folder")
def test_other_files_come_from_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates, what other tools record, and audits."""
    command.run("certify", "x.toml", "-o", "c.json")
    event = b'{"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}'
    audit = b'[audit]\nsampler = "broken:sampler"\npair = [0.0, 1.0]\nepsilon = 1\n'
    relation = ("--relation", "add-remove")
    for arguments, content, told in (
        (("check", "-"), b"\xef\xbb\xbf" + Path("c.json").read_bytes(), "Verified"),
        (("import", "-", *relation), event, "epsilon lies in"),
        (("compare", "-", *relation), event, "ours"),
        (("audit", "-"), audit, "RuntimeError"),
    ):
        _given(monkeypatch, content)
        found = command.run(*arguments)
        assert told in found.out + found.err


@pytest.mark.parametrize("name", ["budget", "check", "compare", "import", "audit"])
def test_a_closed_input_is_said(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 2 and one line that names another way."""
    monkeypatch.setattr(sys, "stdin", None)
    found = command.run(name, "-")

    assert (found.status, found.err.count("\n")) == (2, 1)
    assert "closed; give the path" in found.err


def test_encodings(command: Command) -> None:
    """Byte order marks and line ends of other systems are read; other encodings are named."""
    assert command.budget("\ufeff" + TEXT).status == 0
    assert command.budget(TEXT.replace("\n", "\r\n")).status == 0

    file = command.file(TEXT)
    Path(file).write_text(TEXT, encoding="utf-16-le")
    assert command.run("budget", file).status == 2
    Path(file).write_text("# \u00e9", encoding="latin-1")
    assert "expected UTF-8 text, found byte 0xe9" in command.run("budget", file).err


def test_the_input_is_not_overwritten(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates, pages and pictures go to another file than what is read, by any name."""
    (folder / "link.toml").symlink_to("x.toml")
    for arguments in (
        ("certify", "x.toml", "-o", "x.toml"),
        ("certify", "x.toml", "-o", "link.toml"),
        ("budget", "x.toml", "--certify", "./x.toml"),
        ("report", "x.toml", "-o", "x.toml"),
        ("report", "x.toml", "-o", "r.html", "--registry", "x.toml"),
        ("report", "x.toml", "-o", "r.html", "--registry", "./r.html"),
        ("plot", "x.toml", "-o", "x.toml"),
    ):
        assert command.run(*arguments).status == 2
    with (folder / "x.toml").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert "overwritten" in command.run("certify", "-", "-o", "x.toml").err

    assert (folder / "x.toml").read_text(encoding="utf-8") == TEXT


@pytest.mark.usefixtures("folder")
def test_a_large_delta_warns(command: Command) -> None:
    """Above one in a hundred a line says what delta means; the answer is the same."""
    large = TEXT.replace("delta = 1e-6", "delta = 0.05")
    for found in (
        command.budget(large),
        command.calibrate(large, "training", "noise_multiplier"),
        command.run("explain", command.file(large), command.file(large)),
        command.run(*COMMANDS["ledger"], "--delta", "0.05"),
    ):
        assert (found.status, found.err.count("\n")) == (0, 1)
        assert "warning: delta = 0.05" in found.err


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("$D budget x.toml > /dev/full", "No space left"),
        ("$D certify x.toml -o c.json && $C c.json > /dev/full", "No space left"),
        ("$D budget x.toml >&-", "standard output is closed"),
        ("$C x.toml >&-", "standard output is closed"),
        ("$D budget - <&-", "closed; give the path"),
        ("$C - <&-", "closed; give the path"),
        ("$D " + " ".join(AUDIT), "RuntimeError at broken.py:3"),
    ],
)
def test_real_streams(command: str, told: str) -> None:
    """In processes of their own, as a shell runs them: status 2 and one line."""
    if "/dev/full" in command and not FULL.exists():
        pytest.skip("the system has no /dev/full")
    paths = {**os.environ, "PYTHONPATH": str(ROOT), "D": f"{sys.executable} -m dpproof"}
    done = subprocess.run(
        ["bash", "-c", command],
        env={**paths, "C": f"{sys.executable} -m dpproof.proofs"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert told in done.stderr


def test_check_is_ours_wherever_it_runs(folder: Path, command: Command) -> None:
    """A folder with packages of our names does not get its own checker run."""
    command.run("certify", "x.toml", "-o", "c.json")
    for name in ("proofs", "dpproof"):
        (folder / name).mkdir()
        for file in ("__init__.py", "__main__.py", "kernel.py"):
            (folder / name / file).write_text("print('HIJACKED')\n", encoding="utf-8")
    for name in ("accountant", "mechanisms", "auditing", "flint"):
        (folder / f"{name}.py").write_text("print('HIJACKED')\n", encoding="utf-8")
    script = folder / "bin" / "dpproof"  # as an installation writes it
    script.parent.mkdir()
    script.write_text("from dpproof.__main__ import main\nraise SystemExit(main())\n")
    claims = []
    for options in ([], ["--core"]):
        done = subprocess.run(
            [sys.executable, str(script), "check", "c.json", *options],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        claims.append(done.stdout)

    assert all(one.startswith("Verified: ") for one in claims)
    assert claims[0].splitlines()[0] == claims[1].splitlines()[0]


@pytest.fixture(name="cell")
def _cell(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make this a cell of a notebook, and return the lines that it shows."""
    lines: list[str] = []

    def update(line: dict[str, str], **_: object) -> SimpleNamespace:
        lines.append(line["text/plain"])
        return SimpleNamespace(update=update)

    shell = type("ZMQInteractiveShell", (), {})()
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=update))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    return lines


def test_a_notebook_sees_what_takes_long(monkeypatch: pytest.MonkeyPatch, cell: list[str]) -> None:
    """Nothing in the first two seconds, then a line that is changed, and emptied at the end."""
    times = iter([0.0, 1.0, 2.5, 3.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(times)))
    with streams.progress(3) as step:
        for name in ("one", "two", "three"):
            step(name)
    assert cell == ["2 of 3: two", "3 of 3: three", ""]

    cell.clear()
    clock = itertools.count()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    found = dp.calibrate(lambda sigma: dp.GDP(mu=1 / sigma), epsilon=1, delta=1e-6)
    assert cell[0].startswith("3: value ")
    assert cell[0].endswith(", for epsilon <= 1 at delta = 1e-06")
    assert (len(cell), cell[-1]) == (found.evaluations - 1, "")


class _Soon(threading.Event):
    """An event for which nobody waits longer than a thousandth of what they would."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else timeout / 1000)


def test_a_notebook_sees_audits_and_fits(monkeypatch: pytest.MonkeyPatch, cell: list[str]) -> None:
    """The seconds with the trials so far, or what is fitted; emptied at the end, also by errors."""
    monkeypatch.setattr(progress, "Event", _Soon)
    monkeypatch.setattr(progress, "WAIT", 0.0)
    shown = threading.Event()

    def sampler(data: float, size: int, rng: np.random.Generator) -> np.ndarray:
        shown.wait(0.0 if any("trials" in line for line in cell) else 0.2)
        return rng.normal(data, 1, size)

    dp.auditing.audit(sampler, (0.0, 1.0), dp.GDP(mu=1), samples=100, seed=1)
    assert cell[0] == "1 s: 0 of 200 trials"
    assert cell[-1] == ""

    cell.clear()
    PerceptronClassifier(sigma=1, classes=range(3), steps=500).fit(*load_iris(return_X_y=True))
    assert cell[0] == "1 s: PerceptronClassifier is fitted"
    assert cell[-1] == ""


def test_a_terminal_sees_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outermost piece of work is named once it has taken a while, and no other."""
    seen = io.StringIO()
    monkeypatch.setattr(seen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setattr(streams, "WAIT", 0.01)

    def ask() -> str:
        with streams.progress(2) as step:
            step("an inner piece")
            while "the verdict" not in seen.getvalue():
                time.sleep(0.01)
        return "yes"

    assert time_limit.in_time(60, "the verdict", ask) == "yes"
    assert "an inner piece" not in seen.getvalue()


@pytest.mark.usefixtures("folder")
def test_json_answers_say_what_they_are(command: Command) -> None:
    """The first field of each is the command and the version of its fields."""
    assert command.run("certify", "x.toml", "-o", "c.json").status == 0
    assert command.run(*COMMANDS["ledger"]).status == 0
    for kind, arguments in (
        ("budget", COMMANDS["budget"]),
        ("calibrate", COMMANDS["calibrate"]),
        ("check", COMMANDS["check"]),
        ("ledger", ("ledger", "status", "l.db")),
    ):
        answer = command.run(*arguments, "--json").json
        assert next(iter(answer.items())) == ("format", f"dpproof.{kind}/1")


def test_a_shell_completes_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What REPORTS.md says to put into a shell's start-up file finds commands."""
    monkeypatch.setenv("_DPPROOF_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "dpproof bud")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        main(())
    assert capsys.readouterr().out == "plain,budget\n"
