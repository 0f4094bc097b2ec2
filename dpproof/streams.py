"""Text on whatever stream there is: words for letters that it lacks, and a width to read."""

from __future__ import annotations

import codecs
import io
import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console

PLAIN: Final = "dpproof.plain"
VERSION: Final = 1  # of the fields of JSON answers: raised where one is renamed or left out
LEAST_WIDTH, USUAL_WIDTH = 20, 80
_WAIT: Final = 2.0  # seconds of work in a notebook before it is shown
_WORDS: Final = {
    "ε": "eps",
    "δ": "delta",
    "μ": "mu",
    "ρ": "rho",
    "σ": "sigma",
    "–": "-",
    "−": "-",
    "·": "-",
    "─": "-",
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
}


def plain(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding lacks: Greek letters by their names, accents by none."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_replaced, lacking)), error.end


def _replaced(letter: str) -> str:
    base = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return _WORDS.get(letter) or base or letter.encode("ascii", "backslashreplace").decode()


codecs.register_error(PLAIN, plain)


def prepare() -> None:
    """Let standard output and standard error replace what their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=PLAIN)


def shown(text: str, stream: object) -> str:
    """Return a text as a stream shows it."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.encode(encoding, PLAIN).decode(encoding)


def say(text: str, *, end: str = "\n") -> None:
    """Print on standard output as it is: its encoding is the reader's choice."""
    sys.stdout.write(text + end)


def say_json(kind: str, answer: Mapping[str, object]) -> None:
    """Print JSON, which a reader gets back exactly: what an encoding lacks is escaped.

    Args:
        kind: of the answer, which with the version of its fields is its first one, ``format``.
        answer: the other fields.
    """
    answer = {"format": f"dpproof.{kind}/{VERSION}", **answer}
    text = json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(answer, indent=2, allow_nan=False)
    say(text)


def console() -> Console:
    """Return standard output as rich sees it; a width that nobody can read is the usual one."""
    from rich.console import Console  # noqa: PLC0415  # as above

    found = Console()
    return found if found.width >= LEAST_WIDTH else Console(width=USUAL_WIDTH)


def _silent(_: str) -> None:
    """Do nothing: standard error is not a terminal."""


def on_terminal() -> bool:
    """Return whether somebody sees standard error; it is None where it was closed."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def progress(total: int | None) -> Iterator[Callable[[str], None]]:
    """Yield a bar that disappears when the work is done; a spinner if the total is unknown.

    In a notebook it is a line below the cell, from the third second on.

    Yields:
        To be called with the name of each piece of work, before it begins.
    """
    notebook = _notebook()
    if notebook is not None:
        yield from _below_the_cell(notebook, total)
        return
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


def _notebook() -> Any:  # noqa: ANN401  # IPython, or None
    """Return IPython if this is a cell of a notebook."""
    found: Any = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    return found if type(shell).__name__ == "ZMQInteractiveShell" else None


def _below_the_cell(notebook: Any, total: int | None) -> Iterator[Callable[[str], None]]:  # noqa: ANN401  # IPython
    """Yield what shows the name of a piece of work, once there has been work for a while."""
    started, done = time.monotonic(), 0
    handle: Any = None
    of = "" if total is None else f" of {total}"

    def step(name: str) -> None:
        nonlocal done, handle
        done += 1
        if time.monotonic() - started > _WAIT:
            line = {"text/plain": f"{done}{of}: {name}"}
            if handle is None:
                handle = notebook.display.display(line, raw=True, display_id=True)
            else:
                handle.update(line, raw=True)

    try:
        yield step
    finally:
        if handle is not None:
            handle.update({"text/plain": ""}, raw=True)


@contextmanager
def trials() -> Iterator[Callable[[int, int], None] | None]:
    """Yield a bar of an audit's trials and remaining time, for ``dpproof.auditing.audit``.

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
