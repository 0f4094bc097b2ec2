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
FENCE = re.compile(
    r'^```(\w*)(?:[ \t]+title="([^"\n]+)")?[ \t]*\n(.*?)^```[ \t]*$', re.MULTILINE | re.DOTALL
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
TOLERANCE = 1e-6
PROGRAMS = ("dpproof", "pytest")


@dataclass(frozen=True)
class Block:
    """One fenced block, with the ``text`` block right after it when there is one.

    A block with a title is a file of that name, for the blocks after it.
    """

    language: str
    title: str
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
            and not match[2]
            and not text[match.end() : following.start()].strip()
        ):
            output = following[3]
        yield Block(
            match[1], match[2] or "", match[3], text.count("\n", 0, match.start()) + 1, output
        )


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


def run_console(command: str, folder: Path) -> str:
    """What a ``$ …`` line prints on both streams, 80 columns wide, without colours."""
    program, *arguments = shlex.split(command)
    assert program in PROGRAMS, f"a console block may run {PROGRAMS}, got {program}"
    environment = {**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-m", program, *arguments],
        cwd=folder,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    return result.stdout


def same_output(expected: str, printed: str) -> bool:
    """Equal text, and numbers equal to six digits: the last ones depend on the platform.

    A line ``...`` stands for any lines.
    """
    first, *others = re.split(r"^\.\.\.$\n?", expected.strip() + "\n", flags=re.MULTILINE)
    lines = printed.strip().splitlines()
    if not others:
        return _same_part(first, lines)
    begun = len(first.splitlines())
    if not _same_part(first, lines[:begun]):
        return False
    lines = lines[begun:]
    for part in others:
        length = len(part.splitlines())
        starts = [len(lines) - length] if part is others[-1] and length else range(len(lines) + 1)
        found = next((s for s in starts if _same_part(part, lines[max(s, 0) : s + length])), None)
        if found is None:
            return False
        lines = lines[found + length :]
    return True


def _same_part(expected: str, printed: list[str]) -> bool:
    told = "\n".join(printed)
    if _words(expected) != _words(told):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(told), strict=True)
    return all(_close(float(a), float(b)) for a, b in pairs)


def _words(text: str) -> str:
    return NUMBER.sub("#", "\n".join(line.rstrip() for line in text.strip().splitlines()))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))
