"""What ``--help`` prints."""

from __future__ import annotations

import re

import pytest

from dpproof.__main__ import commands, main


def test_every_command_is_told_in_one_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The list of commands cuts no sentence short, and begins each with what the command does."""
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()

    assert len(listed) == len(commands.commands)
    for line in listed:
        assert line.endswith("."), line
        assert not line.endswith("..."), line
        assert not re.match(r"  \w+ +(What|Whether|Why|The|Our) ", line), line
