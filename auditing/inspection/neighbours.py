"""Neighbours where implementations break, and what arithmetic does to a query on them.

A noise mechanism protects a value whose sensitivity is declared in real numbers. What code computes
may depend on the order of the records, wrap around, be nan, or move by more (Casacuberta, Shoemate,
Vadhan & Wagaman, "Widespread underestimation of sensitivity", CCS 2022, arXiv:2207.10635).
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.accountant.relation import AddRemove, Relation, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.recorder import Fact, FactKind, Inspection, Largest, nearest
from dpproof.auditing.inspection.tape import Distance, Extra, distance, identical
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.sampler import Attempt, told_apart

Records = list[Any]
Dataset: TypeAlias = Sequence[Any] | NDArray[Any]
NUMBERS: tuple[float, ...] = (0.0, -0.0, 1e6, -1e6, 1e308, math.nan, math.inf, -math.inf)
# One more record than these makes a counter of 8 or 16 bits go round.
CROWDS: tuple[int, ...] = (127, 255, 32_767, 65_535)
_SEVERAL = 4
_EQUAL, _QUIET, _LARGE = 60, 19, 10.0
_SMALL = 0.1  # Mean of the other rows, in sizes of the record. Heuristic.
_WHOLE = (1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
_PUBLIC = frozenset(map(repr, (*NUMBERS, *_WHOLE)))  # What is tried whatever the data is.


def neighbours(
    data: Dataset, *, relation: Relation, records: Sequence[Any] | None = None, blank: object = None
) -> Iterator[Pair]:
    """Yield pairs that differ by one record of ``data``, under one relation.

    Each record of ``records`` is tried as the one that differs (by default ``records_like`` the
    data: extreme values, nan, infinities, a new key), and so is a duplicate of each end of the
    data. Under add-remove the empty dataset is one side of a pair; ``D`` has the extra record.
    Pairs of an array are arrays of its type; records that do not fit into it are left out.
    ``blank`` is the record that contributes nothing, for ZeroOut. Records of ReplaceLabel end with
    a label. With hypothesis: ``st.sampled_from(list(neighbours(...)))``.

    Example:
        >>> [p.name for p in neighbours([1.0], relation=AddRemove(), records=[math.nan])]
        ['nan added', 'duplicate of the first added', 'the first added to nothing']
    """
    rest = withholding(list)(data)
    make = _builder(relation, blank)
    for place, record in enumerate(records_like(data) if records is None else records):
        yield from _typed(data, make(rest, record, _named(record, place)))
    for end, name in [(0, "first"), (-1, "last")][: len(rest)]:
        yield from _typed(data, make(rest, rest[end], f"duplicate of the {name}"))
    if isinstance(relation, AddRemove) and rest:
        yield from _typed(data, iter([Pair(rest[:1], [], "the first added to nothing")]))


@withholding
def records_like(data: Dataset) -> list[Any]:
    """Return records worth trying beside these: numbers, keys or rows, as the first one is.

    Numbers: zeros of both signs, extremes, nan and infinities, for whole numbers also the ends of
    32 and 64 bits and of an array's type. Keys: the empty one and a new one. Rows of numbers: all
    their entries at once, and the first alone. Nothing for anything else: give records of it.

    Example:
        >>> records_like(["red", "blue"])
        ['', 'red, and not']
    """
    if len(data) == 0:
        return list(NUMBERS)
    first = data[0]
    if isinstance(first, str):
        return ["", f"{max(map(str, data))}, and not"]
    if isinstance(first, list | tuple | np.ndarray):
        return _rows(first)
    kind = np.asarray(first).dtype
    if kind.kind in "iu":
        ends = (np.iinfo(kind).min, np.iinfo(kind).max) if isinstance(data, np.ndarray) else ()
        return [*NUMBERS, *dict.fromkeys(map(int, (*_WHOLE, *ends)))]
    return list(NUMBERS) if kind.kind in "bf" else []


def crowded(
    data: Dataset,
    *,
    relation: Relation,
    records: Sequence[Any] | None = None,
    sizes: Sequence[int] = CROWDS,
    blank: object = None,
) -> Iterator[Pair]:
    """Yield pairs with many records and one more: totals and counters that overflow their type.

    The same extreme record up to four times, and the data again and again up to each size: by
    default where counters of 8 and 16 bits end. The arguments are those of ``neighbours``.
    """
    rest = withholding(list)(data)
    if not rest:
        raise ParameterError("data", data, "at least one record")
    make = _builder(relation, blank)
    for place, record in enumerate(records_like(data) if records is None else records):
        name = _named(record, place)
        for times in range(1, _SEVERAL):
            many = make([*rest, *[record] * times], record, f"{name} beside {times}")
            yield from _typed(data, many)
    for size in sizes:
        grown = (rest * (size // len(rest) + 1))[:size]
        yield from _typed(data, make(grown, rest[-1], f"one more of {size}"))


def all_differ(values: Sequence[float], sensitivity: float) -> Iterator[Pair]:
    """Query values that all move by the sensitivity: up together, down together, by turns.

    For mechanisms that act on the values of several queries, each of that sensitivity.
    """
    before = withholding(lambda: [float(value) for value in values])()
    for name, signs in (("all up", (1, 1)), ("all down", (-1, -1)), ("by turns", (1, -1))):
        moved = [value + signs[i % 2] * sensitivity for i, value in enumerate(before)]
        yield Pair(before, moved, f"{name} by {sensitivity!r}")


def permuted(data: Dataset) -> Iterator[Pair]:
    """Yield the same records in other orders: at distance 0 where order is not part of the data."""
    records = withholding(list)(data)
    for other, name in ((records[::-1], "reversed"), (records[1:] + records[:1], "rotated")):
        yield from _typed(data, iter([Pair(records, other, name)]))


def suggested_pairs(pair: Pair | tuple[Any, Any]) -> Iterator[tuple[str, Pair]]:
    """Yield what a pair of rows hides, with a pair of such rows that would show it.

    A division by the realised batch shows where the other rows do not cancel; other sampling than
    stated where they say nothing; missing clipping where the record is large. Suggested are 60
    equal rows of the record's norm with an opposite one, zeros with the record, and zeros with ten
    times the record.

    Example:
        >>> [hidden for hidden, _ in suggested_pairs((np.eye(3), np.eye(3)[1:]))]
        ['other sampling than stated', 'missing clipping']
    """
    both = Pair.of(pair)
    extra = Extra.of(both.data, both.neighbour)
    if extra is None:
        return
    try:
        rows = np.asarray(max(both.data, both.neighbour, key=len), dtype=np.float64)
    except Exception:  # noqa: BLE001  # these are no rows of numbers, whatever they raise
        return
    if not np.isfinite(rows).all() or not rows[extra.place].any():
        return
    record, rest = rows[extra.place], np.delete(rows, extra.place, axis=0)
    size, zeros = float(np.abs(record).max()), np.zeros((_QUIET, *record.shape))
    if not rest.size or float(np.abs(rest.mean(axis=0)).max()) < _SMALL * size:
        norm = float(np.linalg.norm(record)) / math.sqrt(record.size)
        same = np.full((_EQUAL, *record.shape), norm)
        more = np.concatenate([same, -same[:1]])
        words = f"{_EQUAL} equal rows and an opposite one"
        yield "a divisor that depends on the batch", Pair(more, same, words)
    if rest.any():
        more = np.concatenate([record[None], zeros])
        yield "other sampling than stated", Pair(more, zeros, "the record beside zeros")
    more = np.concatenate([_LARGE * record[None], zeros])
    yield "missing clipping", Pair(more, zeros, "ten times the record beside zeros")


def _named(record: object, place: int) -> str:
    """Return the name of a record for a pair's: extreme numbers as they are, others by place."""
    text = repr(record.item() if isinstance(record, np.generic) else record)
    return text if text in _PUBLIC else f"record {place}"


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
        case ReplaceLabel():
            return _relabelled
    allowed = "AddRemove(), ReplaceOne(), ZeroOut() or ReplaceLabel()"
    raise ParameterError("relation", relation, allowed)


