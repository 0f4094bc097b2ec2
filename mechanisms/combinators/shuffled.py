"""Local reports in a random order: the shuffle model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, ReplaceOne
from dpproof.accountant.sampling import Shuffle
from dpproof.accountant.theorems.conversion import pair_to_pure
from dpproof.accountant.theorems.parallel import shuffle_pure, shuffle_randomized_response
from dpproof.mechanisms.combinators.composed import OnBase
from dpproof.mechanisms.combinators.subsampled import records_of
from dpproof.mechanisms.local.randomized_response import RandomizedResponse
from dpproof.mechanisms.local.reports import Report
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers import permutation
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Shuffled(OnBase[R]):
    """A local mechanism on every record alone, in a random order; built by ``.shuffle``.

    An output is all reports in a uniformly random order; of randomised response it is how often
    each category was reported, which tells as much.

    Attributes:
        base: a local mechanism, stated under replace-one; each record is its value, or its query
            takes the value from a record.
        scheme: the public number of records.
    Laws: one record alone is the base; more of them cost less.
    Example:
        >>> flip = RandomizedResponse(epsilon=1, categories=3, relation=ReplaceOne())
        >>> int(flip.shuffle(Shuffle(records=5)).release([0, 2, 2, 1, 0]).sum())
        5
    """

    base: Mechanism[R]
    scheme: Shuffle

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError("base", self.base, "a mechanism")
        if not isinstance(self.scheme, Shuffle):
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
        """Draw outputs on one dataset."""
        listed = list(records) if isinstance(records, Sequence | np.ndarray) else []
        if len(listed) != self.scheme.records:
            raise DataError(
                "data", records, f"a sequence of {self.scheme.records} records, as Shuffle says"
            )
        reports = np.swapaxes(self.base.draw(listed, count, rng), 0, 1)
        if isinstance(self.base, RandomizedResponse):
            kinds = self.base.categories
            return np.stack([np.bincount(one, minlength=kinds) for one in reports])
        return np.stack([one[permutation(len(one), rng)] for one in reports])
