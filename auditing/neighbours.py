"""Pairs of neighbours worth trying: where implementations break, one kind a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from accountant.errors import ParameterError
from accountant.relation import AddRemove, Relation, ReplaceOne, ZeroOut
from auditing.pair import Pair

Records = list[Any]
NUMBERS: tuple[float, ...] = (0.0, -0.0, 1e6, -1e6, 1e308, math.nan, math.inf, -math.inf)


def neighbours(
    data: Sequence[Any],
    *,
    relation: Relation,
    records: Sequence[Any] = NUMBERS,
    blank: object = None,
) -> Iterator[Pair]:
    """Pairs that differ by one record of ``data``, under one relation.

    Each record of ``records`` is tried as the one that differs (extreme values, nan, infinities by
    default; give keys that are not in the data, or rows, where records are no numbers), and so is
    a duplicate of each end of the data. Under add-remove the empty dataset is one side of a pair;
    ``D`` has the extra record.

    Args:
        data: records, in order.
        relation: AddRemove, ReplaceOne or ZeroOut.
        records: what the differing record may be.
        blank: the record that contributes nothing, for ZeroOut.
    Yields:
        Named pairs. With hypothesis: ``st.sampled_from(list(neighbours(...)))``.
    Example:
        >>> [p.name for p in neighbours([1.0], relation=AddRemove(), records=[math.nan])]
        ['nan added', 'duplicate of 1.0 added', '1.0 added to nothing']
    """
    rest = list(data)
    make = _builder(relation, blank)
    for record in records:
        yield from make(rest, record, f"{record!r}")
    for record in rest[:1] + (rest[-1:] if len(rest) > 1 else []):
        yield from make(rest, record, f"duplicate of {record!r}")
    if isinstance(relation, AddRemove) and rest:
        yield Pair(rest[:1], [], f"{rest[0]!r} added to nothing")


def all_differ(values: Sequence[float], sensitivity: float) -> Iterator[Pair]:
    """Query values that all move by the sensitivity: up together, down together, by turns.

    For mechanisms that act on the values of several queries, each of that sensitivity.
    """
    before = [float(value) for value in values]
    for name, sign in (("all up", lambda _: 1), ("all down", lambda _: -1), ("by turns", _turn)):
        moved = [value + sign(i) * sensitivity for i, value in enumerate(before)]
        yield Pair(before, moved, f"{name} by {sensitivity!r}")


def permuted(data: Sequence[Any]) -> Iterator[Pair]:
    """The same records in other orders: at distance 0 where order is not part of the data."""
    records = list(data)
    yield Pair(records, records[::-1], "reversed")
    yield Pair(records, records[1:] + records[:1], "rotated")


def _turn(position: int) -> int:
    return 1 - 2 * (position % 2)


def _builder(relation: Relation, blank: object) -> Callable[[Records, Any, str], Iterator[Pair]]:
    match relation:
        case AddRemove():
            return _added
        case ReplaceOne():
            return _replaced
        case ZeroOut():
            return lambda rest, record, name: iter(
                [Pair([record, *rest], [blank, *rest], f"{name} blanked")]
            )
    raise ParameterError("relation", relation, "AddRemove(), ReplaceOne() or ZeroOut()")


def _added(rest: Records, record: object, name: str) -> Iterator[Pair]:
    yield Pair([*rest, record], rest, f"{name} added")


def _replaced(rest: Records, record: object, name: str) -> Iterator[Pair]:
    if rest:
        yield Pair([record, *rest[1:]], rest, f"{name} in place of {rest[0]!r}")
