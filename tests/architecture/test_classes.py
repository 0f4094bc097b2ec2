"""Classes are abstract or final, and relation parameters stay invariant."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.tree import ROOT, parsed, place, sources

FROZEN = {"proofs": "frozen"}  # what makes a class final there, too
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
        if isinstance(node, ast.ClassDef)
        and not (_is_abstract(node) or {"final", FROZEN.get(_top(path), "final")} & _marks(node))
    ]

    assert found == []


def test_no_class_of_the_checker_is_derived_from_a_frozen_one() -> None:
    """Its ``@frozen`` makes a class final when it runs, which no type checker sees."""
    files = [path for path in sources() if _top(path) in FROZEN]
    trees = [node for path in files for node in ast.walk(parsed(path))]
    classes = [node for node in trees if isinstance(node, ast.ClassDef)]
    frozen = {node.name for node in classes if "frozen" in _marks(node)}

    assert len(frozen) > 50
    assert [n.name for n in classes for b in n.bases if getattr(b, "id", "") in frozen] == []


def _top(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def _marks(node: ast.ClassDef) -> set[str]:
    return {item.id for item in node.decorator_list if isinstance(item, ast.Name)}


def _is_abstract(node: ast.ClassDef) -> bool:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    names = {base.id for base in bases if isinstance(base, ast.Name)}
    in_a_tree = bool(names) and all(
        name.endswith(("Error", "Implied", "Arguments")) for name in names
    )
    return bool(names & ABSTRACT) or in_a_tree or "PrivacyError" in names
