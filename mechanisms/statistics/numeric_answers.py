"""The values of the queries that another mechanism has picked, with fresh noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Required, Unpack, final, overload

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, R, Relation, require_relation
from dpproof.accountant.sensitivity import JointSensitivity, LInf
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.chained import FollowUp
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import Arguments
from dpproof.mechanisms.queries import Query
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import scale as noise_scale
from dpproof.mechanisms.selection.scores import UNIT, read_scores


class _Arguments(Arguments, total=False):
    query: Required[Query]
    scale: Required[Number]
    sensitivity: LInf
    cutoff: int


@final
@dataclass(frozen=True, slots=True, init=False)
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
        relation: the neighbouring relation.
    Outputs:
        A noisy value for each position; 0 where the position is -1.
    Raises:
        ParameterError: a parameter outside its domain, or more positions than ``cutoff``.
    Example:
        >>> from dpproof.mechanisms import AboveThreshold, Chained
        >>> loads = lambda records: [sum(r > k for r in records) for k in (9, 5, 1)]
        >>> alarm = AboveThreshold(threshold_scale=1, query_scale=2, threshold=500, query=loads)
        >>> both = Chained(first=alarm, then=NumericAnswers(query=loads, scale=4))
        >>> place, size = both.release([3] * 1000)
        >>> int(place), abs(size - 1000) < 400
        (2, True)
    """

    query: Query
    scale: Fraction
    sensitivity: LInf
    cutoff: int
    relation: R

    @overload
    def __init__(self: NumericAnswers[AddRemove], **given: Unpack[_Arguments]) -> None: ...
    @overload
    def __init__(self, *, relation: R, **given: Unpack[_Arguments]) -> None: ...

    def __init__(
        self,
        *,
        query: Query,
        scale: Number,
        sensitivity: LInf = UNIT,
        cutoff: int = 1,
        relation: Relation = parameters.DEFAULT_RELATION,
    ) -> None:
        if not callable(query):
            raise ParameterError("query", query, "a function of the data")
        fields = {
            "query": query,
            "scale": noise_scale(scale=scale),
            "sensitivity": parameters.require_sensitivity(sensitivity, LInf),
            "cutoff": arguments.count(cutoff=cutoff),
            "relation": require_relation(relation),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

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
        few = JointSensitivity.few(coordinates=self.cutoff, each=self.sensitivity.value)
        return Laplace(scale=self.scale, sensitivity=few, relation=self.relation)
