"""What tells code and data from other code and data: a digest of state, and of the sources."""

from __future__ import annotations

import copyreg
import hashlib
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, final

import numpy as np

from dpproof.auditing.errors import Unidentified
from dpproof.auditing.trials.source_digest import digest_of_sources

_EXACT = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


def identity(value: object, *, code: bool = True) -> str:
    """A digest that changes when the value does, or the code that it is made of.

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
    found = state.digest(value)
    sources = digest_of_sources(frozenset(state.modules)) if code else b""
    return hashlib.sha256(found + sources).hexdigest()


@final
class _State:
    """Digests of values by their structure, and the modules that were met."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._known: dict[int, tuple[object, bytes]] = {}  # keeps values alive: an id is theirs
        self._inside: list[int] = []

    def digest(self, value: object) -> bytes:
        """The same for equal structure, whatever is shared and in whatever process."""
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._inside:
            return b"cycle%d" % (len(self._inside) - self._inside.index(id(value)))
        self._inside.append(id(value))
        found = hashlib.sha256()
        for part in self._parts(value):
            found.update(len(part).to_bytes(8, "big"))
            found.update(part)
        self._inside.pop()
        self._known[id(value)] = value, found.digest()
        return found.digest()

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
        cells = [] if value.__closure__ is None else [_content(c) for c in value.__closure__]
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


def _content(cell: Any) -> object:  # noqa: ANN401  # a cell of a closure
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
