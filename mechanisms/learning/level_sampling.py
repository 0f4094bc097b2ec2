"""Draw from an exponential mechanism over many public directions, level by level.

Scores are numbers of mistakes, integers from 0 to n. A first pass counts how many candidates make
how many mistakes; then a number of mistakes is drawn, with its exact probability, and which of its
candidates it is, uniformly; a second pass over a small part of the candidates finds it. Memory
holds counts and never the candidates, and nothing is computed in floating point that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.learning.covers import Cover
from dpproof.mechanisms.learning.grid import PRODUCT_BITS, Vectors
from dpproof.mechanisms.samplers import categorical_exp, uniform_below
from dpproof.mechanisms.samplers.rng import Rng

Progress = Callable[[int, int], None]

# Entries of one block of products: it should stay in the fast memory of a core.
_ENTRIES: Final = 2**18
_ROWS: Final = 4096
# Parts of a block that are counted apart, so that the second pass is over one part.
_PARTS: Final = 64


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Candidates that have the same public prior weight, after one map of the records.

    Attributes:
        cover: the directions.
        signed: products y x of the mapped records, integers in units of 2^-24, shape (n, k).
        offset: number of the cover's first direction among all candidates.
        weight: the prior weight of each of them, above 0.
    """

    cover: Cover
    signed: Vectors
    offset: int
    weight: Fraction


