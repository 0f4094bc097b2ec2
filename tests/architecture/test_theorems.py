"""A theorem's docstring says what it states and assumes, its source, its rounding, its laws."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, Function, is_overload, parsed, sources

FIELDS = ("Statement", "Assumes", "Source", "Rounds", "Laws")


def theorems() -> Iterator[tuple[Path, Function]]:
    """Every public function of the theorem files."""
    for path in sources("accountant"):
        if "theorems" in path.parts:
            for node in parsed(path).body:
                if isinstance(node, Function) and _is_a_theorem(node):
                    yield path, node


def _is_a_theorem(node: Function) -> bool:
    return not node.name.startswith("_") and not is_overload(node)


@pytest.mark.parametrize(
    ("path", "node"),
    [pytest.param(path, node, id=f"{path.stem}.{node.name}") for path, node in theorems()],
)
def test_docstring_has_every_field(path: Path, node: Function) -> None:
    """Statement, Assumes, Source, Rounds and Laws each start a line and say something."""
    docstring = ast.get_docstring(node) or ""
    missing = [
        field for field in FIELDS if not re.search(rf"^{field}: *\S", docstring, re.MULTILINE)
    ]

    assert missing == [], f"{path.relative_to(ROOT)} {node.name}"
