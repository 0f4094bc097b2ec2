"""Streams and files of a new user: status 1 only ever means that something does not hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, PIPELINE

TEXT = PIPELINE + GAUSSIAN


def _run(command: str, folder: Path, **environment: str) -> tuple[int, list[str]]:
    """Run a shell command with dpproof as its D, and return its status and lines of error."""
    (folder / "x.toml").write_text(TEXT, encoding="utf-8")
    (folder / "broken.py").write_text(
        "pair = (0.0, 1.0)\ndef sampler(data, size, rng):\n    raise RuntimeError('two\\nlines')\n",
        encoding="utf-8",
    )
    paths = {**os.environ, "PYTHONPATH": str(ROOT), "D": f"{sys.executable} -m dpproof"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("command", "environment", "told"),
    [
        ("$D budget x.toml > /dev/full", {}, "No space left"),
        ("$D budget x.toml >&-", {}, "standard output is closed"),
        ("$D budget x.toml", {"PYTHONIOENCODING": "ascii"}, "PYTHONUTF8=1"),
        ("$D audit broken:sampler --pair broken:pair --epsilon 1", {}, "RuntimeError: two lines"),
    ],
)
def test_failures_that_say_nothing_of_privacy(
    command: str, environment: dict[str, str], told: str, tmp_path: Path
) -> None:
    """Full, closed and narrow outputs and samplers that raise are status 2 and one line."""
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("the system has no /dev/full")
    status, lines = _run(command, tmp_path, **environment)

    assert (status, len(lines)) == (2, 1)
    assert told in lines[0]


def test_input_from_standard_input(tmp_path: Path) -> None:
    """A pipeline comes from standard input by its usual name."""
    assert _run("$D budget - < x.toml", tmp_path) == (0, [])


def test_a_byte_order_mark_is_no_part_of_the_text(command: Command) -> None:
    """Editors that write one are answered."""
    assert command.budget("\ufeff" + TEXT).status == 0


def test_the_input_is_not_overwritten(command: Command) -> None:
    """Certificates and pictures go to another file than what is read."""
    file = command.file(TEXT)
    for arguments in (("certify", file, "-o", file), ("budget", file, "--certify", file)):
        refused = command.run(*arguments)
        assert (refused.status, "overwritten" in refused.err) == (2, True)
    assert Path(file).read_text(encoding="utf-8") == TEXT


def test_a_large_delta_warns(command: Command) -> None:
    """Above one in a hundred a line says what delta means; the answer is the same."""
    large = command.budget(TEXT.replace("delta = 1e-6", "delta = 0.05"))

    assert (large.status, large.err.count("\n")) == (0, 1)
    assert "warning: delta = 0.05" in large.err
