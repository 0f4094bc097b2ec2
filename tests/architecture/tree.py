"""The project's source as syntax trees, for the tests that read it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INNER = ("accountant", "auditing", "mechanisms", "proofs")  # installed as parts of dpproof
PACKAGES = (*INNER, "dpproof")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def sources(*packages: str) -> list[Path]:
    """Every Python file of some packages, all five by default."""
    names = packages or PACKAGES
    return [path for name in names for path in sorted((ROOT / name).rglob("*.py"))]


def functions(tree: ast.Module) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def public_definitions(path: Path) -> Iterator[tuple[str, Definition]]:
    """Public functions, classes and methods of public classes, with where they stand."""
    for node in parsed(path).body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield f"{place(path, node)} {node.name}", node
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, Function) and not inner.name.startswith("_"):
                        yield f"{place(path, inner)} {node.name}.{inner.name}", inner


def is_overload(node: Definition) -> bool:
    """Whether it is one typing of a function that is defined, and documented, further down."""
    return any(isinstance(item, ast.Name) and item.id == "overload" for item in node.decorator_list)


def importable(path: Path) -> str:
    """The name by which a file is imported: ``dpproof.proofs.kernel`` of ``proofs/kernel.py``."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return f"dpproof.{name}" if name.split(".")[0] in INNER else name


def place(path: Path, node: ast.stmt) -> str:
    """File and line, as an editor understands them."""
    return f"{path.relative_to(ROOT)}:{node.lineno}"


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything a file imports, with the names taken from a module.

    ``from dpproof.proofs import rules`` gives ``proofs.rules``, which is the place of the file;
    ``import proofs``, which nobody may write, gives ``bare proofs``. Relative imports are made
    absolute.
    """
    for line, name in _imported(path):
        top, _, rest = name.partition(".")
        part = top == "dpproof" and rest.split(".")[0] in INNER
        yield line, rest if part else f"bare {name}" if top in INNER else name


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of imports as they are written, relative ones made absolute."""
    package = list(path.relative_to(ROOT).with_suffix("").parts)[:-1]
    if package[:1] and package[0] in INNER:
        package.insert(0, "dpproof")
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
