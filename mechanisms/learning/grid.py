"""Vectors on an integer grid: every scalar product of a record and a state is exact in binary64.

Records are integer vectors k with ||k|| <= 2^24, states integer vectors h with ||h|| <= 2^28. By
Cauchy and Schwarz every partial sum of k_1 h_1 + ... + k_d h_d, in any order and with or without
fused operations, is an integer of size at most 2^52, so a binary64 matrix product makes no rounding
error. Hence the value computed for one record does not depend on which other records are there.

A binary64 matrix product of real numbers lacks this property: the result for one row changes with
the number of rows, so adding one record would change the contribution of another.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, arguments

RECORD_BITS: Final = 24
STATE_BITS: Final = 28
# Soundness: a product of a record and a state is in units of 2^-52, and is at most 2^52 units.
PRODUCT_BITS: Final = RECORD_BITS + STATE_BITS

# Soundness: with at most 2^24 coordinates below 2^19, a sum of squares is below 2^62.
WIDEST: Final = 2**24
_SQUARES_BITS: Final = 62

Vectors = NDArray[np.float64]
Integers = NDArray[np.int64]


def row_width(value: int | None, name: str = "value") -> int | None:
    """Keep the number of features of a row, at most ``WIDEST``; None takes it from the data."""
    width = None if value is None else arguments.count(**{name: value})
    if width is not None and width > WIDEST:
        raise ParameterError(name, value, f"at most {WIDEST}")
    return width


def unit_rows(rows: Vectors, bits: int, *, width: int | None = None) -> Vectors:
    """Scale finite rows to Euclidean norm 1, and truncate them to integers in units of 2^-bits.

    The sum of their squares is at most 2^(2 bits), exactly; a zero row stays zero. ``width`` is d,
    at most ``WIDEST``, where zeros are left out of rows. ``bits`` is at most 28.

    Laws: a row of the result depends on that row of the input alone, bit for bit.
    Proof: the largest coordinate, the scaling by a power of two and the truncation are exact; the
        squares are added as integers below 2^62; square root and division are rounded correctly
        coordinate by coordinate. What exceeds the norm by a rounding error moves towards zero.
    """
    whole, squares, _ = _integers(rows, width)
    length = np.sqrt(np.where(squares > 0, squares, 1).astype(np.float64))
    steps = np.trunc(whole * 2.0**bits / length[:, np.newaxis])
    while (long := _squares(steps) > 1 << 2 * bits).any():
        steps[long] -= np.sign(steps[long])
    return steps


def clipped_rows(rows: Vectors, norm: float, bits: int, *, width: int | None = None) -> Vectors:
    """Divide rows by ``norm``, shorten those longer than 1, and truncate, as ``unit_rows`` does.

    The integers approximate (row / norm) min(1, norm / ||row||) 2^bits. A row that is a multiple of
    norm 2^-bits and no longer than norm, a power of two, is kept exactly.
    """
    _, squares, exponent = _integers(rows, width)
    with np.errstate(over="ignore"):
        length = np.ldexp(np.sqrt(squares.astype(np.float64)), exponent) / norm
    short = length <= 1
    inside = np.where(short[:, np.newaxis], rows, 0.0)
    steps = np.trunc(inside / norm * 2.0**bits)
    outside = ~short | (_squares(steps) > 1 << 2 * bits)
    steps[outside] = unit_rows(rows[outside], bits, width=width)
    return steps


def grid_rows(rows: Vectors, norm: arguments.Number | None, *, width: int | None = None) -> Vectors:
    """Put rows on the grid of records: clipped to a norm, or scaled to norm 1 if it is None."""
    if norm is None:
        return unit_rows(rows, RECORD_BITS, width=width)
    return clipped_rows(rows, float(norm), RECORD_BITS, width=width)


def displacement(features: int) -> float:
    """Return a bound of the distance of a grid row, times 2^-24, from the exactly scaled row.

    Proof: of d features a coordinate is moved by at most 2 units of 2^-24 by truncation and
        shortening. The row that is scaled keeps K = (62 - bits of d) // 2 bits of its largest
        coordinate, so its direction and its length move by at most 2 sqrt(d) 2^(1 - K) each.
    """
    kept = (_SQUARES_BITS - features.bit_length()) // 2
    return math.sqrt(features) * (3 * 2.0**-RECORD_BITS + 4 * 2.0 ** (1 - kept))


def _integers(rows: Vectors, width: int | None) -> tuple[Vectors, Integers, Integers]:
    """Return integers z with row = z 2^exponent up to truncation, sums of squares, exponents."""
    kept = (_SQUARES_BITS - (width or rows.shape[1]).bit_length()) // 2
    largest = np.abs(rows).max(axis=1, initial=0.0)
    exponent = np.frexp(largest)[1].astype(np.int64) - kept
    half = exponent // 2  # two exact products, where one power of two could overflow
    first, second = np.ldexp(1.0, -half), np.ldexp(1.0, half - exponent)
    whole = np.trunc(rows * first[:, np.newaxis] * second[:, np.newaxis])
    return whole, _squares(whole), exponent


def _squares(steps: Vectors) -> Integers:
    """Return the sum of the squares of every row, in integers."""
    whole = steps.astype(np.int64)
    return np.asarray(np.einsum("ij,ij->i", whole, whole))
