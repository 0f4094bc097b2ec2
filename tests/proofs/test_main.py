"""``python -m dpproof.proofs``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpproof import proofs
from dpproof.proofs.__main__ import main
from tests.architecture.tree import ROOT
from tests.proofs.corpus import FOLDER

GOOD = FOLDER / "concentrated.json"
ALONE = """
import sys
ours = ("accountant", "mechanisms", "auditing", "ledger", "pipeline", "commands")
for name in ("numpy", "scipy", "click", "rich", *(f"dpproof.{part}" for part in ours)):
    sys.modules[name] = None
from dpproof.proofs.__main__ import main
sys.exit(main([sys.argv[1]]))
"""


def test_a_verified_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    """The claim, then what it rests on; status 0."""
    assert main([str(GOOD)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Verified: M3 is (4.628")
    assert lines[1] == "provided that"
    assert lines[2].startswith("  1. M1 adds discrete Gaussian noise")


def test_a_rejected_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which step, which rule and why; status 1."""
    text = GOOD.read_text(encoding="utf-8").replace('"sigma": "4"', '"sigma": "5"')
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")

    assert main([str(path)]) == 1
    expected = "Rejected: step 0, mechanism/discrete-gaussian-zcdp: the conclusion is not the one"
    assert capsys.readouterr().out.startswith(expected)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 10_000, b"{}"])
def test_rubbish_is_rejected(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the file holds, status 1 and one line."""
    path = tmp_path / "rubbish"
    path.write_bytes(content)

    assert main([str(path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Rejected: format")


def test_a_byte_order_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mark before the text changes nothing, in a file and in a text alike."""
    marked = "\ufeff" + GOOD.read_text(encoding="utf-8")
    path = tmp_path / "marked.json"
    path.write_text(marked, encoding="utf-8")

    assert main([str(path)]) == 0
    assert capsys.readouterr().out.startswith("Verified")
    assert proofs.check_text(marked) == proofs.check_text(marked[1:])
    assert not proofs.check_text(f"\ufeff{marked}").ok


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], [str(GOOD), "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Help is no file: usage and exit statuses on standard output, status 0."""
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: python -P -m dpproof.proofs")
    assert "Exit status: 0 verified" in shown


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["/no/such/file"]])
def test_nothing_to_check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No file is no verdict: status 2."""
    assert main(arguments) == 2
    assert capsys.readouterr().err


def test_the_checker_needs_nothing_else() -> None:
    """It runs where numpy, scipy and the rest of the packages cannot be imported."""
    run = subprocess.run(
        [sys.executable, "-c", ALONE, str(GOOD)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Verified")


def test_as_a_module() -> None:
    """The documented command."""
    run = subprocess.run(
        [sys.executable, "-m", "dpproof.proofs", str(GOOD)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert run.returncode == 0, run.stderr


def test_an_ascii_terminal(tmp_path: Path) -> None:
    """Words of the certificate that the terminal cannot show are escaped, no error."""
    text = GOOD.read_text(encoding="utf-8").replace("mechanism/discrete-gaussian-zcdp", "\u03b5")
    path = tmp_path / "greek.json"
    path.write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "dpproof.proofs", str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert run.returncode == 1, run.stderr
    assert run.stdout == 'Rejected: step 0, "\\u03b5": there is no such rule\n'


def test_the_core_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The core names what it leaves to extensions, and refuses a claim that is theirs."""
    training, selected = (str(FOLDER / f"{name}.json") for name in ("training", "selected"))

    assert main([training, "--core"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("not checked here: hockey-stick divergence" in line for line in lines) == 2
    assert lines[-1] == "by the core alone"
    assert main(["--core", selected]) == 1
    assert "the core alone cannot check the claim itself" in capsys.readouterr().out
    assert main([selected]) == 0
    assert capsys.readouterr().out.endswith("by the core and the extensions curves, selection\n")


@pytest.mark.parametrize(
    "options", [["--rules", "core"], ["--show"], ["--show", "1", "--show", "2"], ["--some", "x"]]
)
def test_other_options(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An option that is not there is no verdict: status 2."""
    assert main([str(GOOD), *options]) == 2
    assert capsys.readouterr().err.startswith("usage:")
