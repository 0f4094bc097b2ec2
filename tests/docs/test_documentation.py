"""What the documentation shows is what happens: blocks are executed, not copied."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dpproof.pipeline.parse import parse
from tests.docs.blocks import ROOT, blocks, documents, run_console, run_python, same_output

LONG_FOLDERS = ("start", "tutorials", "howto")  # whose pages take seconds
LONG_PAGES = ("LEARNERS.md", "SAMPLING.md", "SELECTION.md")
PAGES = [
    pytest.param(
        path,
        id=str(path.relative_to(ROOT)),
        marks=[pytest.mark.slow] * (path.parent.name in LONG_FOLDERS or path.name in LONG_PAGES),
    )
    for path in documents()
]
LANGUAGES = {"python", "text", "json", "console", "toml", "bash", "yaml"}


@pytest.mark.parametrize("path", PAGES)
def test_blocks_print_what_is_shown(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block runs, in the order of the page and in one folder, and prints what is shown."""
    monkeypatch.chdir(tmp_path)
    for name in ("examples", "tests"):  # what commands name from the top of the project
        (tmp_path / name).symlink_to(ROOT / name)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(path):
        if block.title:
            (tmp_path / block.title).write_text(block.content, encoding="utf-8")
        elif block.language == "python":
            printed = run_python(block, path, names)

            assert same_output(block.output or "", printed), f"{path}:{block.line}\n{printed}"
        elif block.language == "console":
            for session in ("\n" + block.content).split("\n$ ")[1:]:
                command, _, expected = session.partition("\n")
                printed = run_console(command, tmp_path)

                assert same_output(expected, printed), f"{path}:{block.line}\n{printed}"


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_has_a_language_that_is_tested(path: Path) -> None:
    """No block escapes the tests by an unusual language."""
    found = {block.language for block in blocks(path)}

    assert found <= LANGUAGES


def test_outputs_are_compared() -> None:
    """A wrong word, a wrong number and a missing number are seen; the thirteenth digit is not."""
    assert same_output("epsilon 6.90738449500001", "epsilon 6.90738449500002\n")
    assert not same_output("epsilon 6.907", "epsilon 6.908")
    assert not same_output("epsilon 6.907", "delta 6.907")
    assert not same_output("epsilon 6.907 8", "epsilon 6.907")


def test_dots_stand_for_any_lines() -> None:
    """What stands before, between and after them has to be there, in that order."""
    assert same_output("a 1\n...\nb\n...\n", "a 1\nx\nb\ny")
    assert same_output("a\n...\nb", "a\nb")
    assert same_output("a\n...\nb", "a\nb\nb")
    assert not same_output("a\n...\nb", "a\nb\nx")
    assert not same_output("a 1\n...\nb", "a 2\nb")
    assert not same_output("a\n...\nb\n...\n", "a\nx")


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pipelines_that_are_shown_are_pipelines(path: Path) -> None:
    """Every toml block with a [pipeline] table, if no command reads it, is a file that parses."""
    for block in blocks(path):
        if block.language == "toml" and "[pipeline]" in block.content and not block.title:
            pipeline = parse(tomllib.loads(block.content), f"{path}:{block.line}")

            assert pipeline.stages
