"""Records in blocks, for data beyond memory or beyond one machine: exact sums in any order."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np

from dpproof.accountant import ParameterError, PrivacyError, arguments
from dpproof.accountant.form import DataError, withholding

# Soundness: a sum of so many coordinates of size 2^24 stays below 2^53, exact in binary64.
MOST_RECORDS: Final = 2**29
# Numbers in a block that an array is cut into, and in what is worked on at a time, which fits a
# processor's cache. Heuristic.
_BLOCK: Final = 2**22
_PIECE: Final = 2**17


@final
class NeedsAllRecords(PrivacyError, TypeError):
    """A mechanism is given blocks, and what it computes is no sum over records."""


@final
class BlockError(PrivacyError, RuntimeError):
    """A block could not be read or added up, or its worker is gone; nothing was released."""


@final
@dataclass(frozen=True, slots=True)
class Sums:
    """The number of some records, and integers or arrays of them: sums over these records."""

    parts: tuple[Any, ...]

    def __add__(self, other: Sums) -> Sums:
        pairs = list(zip(self.parts, other.parts, strict=True))
        if any(np.shape(one) != np.shape(two) for one, two in pairs):
            raise DataError("blocks", None, "of rows of one width")
        return Sums(tuple(one + two for one, two in pairs))

    def __radd__(self, zero: int) -> Sums:
        return self


@final
@dataclass(frozen=True, slots=True, repr=False)
class Blocks:
    """Records in blocks that can be read again and again, in place of a dataset.

    Mechanisms whose exact part is a sum of bounded integers over records take them: the sum is the
    same bit for bit however records are cut, and wherever blocks are added up. Noise is drawn where
    ``release`` is called.

    Args:
        blocks: yields blocks, each what the mechanism takes, or a function that returns it where
            the block is added up.
        executor: adds the blocks up: any ``concurrent.futures.Executor``, or another object whose
            ``map(function, blocks)`` returns the sums of each block, or of several together, each
            block once, which is not checked. None adds them up here, one after the other.
        records: their number, if all are in memory: mechanisms that are no sums take them then.
    Example:
        >>> from dpproof.mechanisms import Count
        >>> Count()(Blocks([[1.5, 2.0], [3.0]]))
        3
    """

    blocks: Any
    executor: Any = None
    records: int | None = None
    reads: tuple[Callable[[Any], Any], ...] = ()

    def __post_init__(self) -> None:
        here = self.executor is None and not isinstance(self.blocks, Iterable)
        if here or isinstance(self.blocks, Iterator):
            allowed = "anything that yields its blocks again and again, such as a list"
            raise ParameterError("blocks", type(self.blocks).__name__, allowed)

    @classmethod
    def of(
        cls,
        *columns: Any,  # noqa: ANN401  # of numpy, scipy, pandas, polars or Dask
        size: int | None = None,
        executor: Any = None,  # noqa: ANN401  # as of the class
    ) -> Blocks:
        """Cut arrays, sparse matrices or frames into blocks of rows; those of Dask have theirs.

        ``columns`` are rows, and perhaps labels and weights. Without ``size`` a block is some 30 MB
        of float64. Dask adds up its own collections, on its workers.

        Example:
            >>> [len(block) for block in Blocks.of(np.zeros((5, 2)), size=2).blocks]
            [2, 2, 1]
        """
        if not columns or not all(isinstance(x, list) or hasattr(x, "shape") for x in columns):
            found = ", ".join(type(one).__name__ for one in columns) or "none"
            raise ParameterError("columns", found, "arrays, sparse matrices, frames or lists")
        lazy = hasattr(columns[0], "__dask_graph__")
        if lazy:
            columns = tuple(_partitions(one, columns[0]) for one in columns)
        sizes = {*map(_length, columns)}
        if len(sizes) > 1:
            raise ParameterError("columns", sorted(sizes), "of one length")
        if lazy:
            return cls(list(zip(*columns, strict=True)), _Dask)
        rows = arguments.count(size=size) if size is not None else _rows(columns[0], _BLOCK)
        apart = executor is not None or any(isinstance(one, np.memmap) for one in columns)
        return cls(_Slices(columns, rows), executor, None if apart else max(sizes))

    def map(self, read: Callable[[Any], Any]) -> Blocks:
        """Return blocks of what a function makes of these, read by it whenever they are."""
        return replace(self, reads=(*self.reads, read))

    def pieces(self) -> Iterator[Any]:
        """Yield what a mechanism reads of parts of the blocks, here."""
        return (self.read(piece) for block in self.blocks for piece in _pieces(block))

    def read(self, piece: Any) -> Any:  # noqa: ANN401
        """Return what a mechanism reads of a part of a block."""
        for read in self.reads:
            piece = read(piece)
        return piece

    def each(self, function: Callable[..., tuple[Any, ...]], *beside: Iterable[Any]) -> list[Sums]:
        """Return a function's sums over every block: the number of records, then integers.

        It is called with the records of a part of a block, and with the columns of the arrays
        ``beside``, one for each block, that belong to it.
        """
        task, results = _Task(function, replace(self, blocks=(), executor=None)), []
        try:
            mapped: Any = map if self.executor is None else self.executor.map
            results += mapped(task, self.blocks, *beside)
        except PrivacyError:
            raise
        except Exception as error:  # noqa: BLE001  # of a library, of a worker, of the blocks
            failed = type(error).__name__
        else:
            return results
        raise BlockError(
            f"the blocks were not added up, because of {failed} after {len(results)} of them; "
            "nothing was released: see that they can be read and their workers run, and try again"
        )

    @withholding
    def sum(self, function: Callable[..., tuple[Any, ...]], *beside: Iterable[Any]) -> Any:  # noqa: ANN401
        """Return a function's sums over all blocks; errors are those of ``each`` and ``added``."""
        return added(self.each(function, *beside))


