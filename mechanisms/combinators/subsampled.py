"""A mechanism on a random sample of the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, R, ZeroOut
from dpproof.accountant.sampling import (
    OneStepScheme,
    Poisson,
    SamplingScheme,
    UserPoisson,
    WithoutReplacement,
)
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.accountant.theorems.subsampling import (
    subsample_counted_sum,
    subsample_poisson,
    subsample_without_replacement,
)
from dpproof.mechanisms.batches import is_about, sampled_indices
from dpproof.mechanisms.combinators.composed import OnBase
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers import permutation, poisson_mask
from dpproof.mechanisms.samplers.rng import Rng


@runtime_checkable
class Cuttable(Protocol):
    """Records that are kept in a form of their own, such as columns, and can be cut."""

    def __len__(self) -> int: ...

    def cut(self, indices: NDArray[np.int64]) -> object:
        """Return the records at these indices, in the same form."""
        ...


# Coins tossed at a time: bounds the memory of many samples of a large dataset.
_BATCH = 2**20


def draw_samples(
    data: object, scheme: SamplingScheme, count: int, rng: Rng, *, smaller: bool = False
) -> Iterator[list[Sequence[object] | NDArray[Any]]]:
    """Draw ``count`` independent samples of the records, in batches: lists of samples.

    Poisson samples keep the order of the records, others are in random order: else a record that
    takes the place of another moves those between, which a query may look at. ``smaller`` says
    whether a dataset of one record less than the population is another's neighbour, and a larger
    one is, too.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> scheme = WithoutReplacement(sample_size=2, population_size=3)
        >>> [len(sample) for sample in next(draw_samples([5, 6, 7], scheme, 4, ReplayRng(1)))]
        [2, 2, 2, 2]
    """
    records = records_of(data)
    size, take = len(records), _taking(records)
    if not (isinstance(scheme, Poisson | UserPoisson) or is_about(scheme, size, smaller=smaller)):
        raise DataError("data", data, f"{scheme.population_size} records")
    batch = max(1, _BATCH // max(1, size))
    for start in range(0, count, batch):
        rows = min(batch, count - start)
        match scheme:
            case Poisson():
                coins = poisson_mask(rows * size, scheme.sampling_rate, rng).reshape(rows, size)
                ends = np.append(0, np.cumsum(np.count_nonzero(coins, axis=1))).tolist()
                places = np.nonzero(coins)[1]
                chosen = [places[first:end] for first, end in pairwise(ends)]
            case _:
                drawn = [sampled_indices(scheme, size, rng) for _ in range(rows)]
                chosen = [places[permutation(places.size, rng)] for places in drawn]
        yield list(map(take, chosen))


def records_of(data: object) -> Sequence[object] | NDArray[Any] | Cuttable:
    """Return the data if it is records.

    Example:
        >>> records_of([1, 2])
        [1, 2]
    """
    if isinstance(data, Cuttable) or (isinstance(data, np.ndarray) and data.ndim >= 1):
        return data
    if isinstance(data, tuple) and len(data) == 2 and getattr(data[0], "ndim", 0) == 2:
        hint = "Records(X, y) makes them of columns"
        raise ParameterError("data", "two columns", "records", hint)
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return data
    allowed = "a sequence of records, or an array whose first axis is the records"
    raise DataError("data", data, allowed)


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


@final
@dataclass(frozen=True, slots=True)
class Subsampled(OnBase[R]):
    """The base mechanism on a fresh random sample for every output; built by ``.subsample``.

    A base that releases several outputs (a composition, a repetition) sees one sample for all of
    them. The sample itself, its size included, is not released.

    Attributes:
        base: a mechanism on records: to run, its noise needs ``query=``, defined on every sample
            (a Poisson sample can be empty).
        scheme: the scheme by which the records are drawn.
    Laws: at rate 1 this is the base; at full sample size, the base on records in random order.
    Example:
        >>> from dpproof.accountant.sensitivity import L1
        >>> from dpproof.mechanisms import Count, DiscreteLaplace
        >>> count = DiscreteLaplace(scale=2, sensitivity=L1(1), query=Count())
        >>> step = count.subsample(Poisson(sampling_rate=0.5))
        >>> isinstance(step.release(["ann", "bob", "eve"]), int)
        True
    """

    base: Mechanism[R]
    scheme: SamplingScheme

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        if not isinstance(self.scheme, SamplingScheme):
            raise ParameterError(
                "scheme",
                self.scheme,
                "Poisson(...), WithoutReplacement(...) or another scheme of one step",
                "a bare rate does not say how the records are drawn",
            )

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee, amplified by the theorem for this scheme and relation."""
        match self.scheme:
            case Poisson():
                if isinstance(self.base, Gaussian):
                    return self.base.on_poisson_sample(self.scheme)
                return subsample_poisson(self.base.guarantee(), self.scheme)
            case WithoutReplacement() if not isinstance(self.relation, AddRemove | ZeroOut):
                return subsample_without_replacement(self.base.guarantee(), self.scheme)
            case _:
                return self._of_counted_sum(self.scheme)

    def _of_counted_sum(self, scheme: OneStepScheme) -> Guarantee[R]:
        """Return the guarantee of a Gaussian sum whose records count several times, or move."""
        name = type(scheme).__name__
        if not isinstance(self.base, Gaussian):
            raise NotImplied(
                f"{name} has a guarantee under {self.relation} for Gaussian sums alone, got "
                f"{type(self.base).__name__}; sample Gaussian(sensitivity=L2Contribution(...))"
            )
        contribution = self.base.sensitivity
        if not isinstance(contribution, L2Contribution):
            raise NotImplied(
                "an L2 sensitivity says how far a sum moves when one record is added; where it "
                "counts several times, or takes another's place, every record's contribution "
                "matters: state sensitivity=L2Contribution(...)"
            )
        return subsample_counted_sum(
            sigma=self.base.sigma, contribution=contribution, scheme=scheme
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw one sample for every output, and the base once on each sample."""
        self._require_query("a sample")
        per_dataset, smaller = [], isinstance(self.relation, AddRemove)
        for data in datasets:
            batches = [
                self.base.draw(samples, 1, rng)[:, 0]
                for samples in draw_samples(data, self.scheme, count, rng, smaller=smaller)
            ]
            if any(batch.shape[1:] != batches[0].shape[1:] for batch in batches):
                raise ParameterError(
                    "query", [batch.shape[1:] for batch in batches], "of one shape on every sample"
                )
            per_dataset.append(np.concatenate(batches))
        return np.stack(per_dataset)
