"""The values of the queries that another mechanism has picked, with fresh noise."""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import JointSensitivity, LInf
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.chained import FollowUp
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import Query
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.scores import read_scores


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class NumericAnswers(FollowUp[R]):
    """Values of the queries at released positions, with Laplace noise of their own.

    Behind ``AboveThreshold``, in ``Chained``, this is the sparse vector technique with numeric
    answers; behind ``TopK`` or a choice it measures what was chosen.

    Statement: as many Laplace shifts by sensitivity/scale as there are positions at most: given the
        positions, so many fixed numbers are released that each move by at most the sensitivity.
    Source: adaptive composition as in ``Chained``; docs/shift-lemma.md.

    Args:
        query: data -> the values of all queries, as for the mechanism before.
        scale: of each answer's noise, in the queries' unit.
        sensitivity: LInf, of any one query.
        cutoff: the most positions that are released.
    Outputs:
        A noisy value for each position; 0 where the position is -1.
    Raises:
        ParameterError: a parameter outside its domain, or more positions than ``cutoff``.
    Example:
        >>> from dpproof.accountant import LInf
        >>> from dpproof.mechanisms import AboveThreshold, Chained
        >>> loads = lambda records: [sum(r > k for r in records) for k in (9, 5, 1)]
        >>> of = {"query": loads, "sensitivity": LInf(1)}
        >>> alarm = AboveThreshold(threshold_scale=1, query_scale=2, threshold=500, **of)
        >>> both = Chained(first=alarm, then=NumericAnswers(scale=4, **of))
        >>> place, size = both.release([3] * 1000)
        >>> int(place), abs(size - 1000) < 400
        (2, True)
    """

    query: Query = field(validator=parameters.function_of_data)
    scale: Fraction = field(converter=parameters.scale)
    sensitivity: LInf[R] = field(validator=parameters.norms(LInf))
    cutoff: int = field(default=1, converter=parameters.count)

    @property
    def relation(self) -> R:
        """Return the relation that the sensitivity speaks of."""
        return self.sensitivity.relation

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of one shift for each answer."""
        return self._noise().guarantee()

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw noisy values at the positions: float64 of the positions' shape."""
        values = read_scores(self.query, [data])[0]
        positions = np.asarray(outputs["0"] if outputs.dtype.names else outputs)  # or with gaps
        if positions.reshape(len(positions), -1).shape[1] > self.cutoff:
            raise ParameterError("cutoff", self.cutoff, f"at least {positions.shape[1]}, as before")
        there = positions >= 0
        exact = np.where(there, values[np.maximum(positions, 0)], 0.0)
        return np.where(there, self._noise().draw([exact], 1, rng)[0, 0], 0.0)

    def _noise(self) -> Laplace[R]:
        """Return the noise on all answers."""
        few = JointSensitivity.few(
            coordinates=self.cutoff, each=self.sensitivity.value, relation=self.relation
        )
        return Laplace(scale=self.scale, sensitivity=few)
