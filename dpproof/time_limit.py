"""Work that ends when its time is up, with what it has found until then."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, final


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
