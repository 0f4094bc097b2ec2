"""Fenced blocks of the documentation, and what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Block:
    """One fenced block, with the ``text`` block right after it when there is one."""

    language: str
    content: str
    line: int
    output: str | None


def documents() -> list[Path]:
    """The pages whose blocks have to be true."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path: Path) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    text = path.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    for position, match in enumerate(found):
        following = found[position + 1] if position + 1 < len(found) else None
        output = None
        if (
            following
            and following[1] == "text"
            and not text[match.end() : following.start()].strip()
        ):
            output = following[2]
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 1, output)


def run_python(block: Block, path: Path, names: dict[str, object]) -> str:
    """What a block prints; an error it raises is printed as its type and message."""
    code = compile("\n" * block.line + block.content, str(path), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, names)  # noqa: S102  # the documentation is ours
        except Exception as error:
            if block.output is None:
                raise
            print(f"{type(error).__name__}: {error}")  # noqa: T201  # captured
    return printed.getvalue()


def run_console(command: str) -> str:
    """What a ``$ dpproof …`` line prints on both streams, 80 columns wide, without colours."""
    program, *arguments = shlex.split(command)
    assert program == "dpproof", f"only dpproof can be shown in a console block, got {program}"
    environment = {**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-m", "dpproof", *arguments],
        cwd=ROOT,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    return result.stdout


def same_output(expected: str, printed: str) -> bool:
    """Equal text, and numbers equal to six digits: the last ones depend on the platform."""
    if _words(expected) != _words(printed):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(printed), strict=True)
    return all(_close(float(a), float(b)) for a, b in pairs)


def _words(text: str) -> str:
    return NUMBER.sub("#", "\n".join(line.rstrip() for line in text.strip().splitlines()))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))