def _added(rest: Records, record: object, name: str) -> Iterator[Pair]:
    yield Pair([*rest, record], rest, f"{name} added")


def _replaced(rest: Records, record: object, name: str) -> Iterator[Pair]:
    if rest:
        yield Pair([record, *rest[1:]], rest, f"{name} in place of the first")


def _relabelled(rest: Records, record: Any, name: str) -> Iterator[Pair]:  # noqa: ANN401  # a row
    if rest and all(isinstance(one, Sequence | np.ndarray) for one in (rest[0], record)):
        other = [*rest[0][:-1], record[-1]]
        first = np.array(other) if isinstance(rest[0], np.ndarray) else tuple(other)
        yield Pair([first, *rest[1:]], rest, f"the label of {name} in place of the first")


def _rows(first: Any) -> list[Any]:  # noqa: ANN401  # a row
    """Return rows like this one: one number everywhere, and one in the first place only."""
    row = np.asarray(first)
    if row.dtype.kind not in "biuf" or row.size == 0:
        return []
    rows: list[Any] = []
    for number in NUMBERS:
        for places in (slice(None), 0):
            changed = row.astype(np.float64)
            changed.reshape(-1)[places] = number
            rows.append(changed if isinstance(first, np.ndarray) else type(first)(changed.tolist()))
    return rows


def _typed(data: Dataset, pairs: Iterator[Pair]) -> Iterator[Pair]:
    """Yield pairs of arrays where the data is one, without those that do not fit its type."""
    if not isinstance(data, np.ndarray):
        yield from pairs
        return
    for pair in pairs:
        first, other = _as_array(data, pair.data), _as_array(data, pair.neighbour)
        if first is not None and other is not None:
            yield Pair(first, other, pair.name)


