"""Bounded losses: pure differential privacy, bounded range, and metric privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees import derivation as derivations, dominating_pair
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Proof, Theorem
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, state
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.ranges import BoundedRangePair, range_divergence, smallest_range_rho
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_PURE_DP: Final = Theorem(
    rule="dominate/pure-dp",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.5",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=derivations.dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class PureDP(dominating_pair.FaithfulPairGuarantee[R]):
    """epsilon-DP: P(S) <= e^epsilon Q(S) for all neighbours and every event S.

    Source: Dwork, McSherry, Nissim & Smith (TCC 2006), Definition 1.

    Attributes:
        stated_epsilon: exact, at or above 0, nats.

    Example:
        >>> PureDP(epsilon=1).stated_epsilon
        Fraction(1, 1)
    """

    stated_epsilon: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(self: PureDP[AddRemove], *, epsilon: Number, derivation: Proof = None) -> None: ...
    @overload
    def __init__(self, *, epsilon: Number, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self, *, epsilon: Number, relation: Relation = DEFAULT_RELATION, derivation: Proof = None
    ) -> None:
        exact = arguments.non_negative(epsilon=epsilon)
        state(self, "pure-dp", relation, derivation, stated_epsilon=exact)

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-DP"

    def stated_points(self) -> dominating_pair.Points:
        """Return (epsilon, 0)."""
        return ((self.stated_epsilon, Fraction(0)),)

    def to_pair(self) -> dominating_pair.DominatingPair[R]:
        """Return binary randomised response, which dominates every epsilon-DP mechanism.

        Statement: for every event P(S) <= e^eps Q(S) and P(S) <= 1 - e^{-eps} (1 - Q(S)), so the
            trade-off is at or above that of randomised response at eps, which has equality.
        Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.5 (due to Wasserman & Zhou);
            Kairouz, Oh & Viswanath (arXiv:1311.0776), Section 6.
        """
        epsilon = self.stated_epsilon
        statement = f"dominated by binary randomised response at {show(epsilon)}"
        pair = RandomizedResponsePair(epsilon=epsilon, categories=2) if epsilon > 0 else None
        return dominating_pair.dominated(self, DOMINATE_PURE_DP, statement, pair)


_SOURCE = "docs/THEOREMS.md, BoundedRange.to_pair: the odds ratio of an event"


DOMINATE_BOUNDED_RANGE: Final = Theorem(
    rule="dominate/bounded-range",
    source=_SOURCE,
    attained=Attained.POINTS,  # two outputs, whose losses lie where the epsilon asks for them
    pointwise=True,
    again=derivations.dominate_again,
    lossless=False,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class BoundedRange(dominating_pair.PairGuarantee[R]):
    """epsilon-bounded range: log P(y)/Q(y) stays in some interval [t, t + epsilon].

    The interval may depend on the two neighbours, not on the output y.

    Source: Durfee & Rogers (arXiv:1905.04273), Definition 4.1.

    Attributes:
        stated_epsilon: exact length of the interval, at or above 0, nats.

    Example:
        >>> BoundedRange(epsilon=1).stated_epsilon
        Fraction(1, 1)
    """

    stated_epsilon: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: BoundedRange[AddRemove], *, epsilon: Number, derivation: Proof = None
    ) -> None: ...
    @overload
    def __init__(self, *, epsilon: Number, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self, *, epsilon: Number, relation: Relation = DEFAULT_RELATION, derivation: Proof = None
    ) -> None:
        exact = arguments.non_negative(epsilon=epsilon)
        points = Attained.POINTS
        state(self, "bounded-range", relation, derivation, attained=points, stated_epsilon=exact)

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-bounded-range"

    def stated_points(self) -> dominating_pair.Points:
        """Return (epsilon, 0): the loss is at most the length of its range."""
        return ((self.stated_epsilon, Fraction(0)),)

    def _zcdp(self) -> Bound:
        """Return the smallest rho, decided by orders next to 1: about the largest KL divergence.

        Rounds: outwards. The pair's own rho is larger: for divergences a range says more than it.
        """
        return smallest_range_rho(self.stated_epsilon)

    def _rdp_at(self, order: float) -> Bound:
        """Enclose the largest divergence, that of a mechanism whose loss takes two values."""
        return range_divergence(self.stated_epsilon, order)

    def to_pair(self) -> dominating_pair.DominatingPair[R]:
        """Return the pair of two logistic distributions shifted by epsilon.

        Statement: logit P(S) <= logit Q(S) + eps for every event S, which is the trade-off of
            the logistic distribution against itself shifted by eps.
        Proof: P(S) <= e^{t + eps} Q(S) and 1 - P(S) >= e^t (1 - Q(S)); divide. For the shifted
            logistic the likelihood ratio is monotone, so the best events are half-lines
            {x > c}, and their logits are eps - c under P and -c under Q.
        Lossless: no pair is smaller, as every event's bound is met by a two-outcome mechanism of
            range eps; but the bound on the range itself is forgotten.
        """
        epsilon = self.stated_epsilon
        statement = f"dominated by logistic distributions {show(epsilon)} apart"
        pair = BoundedRangePair(epsilon=epsilon) if epsilon > 0 else None
        return dominating_pair.dominated(self, DOMINATE_BOUNDED_RANGE, statement, pair)


DOMINATE_METRIC_DP: Final = Theorem(
    rule="dominate/metric-dp",
    source="proofs/theory/path.md, Theorem 1",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=derivations.dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class MetricDP(dominating_pair.FaithfulPairGuarantee[R]):
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
        self: MetricDP[AddRemove], *, epsilon: Number, derivation: Proof = None
    ) -> None: ...
    @overload
    def __init__(self, *, epsilon: Number, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self, *, epsilon: Number, relation: Relation = DEFAULT_RELATION, derivation: Proof = None
    ) -> None:
        exact = arguments.non_negative(epsilon=epsilon)
        state(self, "metric-dp", relation, derivation, stated_epsilon=exact)

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-metric-DP along paths"

    def stated_points(self) -> dominating_pair.Points:
        """Return (epsilon, 0): the ends of a path are at distance 1."""
        return ((self.stated_epsilon, Fraction(0)),)

    def to_pair(self) -> dominating_pair.DominatingPair[R]:
        """Return the pair of two Laplace distributions of scale 1 shifted by epsilon.

        Statement: every event's mass p(t) along the path has p' <= epsilon min(p, 1 - p), so
            F^-1(p(1)) <= F^-1(p(0)) + epsilon, F the Laplace distribution function: the trade-off
            of a Laplace variable against itself shifted by epsilon, which has equality.
        Source: proofs/theory/path.md, Theorem 1.
        """
        epsilon = self.stated_epsilon
        statement = f"dominated by Laplace variables {show(epsilon)} scales apart"
        pair = LaplacePair(epsilon=epsilon) if epsilon > 0 else None
        return dominating_pair.dominated(self, DOMINATE_METRIC_DP, statement, pair)
