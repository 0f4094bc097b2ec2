"""Text on whatever stream there is: words for letters that it lacks, and a width to read."""

from __future__ import annotations

import codecs
import io
import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # --help should not wait for it
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
