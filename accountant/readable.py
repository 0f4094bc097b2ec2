"""Short reprs: one line that a person reads, and can often type back."""

from __future__ import annotations

import inspect
import math
from abc import ABC
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from html import escape
from typing import Any, Final

import attrs

_LONGEST: Final = 300  # characters of a repr
_MOST: Final = 6  # items of a tuple that are all shown
_FIRST: Final = 3  # items of a longer one that are shown
_EXACT: Final = 24  # digits of a rational that is shown exactly
_FLOAT_BITS: Final = 1000


class Readable(ABC):  # noqa: B024  # a subclass writes its own repr, or none
    """Gives frozen classes a short repr: exact numbers as they are typed, defaults left out.

    Nothing is compared, stored or hashed by it: what is shortened is shown with an ellipsis.

    Example:
        >>> from dpproof.accountant import GDP, L2, TruncatedNegativeBinomial
        >>> GDP(mu=3), L2(0.1), TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 3))
        (GDP(mu_squared=9, relation=AddRemove()), L2(0.1), TruncatedNegativeBinomial(eta=1, \
gamma=Fraction(1, 3)))
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401  # what other bases take
        """Keep the inherited repr where ``dataclass`` would write its own."""
        super().__init_subclass__(**options)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # now the class's own

    def __repr__(self) -> str:
        """Return the class and the fields that are not at their defaults, on one line."""
        kind: Any = type(self)
        stated = _stated(kind)
        if stated is None:
            return object.__repr__(self)
        values = {name: getattr(self, name) for name in stated}
        shown = {
            name: value
            for name, value in values.items()
            if not _is(value, _defaults(kind).get(name))
        }
        if list(shown) == [_positional(kind)]:
            return shortened(f"{kind.__name__}({readable(*shown.values())})")
        words = ((name.removeprefix("stated_"), value) for name, value in shown.items())
        fields = ", ".join(f"{word}={readable(value)}" for word, value in words)
        return shortened(f"{kind.__name__}({fields})")

    def _repr_html_(self) -> str:
        """Show a notebook the same as a small table."""
        stated = _stated(type(self))
        if stated is None:
            return f"<code>{escape(shortened(repr(self)))}</code>"
        return table(type(self).__name__, ((name, getattr(self, name)) for name in stated))


def readable(value: object) -> str:
    """Return a value on one line: a rational as a person types it, a long tuple by its start."""
    match value:
        case bool() | str() | None:
            return shortened(repr(value))
        case int() | Fraction():
            return _number(Fraction(value))
        case tuple():
            start = value if len(value) <= _MOST else value[:_FIRST]
            items = ", ".join(map(readable, start))
            if len(value) > _MOST:
                return f"({items}, … {len(value)} in all)"
            return f"({items},)" if len(value) == 1 else f"({items})"
        case Enum():
            return str(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"<array of shape {value.shape}>"
    if isinstance(value, partial):  # its arguments may be data
        return f"partial({readable(value.func)}, …)"
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return shortened(repr(value))


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return a small table for a notebook, one row a name and its value, every text escaped."""
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in rows
    )
    return f"<table><caption>{escape(title)}</caption>{body}</table>"


def _cell(value: object) -> str:
    if isinstance(value, Readable):
        return value._repr_html_()  # a name of IPython's
    return escape(shortened(value) if isinstance(value, str) else readable(value))


def shortened(text: str) -> str:
    """Return a text on one line that is not too long to read."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _number(value: Fraction) -> str:
    """Return a rational as it is typed: 3, 0.1, 1/3 as a Fraction; rounded if it is too long."""
    if value.denominator == 1 and abs(value.numerator) < 10**_EXACT:
        return str(value.numerator)
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(bits) > _FLOAT_BITS:
        return f"≈{'-' if value < 0 else ''}1e{round(bits * math.log10(2)):+}"
    nearest = float(value)
    if Fraction(nearest) == value:
        return repr(nearest)
    if max(abs(value.numerator), value.denominator) < 10 ** (_EXACT // 2):
        return f"Fraction({value.numerator}, {value.denominator})"
    return f"≈{nearest:.6g}"


def _is(value: object, default: object) -> bool:
    """Return whether a field is at its default; a relation is always worth showing."""
    plain = isinstance(value, bool | int | str | Fraction | None)
    return plain and type(value) is type(default) and value == default


def declared(value: object) -> tuple[str, ...] | None:
    """Return the fields of a dataclass or an attrs class that its equality compares; else None."""
    kind: Any = type(value)
    if attrs.has(kind):
        return tuple(one.name for one in attrs.fields(kind) if one.eq)
    return tuple(one.name for one in fields(kind) if one.compare) if is_dataclass(kind) else None


@cache
def _stated(kind: type) -> tuple[str, ...] | None:
    """Return the fields of a dataclass or an attrs class that its repr shows; None for others."""
    if attrs.has(kind):
        return tuple(one.name for one in attrs.fields(kind) if one.repr)
    return tuple(one.name for one in fields(kind) if one.repr) if is_dataclass(kind) else None


@cache
def _defaults(kind: type) -> Mapping[str, object]:
    """Return the defaults of a class's constructor by name."""
    taken = inspect.signature(kind).parameters.values()
    return {one.name: one.default for one in taken if one.default is not one.empty}


@cache
def _positional(kind: type) -> str | None:
    """Return the first parameter of a constructor, if it need not be named."""
    first = next(iter(inspect.signature(kind).parameters.values()), None)
    return first.name if first is not None and first.kind is first.POSITIONAL_OR_KEYWORD else None
