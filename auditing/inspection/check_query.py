"""``check_query``: what floating point and fixed-width integers do to a query, without statistics.

A noise mechanism protects a value whose sensitivity is declared in real numbers. What code computes
may depend on the order of the records, wrap around, be nan, or move by more (Casacuberta, Shoemate,
Vadhan & Wagaman, "Widespread underestimation of sensitivity", CCS 2022, arXiv:2207.10635).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.compare import Largest
from dpproof.auditing.inspection.distance import Distance, distance, identical
from dpproof.auditing.inspection.facts import Fact, FactKind, Inspection, nearest
from dpproof.auditing.inspection.neighbours import Dataset, crowded, neighbours, permuted
from dpproof.auditing.trials.pair import Pair
from dpproof.auditing.trials.sampler import Attempt, told_apart


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

    Args:
        query: data -> a number or an array of numbers, deterministic.
        data: records: a sequence, or an array whose first axis is the records.
        sensitivity: declared; pairs of its relation are generated: ``neighbours`` and ``crowded``
            of the data.
        records: what the record that differs may be; by default ``records_like(data)``.
        blank: the record that contributes nothing, for ZeroOut.
        pairs: more of them.
        ordered: whether the order of the records is part of the data, so that it may matter.
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
    """Return whether a zero changed its sign."""
    one, two = np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return bool(np.any((one == 0) & (two == 0) & (np.signbit(one) != np.signbit(two))))


def _wrapped(first: object, other: object, moved: Distance, declared: Sensitivity[Any]) -> bool:
    """Return whether the movement is small modulo the range of a fixed-width integer."""
    kinds = {value.dtype for value in (first, other) if isinstance(value, np.ndarray | np.generic)}
    if len(kinds) != 1 or (kind := kinds.pop()).kind not in "iu":
        return False
    return bool(2 ** (8 * kind.itemsize) - moved.largest <= declared.value)