@final
class Mistakes:
    """The numbers of mistakes y <w, x> <= 0 of a cover's directions, exactly."""

    __slots__ = ("_exact", "_flags", "_near", "_rough", "_slack", "paired")

    def __init__(self, signed: Vectors, *, paired: bool) -> None:
        """Keep the records in binary32 too: products of integers up to 2^24 are nearly exact."""
        self._exact = np.ascontiguousarray(signed.T)
        self._rough = self._exact.astype(np.float32)
        # Soundness: |x| <= 2^24 is exact in binary32 and |w| <= 2^28 is rounded once; with k
        # products and k - 1 sums in any order, by Cauchy and Schwarz, the error is at most
        # 1.1 (k + 2) 2^-24 ||x|| ||w|| as long as k < 2^20.
        width = self._exact.shape[0]
        self._slack = np.float32(1.25 * (width + 2) * 2.0 ** (PRODUCT_BITS - 24))
        self.paired = paired
        shape = self.rows, self._exact.shape[1]
        self._near, self._flags = np.empty(shape, np.float32), np.empty(shape, np.bool_)

    @property
    def rows(self) -> int:
        """Return the number of vectors that are looked at together."""
        return int(np.clip(_ENTRIES // max(self._exact.shape[1], 1), 16, _ROWS))

    def counts(self, vectors: Vectors) -> NDArray[np.int64]:
        """Count the mistakes of some directions on the grid, at most ``rows`` of them.

        Returns:
            One number for each vector w; if paired two, of w and of -w.
        Proof: a product beyond the error of binary32 has the sign of the exact one. Rows with any
            other product are counted again in binary64, where products are exact integers.
        """
        near, flags = self._near[: len(vectors)], self._flags[: len(vectors)]
        np.matmul(vectors.astype(np.float32), self._rough, out=near)
        wrong = _true_counts(np.less_equal(near, 0, out=flags))
        unclear = np.flatnonzero(np.abs(near, out=near).min(axis=1, initial=np.inf) <= self._slack)
        opposite = self._exact.shape[1] - wrong
        if len(unclear):
            products = vectors[unclear] @ self._exact
            wrong[unclear] = _true_counts(products <= 0)
            opposite[unclear] = _true_counts(products >= 0)
        if not self.paired:
            return wrong
        return np.stack([wrong, opposite], axis=1).reshape(-1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some directions of a block, and how many of them make how many mistakes.

    Attributes:
        block: the block of the directions.
        mistakes: the counter of mistakes.
        start: the first, by its number in the cover; even if paired.
        stop: one beyond the last.
        levels: the numbers of directions that make 0, 1, ..., n mistakes.
    """

    block: Block
    mistakes: Mistakes
    start: int
    stop: int
    levels: NDArray[np.int64]


def draw_candidates(
    blocks: Sequence[Block],
    *,
    factor: Fraction,
    count: int,
    rng: Rng,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """Draw numbers of candidates, each with probability exactly as its weight e^(-factor mistakes).

    Args:
        blocks: at least one, all on the records of one dataset.
        factor: above 0.
        count: the number of independent draws.
        rng: source of words.
        progress: called with the candidates counted so far and all of them.
    Law: P(c) = w_c e^(-factor m_c) / sum of the same over all candidates.
    Proof: N_(b, e) candidates of block b make e mistakes; the level (b, e) has probability
        N_(b, e) w_b e^(-factor e) over the total, and each of its candidates 1 / N_(b, e) of that.
    """
    parts = list(_parts(blocks, progress))
    scale = lcm(*(block.weight.denominator for block in blocks))
    levels: list[int] = []
    weights: list[int] = []
    owners: list[int] = []
    for owner, block in enumerate(blocks):
        total = sum(
            (part.levels for part in parts if part.block is block), start=np.zeros(1, np.int64)
        )
        present = np.flatnonzero(total)
        levels.extend(present.tolist())
        weights.extend(int(total[level]) * int(block.weight * scale) for level in present)
        owners.extend([owner] * len(present))
    drawn = categorical_exp(-np.array(levels), count, rng, factor=factor, multiplicities=weights)
    picked = np.empty(count, dtype=np.int64)
    for which in np.unique(drawn):
        places = np.flatnonzero(drawn == which)
        block, level = blocks[owners[which]], levels[which]
        own = [part for part in parts if part.block is block]
        number = int(sum(part.levels[level] for part in own))
        ranks = uniform_below(number, len(places), rng)
        picked[places] = _located(own, level, np.asarray(ranks, dtype=np.int64))
    return picked


def _parts(blocks: Sequence[Block], progress: Progress | None) -> Iterator[_Part]:
    """Yield the parts of all blocks, counted."""
    total, done = sum(block.cover.size for block in blocks), 0
    for block in blocks:
        mistakes = Mistakes(block.signed, paired=block.cover.paired)
        size = block.cover.size
        step = -(-size // (_PARTS * 2 * _ROWS)) * 2 * _ROWS
        for start in range(0, size, step):
            stop = min(start + step, size)
            levels = np.zeros(len(block.signed) + 1, dtype=np.int64)
            for counts, _ in _counted(block, mistakes, start, stop):
                levels += np.bincount(counts, minlength=len(levels))
            done += stop - start
            if progress is not None:
                progress(done, total)
            yield _Part(block, mistakes, start, stop, levels)


def _counted(
    block: Block, mistakes: Mistakes, start: int, stop: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the mistakes of the directions from start to stop, with the number of the first."""
    each = 2 if mistakes.paired else 1
    for low in range(start // each, -(-stop // each), _ROWS):
        high = min(low + _ROWS, -(-stop // each))
        vectors = block.cover.on_grid(low, high)
        for row in range(0, len(vectors), mistakes.rows):
            first = (low + row) * each
            counts = mistakes.counts(vectors[row : row + mistakes.rows])
            yield counts[: stop - first], first


def _located(parts: Sequence[_Part], level: int, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the candidates of a level with these ranks among all that make so many mistakes."""
    places = np.empty(len(ranks), dtype=np.int64)
    before = 0
    for part in parts:
        inside = (ranks >= before) & (ranks < before + part.levels[level])
        if inside.any():
            places[inside] = _within(part, level, np.asarray(ranks[inside] - before))
        before += int(part.levels[level])
    return places


def _within(part: _Part, level: int, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the candidates of a level with these ranks within one part, counting it again."""
    places = np.empty(len(ranks), dtype=np.int64)
    before, last = 0, int(ranks.max())
    for counts, first in _counted(part.block, part.mistakes, part.start, part.stop):
        equal = np.flatnonzero(counts == level)
        inside = (ranks >= before) & (ranks < before + len(equal))
        places[inside] = part.block.offset + first + equal[ranks[inside] - before]
        before += len(equal)
        if before > last:
            break
    return places


def _true_counts(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count what is true in each row; for a row at a time numpy has a fast way."""
    return np.array([np.count_nonzero(row) for row in table], dtype=np.int64)
