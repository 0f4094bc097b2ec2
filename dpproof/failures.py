"""The reply of the command line where it has no answer: one line, and a status."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from dpproof import streams
from dpproof.accountant.errors import PrivacyError

BAD_INPUT = 2


def failed(error: Exception) -> int:
    """Say in a line why there is no answer; where the output is the reason, stop writing to it."""
    match error:
        case PrivacyError():
            reason = str(error)
        case click.ClickException():
            reason = error.format_message()
        case OSError():
            reason = error.strerror or str(error)
        case _:
            told = f"{_raised_in(error)} raised {type(error).__name__}"
            reason = f"{told}, whose text may quote data; DPPROOF_TRACEBACK=1 shows it"
    if isinstance(error, OSError):
        _discard_output()
    return (
        BAD_INPUT if isinstance(error, BrokenPipeError) else refuse(f"dpproof: {reason}", BAD_INPUT)
    )


def _raised_in(error: BaseException) -> str:
    """Return the file and line that an error comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "something"
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _discard_output() -> None:
    """Let what is still buffered go nowhere, so that leaving Python does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse(line: str, status: int) -> int:
    """Print one line on standard error, whatever it can show, and return the status."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(streams.shown(" ".join(line.split()), sys.stderr), err=True)
    return status