def _as_array(data: NDArray[Any], records: Records) -> NDArray[Any] | None:
    if not records:
        return data[:0]
    if data.dtype.kind in "USO":
        return np.array(records, dtype=object if data.dtype.kind == "O" else None)
    exact = np.array(records)
    if exact.dtype.kind not in "biuf":
        return None
    with np.errstate(all="ignore"):
        cast = exact.astype(data.dtype)
    fits = exact.shape[1:] == data.shape[1:] and np.array_equal(cast, exact, equal_nan=True)
    return cast if fits else None


def check_query(
    query: Callable[[Any], Any],
    data: Dataset,
    *,
    sensitivity: Sensitivity[Any],
    records: Sequence[Any] | None = None,
    blank: object = None,
    pairs: Iterable[Pair | tuple[Any, Any]] = (),
    ordered: bool = False,
) -> Inspection:
    """Compute a query on neighbours and compare with its declared sensitivity, exactly.

    Facts, one of each kind a pair: an error; a value that is nan or infinite, of another shape,
    moved by more than declared, or around the end of its integer type; -0.0 beside 0.0; another
    value for the same records in another order. No fact does not prove a sensitivity.

    Pairs are ``neighbours`` and ``crowded`` of the data under the sensitivity's relation, and those
    given. The query is deterministic, and returns a number or an array of numbers. ``ordered``: the
    order of the records is part of the data, so that it may matter.

    Example:
        >>> import numpy as np
        >>> from dpproof.accountant import L1
        >>> data = np.array([2.0**24, 1.0, 1.0], dtype=np.float32)
        >>> def total(records):
        ...     return sum(np.clip(records, 0, 2**24), np.float32(0))
        >>> seen = check_query(total, data, sensitivity=L1(2**24))
        >>> sorted(kind.name for kind in seen.kinds)  # a nan is not clipped
        ['NOT_FINITE', 'ORDER']
    """
    if not isinstance(sensitivity, Sensitivity):
        raise ParameterError("sensitivity", sensitivity, "L1(...), L2(...) or LInf(...)")
    relation = sensitivity.relation
    generated = itertools.chain(
        neighbours(data, relation=relation, records=records, blank=blank),
        crowded(data, relation=relation, records=records, blank=blank)
        if withholding(len)(data)
        else (),
    )
    facts: list[Fact] = []
    largest = Largest()
    looked = [*map(Pair.of, pairs), *generated]
    for pair in looked:
        first, other = Attempt.of(query, pair.data), Attempt.of(query, pair.neighbour)
        facts += _differences(pair.name, first, other, sensitivity, largest)
        if not ordered and first.error is None:
            facts += itertools.islice(_by_order(query, pair, first), 1)
    return Inspection(len(looked), tuple(facts), largest.movements())


def _differences(
    pair: str, first: Attempt, other: Attempt, declared: Sensitivity[Any], largest: Largest
) -> Iterator[Fact]:
    texts = told_apart(first, other)
    if first.error is not None or other.error is not None:
        yield Fact(FactKind.RAISED, pair, "the query", *texts)
        return
    moved = distance(first.value, other.value)
    if moved is None:
        yield Fact(FactKind.SHAPE, pair, "the query", *texts)
        return
    largest.see("the query", moved, declared, pair)
    measured = moved.nearest(declared)
    if not (_finite(first.value) and _finite(other.value)):
        yield Fact(FactKind.NOT_FINITE, pair, "the query", *texts)
    elif moved.exceeds(declared):
        around = _wrapped(first.value, other.value, moved, declared)
        kind = FactKind.WRAPPED if around else FactKind.SENSITIVITY
        yield Fact(kind, pair, "the query", *texts, nearest(declared), measured)
    elif _signed(first.value, other.value):
        yield Fact(FactKind.SIGNED_ZERO, pair, "the query", *texts)


def _by_order(query: Callable[[Any], Any], pair: Pair, first: Attempt) -> Iterator[Fact]:
    for other in permuted(pair.data):
        again = Attempt.of(query, other.neighbour)
        moved = None if again.error is not None else distance(first.value, again.value)
        if not (identical(first.value, again.value) and again.error is None):
            measured = math.inf if moved is None else moved.nearest(None)
            name = f"{pair.name}, D {other.name}"
            yield Fact(FactKind.ORDER, name, "the query", *told_apart(first, again), 0.0, measured)


def _finite(value: object) -> bool:
    return bool(np.all(np.isfinite(np.asarray(value, dtype=np.float64))))


def _signed(first: object, other: object) -> bool:
    one, two = np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return bool(np.any((one == 0) & (two == 0) & (np.signbit(one) != np.signbit(two))))


def _wrapped(first: object, other: object, moved: Distance, declared: Sensitivity[Any]) -> bool:
    """Return whether the movement is small modulo the range of a fixed-width integer."""
    kinds = {value.dtype for value in (first, other) if isinstance(value, np.ndarray | np.generic)}
    if len(kinds) != 1 or (kind := kinds.pop()).kind not in "iu":
        return False
    return bool(2 ** (8 * kind.itemsize) - moved.largest <= declared.value)
