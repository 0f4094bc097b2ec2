"""The exponential mechanism on the numbers of margin mistakes of public directions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, require_relation
from dpproof.accountant.sensitivity import LInf
from dpproof.accountant.theorems.composition.post_process import post_process
from dpproof.mechanisms.learning.grid import PRODUCT_BITS
from dpproof.mechanisms.learning.halfspace import signs
from dpproof.mechanisms.learning.records import GridRecords, on_grid
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import scale
from dpproof.mechanisms.selection.exponential import ExponentialMechanism


class MistakeExponential(Mechanism[R], ABC):
    """A learner that picks one of finitely many public directions by their mistakes.

    Statement: one record changes the number of mistakes of every direction by 0 or 1, under
        add-remove and zero-out all in the same direction, so the pick is epsilon-bounded-range.
    """

    __slots__ = ()

    margin: Fraction
    epsilon: Fraction
    norm: Fraction | None
    relation: R

    @property
    @abstractmethod
    def features(self) -> int | None:
        """How wide a row is."""

    @abstractmethod
    def _directions(self) -> NDArray[np.float64]:
        """The public directions, shape (directions, features)."""

    @abstractmethod
    def _mistakes(self, records: GridRecords, limit: float) -> NDArray[np.int64]:
        """Count the mistakes of every direction.

        Args:
            records: on the grid, classes 1 and 0 for the labels 1 and -1.
            limit: the margin, an integer in units of 2^-52 of the norm bound.
        Laws: exact: a sum over the records of 0 or 1, which the record and the direction decide.
        """

    @final
    def guarantee(self) -> Guarantee[R]:
        """State epsilon-bounded range of the direction that is looked up."""
        return post_process(
            fewest_mistakes(self.epsilon, self.relation).guarantee(),
            description="looking up the candidate of an index",
        )

    @final
    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        scores = [-self.mistakes(data) for data in datasets]
        picked = fewest_mistakes(self.epsilon, self.relation).draw(scores, count, rng)
        directions = self._directions()
        fields = [("index", np.int64), ("weights", np.float64, directions.shape[1:])]
        outputs = np.recarray(picked.shape, dtype=fields)
        outputs["index"], outputs["weights"] = picked, directions[picked]
        return np.asarray(outputs)

    @final
    def mistakes(self, data: object) -> NDArray[np.int64]:
        """How many records each direction is mistaken about, exactly.

        Raises:
            ParameterError: the data is not labelled rows of the right width.
        """
        unit = Fraction(1) if self.norm is None else self.norm
        norm = None if self.norm is None else float(self.norm)
        records = on_grid(data, signs, norm=norm, features=self.features)
        limit = math.floor(min(self.margin / unit, Fraction(2)) * 2**PRODUCT_BITS)
        return self._mistakes(records, float(limit))


def fewest_mistakes(epsilon: Fraction, relation: R) -> ExponentialMechanism[R]:
    """The exponential mechanism on the negative numbers of mistakes."""
    return ExponentialMechanism(
        epsilon=epsilon,
        sensitivity=LInf(1),
        monotone=not relation.symmetric,
        relation=relation,
    )


def checked(
    *, margin: object, epsilon: object, norm: object, relation: object
) -> dict[str, object]:
    """The parameters that these learners share, by their field names, each in its domain.

    Raises:
        ParameterError: one of them is not.
    """
    return {
        "margin": check.non_negative(margin=margin),
        "epsilon": check.positive(epsilon=epsilon),
        "norm": None if norm is None else scale(norm=norm),
        "relation": require_relation(relation),
    }
