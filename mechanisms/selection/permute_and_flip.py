"""Permute-and-flip: the first candidate in random order that accepts by its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final, overload

import numpy as np
from numpy.typing import NDArray

from accountant import arguments
from accountant.arguments import Number
from accountant.guarantees.metric_dp import MetricDP
from accountant.guarantees.provenance import applied
from accountant.guarantees.rounding import show
from accountant.guarantees.theorem import Theorem
from accountant.relation import AddRemove, R, Relation
from accountant.sensitivity import LInf
from mechanisms import parameters
from mechanisms.mechanism import Mechanism
from mechanisms.outputs import Outputs
from mechanisms.queries.query import Query, require_query
from mechanisms.samplers.rng import Rng
from mechanisms.samplers.sampler_arguments import scale as noise_scale
from mechanisms.selection.report_noisy_max import noisy_maxima
from mechanisms.selection.scores import (
    UNIT,
    in_parts,
    read_scores,
    require_monotone,
    score_assumptions,
)

MECHANISM_PERMUTE_AND_FLIP: Final = Theorem(
    rule="mechanism/permute-and-flip",
    source="proofs/theory/path.md, Theorem 2",
)


@final
@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip(Mechanism[R]):
    """Go through the candidates in random order, and release the first whose coin says so.

    The coin of a candidate of score u is heads with probability e^((u - largest score)/b), b = 2
    sensitivity / epsilon, or sensitivity / epsilon for monotone scores. It is never worse than the
    exponential mechanism in expected score. Its law is that of report noisy max with exponential
    noise, from which it is drawn.

    Statement: if no score moves by more than Delta between neighbours, it is
        (2 Delta/b)-metric-DP along paths of scores, and (Delta/b)-metric-DP if no two scores move
        in opposite directions: dominated by the Laplace pair, whose profile two candidates attain.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: proofs/theory/path.md, Theorem 2; McKenna & Sheldon (arXiv:2010.12603) for the mechanism
        and pure DP; Ding et al. (arXiv:2105.07260) for the noise.

    Args:
        epsilon: nats, above 0.
        sensitivity: LInf, in the scores' unit: every candidate's exact score moves by at most
            this between neighbours.
        monotone: claim that no two scores move in opposite directions between neighbours; it
            halves the noise. Meaningless under replace-one, where it is refused.
        relation: the neighbouring relation that ``sensitivity`` speaks of.
        query: data -> one score per candidate, the candidates fixed in advance (``Scores`` builds
            one); None when the data is already the scores.
    Raises:
        ParameterError: a parameter outside its domain; on release, scores that are not a
            sequence of finite numbers.
    Example:
        >>> pick = PermuteAndFlip(epsilon=1)
        >>> pick.release([10, 0, 2000])
        2
    """

    epsilon: Fraction
    sensitivity: LInf
    monotone: bool
    relation: R
    query: Query | None

    @overload
    def __init__(
        self: PermuteAndFlip[AddRemove],
        *,
        epsilon: Number,
        sensitivity: LInf = UNIT,
        monotone: bool = False,
        query: Query | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: LInf = UNIT,
        monotone: bool = False,
        relation: R,
        query: Query | None = None,
    ) -> None: ...

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: LInf = UNIT,
        monotone: bool = False,
        relation: Relation = parameters.DEFAULT_RELATION,
        query: Query | None = None,
    ) -> None:
        object.__setattr__(self, "relation", parameters.require_relation(relation))
        object.__setattr__(self, "epsilon", arguments.positive(epsilon=epsilon))
        object.__setattr__(self, "sensitivity", parameters.require_sensitivity(sensitivity, LInf))
        object.__setattr__(self, "monotone", require_monotone(monotone, self.relation))
        object.__setattr__(self, "query", require_query(query))
        noise_scale(scale=self.scale)

    @property
    def scale(self) -> Fraction:
        """What divides differences of scores in a coin's exponent, in the scores' unit."""
        return self.sensitivity.value * (1 if self.monotone else 2) / self.epsilon

    @property
    def acts_on_records(self) -> bool:
        """Whether the mechanism carries its query."""
        return self.query is not None

    def guarantee(self) -> MetricDP[R]:
        """State metric-DP along paths."""
        derivation = applied(
            MECHANISM_PERMUTE_AND_FLIP,
            f"permute-and-flip with coins of scale {show(self.scale)} on "
            f"scores of sensitivity {show(self.sensitivity.value)} is {show(self.epsilon)}-metric-"
            f"DP along paths ({self.relation})",
            assumptions=score_assumptions(self.sensitivity, self.relation, monotone=self.monotone),
            scale=self.scale,
            sensitivity=self.sensitivity.value,
            monotone=self.monotone,
        )
        return MetricDP(epsilon=self.epsilon, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Indices of candidates, int64 of shape (datasets, count)."""

        def some(row: NDArray[np.float64], size: int) -> NDArray[np.int64]:
            return noisy_maxima(row, size, self.scale, rng, signed=False)

        return in_parts(read_scores(self.query, datasets), count, some)
