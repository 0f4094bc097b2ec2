"""A mechanism on the batches of an epoch, to which a scheme allocates all records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.sampling import EpochScheme, ShuffledBatches
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.accountant.theorems.allocation import allocate_random
from dpproof.accountant.theorems.epochs import allocate_shuffled
from dpproof.mechanisms.batches import index_batches
from dpproof.mechanisms.combinators.subsampled import cut, records_of
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Allocated(Mechanism[R]):
    """The base mechanism once on every batch of a freshly drawn allocation; built by ``.allocate``.

    An output is the base's outputs on all batches, in their order, of all epochs for which the
    allocation is kept.

    Attributes:
        base: Gaussian noise, for shuffled batches on a sum whose sensitivity is an
            ``L2Contribution``; to run, it needs ``query=``.
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
    scheme: EpochScheme

    def __post_init__(self) -> None:
        """Refuse anything that is not a mechanism and a scheme."""
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        if not isinstance(self.scheme, EpochScheme):
            raise ParameterError(
                "scheme",
                self.scheme,
                "ShuffledBatches(...), RandomAllocation(...) or BallsInBins(...)",
                "schemes that draw a sample for every step go to subsample",
            )

    @property
    def relation(self) -> R:
        """Return the neighbouring relation of the base mechanism."""
        return self.base.relation

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of an epoch by the theorem for this scheme and relation.

        Raises:
            NotImplied: the base is no Gaussian noise, of shuffled batches no Gaussian sum, or no
                theorem covers the relation.
        """
        if not isinstance(self.scheme, ShuffledBatches):
            return allocate_random(self.base.guarantee(), self.scheme)
        if not isinstance(self.base, Gaussian):
            raise NotImplied(
                "shuffled batches have a guarantee for Gaussian sums alone, got "
                f"{type(self.base).__name__}; allocate Gaussian(sensitivity=L2Contribution(...))"
            )
        contribution = self.base.sensitivity
        if not isinstance(contribution, L2Contribution):
            raise NotImplied(
                "an L2 sensitivity says how far a sum moves when one record is added; where "
                "records change places every record's contribution matters: state "
                "sensitivity=L2Contribution(...)"
            )
        return allocate_shuffled(
            sigma=self.base.sigma, contribution=contribution, scheme=self.scheme
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw an allocation for every output, and the base once on each of its batches.

        Raises:
            ParameterError: the base acts on a value, the data is not records, or there are fewer
                of them than shuffled batches.
        """
        if not self.base.acts_on_records:
            raise ParameterError(
                "base",
                self.base,
                "a mechanism on records, in order to run on batches",
                "give its noise query=, a function from records to a value",
            )
        return np.stack(
            [[self._epoch(data, rng) for _ in range(count)] for data in map(records_of, datasets)]
        )

    def _epoch(self, records: object, rng: Rng) -> Outputs:
        """Draw one output."""
        listed = records_of(records)
        places = index_batches(self.scheme, records=len(listed), rng=rng)
        return self.base.draw([cut(listed, batch) for batch in places], 1, rng)[:, 0]
