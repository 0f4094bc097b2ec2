"""Metric differential privacy: the loss between two data is epsilon times their distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem, dominate_again
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, dominated
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION
from dpproof.accountant.guarantees.pair_guarantee import FaithfulPairGuarantee
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_METRIC_DP: Final = Theorem(
    rule="dominate/metric-dp",
    source="proofs/theory/path.md, Theorem 1",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class MetricDP(FaithfulPairGuarantee[R]):
    """Neighbours are the ends of a path of laws, between which the loss is bounded by distance.

    For all neighbours there are laws P_t, 0 <= t <= 1, of which P_1 and P_0 are the laws of the
    output on the two datasets. For all s, t and every event S, P_s(S) <= e^(epsilon |s - t|)
    P_t(S).
    The laws between need not be those of any dataset: of scores that noise is added to they are
    the laws at the points of the segment between the two score vectors.

    It says more than epsilon-DP, which is the case s, t = 0, 1: noise whose log density is not
    Lipschitz, integer noise and noise scaled by the data are epsilon-DP without being this.

    Source: proofs/theory/path.md; the metric is that of Chatzikokolakis, Andres, Bordenabe &
        Palamidessi (PETS 2013).

    Attributes:
        stated_epsilon: exact, at or above 0, nats.

    Example:
        >>> MetricDP(epsilon=1).stated_epsilon
        Fraction(1, 1)
    """

    stated_epsilon: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: MetricDP[AddRemove], *, epsilon: Number, derivation: Derivation | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, *, epsilon: Number, relation: R, derivation: Derivation | None = None
    ) -> None: ...
    def __init__(
        self,
        *,
        epsilon: Number,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee; without a derivation it is an assumption."""
        state(
            self,
            "metric-dp",
            relation,
            derivation,
            stated_epsilon=arguments.non_negative(epsilon=epsilon),
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-metric-DP along paths"

    def stated_points(self) -> Points:
        """Return (epsilon, 0): the ends of a path are at distance 1."""
        return ((self.stated_epsilon, Fraction(0)),)

    def to_pair(self) -> DominatingPair[R]:
        """Return the pair of two Laplace distributions of scale 1 shifted by epsilon.

        Statement: every event's mass p(t) along the path has p' <= epsilon min(p, 1 - p), so
            F^-1(p(1)) <= F^-1(p(0)) + epsilon, F the Laplace distribution function: the trade-off
            of a Laplace variable against itself shifted by epsilon, which has equality.
        Source: proofs/theory/path.md, Theorem 1.
        """
        epsilon = self.stated_epsilon
        statement = f"dominated by Laplace variables {show(epsilon)} scales apart"
        pair = LaplacePair(epsilon=epsilon) if epsilon > 0 else None
        return dominated(self, DOMINATE_METRIC_DP, statement, pair)
