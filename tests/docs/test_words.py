"""Plain words: sentences of the pages, of the command line's help and of the README are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dpproof.__main__ import commands
from tests.docs.blocks import FENCE, ROOT, documents

FRONT, LONGEST = 25, 40  # the most words of a sentence on pages for newcomers, and on others
FORMAL = {  # statements of theorems, records and generated pages: their sentences are formulas
    *("docs/BENCHMARKS.md", "docs/CERTIFICATE.md", "docs/CLAIMS.md", "docs/PAPERS.md"),
    *("docs/SOUNDNESS.md", "docs/THEOREMS.md", "docs/shift-lemma.md"),
}
CODE = re.compile(r"``?[^`]+``?")
MARKUP = re.compile(
    r"\]\([^)]*\)|[*_\[\]|]|<!--.*?-->|^[#>\s-]+|^\d+\.\s", re.MULTILINE | re.DOTALL
)
END = re.compile(r"(?<=[.!?])[)\"”]*\s+(?=[^a-zα-ω])|(?<=[:;])\s+")


def prose(text: str) -> Iterator[str]:
    """Yield the passages of a page: paragraphs, items of lists and cells of tables."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) ?)", FENCE.sub("\n\n", text)):
        cells = re.split(r"(?<!\\)\|", paragraph) if paragraph.startswith("|") else [paragraph]
        yield from cells


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page, without markup."""
    for passage in prose(text):
        yield from END.split(" ".join(MARKUP.sub("", CODE.sub("Code", passage)).split()))


def words(sentence: str) -> int:
    """Count the words of a sentence; signs and numbers by themselves are none."""
    return len(re.findall(r"[^\W\d_][\w'’-]*", sentence))


def limit(path: Path) -> int:
    """Return the most words of a sentence on a page: few where newcomers begin."""
    return FRONT if path.parent != ROOT / "docs" or path.name == "index.md" else LONGEST


PAGES = [path for path in documents() if str(path.relative_to(ROOT)) not in FORMAL]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_of_a_page_are_short(path: Path) -> None:
    """No sentence has more words than the page's limit."""
    found = [s for s in sentences(path.read_text(encoding="utf-8")) if words(s) > limit(path)]

    assert found == []


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text of help of a command and of all below it."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    if isinstance(command, click.Group):
        for part, below in command.commands.items():
            yield from helps(below, f"{name} {part}")


def test_sentences_of_the_help_are_short() -> None:
    """No sentence of any ``--help`` has more than 25 words."""
    found = [
        (n, s)
        for n, text in helps(commands, "dpproof")
        for s in sentences(text)
        if words(s) > FRONT
    ]

    assert found == []


def test_long_sentences_are_seen() -> None:
    """Words are counted in paragraphs, items and cells, and code counts as one word."""
    sentence = "one " * 26 + "end."

    for text in (
        sentence,
        f"A heading.\n\n- {sentence}\n",
        f"| a | {sentence} |",
        f"So: {sentence}",
    ):
        assert max(words(s) for s in sentences(text)) == 27
    assert max(words(s) for s in sentences("`a b c` is. `d` is: one.")) == 2
    assert not any(sentences("```python\nlong = 1\n```"))
