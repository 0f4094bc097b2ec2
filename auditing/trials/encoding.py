"""Outputs as rows of numbers, digests of code and data, and the two datasets of an audit."""

from __future__ import annotations

import ast
import copyreg
import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import re
import sys
import sysconfig
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
    Sized,
)
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from site import getsitepackages, getusersitepackages
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.form import DataError, withholding
from dpproof.auditing.counts import Unidentified

Features = NDArray[np.float64]
Labels = NDArray[np.bool_]
Outputs = Sequence[object] | NDArray[Any]
FeatureMap = Callable[[Any], Any]

_HASH_BITS = 52
_HUGE = 2.0**63  # integers from here on are objects to numpy unless a float is beside them
_TOLD = "numbers, text, or objects whose repr has no address in memory"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def encode(outputs: Outputs, size: int, features: FeatureMap | None = None) -> Features:
    """Return outputs as a matrix of floats, one row each.

    Numbers stay numbers (``nan`` and infinities too), arrays are flattened, structured arrays give
    one column a field. Anything else becomes three numbers: a hash of its ``repr``, one of its type
    (of its keys, for a mapping), and its length. ``features`` are applied to outputs first, and
    look at each by itself; what they lose cannot be found.

    Law: a row depends on its own output, not on what else was drawn with it. All outputs of a
    batch are from one dataset, so that a row which told about the batch would tell the dataset.
    Rows that are longer elsewhere are as good as filled with ``nan``.

    Raises:
        ParameterError: not ``size`` outputs, or an output that can only be told by its address.
    """
    raw = outputs if features is None else withholding(features)(outputs)
    scalar = not isinstance(raw, Sized) or (isinstance(raw, np.ndarray) and raw.ndim == 0)
    if scalar or isinstance(raw, str | bytes | Mapping | AbstractSet):
        allowed = f"a list or an array of {size} outputs"
        raise ParameterError("outputs", f"one {type(raw).__name__}", allowed)
    if len(raw) != size:
        hint = "a sampler returns `size` of them, first axis"
        raise ParameterError("outputs", len(raw), f"{size} outputs", hint)
    array = _as_array(raw)
    if array.dtype.names is not None:
        parts = [_column(array[name], size) for name in array.dtype.names]
        return np.concatenate(parts, axis=1)
    plain = array.dtype.kind in "biuf"  # all are numbers, each the same one by itself
    if array.size and plain and (isinstance(raw, np.ndarray) or not (np.abs(array) >= _HUGE).any()):
        return array.reshape(size, -1).astype(np.float64)
    items = raw if isinstance(raw, list | tuple) else list(array)
    return _stacked([_row(item) for item in items])


def _column(values: NDArray[Any], size: int) -> Features:
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    if values.dtype.kind in "biuf":
        return values.reshape(size, -1).astype(np.float64)
    return np.array([_described(_plain(value)) for value in values], dtype=np.float64)


def _row(item: object) -> Features:
    item = _plain(item)
    try:
        array = np.asarray(float(item)) if isinstance(item, int | float) else _as_array(item)
    except OverflowError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    if array.dtype.kind in "biuf":
        return array.ravel().astype(np.float64)
    return np.array(_described(item), dtype=np.float64)


def _plain(item: Any) -> Any:  # noqa: ANN401  # any object
    """Return Python's own numbers and lists for numpy's that may hold anything."""
    if isinstance(item, np.generic) or (isinstance(item, np.ndarray) and item.dtype == object):
        return item.tolist()
    return item


def _stacked(rows: Sequence[Features]) -> Features:
    """Return rows of different length as a matrix; the shorter ones are filled with nan."""
    stacked = np.full((len(rows), max(1, *map(len, rows))), np.nan)
    for place, row in zip(stacked, rows, strict=True):
        place[: len(row)] = row
    return stacked


def _as_array(outputs: Any) -> NDArray[Any]:  # noqa: ANN401  # any object
    if isinstance(outputs, np.ndarray):
        return outputs
    try:
        return np.asarray(outputs)
    except (ValueError, OverflowError):  # ragged: parts of different lengths
        return np.empty(len(outputs), dtype=object)


def _described(item: object) -> tuple[int, int, int]:
    """Return a hash of the item, a hash of its type (of a mapping, of its keys), and its length."""
    kind = type(item).__qualname__
    if isinstance(item, Mapping):
        kind = str(sorted(map(stable_text, item)))
    return hashed(stable_text(item)), hashed(kind), len(item) if isinstance(item, Sized) else 0


def stable_text(item: object) -> str:
    """Return the ``repr`` of an item, of a set in order; refuse an address in memory in it."""
    if isinstance(item, AbstractSet):
        return f"{type(item).__qualname__} {sorted(map(stable_text, item))}"
    text = repr(item)
    if not isinstance(item, str | bytes) and _ADDRESS.search(text):
        raise DataError("outputs", item, _TOLD, "give `features`, which makes numbers of them")
    return text


