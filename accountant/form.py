"""The facts that may be shown of data: its type, its shape, and a place, never its contents."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from abc import ABC
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from numbers import Rational, Real
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, final

import numpy as np

from dpproof.accountant.errors import ParameterError, PrivacyError

P = ParamSpec("P")
T = TypeVar("T")

TAKES_DATA: Final = frozenset(
    {"data", "datasets", "labels", "outputs", "reports", "rows", "samples", "values"}
)

_ABSTRACT: Final = "__isabstractmethod__"
_MOST: Final = 10**6  # Cells of a container that are looked at for the first offender.
_ACCEPTED: Final = "such that the called code raises no error"
_MADE_UP: Final = "its message is withheld, as it may quote the data: try made-up data"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Form:
    """The type and the shape of some data, and where its first offender is, in words.

    It is all that a ``DataError`` can hold: the data itself does not get into it.
    """

    text: str

    @classmethod
    def of(cls, data: object, *, at: object = None) -> Form:
        """Describe some data.

        Args:
            data: anything; a ``Form`` is itself.
            at: the position of the first offender; None looks for the first cell that is not a
                finite number.
        Example:
            >>> Form.of([3.5, float("nan")]), Form.of("Alice"), Form.of({"name": "Alice"})
            (a list of length 2, not a finite number at position 1, a str of length 5, \
a dict of length 1)
        """
        if isinstance(data, Form):
            return data
        offender = f", at position {at}" if at is not None else _offender(data)
        return cls(f"{_kind(data)}{offender}")

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of_both(cls, first: object, second: object) -> tuple[Form, Form]:
        """Describe two values that differ, and where they do first."""
        forms = cls.of(first), cls.of(second)
        if forms[0] != forms[1]:
            return forms
        return forms[0], cls(f"{forms[1]}, another{_first_difference(first, second)}")


class DataError(ParameterError):
    """Data does not fit what it is given to.

    The message has the type, the shape and a position, never a value: whoever reads it learns only
    that the data was refused. Whether it is refused depends on the data all the same.
    """

    def __init__(
        self, name: str, data: object, allowed: str, hint: str = "", *, at: object = None
    ) -> None:
        super().__init__(name, Form.of(data, at=at), allowed, hint)


def withholding(call: Callable[P, T]) -> Callable[P, T]:
    """Let no error of a call on data quote the data: a refusal says its form, any other its type.

    A refusal of a value becomes a ``DataError`` of the same name. The message and the cause of what
    numpy, scikit-learn or a caller's own function raises may quote the data, so a ``DataError`` is
    raised in its place that says which type it was and where it came from.
    """

    @functools.wraps(call)
    def guarded(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return call(*arguments, **named)
        except DataError as error:
            refusal = error
        except ParameterError as error:
            refusal = DataError(error.name, error.value, error.allowed, error.hint)
        except PrivacyError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it may quote the data
            refusal = DataError("data", Form(origin(error)), _ACCEPTED, _MADE_UP)
        refusal.__cause__ = refusal.__context__ = None
        raise refusal  # outside of the clauses, so that the error is not its context

    return guarded


class Withholding(ABC):  # noqa: B024  # a subclass has methods that take data
    """Withholds data from the errors of every public method of a subclass that takes data.

    A method takes data if a parameter is named as in ``TAKES_DATA``, or ``records`` and no number.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401  # what other bases take
        """Wrap the methods that the class defines."""
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            public = not name.startswith("_") or name == "__call__"
            bare = not (hasattr(method, "__wrapped__") or getattr(method, _ABSTRACT, False))
            if public and bare and isinstance(method, FunctionType) and takes_data(method):
                setattr(cls, name, withholding(method))


def takes_data(method: FunctionType) -> bool:
    """Return whether a function has a parameter that is data."""
    bare = inspect.unwrap(method)
    code = bare.__code__  # a signature takes long for every method of a package
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    stated = bare.__annotations__.get("records", "")  # a type, or its text
    counted = inspect.formatannotation(stated).strip("'").startswith("int")
    return ("records" in taken and not counted) or not TAKES_DATA.isdisjoint(taken)


def origin(error: Exception) -> str:
    """Return the type of an error, and the file and the line that raised it; not its message."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    kind = type(error).__name__
    if place is None:
        return kind
    name = place.tb_frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{kind} at {name}:{place.tb_lineno}"


def _kind(data: object) -> str:
    """Return the type and the shape of some data."""
    if data is None:
        return "None"
    if isinstance(data, np.ndarray):
        return f"an array of {data.dtype.name} of shape {data.shape}"
    name = type(data).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return f"{article} {name}{_size(data)}"


def _size(data: Any) -> str:  # noqa: ANN401  # whatever a caller has
    """Return the shape or the length of some data; nothing if it has none, or raises an error."""
    with contextlib.suppress(Exception):
        if isinstance(data.shape, tuple):
            return "" if isinstance(data, np.generic) else f" of shape {data.shape}"
    with contextlib.suppress(Exception):
        return f" of length {len(data)}"
    return ""


def _first_difference(first: object, second: object) -> str:
    """Return where two sequences of one length differ first; nothing for other values."""
    if not isinstance(first, list | tuple | np.ndarray) or np.ndim(first) == 0:
        return ""
    pairs = zip(first, second, strict=False)  # type: ignore[call-overload]  # of one form
    places = (place for place, (one, other) in enumerate(pairs) if repr(one) != repr(other))
    return f" from position {place} on" if (place := next(places, None)) is not None else ""


def _offender(data: object) -> str:
    """Return where the first cell is that is not a finite number; nothing if there is none."""
    cells: Iterator[tuple[object, object]]
    if isinstance(data, np.ndarray):
        cells = zip(np.ndindex(data.shape), islice(data.flat, _MOST), strict=False)
    elif isinstance(data, list | tuple):
        cells = enumerate(islice(data, _MOST))
    else:
        return _reason(data) if isinstance(data, float) else ""
    for position, cell in cells:
        if isinstance(cell, list | tuple | np.ndarray):
            return ""
        if reason := _reason(cell):
            return f"{reason} at position {position}"
    return ""


def _reason(cell: object) -> str:
    """Return what keeps a cell from being a finite number; nothing if it is one."""
    if isinstance(cell, bool) or not isinstance(cell, Real):
        return f", {_kind(cell)}"
    return "" if isinstance(cell, Rational) or math.isfinite(cell) else ", not a finite number"
