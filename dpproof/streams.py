"""Text on whatever stream there is: words for letters that it lacks, and a width to read."""

from __future__ import annotations

import codecs
import io
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING, Final

from dpproof.accountant.progress import WAIT, below_the_cell, notebook

if TYPE_CHECKING:
    from rich.console import Console

PLAIN: Final = "dpproof.plain"
VERSION: Final = 1  # of the fields of JSON answers: raised where one is renamed or left out
_IS_SHOWN: Final = ContextVar("_IS_SHOWN", default=False)
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


def say_json(kind: str, answer: Mapping[str, object]) -> None:
    """Print JSON, which a reader gets back exactly: what an encoding lacks is escaped."""
    # Its first field, ``format``, is the kind of the answer and the version of its fields.
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

    usual = Console()
    return usual if usual.width >= LEAST_WIDTH else Console(width=USUAL_WIDTH)


def on_terminal() -> bool:
    """Return whether somebody sees standard error; it is None where it was closed."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def progress(total: int | None) -> Iterator[Callable[[str], None]]:
    """Yield what is told each piece of work before it begins: a bar, from the third second on."""
    # It has no end if the total is unknown, and is a line in a notebook, or nothing inside another.
    if notebook() is not None or not on_terminal():
        with below_the_cell(total) as step:
            yield step
        return
    if _IS_SHOWN.get():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415  # nothing to import without a terminal
    from rich.progress import Progress  # noqa: PLC0415  # as above

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=total)
    shown, timer = _IS_SHOWN.set(True), Timer(WAIT, bar.start)  # its value
    timer.start()
    try:
        yield lambda name: bar.update(task, advance=1, description=name.replace("[", r"\["))
    finally:
        _IS_SHOWN.reset(shown)
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def trials() -> Iterator[Callable[[int, int], None] | None]:
    """Yield a bar of an audit's trials and remaining time; None where there is no terminal."""
    if not on_terminal():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  # as above
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415  # as above

    columns = ("trials", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda drawn, planned: bar.update(task, completed=drawn, total=planned)
