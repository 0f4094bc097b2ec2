"""Classes are abstract or final, and relation parameters stay invariant."""

from __future__ import annotations

import ast

from tests.architecture.tree import parsed, place, sources

ABSTRACT = {"ABC", "Protocol", "Exception", "Enum", "TypedDict"}


def test_no_class_declares_its_type_parameters_in_brackets() -> None:
    """``class X[R: Relation]`` frozen is inferred covariant: mixing relations would type-check."""
    found = [
        f"{place(path, node)} {node.name}"
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and getattr(node, "type_params", [])
    ]

    assert found == []


def test_every_class_is_abstract_or_final() -> None:
    """A class is an ABC, a protocol, an error, a dictionary of arguments, or marked ``@final``."""
    found = [
        f"{place(path, node)} {node.name}"
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and not (_is_abstract(node) or _is_final(node))
    ]

    assert found == []


def _is_final(node: ast.ClassDef) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "final" for item in node.decorator_list)


def _is_abstract(node: ast.ClassDef) -> bool:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    names = {base.id for base in bases if isinstance(base, ast.Name)}
    in_a_tree = bool(names) and all(
        name.endswith(("Error", "Implied", "Arguments")) for name in names
    )
    return bool(names & ABSTRACT) or in_a_tree or "PrivacyError" in names
