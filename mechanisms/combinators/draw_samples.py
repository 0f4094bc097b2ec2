"""Random samples of records, with exactly the stated law."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sampling.scheme import SamplingScheme
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.mechanisms.samplers import poisson_mask, subset_without_replacement
from dpproof.mechanisms.samplers.rng import Rng


@runtime_checkable
class Cuttable(Protocol):
    """Records that are kept in a form of their own, such as columns, and can be cut."""

    def __len__(self) -> int:
        """How many records there are."""
        ...

    def cut(self, indices: NDArray[np.int64]) -> object:
        """The records at these indices, in the same form."""
        ...


# Coins tossed at a time: bounds the memory of many samples of a large dataset.
_BATCH = 2**20


def draw_samples(
    data: object, scheme: SamplingScheme, count: int, rng: Rng
) -> Iterator[list[Sequence[object] | NDArray[Any]]]:
    """Draw ``count`` independent samples of the records, in batches.

    Args:
        data: a sequence of records, or an array whose first axis is the records. A tuple of
            columns is not that: zip it into records first.
        scheme: Poisson (every record independently with exactly the stated rational rate) or
            WithoutReplacement (every subset of the stated size equally likely).
        count: how many samples.
        rng: source of words.
    Yields:
        Lists of samples; records keep their order. An array gives arrays, a sequence gives lists.
    Raises:
        ParameterError: the data is not a sequence of records, or not of the scheme's population.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> scheme = WithoutReplacement(sample_size=2, population_size=3)
        >>> [len(sample) for sample in next(draw_samples([5, 6, 7], scheme, 4, ReplayRng(1)))]
        [2, 2, 2, 2]
    """
    records = records_of(data)
    size, take = len(records), _taking(records)
    batch = max(1, _BATCH // max(1, size))
    for start in range(0, count, batch):
        rows = min(batch, count - start)
        match scheme:
            case Poisson():
                coins = poisson_mask(rows * size, scheme.sampling_rate, rng).reshape(rows, size)
                ends = np.append(0, np.cumsum(np.count_nonzero(coins, axis=1))).tolist()
                places = np.nonzero(coins)[1]
                chosen = [places[first:end] for first, end in pairwise(ends)]
            case WithoutReplacement():
                if size != scheme.population_size:
                    raise DataError("data", data, f"{scheme.population_size} records")
                wanted = scheme.sample_size
                chosen = [subset_without_replacement(size, wanted, rng) for _ in range(rows)]
        yield list(map(take, chosen))


def records_of(data: object) -> Sequence[object] | NDArray[Any] | Cuttable:
    """Return the data if it is records.

    Raises:
        ParameterError: it is not.
    Example:
        >>> records_of([1, 2])
        [1, 2]
    """
    if isinstance(data, Cuttable) or (isinstance(data, np.ndarray) and data.ndim >= 1):
        return data
    if isinstance(data, tuple) and len(data) == 2 and getattr(data[0], "ndim", 0) == 2:
        raise ParameterError(
            "data", "two columns", "records", "Records(X, y) makes them of columns"
        )
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return data
    raise DataError(
        "data", data, "a sequence of records, or an array whose first axis is the records"
    )


def cut(records: Sequence[object] | NDArray[Any] | Cuttable, indices: NDArray[np.int64]) -> Any:  # noqa: ANN401
    """Return the records at these indices, in the same form; a sequence gives a list.

    Example:
        >>> cut("abc", np.array([2, 0]))
        ['c', 'a']
    """
    return _taking(records)(indices)


def _taking(
    records: Sequence[object] | NDArray[Any] | Cuttable,
) -> Callable[[NDArray[np.int64]], Any]:
    """Return the function from indices to the records there."""
    if isinstance(records, Cuttable):
        return records.cut
    if isinstance(records, np.ndarray):
        return records.__getitem__
    return lambda indices: [records[i] for i in indices]
