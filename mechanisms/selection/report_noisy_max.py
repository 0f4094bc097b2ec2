"""Report noisy max: the index of the largest noisy score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final, overload

import numpy as np
from numpy.typing import NDArray

from accountant import arguments
from accountant.arguments import Number
from accountant.errors import ParameterError
from accountant.guarantees.bounded_range import BoundedRange
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
from mechanisms.samplers.noisy_reals import NoisyReals, largest_of_rows
from mechanisms.samplers.rng import Rng
from mechanisms.samplers.sampler_arguments import scale as noise_scale
from mechanisms.selection.exponential import ExponentialMechanism
from mechanisms.selection.scores import (
    UNIT,
    in_parts,
    read_scores,
    require_monotone,
    score_assumptions,
)

Noise: TypeAlias = Literal["exponential", "laplace", "gumbel"]

NOISES: Final = ("exponential", "laplace", "gumbel")

MECHANISM_REPORT_NOISY_MAX: Final = Theorem(
    rule="mechanism/report-noisy-max",
    source="proofs/theory/path.md, Theorem 2",
)


@final
@dataclass(frozen=True, slots=True, init=False)
class ReportNoisyMax(Mechanism[R]):
    """Release the index of the largest score after adding independent noise to every score.

    The noise is exponential, Laplace or Gumbel of scale 2 sensitivity / epsilon, or sensitivity /
    epsilon for monotone scores, and is never rounded. Exponential noise is most often right;
    with it the law is that of permute-and-flip.

    Statement: if no score moves by more than Delta between neighbours, exponential or Laplace noise
        of scale b is (2 Delta/b)-metric-DP along paths of scores, and (Delta/b)-metric-DP if no
        two scores move in opposite directions: dominated by the Laplace pair. With Gumbel noise it
        is the exponential mechanism: epsilon-bounded-range.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: proofs/theory/path.md, Theorem 2; Dwork & Roth (2014), Section 3.3, for pure DP.

    Args:
        epsilon: nats, above 0.
        sensitivity: LInf, in the scores' unit: every candidate's exact score moves by at most
            this between neighbours.
        noise: "exponential", "laplace" or "gumbel".
        monotone: claim that no two scores move in opposite directions between neighbours; it
            halves the noise. Meaningless under replace-one, where it is refused.
        relation: the neighbouring relation that ``sensitivity`` speaks of.
        query: data -> one score per candidate, the candidates fixed in advance (``Scores`` builds
            one); None when the data is already the scores.
    Raises:
        ParameterError: a parameter outside its domain; on release, scores that are not a
            sequence of finite numbers.
    Example:
        >>> pick = ReportNoisyMax(epsilon=1)
        >>> pick.release([10, 0, 2000])
        2
    """

    epsilon: Fraction
    sensitivity: LInf
    noise: Noise
    monotone: bool
    relation: R
    query: Query | None

    @overload
    def __init__(
        self: ReportNoisyMax[AddRemove],
        *,
        epsilon: Number,
        sensitivity: LInf = UNIT,
        noise: Noise = "exponential",
        monotone: bool = False,
        query: Query | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: LInf = UNIT,
        noise: Noise = "exponential",
        monotone: bool = False,
        relation: R,
        query: Query | None = None,
    ) -> None: ...

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: LInf = UNIT,
        noise: Noise = "exponential",
        monotone: bool = False,
        relation: Relation = parameters.DEFAULT_RELATION,
        query: Query | None = None,
    ) -> None:
        if noise not in NOISES:
            raise ParameterError("noise", noise, f"one of {', '.join(NOISES)}")
        object.__setattr__(self, "relation", parameters.require_relation(relation))
        object.__setattr__(self, "epsilon", arguments.positive(epsilon=epsilon))
        object.__setattr__(self, "sensitivity", parameters.require_sensitivity(sensitivity, LInf))
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "monotone", require_monotone(monotone, self.relation))
        object.__setattr__(self, "query", require_query(query))
        noise_scale(scale=self.scale)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in the scores' unit."""
        return self.sensitivity.value * (1 if self.monotone else 2) / self.epsilon

    @property
    def acts_on_records(self) -> bool:
        """Whether the mechanism carries its query."""
        return self.query is not None

    def guarantee(self) -> MetricDP[R] | BoundedRange[R]:
        """State metric-DP along paths, or of Gumbel noise bounded range."""
        if self.noise == "gumbel":
            return self._gumbel().guarantee()
        derivation = applied(
            MECHANISM_REPORT_NOISY_MAX,
            f"the largest score with {self.noise} noise of scale {show(self.scale)} on "
            f"scores of sensitivity {show(self.sensitivity.value)} is {show(self.epsilon)}-metric-"
            f"DP along paths ({self.relation})",
            assumptions=score_assumptions(self.sensitivity, self.relation, monotone=self.monotone),
            noise=self.noise,
            scale=self.scale,
            sensitivity=self.sensitivity.value,
            monotone=self.monotone,
        )
        return MetricDP(epsilon=self.epsilon, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Indices of candidates, int64 of shape (datasets, count)."""
        if self.noise == "gumbel":
            return self._gumbel().draw(datasets, count, rng)
        signed = self.noise == "laplace"

        def some(row: NDArray[np.float64], size: int) -> NDArray[np.int64]:
            return noisy_maxima(row, size, self.scale, rng, signed=signed)

        return in_parts(read_scores(self.query, datasets), count, some)

    def _gumbel(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism, which is the largest score with Gumbel noise."""
        return ExponentialMechanism(
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
            relation=self.relation,
            query=self.query,
        )


def noisy_maxima(
    row: NDArray[np.float64], size: int, scale: Fraction, rng: Rng, *, signed: bool
) -> NDArray[np.int64]:
    """Return ``size`` independent positions of the largest score with Laplace or exponential noise.

    Example:
        >>> from mechanisms.samplers.rng import ReplayRng
        >>> noisy_maxima(np.array([0.0, 900.0]), 3, Fraction(1), ReplayRng(1), signed=True)
        array([1, 1, 1])
    """
    return largest_of_rows(NoisyReals(np.tile(row, size), scale, rng, signed=signed), len(row))
