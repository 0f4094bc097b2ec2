"""A digest of the source files behind some modules, without importing anything."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from site import getsitepackages, getusersitepackages

from dpproof.auditing.errors import Unidentified


@functools.lru_cache(maxsize=64)  # what runs is what was imported, not what is edited since
def digest_of_sources(modules: frozenset[str]) -> bytes:
    """Changes with the files of the modules, and of every module that these import.

    Modules of the standard library count by the Python version, those of an installed
    distribution by the digests of all its files; the others by their own content, and further by
    what they import anywhere in it. A name that is imported and not there counts as such.

    Raises:
        Unidentified: one of the modules has no file.
    """
    parts = {f"python {sys.version}"}
    found: dict[str, Path | None] = {}
    pending = [name for name in modules if not _is_standard(name)]
    for name in pending:
        if _origin(name) is None:
            raise Unidentified(f"module {name!r} has no source file; give a version")
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if name in found or _is_standard(name):
            continue
        found[name] = origin = _origin(name)
        if origin is not None and _is_installed(origin):
            parts.add(f"{top}: {_distribution(top) or _content(origin)}")
        elif origin is not None:
            parts.add(f"{name}: {_content(origin)}")
            pending += _imported(origin, name)
    return hashlib.sha256("\n".join(sorted(parts)).encode()).digest()


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in {*sys.stdlib_module_names, "builtins"} - {"__main__"}


def _origin(name: str) -> Path | None:
    """Return the file of a module, or None if there is none."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None:
        return Path(loaded)
    spec = _spec(name)
    return None if spec is None or not spec.has_location else Path(str(spec.origin))


def _spec(name: str) -> ModuleSpec | None:
    """Where a module would come from; a parent is searched, not imported."""
    parent, _, _ = name.rpartition(".")
    if not parent:
        try:
            return importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
    outer = _spec(parent)
    if outer is None or outer.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, list(outer.submodule_search_locations))


@functools.cache
def _installed_under() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *getsitepackages(), getusersitepackages()]
    return tuple({Path(folder).resolve() for folder in folders})


def _is_installed(origin: Path) -> bool:
    file = origin.resolve()
    return any(file.is_relative_to(folder) for folder in _installed_under())


@functools.cache
def _distribution(top: str) -> str | None:
    """Digest of the files of the distributions that a name is imported from; None without any."""
    files = [
        line
        for record in _records(top)
        for line in record.splitlines()
        if "sha256=" in line and not line.startswith("..") and ".dist-info/" not in line
    ]
    return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest() if files else None


def _records(top: str) -> list[str]:
    """The lists of files of the distribution with a package's name, or of all that have it."""
    try:
        record = importlib.metadata.distribution(top).read_text("RECORD") or ""
    except importlib.metadata.PackageNotFoundError:
        record = ""
    if f"\n{top}/" in f"\n{record}":
        return [record]
    names = importlib.metadata.packages_distributions().get(top, ())  # reads all: takes a second
    return [importlib.metadata.distribution(name).read_text("RECORD") or "" for name in names]


@functools.cache
def _content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@functools.cache
def _imported(file: Path, name: str) -> list[str]:
    """Every module that a file imports, anywhere in it, with the packages these are in."""
    if file.suffix != ".py":
        return []
    package = name if file.stem == "__init__" else name.rpartition(".")[0]
    return [
        ".".join(parts[:length])
        for target in _targets(ast.parse(file.read_bytes()), package)
        for parts in (target.split("."),)
        for length in range(1, len(parts) + 1)
    ]


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement, however deep; expressions import nothing."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, block, ())


def _targets(tree: ast.Module, package: str) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            outer = package.split(".")[: package.count(".") + 2 - node.level]
            base = [*(outer if node.level else []), *([node.module] if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)