def added(results: Sequence[Sums]) -> tuple[Any, ...]:
    """Return the sum of what ``Blocks.each`` returns."""
    if not results:
        raise ParameterError("blocks", 0, "at least one")
    total = sum(results[1:], start=results[0]).parts
    if total[0] > MOST_RECORDS:
        raise ParameterError("blocks", int(total[0]), f"of at most {MOST_RECORDS} records")
    return total


def number_of(records: Any) -> tuple[int]:  # noqa: ANN401  # of a block
    """Return how many records a part of a block has: as many as its first column has rows."""
    return (_length(records[0] if isinstance(records, tuple) else records),)


@final
@dataclass(frozen=True, slots=True)
class _Slices:
    """Slices of columns, made when they are asked for."""

    columns: tuple[Any, ...]
    rows: int

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, max(1, _length(self.columns[0])), self.rows):
            places = slice(start, start + self.rows)
            cut = tuple(getattr(one, "iloc", one)[places] for one in self.columns)
            yield cut if len(cut) > 1 else cut[0]


@final
@dataclass(frozen=True, slots=True)
class _Task:
    """A function of the records of a block, part by part; picklable if the function is."""

    function: Callable[..., tuple[Any, ...]]
    reader: Blocks

    def __call__(self, block: Any, *beside: Any) -> Sums:  # noqa: ANN401
        total, start = [], 0
        for piece in _pieces(block):
            sums = self._sums(piece, tuple(one[:, start:] for one in beside))
            total.append(Sums(sums))
            start += sums[0]
        return sum(total[1:], start=total[0])

    @withholding
    def _sums(self, data: Any, beside: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ANN401
        return self.function(self.reader.read(data), *beside)


@final
class _Dask:
    """Adds up Dask's blocks where they lie, by the scheduler that is active."""

    @staticmethod
    def map(function: Callable[..., Sums], *iterables: Any) -> Any:  # noqa: ANN401
        dask = importlib.import_module("dask")
        lazy = dask.delayed(function, pure=False)
        return dask.compute(*(lazy(*one) for one in zip(*iterables, strict=True)))


def _partitions(collection: Any, rows: Any) -> list[Any]:  # noqa: ANN401  # Dask's have no types
    """Return the parts of a Dask collection, an array's cut as the rows are."""
    if not hasattr(collection, "rechunk"):
        return list(collection.to_delayed())
    chunks = rows.chunks[0] if hasattr(rows, "rechunk") else collection.chunks[0]
    whole = {0: chunks, **({1: -1} if collection.ndim > 1 else {})}
    return list(collection.rechunk(whole).to_delayed().ravel())


def _pieces(block: Any) -> Iterable[Any]:  # noqa: ANN401
    """Read a block; cut arrays and frames into parts that fit a cache, and leave others whole."""
    given = block() if callable(block) else block
    columns = given if isinstance(given, tuple) else (given,)
    if not all(hasattr(one, "__getitem__") and hasattr(one, "shape") for one in columns):
        return (given,)
    if len({*map(_length, columns)}) > 1:
        raise DataError("blocks", None, "of columns of one length")
    return _Slices(columns, _rows(columns[0], _PIECE))


def _length(column: Any) -> int:  # noqa: ANN401
    return int(column.shape[0]) if hasattr(column, "shape") else len(column)


def _rows(column: Any, most: int) -> int:  # noqa: ANN401
    """Return how many rows have about so many numbers, of a sparse matrix of those it stores."""
    shape = getattr(column, "shape", (_length(column),))
    numbers = getattr(column, "size", None) or np.prod(shape, dtype=np.float64)
    return max(1, int(most * shape[0] / max(1, numbers)))
