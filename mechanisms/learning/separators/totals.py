"""The exact losses of all candidates of a space, as a product of two integer matrices.

A candidate is a head u followed by a tail v, and its margin at a row is a(u) + b(v). Of the rows
with the same features in the tail, the loss depends on u and b alone: it is an entry of a matrix
of heads by pairs (tail features, b), and the tails v select theirs. Entries are whole and no sum
of them exceeds the largest loss, so that products in floating point are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from dpproof.mechanisms.learning.separators.losses import Loss, Patterns
from dpproof.mechanisms.learning.separators.spaces import Integers, Space

# Pairs in one product, and entries of one temporary array. Heuristic.
_BLOCK: Final = 512
_ENTRIES: Final = 2**22
# Up to so many pairs a row a product is the faster way. Heuristic.
_PAIRS_A_ROW: Final = 100
# Integers up to these are exact in single and double precision. Soundness depends on them.
_SINGLE: Final = 2**24
_DOUBLE: Final = 2**53
# From margins of records with given rows to their losses.
Charge = Callable[[Integers, Any], Integers]


def total_losses(space: Space, loss: Loss, data: Patterns) -> Integers:
    """Return the exact losses of all vectors of levels, -1 for one that is no candidate.

    Returns:
        Shape (heads, tails), in the order of levels: a vector is a head followed by a tail.
    """
    head, tail = halves(space)
    levels = np.array(space.levels)
    weights = space.weights(data.rows)
    front, back = _vectors(levels, head), _vectors(levels, tail)
    right, member = np.unique(weights[:, head:], axis=0, return_inverse=True)
    margins = front @ weights[:, :head].T, back @ right.T
    pairs = sum(len(np.unique(column)) for column in margins[1].T)
    totals = np.zeros((len(front), len(back)), dtype=np.int64)

    def charge(margins: Integers, rows: Any) -> Integers:  # noqa: ANN401  # any index
        return loss.charge(margins, data.positive[rows], data.negative[rows], space)

    if pairs <= _PAIRS_A_ROW * len(weights):
        for entries, picks in _blocks(charge, *margins, member.reshape(-1)):
            totals += _product(entries, picks)
    else:
        _add_plainly(charge, totals, margins[0], back @ weights[:, head:].T)
    sums = back.sum(axis=1)
    for i, total in enumerate(front.sum(axis=1)):
        totals[i] += loss.apart(sums + total, data, space)
        admitted = space.admits(sums + total)
        if admitted is not None:
            totals[i, ~admitted] = -1
    return totals


def halves(space: Space) -> tuple[int, int]:
    """Return the numbers of coordinates of the heads and of the tails."""
    return space.coordinates // 2, space.coordinates - space.coordinates // 2


def _blocks(
    charge: Charge, left: Integers, right: Integers, member: Integers
) -> Iterator[tuple[Integers, list[Integers]]]:
    """Yield matrices of heads by pairs, and for each tail the columns it selects."""
    columns: list[Integers] = []
    picks: list[Integers] = []
    width = 0
    for group, column in enumerate(right.T):
        values, codes = np.unique(column, return_inverse=True)
        rows = np.flatnonzero(member == group)
        entries = np.zeros((len(left), len(values)), dtype=np.int64)
        for row in rows:
            entries += charge(left[:, row, np.newaxis] + values, row)
        columns.append(entries)
        picks.append(codes.reshape(-1) + width)
        width += len(values)
        if width >= _BLOCK or group == right.shape[1] - 1:
            yield np.concatenate(columns, axis=1), picks
            columns, picks, width = [], [], 0


def _product(entries: Integers, picks: list[Integers]) -> Integers:
    """Add up the selected columns, exactly: floating point numbers hold every partial sum."""
    largest = int(entries.max(initial=0)) * len(picks)
    if largest >= _DOUBLE:
        return np.asarray(sum(entries[:, codes] for codes in picks))
    kind = np.float32 if largest < _SINGLE else np.float64
    chosen = np.zeros((entries.shape[1], len(picks[0])), dtype=kind)
    for codes in picks:
        chosen[codes, np.arange(len(codes))] = 1
    return np.asarray((entries.astype(kind) @ chosen).astype(np.int64))


def _add_plainly(charge: Charge, totals: Integers, left: Integers, right: Integers) -> None:
    """Add the losses of one head after the other, margin by margin."""
    block = max(1, _ENTRIES // max(1, right.shape[1]))
    for i, margins in enumerate(left):
        for start in range(0, len(right), block):
            part = slice(start, start + block)
            totals[i, part] += charge(margins + right[part], slice(None)).sum(axis=1)


def _vectors(values: Integers, width: int) -> Integers:
    """Return all vectors of the values, in order."""
    vectors = np.zeros((1, 0), dtype=np.int64)
    for _ in range(width):
        vectors = np.concatenate(
            [np.repeat(vectors, len(values), axis=0), np.tile(values, len(vectors))[:, np.newaxis]],
            axis=1,
        )
    return vectors
