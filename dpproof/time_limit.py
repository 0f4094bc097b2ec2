"""Work that ends when its time is up, with what it has found until then."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn, final

import click

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
