"""The files that commands read, by path or standard input for ``-``, and write."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn, final

import click

from dpproof.errors import InputError

STANDARD_INPUT: Final = "-"
LARGEST: Final = 1 << 24


def shown_path(path: str) -> str:
    """Return a path as it begins a refusal: on one line, whatever it is called."""
    if path == STANDARD_INPUT:
        return "standard input"
    return path if path.isprintable() else json.dumps(path)


def save(path: str, text: str) -> None:
    """Write a text to a file.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def content(path: str, expected: str) -> str:
    """Return the text of a file, without a byte order mark.

    Args:
        path: of the file; ``-`` for standard input.
        expected: what it should be, as in "a pipeline file".
    Raises:
        InputError: it cannot be read, is absurdly large, or is not UTF-8.
    """
    file = shown_path(path)
    if path == STANDARD_INPUT and sys.stdin is None:
        raise InputError(f"{file}: expected {expected}, but it is closed; give the path of a file")
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(path).open("rb") as stream:
                data = stream.read(LARGEST + 1)
    except IsADirectoryError:
        raise InputError(f"{file}: expected {expected}, found a directory") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"{file}: cannot read the file: {reason}") from None
    if len(data) > LARGEST:
        raise InputError(f"{file}: expected {expected} of at most {LARGEST} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{file}: expected UTF-8 text, found byte {data[error.start]:#04x}"
        raise InputError(f"{message} at position {error.start}") from None


LONGEST: Final = 1e9  # seconds


@final
class _TimeIsUp(BaseException):
    """The time is up; no handler of errors keeps it back."""


def ended_in_time(seconds: float | None, work: Callable[[], None]) -> bool:
    """Run work, stop it when its time is up, and return whether it came to its end.

    Where there is no timer (on Windows, and beside the main thread), it is never stopped.

    Args:
        seconds: how long it may take; None for as long as it does.
        work: leaves what it finds behind as it goes.
    """
    try:
        with _timer(seconds):
            work()
    except _TimeIsUp:
        return False
    return True


def seconds_of(_: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Return a time in seconds, which a timer can measure."""
    if text is None:
        return None
    with suppress(ValueError):
        if 0 < float(text) <= LONGEST:
            return float(text)
    expected = f"expected a number of seconds above 0, at most {LONGEST:g}, got {text!r}"
    raise click.BadParameter(expected, param=parameter)


@contextmanager
def _timer(seconds: float | None) -> Iterator[None]:
    """Raise in the block when its time is up."""
    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not timed:
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
