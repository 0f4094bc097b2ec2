"""Text on whatever stream there is: words for letters that it lacks, and a width to read."""

from __future__ import annotations

import codecs
import io
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

PLAIN: Final = "dpproof.plain"
LEAST_WIDTH, USUAL_WIDTH = 20, 80
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


def say_json(answer: object) -> None:
    """Print JSON, which a reader gets back exactly: what an encoding lacks is escaped."""
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
