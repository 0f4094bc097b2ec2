"""A mechanism on random samples, on the batches of an epoch, or on each record alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol, cast, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import DataError, DominatingPair, Guarantee, L2Contribution, sampling
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import AddRemove, R, ReplaceOne, ZeroOut
from dpproof.accountant.theorems import allocation, subsampling
from dpproof.accountant.theorems.conversion import pair_to_pure
from dpproof.accountant.theorems.parallel import shuffle_pure, shuffle_randomized_response
from dpproof.mechanisms.batches import index_batches, index_samples, is_about, sampled_indices
from dpproof.mechanisms.combinators.composed import OnBase
from dpproof.mechanisms.correlated import factors
from dpproof.mechanisms.correlated.matrix_mechanism import MatrixMechanism
from dpproof.mechanisms.local.randomized_response import RandomizedResponse
from dpproof.mechanisms.local.reports import Report
from dpproof.mechanisms.mechanism import Mechanism, Outputs, required_base
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers import Rng, permutation, poisson_mask


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
    data: object, scheme: sampling.SamplingScheme, count: int, rng: Rng, *, smaller: bool = False
) -> Iterator[list[Sequence[object] | NDArray[Any]]]:
    """Draw ``count`` independent samples of the records, in batches: lists of samples."""
    # Poisson samples keep the order of the records, others are in random order: else a record that
    # takes the place of another moves those between. ``smaller``: one record less is a neighbour.
    records = records_of(data)
    size, take = len(records), _taking(records)
    if not (
        isinstance(scheme, sampling.Poisson | sampling.UserPoisson)
        or is_about(scheme, size, smaller=smaller)
    ):
        raise DataError("data", data, f"{scheme.population_size} records")
    batch = max(1, _BATCH // max(1, size))
    for start in range(0, count, batch):
        rows = min(batch, count - start)
        match scheme:
            case sampling.Poisson():
                coins = poisson_mask(rows * size, scheme.sampling_rate, rng).reshape(rows, size)
                ends = np.append(0, np.cumsum(np.count_nonzero(coins, axis=1))).tolist()
                places = np.nonzero(coins)[1]
                chosen = [places[first:end] for first, end in pairwise(ends)]
            case _:
                drawn = [sampled_indices(scheme, size, rng) for _ in range(rows)]
                chosen = [places[permutation(places.size, rng)] for places in drawn]
        yield list(map(take, chosen))


def records_of(data: object) -> Sequence[object] | NDArray[Any] | Cuttable:
    """Return the data if it is records."""
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
    """Return the records at these indices, in the same form; a sequence gives a list."""
    return _taking(records)(indices)


def _taking(
    records: Sequence[object] | NDArray[Any] | Cuttable,
) -> Callable[[NDArray[np.int64]], Any]:
    if isinstance(records, Cuttable):
        return records.cut
    if isinstance(records, np.ndarray):
        return records.__getitem__
    return lambda indices: [records[i] for i in indices]


@final
@dataclass(frozen=True, slots=True)
class Subsampled(OnBase[R]):
    """The base mechanism on a fresh random sample for every output; built by ``.subsample``.

    A base that releases several outputs sees one sample for all of them. The sample, its size
    included, is not released. To run, the base needs ``query=``, defined on every sample, also an
    empty one.

    Laws: at rate 1 this is the base; at full sample size, the base on records in random order.
    Example:
        >>> from dpproof.accountant import Poisson
        >>> from dpproof.accountant.sensitivity import L1
        >>> from dpproof.mechanisms import Count, DiscreteLaplace
        >>> count = DiscreteLaplace(scale=2, sensitivity=L1(1), query=Count())
        >>> step = count.subsample(Poisson(sampling_rate=0.5))
        >>> isinstance(step.release(["ann", "bob", "eve"]), int)
        True
    """

    base: Mechanism[R]
    scheme: sampling.SamplingScheme

    def __post_init__(self) -> None:
        required_base(self.base)
        if not isinstance(self.scheme, sampling.SamplingScheme):
            raise ParameterError(
                "scheme",
                self.scheme,
                "Poisson(...), WithoutReplacement(...) or another scheme of one step",
                "a bare rate does not say how the records are drawn",
            )

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee, amplified by the theorem for this scheme and relation."""
        match self.scheme:
            case sampling.Poisson():
                if isinstance(self.base, Gaussian):
                    return self.base.on_poisson_sample(self.scheme)
                return subsampling.subsample_poisson(self.base.guarantee(), self.scheme)
            case sampling.WithoutReplacement() if not isinstance(
                self.relation, AddRemove | ZeroOut
            ):
                return subsampling.subsample_without_replacement(self.base.guarantee(), self.scheme)
            case _:
                return self._of_counted_sum(self.scheme)

    def _of_counted_sum(self, scheme: sampling.OneStepScheme) -> Guarantee[R]:
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
        return subsampling.subsample_counted_sum(
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
                allowed = "of one shape on every sample"
                raise ParameterError("query", [batch.shape[1:] for batch in batches], allowed)
            per_dataset.append(np.concatenate(batches))
        return np.stack(per_dataset)


@final
@dataclass(frozen=True, slots=True)
class Shuffled(OnBase[R]):
    """A local mechanism on every record alone, in a random order; built by ``.shuffle``.

    An output is all reports in a uniformly random order; of randomised response it is how often
    each category was reported, which tells as much.

    The base is stated under replace-one; each record is its value, or its query takes the value
    from a record. The number of records is public.

    Laws: one record alone is the base; more of them cost less.
    Example:
        >>> from dpproof.accountant import Shuffle
        >>> flip = RandomizedResponse(epsilon=1, categories=3, relation=ReplaceOne())
        >>> int(flip.shuffle(Shuffle(records=5)).release([0, 2, 2, 1, 0]).sum())
        5
    """

    base: Mechanism[R]
    scheme: sampling.Shuffle

    def __post_init__(self) -> None:
        required_base(self.base)
        if not isinstance(self.scheme, sampling.Shuffle):
            raise ParameterError("scheme", self.scheme, "Shuffle(records=...)")

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the shuffled reports."""
        base, relation = self.base, self.base.relation
        if not isinstance(base, RandomizedResponse | Report):
            raise NotImplied(
                f"shuffled reports have a guarantee for local mechanisms, got "
                f"{type(base).__name__}; shuffle RandomizedResponse, UnaryEncoding or another one"
            )
        guarantee: Guarantee[ReplaceOne]
        if isinstance(base, RandomizedResponse):
            guarantee = shuffle_randomized_response(
                epsilon=base.epsilon,
                categories=base.categories,
                scheme=self.scheme,
                relation=cast("ReplaceOne", relation),
            )
        else:
            report = cast("DominatingPair[ReplaceOne]", base.guarantee())
            guarantee = shuffle_pure(pair_to_pure(report), scheme=self.scheme)
        return cast("Guarantee[R]", guarantee)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw a report of every record and a random order for every output."""
        return np.stack([self._outputs(records_of(data), count, rng) for data in datasets])

    def _outputs(self, records: object, count: int, rng: Rng) -> Outputs:
        listed = list(records) if isinstance(records, Sequence | np.ndarray) else []
        if len(listed) != self.scheme.records:
            allowed = f"a sequence of {self.scheme.records} records, as Shuffle says"
            raise DataError("data", records, allowed)
        reports = np.swapaxes(self.base.draw(listed, count, rng), 0, 1)
        if isinstance(self.base, RandomizedResponse):
            kinds = self.base.categories
            return np.stack([np.bincount(one, minlength=kinds) for one in reports])
        return np.stack([one[permutation(len(one), rng)] for one in reports])


_EVERY_RECORD: Final = (
    "an L2 sensitivity says how far a sum moves when one record is added; where records change "
    "places, or are drawn, every record's contribution matters"
)


@final
@dataclass(frozen=True, slots=True)
class Allocated(OnBase[R]):
    """The base mechanism once on every batch of a freshly drawn allocation; built by ``.allocate``.

    An output is the base's outputs on all batches, in their order, of all epochs for which the
    allocation is kept. Of a ``MatrixMechanism`` under ``CyclicPoisson`` it is the noisy values of
    all rounds.

    The base is Gaussian noise, for shuffled batches on a sum whose sensitivity is an
    ``L2Contribution``; to run, it needs ``query=``. A ``MatrixMechanism`` asks its query for the
    values of all rounds, on the list of their batches.

    Laws: with one batch and one epoch this is the base.
    Example:
        >>> from dpproof.accountant import ShuffledBatches
        >>> from dpproof.accountant import L2Contribution, ZeroOut
        >>> noisy = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()), query=sum)
        >>> epoch = noisy.allocate(ShuffledBatches(batches=2))
        >>> epoch.release([0.5, -1.0, 0.25]).shape
        (2,)
    """

    base: Mechanism[R]
    scheme: sampling.EpochScheme | sampling.CyclicPoisson

    def __post_init__(self) -> None:
        required_base(self.base)
        if not isinstance(self.scheme, sampling.EpochScheme | sampling.CyclicPoisson):
            raise ParameterError(
                "scheme",
                self.scheme,
                (
                    "ShuffledBatches(...), RandomAllocation(...), BallsInBins(...) or "
                    "CyclicPoisson(...)"
                ),
                "schemes that draw a sample for every step go to subsample",
            )

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of an epoch by the theorem for this scheme and relation."""
        if isinstance(self.scheme, sampling.CyclicPoisson):
            return _in_turn(self.base, self.scheme)
        if not isinstance(self.scheme, sampling.ShuffledBatches):
            return self._at_random(self.scheme)
        if not isinstance(self.base, Gaussian):
            raise NotImplied(
                "shuffled batches have a guarantee for Gaussian sums alone, got "
                f"{type(self.base).__name__}; allocate Gaussian(sensitivity=L2Contribution(...))"
            )
        contribution = _contribution(self.base)
        return allocation.allocate_shuffled(
            sigma=self.base.sigma, contribution=contribution, scheme=self.scheme
        )

    def _at_random(
        self, scheme: sampling.RandomAllocation | sampling.BallsInBins
    ) -> Guarantee[Any]:
        """Return the guarantee of rounds that records draw; a replacement is two steps."""
        base = self.base
        if isinstance(self.relation, ReplaceOne) and isinstance(base, Gaussian):
            bound = L2Contribution(_contribution(base).bound, AddRemove())
            alone = Gaussian(sigma=base.sigma, sensitivity=bound).guarantee()
            return allocation.replace_allocated(allocation.allocate_random(alone, scheme))
        return allocation.allocate_random(base.guarantee(), scheme)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw an allocation for every output, and the base once on each of its batches."""
        self._require_query("batches")
        return np.stack(
            [[self._epoch(data, rng) for _ in range(count)] for data in map(records_of, datasets)]
        )

    def _epoch(self, records: object, rng: Rng) -> Outputs:
        listed = records_of(records)
        if isinstance(self.scheme, sampling.CyclicPoisson):
            base = _matrix(self.base, self.scheme)
            rounds, size = base.factor.rounds, len(listed)
            samples = index_samples(self.scheme, records=size, steps=rounds, rng=rng)
            drawn: Outputs = base.draw([[cut(listed, sample) for sample in samples]], 1, rng)[0, 0]
            return drawn
        places = index_batches(self.scheme, records=len(listed), rng=rng)
        return self.base.draw([cut(listed, batch) for batch in places], 1, rng)[:, 0]


def _contribution(noise: Gaussian[R] | MatrixMechanism[R]) -> L2Contribution[R]:
    """Return the bound on every record's contribution; refuse a sensitivity."""
    if not isinstance(noise.sensitivity, L2Contribution):
        raise NotImplied(f"{_EVERY_RECORD}: state sensitivity=L2Contribution(...)")
    return noise.sensitivity


def _matrix(base: Mechanism[R], scheme: sampling.CyclicPoisson) -> MatrixMechanism[R]:
    """Return the base if records take part in it as the scheme lets them."""
    if not isinstance(base, MatrixMechanism) or not isinstance(base.factor, factors.Triangular):
        raise NotImplied(
            "samples of parts in turn have a guarantee for a MatrixMechanism with a triangular "
            f"factor, got {type(base).__name__}; independent noise takes Poisson(...) samples"
        )
    if base.participation != factors.MinSeparation(scheme.cycle):
        raise NotImplied(
            f"a record of a part takes part every {scheme.cycle} rounds: state "
            f"participation=MinSeparation({scheme.cycle}), got {base.participation!r}"
        )
    return base


def _in_turn(base: Mechanism[R], scheme: sampling.CyclicPoisson) -> Guarantee[R]:
    noise = _matrix(base, scheme)
    factor, contribution = noise.factor, _contribution(noise)
    once = factors.SingleParticipation().within(factor.rounds)
    return allocation.allocate_cyclic(
        sigma=noise.sigma,
        contribution=contribution,
        scheme=scheme,
        rounds=factor.rounds,
        bands=factor.bands,
        column=factors.squared_sensitivity(factor, once).value,
        factor=factor.kind,
        listed=factor.listed,
    )
