"""Plain words: sentences of pages, of refusals, of reports and of the command line are short."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import click
import pytest

from dpproof.__main__ import commands
from dpproof.accountant.relation import RELATIONS
from dpproof.pipeline.vocabulary import KINDS
from dpproof.reports.page import TEMPLATE
from dpproof.reports.words import SHARED, duties, meaning_of_delta, meaning_of_epsilon
from tests.architecture.tree import PACKAGES, sources
from tests.docs.blocks import FENCE, ROOT, documents
from tests.dpproof.pipeline import test_every_kind

SITE = import_module("scripts.site_pages")
FRONT, LONGEST = 25, 40  # the most words of a sentence on pages for newcomers, and on others
FORMULAS = ROOT / "docs" / "shift-lemma.md"  # a page of proofs
GENERATED = ROOT / "docs" / "evidence" / "gallery.md"
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
    far = path == GENERATED or (path.parent == ROOT / "docs" and path.name != "index.md")
    return LONGEST if far else FRONT


PAGES = [path for path in documents() if path != FORMULAS]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_of_a_page_are_short(path: Path) -> None:
    """No sentence has more words than the page's limit."""
    found = [s for s in sentences(path.read_text(encoding="utf-8")) if words(s) > limit(path)]

    assert found == []


@pytest.mark.parametrize("title", SITE.TOPICS)
def test_sentences_of_the_reference_are_short(title: str) -> None:
    """No sentence of a public docstring has more than 40 words, a letter of a formula being one."""
    assert [s for s in sentences(SITE.api_page(title)) if words(s) > LONGEST] == []


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text of help of a command and of all below it."""
    yield name, f"{command.help or ''}\n\n{command.epilog or ''}"
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


RAISING = ("refuse", "UsageError", "warn")  # calls whose texts are read beside those of raise


def refusals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of every refusal in a source file, a placeholder as one word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(tree):
        raised = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            raised = node if called in RAISING else None
        if raised is not None:
            yield from ((raised.lineno, text) for text in texts(raised, assigned))


def texts(node: ast.AST, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Yield the texts in an expression and in what its names were assigned."""
    seen, left = set(), [node]
    while left:
        part = left.pop()
        if isinstance(part, ast.JoinedStr):
            pieces = (p.value if isinstance(p, ast.Constant) else "X" for p in part.values)
            yield "".join(map(str, pieces))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        else:
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                left += assigned.get(part.id, [])
            left += ast.iter_child_nodes(part)


@pytest.mark.parametrize("package", PACKAGES)
def test_sentences_of_refusals_are_short(package: str) -> None:
    """No sentence of an error or a warning has more than 25 words."""
    paths = sources(package)
    found = [
        (f"{path.relative_to(ROOT)}:{line}", sentence)
        for path in paths
        for line, text in refusals(path)
        for sentence in sentences(text)
        if words(sentence) > FRONT
    ]

    assert len(paths) > 10
    assert found == []


def test_conditions_of_verdicts_are_short() -> None:
    """No sentence of what the checker takes for granted has more than 25 words."""
    told = [
        sentence
        for path in sources("proofs")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr | ast.Constant)
        for text in texts(node, {})
        if " " in text and "\n" not in text
        for sentence in sentences(text)
    ]

    assert len(told) > 1000
    assert [one for one in told if words(one) > FRONT] == []


def test_sentences_for_a_board_are_short() -> None:
    """What a person confirms of every mechanism, and what is said of delta and epsilon."""
    told = [*SHARED, *(meaning_of_epsilon(2.0, relation) for relation in RELATIONS)]
    told += [meaning_of_delta(Fraction(1, 10), *one) for one in ((1, 1), (0, 1), (0, math.inf))]
    told += [meaning_of_delta(Fraction(1, 10), 0.01, 1.0)]
    for word in KINDS:
        pipeline = test_every_kind.described(word, next(test_every_kind.forms(word)))
        told += duties(pipeline.stages[0], pipeline.relation)
    found = [s for text in told for s in sentences(text) if words(s) > FRONT]

    assert len(told) > len(KINDS)
    assert found == []


def test_sentences_of_the_page_are_short() -> None:
    """The fixed texts of the report, without its style sheet."""
    text = TEMPLATE.read_text(encoding="utf-8").partition("</style>")[2]
    plain = re.sub(r"<[^>]*>", "\n\n", re.sub(r"{%.*?%}|{{.*?}}", "X", text))

    assert [s for s in sentences(plain) if words(s) > FRONT] == []


def test_long_refusals_are_seen(tmp_path: Path) -> None:
    """In a raise, in a call that refuses, and through a name."""
    long = "one " * 26
    for source in (
        f"raise ValueError(f'{long}{{x}}')",
        f"section.refuse('key', '{long}')",
        f"problem = 'a ' '{long}'\nraise ValueError(problem)",
    ):
        path = tmp_path / "source.py"
        path.write_text(source, encoding="utf-8")
        assert max(words(s) for _, t in refusals(path) for s in sentences(t)) >= 26


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
