"""A text and a number that are found wherever a value of data is shown."""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import pickle
import struct
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.form import takes_data

TEXT = "QzMarkerQz"
NUMBER = 8675309.125
WHOLE = 8675309


class Hostile:
    """Data of which everything raises an error that quotes it."""

    def __quote(self, *_: object, **__: object) -> NoReturn:
        raise ValueError(TEXT)

    __iter__ = __getitem__ = __array__ = __float__ = __int__ = __index__ = __quote
    __repr__ = __str__ = lambda _: TEXT

    def __len__(self) -> int:
        return 3


class HostileSize(Hostile):
    """Such data, of which the length raises an error too."""

    def __len__(self) -> int:
        raise ValueError(TEXT)


class Frame:
    """A table as pandas has it: columns with names, and cells of several types."""

    columns = ("a", "b")
    shape = (2, 2)

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, name: object) -> NoReturn:
        raise KeyError(name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:  # noqa: ANN401
        del copy
        return np.array([[NUMBER, TEXT], [None, 2.0]], dtype=dtype or object)


def bad_data() -> Iterator[object]:
    """Data of many kinds that has a marker; some of it is valid somewhere."""
    yield from (
        TEXT,
        TEXT.encode(),
        NUMBER,
        -WHOLE,
        WHOLE,
        Fraction(NUMBER),
        NUMBER + 1j,
        Hostile(),
        HostileSize(),
        Frame(),
        Decimal(NUMBER),
        int(str(WHOLE) * 600),
        str(WHOLE) * 3,
        None,
    )
    yield from ({TEXT: NUMBER}, [{"name": TEXT}], {TEXT}, (TEXT, TEXT), iter([TEXT]), [Hostile()])
    yield from ([], [TEXT], [NUMBER] * 3, [NUMBER, float("nan")], [NUMBER, float("-inf"), WHOLE])
    yield from ([[17, -WHOLE]], [[NUMBER, 2.0], [1.0]], [10**400, NUMBER], [NUMBER + 1j], [[TEXT]])
    yield from ([([NUMBER, 2.0], TEXT)], [([TEXT], WHOLE)], [(TEXT, [TEXT])], [[TEXT, None]])
    yield from ([WHOLE, WHOLE], [0, 1, WHOLE], [True, NUMBER], np.array(NUMBER), np.array([WHOLE]))
    yield from (np.array([NUMBER, np.nan]), np.full((3, 3), NUMBER), np.full((2, 2, 2), NUMBER))
    yield from (
        np.array([TEXT]),
        np.array([[TEXT, 10**400]], dtype=object),
        np.array([NUMBER + 1j]),
    )
    yield from (
        (np.full((4, 2), NUMBER), np.array([0, 1, 1, WHOLE])),
        (np.ones((2, 2)), [TEXT] * 2),
    )
    yield from ([[[NUMBER]]], {"a": {"b": [TEXT]}}, [None, NUMBER], [Decimal("sNaN"), NUMBER])
    yield from (np.array([None, NUMBER]), np.array([[NUMBER, None], [TEXT, 2]], dtype=object))
    yield np.array([(NUMBER, TEXT)], dtype=[("a", "f8"), ("b", "U20")]).view(np.recarray)


def marked(thing: object) -> bool:
    """Whether a text, or bytes, show a marker."""
    if isinstance(thing, bytes):
        packed = (struct.pack(order + "d", NUMBER) for order in "<>")
        return any(part in thing for part in (TEXT.encode(), str(WHOLE).encode(), *packed))
    return TEXT in str(thing) or str(WHOLE) in str(thing)


def shown(error: BaseException | None) -> Iterator[str]:
    """Everything that an error shows: its text, its fields, its notes, its causes and contexts."""
    while error is not None:
        yield repr(error)
        yield str(error)
        yield repr(error.args)
        yield repr(vars(error))
        if error.__cause__ is not None:
            yield from shown(error.__cause__)
        error = error.__context__


def leaks(call: Callable[[], object]) -> list[str]:
    """Make a call, and return what shows a marker: errors, warnings, logs, and what it prints.

    What it returns is not looked at: that may be a release.
    """
    texts: list[str] = []
    told, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(told),
    ):
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:  # noqa: BLE001  # every error is looked at
            texts += shown(error)
        finally:
            logging.getLogger().removeHandler(handler)
    texts += [str(one.message) for one in warned] + [told.getvalue(), log.getvalue()]
    return [text for text in texts if marked(text)]


def kept(thing: object) -> list[str]:
    """Return the ways in which an object shows a marker: its repr, its text, its pickle."""
    ways = {"repr": repr(thing), "text": str(thing), "pickle": pickle.dumps(thing)}
    return [name for name, found in ways.items() if marked(found)]


def rows(features: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows with the number in every fourth cell, and labels 0 and 1."""
    table = np.random.default_rng(1).normal(size=(40, features))
    table.reshape(-1)[::4] = NUMBER
    return table, np.arange(40) % 2


def data_methods(kind: type) -> list[str]:
    """The public methods of a class that take data."""
    found = []
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        public = name == "__call__" or not name.startswith("_")
        if public and (takes_data(method) or "X" in inspect.signature(method).parameters):
            found.append(name)
    return found
