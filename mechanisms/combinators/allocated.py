"""A mechanism on the batches of an epoch, to which a scheme allocates all records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, R, ReplaceOne
from dpproof.accountant.sampling import (
    BallsInBins,
    CyclicPoisson,
    EpochScheme,
    RandomAllocation,
    ShuffledBatches,
)
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.accountant.theorems.allocation import (
    allocate_cyclic,
    allocate_random,
    allocate_shuffled,
    replace_allocated,
)
from dpproof.mechanisms.batches import index_batches, index_samples
from dpproof.mechanisms.combinators.composed import OnBase
from dpproof.mechanisms.combinators.subsampled import cut, records_of
from dpproof.mechanisms.correlated.factors import Triangular
from dpproof.mechanisms.correlated.matrix_mechanism import MatrixMechanism
from dpproof.mechanisms.correlated.participation import MinSeparation, SingleParticipation
from dpproof.mechanisms.correlated.sensitivity import squared_sensitivity
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng

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

    Attributes:
        base: Gaussian noise, for shuffled batches on a sum whose sensitivity is an
            ``L2Contribution``; to run, it needs ``query=``. A ``MatrixMechanism`` asks its query
            for the values of all rounds, on the list of their batches.
        scheme: the scheme that allocates the records to batches.
    Laws: with one batch and one epoch this is the base.
    Example:
        >>> from dpproof.accountant import L2Contribution, ZeroOut
        >>> noisy = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()), query=sum)
        >>> epoch = noisy.allocate(ShuffledBatches(batches=2))
        >>> epoch.release([0.5, -1.0, 0.25]).shape
        (2,)
    """

    base: Mechanism[R]
    scheme: EpochScheme | CyclicPoisson

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        if not isinstance(self.scheme, EpochScheme | CyclicPoisson):
            raise ParameterError(
                "scheme",
                self.scheme,
                "ShuffledBatches(...), RandomAllocation(...), BallsInBins(...) or "
                "CyclicPoisson(...)",
                "schemes that draw a sample for every step go to subsample",
            )

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of an epoch by the theorem for this scheme and relation."""
        if isinstance(self.scheme, CyclicPoisson):
            return _in_turn(self.base, self.scheme)
        if not isinstance(self.scheme, ShuffledBatches):
            return self._at_random(self.scheme)
        if not isinstance(self.base, Gaussian):
            raise NotImplied(
                "shuffled batches have a guarantee for Gaussian sums alone, got "
                f"{type(self.base).__name__}; allocate Gaussian(sensitivity=L2Contribution(...))"
            )
        contribution = _contribution(self.base)
        return allocate_shuffled(
            sigma=self.base.sigma, contribution=contribution, scheme=self.scheme
        )

    def _at_random(self, scheme: RandomAllocation | BallsInBins) -> Guarantee[Any]:
        """Return the guarantee of rounds that records draw; a replacement is two steps."""
        base = self.base
        if isinstance(self.relation, ReplaceOne) and isinstance(base, Gaussian):
            bound = L2Contribution(_contribution(base).bound, AddRemove())
            alone = Gaussian(sigma=base.sigma, sensitivity=bound).guarantee()
            return replace_allocated(allocate_random(alone, scheme))
        return allocate_random(base.guarantee(), scheme)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw an allocation for every output, and the base once on each of its batches."""
        self._require_query("batches")
        return np.stack(
            [[self._epoch(data, rng) for _ in range(count)] for data in map(records_of, datasets)]
        )

    def _epoch(self, records: object, rng: Rng) -> Outputs:
        """Draw one output."""
        listed = records_of(records)
        if isinstance(self.scheme, CyclicPoisson):
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


def _matrix(base: Mechanism[R], scheme: CyclicPoisson) -> MatrixMechanism[R]:
    """Return the base if records take part in it as the scheme lets them."""
    if not isinstance(base, MatrixMechanism) or not isinstance(base.factor, Triangular):
        raise NotImplied(
            "samples of parts in turn have a guarantee for a MatrixMechanism with a triangular "
            f"factor, got {type(base).__name__}; independent noise takes Poisson(...) samples"
        )
    if base.participation != MinSeparation(scheme.cycle):
        raise NotImplied(
            f"a record of a part takes part every {scheme.cycle} rounds: state "
            f"participation=MinSeparation({scheme.cycle}), got {base.participation!r}"
        )
    return base


def _in_turn(base: Mechanism[R], scheme: CyclicPoisson) -> Guarantee[R]:
    """Return the guarantee of all rounds, each on a sample of a part."""
    noise = _matrix(base, scheme)
    factor, contribution = noise.factor, _contribution(noise)
    once = SingleParticipation().within(factor.rounds)
    return allocate_cyclic(
        sigma=noise.sigma,
        contribution=contribution,
        scheme=scheme,
        rounds=factor.rounds,
        bands=factor.bands,
        column=squared_sensitivity(factor, once).value,
        factor=factor.kind,
        listed=factor.listed,
    )
