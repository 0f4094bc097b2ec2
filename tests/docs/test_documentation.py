"""What the documentation shows is what happens: blocks are executed, not copied."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dpproof.pipeline.parse import parse
from tests.docs.blocks import ROOT, blocks, documents, run_console, run_python, same_output

LANGUAGES = {"python", "text", "console", "toml", "bash", "yaml"}


LONG = ("LEARNERS.md", "SAMPLING.md", "SELECTION.md")  # whose blocks take seconds


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=str(path.relative_to(ROOT)),
            marks=[pytest.mark.slow] * (path.name in LONG),
        )
        for path in documents()
    ],
)
def test_python_blocks_print_what_is_shown(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every python block runs, in the order of the page, and prints the text block after it."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(path):
        if block.language == "python":
            printed = run_python(block, path, names)

            expected = block.output or ""
            assert same_output(expected, printed), f"{path}:{block.line} printed\n{printed}"


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_console_blocks_print_what_is_shown(path: Path) -> None:
    """Every ``$ dpproof …`` of a console block prints the lines that follow it."""
    for block in blocks(path):
        if block.language == "console":
            for session in ("\n" + block.content).split("\n$ ")[1:]:
                command, _, expected = session.partition("\n")
                printed = run_console(command)

                assert same_output(expected, printed), f"{path}:{block.line} printed\n{printed}"


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


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pipelines_that_are_shown_are_pipelines(path: Path) -> None:
    """Every toml block with a [pipeline] table is a pipeline file that parses."""
    for block in blocks(path):
        if block.language == "toml" and "[pipeline]" in block.content:
            pipeline = parse(tomllib.loads(block.content), f"{path}:{block.line}")

            assert pipeline.stages
