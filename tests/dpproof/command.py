"""Running the command line inside the tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dpproof import time_limit
from dpproof.__main__ import main


def time_is_up(*_: object) -> NoReturn:
    """Stand in for work that takes too long, however fast the machine is."""
    raise time_limit._TimeIsUp


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # JSON is anything
        """Standard output as JSON."""
        return json.loads(self.out)


class Command:
    """The command line, on pipeline files given as text."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def run(self, *arguments: str) -> Outcome:
        """One command."""
        status = main(arguments)
        return Outcome(status, *self._capsys.readouterr())

    def budget(self, text: str, *options: str) -> Outcome:
        """``dpproof budget`` on a file with this text."""
        return self.run("budget", self.file(text), *options)

    def calibrate(self, text: str, stage: str, parameter: str, *options: str) -> Outcome:
        """``dpproof calibrate`` on a file with this text."""
        names = ("--stage", stage, "--parameter", parameter)
        return self.run("calibrate", self.file(text), *names, *options)

    def file(self, text: str) -> str:
        """A file with this text."""
        path = self._folder / "pipeline.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)
