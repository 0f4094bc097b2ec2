"""Progress of long work, on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def _silent(_: str) -> None:
    """Do nothing: standard error is not a terminal."""


def on_terminal() -> bool:
    """Whether somebody sees standard error; it is None where it was closed."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def progress(total: int | None) -> Iterator[Callable[[str], None]]:
    """A bar that disappears when the work is done; a spinner when the total is unknown.

    Yields:
        To be called with the name of each piece of work, before it begins.
    """
    if not on_terminal():
        yield _silent
        return
    from rich.console import Console  # noqa: PLC0415  # nothing to import without a terminal
    from rich.progress import Progress  # noqa: PLC0415  # as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(name: str) -> None:
            bar.update(task, advance=1, description=name.replace("[", r"\["))

        yield step


@contextmanager
def trials() -> Iterator[Callable[[int, int], None] | None]:
    """A bar of the trials of an audit with the time that is left, for ``dpproof.auditing.audit``.

    Yields:
        The audit's ``progress``; None where there is no terminal.
    """
    if not on_terminal():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  # as above
    from rich.progress import (  # noqa: PLC0415  # as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TimeRemainingColumn,
    )

    columns = ("trials", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda drawn, planned: bar.update(task, completed=drawn, total=planned)
