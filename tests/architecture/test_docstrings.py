"""Everything public says what it is; every test says what it asserts."""

from __future__ import annotations

import ast

from tests.architecture.tree import (
    functions,
    is_overload,
    parsed,
    place,
    public_definitions,
    sources,
)


def test_every_module_is_documented() -> None:
    """Every module and package has a docstring that says something."""
    missing = [
        str(path) for path in sources() if len((ast.get_docstring(parsed(path)) or "").strip()) < 10
    ]

    assert missing == []


def test_everything_public_is_documented() -> None:
    """Every public function, class and method has a docstring."""
    missing = [
        where
        for path in sources()
        for where, node in public_definitions(path)
        if not ast.get_docstring(node) and not is_overload(node)
    ]

    assert missing == []


def test_every_test_says_what_it_asserts() -> None:
    """Every test function has a docstring."""
    missing = [
        f"{place(path, node)} {node.name}"
        for path in sources("tests")
        for node in functions(parsed(path))
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert missing == []
