"""Symmetric whole numbers by inversion of the law of their size (proofs/theory/inversion.md)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import WORD, LazyUniform

Cumulative = Callable[[Any, int], tuple[list[int], list[int]]]
"""(law, bits) -> brackets of P(|X| <= k), k = 0, 1, ..., in units of 2^-bits; cached."""

_TOP: Final = 16  # digits that the table reads: a sign, and 15 of the uniform
_REST: Final = WORD - _TOP
_OPEN: Final = -(2**63)
_FEW: Final = 2**12  # draws that a table is not made for


def symmetric(cumulative: Cumulative, law: Hashable, size: int, rng: Rng) -> NDArray[np.int64]:
    """Draw ``size`` independent X, P(X = x) = P(|X| = |x|) / 2 for x not 0."""
    tops = part_words(size, _TOP, rng)
    if size < _FEW:
        drawn, unclear = np.zeros(size, dtype=np.int64), np.arange(size)
    else:
        drawn = _table(cumulative, law)[tops]
        unclear = np.flatnonzero(drawn == _OPEN)
    first = tops[unclear].astype(np.uint64)
    uniform = (first << np.uint64(_REST)) & np.uint64(2 ** (WORD - 1) - 1)
    uniform |= rng.words(len(unclear)) >> np.uint64(_TOP)
    sizes, clear = _between(cumulative, law, uniform, uniform)
    for i in np.flatnonzero(~clear):
        sizes[i] = _exactly(cumulative, law, LazyUniform(int(uniform[i]), WORD - 1, rng))
    drawn[unclear] = np.where(first >> np.uint64(_TOP - 1), -sizes, sizes)
    return drawn


def part_words(count: int, bits: int, rng: Rng) -> NDArray[Any]:
    """Return whole numbers uniform below 2^bits, bits 16, 32 or 64, cut from as few words."""
    words = rng.words(-(-count * bits // WORD)).astype("<u8", copy=False)
    return words.view(f"<u{bits // 8}")[:count]


def _exactly(cumulative: Cumulative, law: Hashable, uniform: LazyUniform) -> int:
    while True:
        uniform.refine(2 * uniform.bits)
        low, high = cumulative(law, uniform.bits)
        least, most = bisect_right(high, uniform.prefix), bisect_right(low, uniform.prefix)
        if least == most < len(low):
            return least


@lru_cache(maxsize=32)
def _arrays(cumulative: Cumulative, law: Hashable) -> tuple[NDArray[np.uint64], ...]:
    return tuple(np.array(ends, dtype=np.uint64) for ends in cumulative(law, WORD - 1))


def _between(
    cumulative: Cumulative, law: Hashable, first: NDArray[np.uint64], last: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the size for uniforms whose 63 digits are from first to last, and where it is one."""
    low, high = _arrays(cumulative, law)
    least, most = high.searchsorted(first, side="right"), low.searchsorted(last, side="right")
    return least.astype(np.int64), (least == most) & (most < len(low))


@lru_cache(maxsize=32)
def _table(cumulative: Cumulative, law: Hashable) -> NDArray[np.int64]:
    """Return X after each 16 digits, and ``_OPEN`` where it depends on the following ones."""
    first = np.arange(2 ** (_TOP - 1), dtype=np.uint64) << np.uint64(_REST)
    sizes, clear = _between(cumulative, law, first, first + np.uint64(2**_REST - 1))
    return np.concatenate([np.where(clear, sign * sizes, _OPEN) for sign in (1, -1)])
