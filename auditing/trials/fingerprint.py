"""Digests that identify code and data: of state, and of the sources."""

from __future__ import annotations

import ast
import copyreg
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
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, final

import numpy as np

from dpproof.auditing.errors import Unidentified


@functools.lru_cache(maxsize=64)  # what runs is what was imported, not what is edited since
def digest_of_sources(modules: frozenset[str]) -> bytes:
    """Return a digest of the modules' files and of those of every module that these import.

    Modules of the standard library count by the Python version, those of an installed
    distribution by the digests of all its files; the others by their own content, and further by
    what they import anywhere in it. A name that is imported and not there counts as such.

    Raises:
        Unidentified: one of the modules has no file.
    """
    parts = {f"python {sys.version}"}
    sources: dict[str, Path | None] = {}
    pending = [name for name in modules if not _is_standard(name)]
    for name in pending:
        if _origin(name) is None:
            raise Unidentified(f"module {name!r} has no source file; give a version")
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if name in sources or _is_standard(name):
            continue
        sources[name] = origin = _origin(name)
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
    """Return the spec of a module, found by searching a parent, not importing it."""
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
    """Return the file lists of the distribution with a package's name, or of all that have it."""
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
    """Return every module that a file imports, anywhere in it, with the packages these are in."""
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
    """Yield every statement, at any depth; expressions import nothing."""
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


_EXACT = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def identity(value: object, *, code: bool = True) -> str:
    """Return a digest that changes when the value does, or the code that it is made of.

    What is seen: the value's state (what pickling would keep; of a function its bytecode, defaults
    and closure), and, with ``code``, the source files of every module that it or its parts are
    defined in and of all modules these import, as far as they belong to no installed
    distribution; of those the installed files' digests; the Python version. What is not seen:
    files that are read, the environment, what installed distributions depend on, the machine.

    Args:
        value: a callable, data, or anything of Python.
        code: whether the sources belong to it; False is for data.
    Raises:
        Unidentified: a part has no state or no source file that could be read.
    Example:
        >>> identity([1.0, 2.0], code=False) == identity([1.0, 2.0], code=False)
        True
        >>> identity([1.0, 2.0], code=False) == identity([2.0, 1.0], code=False)
        False
    """
    state = _State()
    digest = state.digest(value)
    sources = digest_of_sources(frozenset(state.modules)) if code else b""
    return hashlib.sha256(digest + sources).hexdigest()


@final
class _State:
    """Digests of values by their structure, and the modules that were met."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._known: dict[int, tuple[object, bytes]] = {}  # keeps values alive: an id is theirs
        self._inside: list[int] = []

    def digest(self, value: object) -> bytes:
        """Return the same digest for equal structure, however shared and in any process."""
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._inside:
            return b"cycle%d" % (len(self._inside) - self._inside.index(id(value)))
        self._inside.append(id(value))
        hashed = hashlib.sha256()
        for part in self._parts(value):
            hashed.update(len(part).to_bytes(8, "big"))
            hashed.update(part)
        self._inside.pop()
        self._known[id(value)] = value, hashed.digest()
        return hashed.digest()

    def _parts(self, value: Any) -> Iterator[bytes]:  # noqa: ANN401  # anything
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__}".encode()
        if kind in _EXACT:
            yield repr(value).encode()
        elif kind is np.ndarray and value.dtype != object:
            yield from (str(value.dtype).encode(), repr(value.shape).encode(), value.tobytes())
        elif kind in (tuple, list):
            yield from map(self.digest, value)
        elif kind in (set, frozenset):
            yield from sorted(map(self.digest, value))
        elif kind is dict:
            yield from (self.digest(part) for item in value.items() for part in item)
        elif isinstance(value, ModuleType):
            yield from self._named(value.__name__, "")
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, type | BuiltinFunctionType):
            yield from self._named(value.__module__ or "builtins", value.__qualname__)
        elif isinstance(value, MethodType):
            yield from map(self.digest, (value.__self__, value.__func__))
        else:
            yield from self._state(value)

    def _named(self, module: str, name: str) -> Iterator[bytes]:
        self.modules.add(module)
        yield from (module.encode(), name.encode())

    def _function(self, value: FunctionType) -> Iterator[bytes]:
        yield from self._named(value.__module__, value.__qualname__)
        yield from self._code(value.__code__)
        cells = (
            []
            if value.__closure__ is None
            else [_fingerprint_content(c) for c in value.__closure__]
        )
        parts = (value.__defaults__, value.__kwdefaults__, cells, value.__dict__)
        yield from map(self.digest, parts)

    def _code(self, code: CodeType) -> Iterator[bytes]:
        yield code.co_code
        yield " ".join((*code.co_names, *code.co_varnames, *code.co_freevars)).encode()
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from self._code(constant)
            else:
                yield self.digest(constant)

    def _state(self, value: Any) -> Iterator[bytes]:  # noqa: ANN401  # anything
        """Return the state that pickling would keep."""
        self.modules.add(type(value).__module__)
        registered = copyreg.dispatch_table.get(type(value))
        try:
            reduced = registered(value) if registered else value.__reduce_ex__(4)
        except Exception as error:
            raise Unidentified(
                f"the state of {type(value).__qualname__} cannot be told: {error}; give a version"
            ) from error
        for part in (reduced,) if isinstance(reduced, str) else reduced:
            yield self.digest(list(part) if isinstance(part, Iterator) else part)


def _fingerprint_content(cell: Any) -> object:  # noqa: ANN401  # a cell of a closure
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
