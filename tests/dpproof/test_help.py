"""What ``--help`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
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


def every_command() -> Iterator[tuple[list[str], click.Command]]:
    """Every command that is no group, by its words."""
    for name, one in commands.commands.items():
        if isinstance(one, click.Group):
            yield from (([name, inner], two) for inner, two in one.commands.items())
        else:
            yield [name], one


@pytest.mark.parametrize(("words", "command"), [*every_command()], ids=str)
def test_every_command_has_examples_that_it_takes(words: list[str], command: click.Command) -> None:
    """Their options and arguments are the command's; nothing runs."""
    assert command.epilog is not None
    lines = command.epilog.splitlines()[2:]
    assert lines
    for line in lines:
        assert len(line) <= 80, line
        name, *rest = line.split()
        assert [name, *rest[: len(words)]] == ["dpproof", *words]
        command.make_context(words[-1], rest[len(words) :])


def test_the_commands_of_ledgers_are_told_in_whole_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As those of the program."""
    assert main(["ledger", "--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()

    assert len([line for line in listed if line]) == 20
    assert not [line for line in listed if line.endswith("...")]