def hashed(text: str) -> int:
    """Return 52 bits that a text determines, the same on every machine."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _HASH_BITS)


_OBJECT_FEATURES_HUGE = 1e300  # beyond it, and nan, a number is a word


@final
@dataclass(frozen=True, slots=True)
class ObjectFeatures:
    """Objects as rows of numbers: everything inside them, each at a place that its path decides.

    Numbers add their value to the column of their path, keys and words add one to the column of
    path and word, so that which keys there are, what they hold, types and lengths can be learned.
    Columns are chosen by a hash (Weinberger et al., arXiv:0902.2206): two paths that share one are
    added up, which loses power and never validity.

    Args:
        width: how many columns.
    Example:
        >>> rows = ObjectFeatures()([{"a": 1.5}, {"a": 1.5, "b": "yes"}, {"a": 1.5}])
        >>> rows.shape, bool((rows[0] == rows[2]).all()), bool((rows[0] == rows[1]).all())
        ((3, 64), True, False)
    """

    width: int = 64

    def __post_init__(self) -> None:
        arguments.count(width=self.width)

    def __call__(self, outputs: Iterable[object]) -> NDArray[np.float64]:
        """Return one row of numbers for every output."""
        return np.array([self._row(output) for output in outputs]).reshape(-1, self.width)

    def _row(self, output: object) -> NDArray[np.float64]:
        row = np.zeros(self.width)
        for path, value in _leaves("", output):
            place = hashed(path)
            row[place % self.width] += value if (place // self.width) % 2 else -value
        return row


def _leaves(path: str, item: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401  # any object
    """Yield paths inside an object with the number at each; a word is part of its path."""
    if isinstance(item, np.ndarray | np.generic):
        item = item.tolist()
    if type(item) in {int, float} and abs(item) < _OBJECT_FEATURES_HUGE:
        yield path, float(item)
        yield f"{path}: number", 1.0
    elif isinstance(item, Mapping):
        yield from _inside(path, "mapping", item.items(), len(item))
    elif isinstance(item, AbstractSet):
        yield from _inside(path, "set", ((part, True) for part in item), len(item))
    elif isinstance(item, list | tuple):
        yield from _inside(path, "list", enumerate(item), len(item))
    elif dataclasses.is_dataclass(item) and not isinstance(item, type):
        names = [field.name for field in dataclasses.fields(item)]
        fields = ((name, getattr(item, name)) for name in names)
        yield from _inside(path, type(item).__qualname__, fields, len(names))
    else:
        yield f"{path} = {stable_text(item)}", 1.0


def _inside(
    path: str, kind: str, parts: Iterable[tuple[object, object]], count: int
) -> Iterator[tuple[str, float]]:
    yield f"{path}: {kind}", 1.0
    yield f"{path}: length", float(count)
    for key, part in parts:
        yield from _leaves(f"{path}/{stable_text(key)}", part)


@functools.lru_cache(maxsize=64)  # what runs is what was imported, not what is edited since
def digest_of_sources(modules: frozenset[str]) -> bytes:
    """Return a digest of the modules' files and of those of every module that these import."""
    # Modules of the standard library count by the Python version, those of a distribution by all
    # its files, others by their content and imports. One of ``modules`` without a file is refused.
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
        if origin is None:
            continue
        if any(origin.resolve().is_relative_to(folder) for folder in _installed_under()):
            parts.add(f"{top}: {_distribution(top) or _content(origin)}")
        else:
            parts.add(f"{name}: {_content(origin)}")
            pending += _imported(origin, name)
    return hashlib.sha256("\n".join(sorted(parts)).encode()).digest()


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in {*sys.stdlib_module_names, "builtins"} - {"__main__"}


def _origin(name: str) -> Path | None:
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


def _targets(tree: ast.Module, package: str) -> Iterator[str]:
    pending: list[ast.AST] = [tree]
    while pending:  # every statement, at any depth; expressions import nothing
        node = pending.pop()
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, block, ())
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
    ``code`` is False for data, to which no sources belong. A part without a state or a source file
    that could be read raises ``Unidentified``.

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
        cells = [_cell(cell) for cell in value.__closure__ or ()]
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


def _cell(cell: Any) -> object:  # noqa: ANN401  # a cell of a closure
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two datasets that the claim's relation makes neighbours, in either order.

    Whether they are neighbours is the caller's word: an audit sees outputs only.
    """

    data: Any = field(repr=False)  # D
    neighbour: Any = field(repr=False)  # D'
    name: str = "pair"  # in the report

    @staticmethod
    def of(pair: Any) -> Pair:  # noqa: ANN401  # whatever a caller gives
        """Return a pair from itself or from a tuple of two datasets."""
        if isinstance(pair, Pair):
            return pair
        length = withholding(pair.__len__)() if isinstance(pair, Sized) else None
        if length != 2:
            kind = type(pair).__name__ + ("" if length is None else f" of length {length}")
            raise ParameterError("pair", kind, "a Pair or a tuple (data, neighbour)")
        first, second = withholding(lambda: (pair[0], pair[1]))()
        return Pair(first, second)

    def different(self) -> Pair:
        """Return the pair itself, if its datasets are not equal in every part."""
        if alike(self.data, self.neighbour):
            allowed = "two neighbouring datasets"
            raise ParameterError("pair", "two equal ones", allowed, "change one record")
        return self


def alike(first: object, second: object) -> bool:
    """Return whether two datasets are equal in every part; False where that cannot be told."""
    if first is second or type(first) is not type(second):
        return first is second
    if isinstance(first, _EXACT):
        return repr(first) == repr(second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        form = (first.dtype, first.shape) == (second.dtype, second.shape)
        if not form or first.dtype != object:
            return form and first.tobytes() == second.tobytes()
    try:
        return identity(first, code=False) == identity(second, code=False)
    except Unidentified:
        return False
