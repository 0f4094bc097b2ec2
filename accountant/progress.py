"""Progress of long work below the cell of a notebook; elsewhere nothing is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread
from typing import Any, Final

WAIT: Final = 2.0  # seconds of work before it is shown


def notebook() -> Any:  # noqa: ANN401  # IPython, or None
    """Return IPython if this is a cell of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return ipython if type(shell).__name__ == "ZMQInteractiveShell" else None


@contextmanager
def below_the_cell(total: int | None, unit: str = "") -> Iterator[Callable[[str], None]]:
    """Yield what shows the name of a piece of work, once there has been work for a while."""
    shell, started, done = notebook(), time.monotonic(), 0
    handle: Any = None
    of = unit if total is None else f" of {total}"

    def step(name: str) -> None:
        nonlocal done, handle
        done += 1
        if shell is not None and time.monotonic() - started > WAIT:
            line = {"text/plain": f"{done}{of}: {name}"}
            if handle is None:
                handle = shell.display.display(line, raw=True, display_id=True)
            else:
                handle.update(line, raw=True)

    try:
        yield step
    finally:
        if handle is not None:
            handle.update({"text/plain": ""}, raw=True)


@contextmanager
def at_work(words: Callable[[], str]) -> Iterator[None]:
    """Show the seconds of the block, and words about it, once a second below the cell."""
    if notebook() is None:
        yield
        return
    ended = Event()

    def tick() -> None:
        with below_the_cell(None, " s") as step:
            while not ended.wait(1):
                step(words())

    # In the context of the caller, whose cell displays it.
    ticker = Thread(target=copy_context().run, args=(tick,))
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()
