"""Bounded range: the privacy loss stays in an interval of known length."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem, dominate_again
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, dominated
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.ranges.pair import BoundedRangePair
from dpproof.accountant.ranges.renyi import divergence, smallest_rho
from dpproof.accountant.relation import AddRemove, R, Relation

_SOURCE = "docs/THEOREMS.md, BoundedRange.to_pair: the odds ratio of an event"


DOMINATE_BOUNDED_RANGE: Final = Theorem(
    rule="dominate/bounded-range",
    source=_SOURCE,
    attained=Attained.POINTS,  # two outputs, whose losses lie where the epsilon asks for them
    pointwise=True,
    again=dominate_again,
    lossless=False,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class BoundedRange(PairGuarantee[R]):
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
        self: BoundedRange[AddRemove], *, epsilon: Number, derivation: Derivation | None = None
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
            "bounded-range",
            relation,
            derivation,
            attained=Attained.POINTS,
            stated_epsilon=arguments.non_negative(epsilon=epsilon),
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-bounded-range"

    def stated_points(self) -> Points:
        """Return (epsilon, 0): the loss is at most the length of its range."""
        return ((self.stated_epsilon, Fraction(0)),)

    def _zcdp(self) -> Bound:
        """Return the smallest rho, decided by orders next to 1: about the largest KL divergence.

        Rounds: outwards. The pair's own rho is larger: for divergences a range says more than it.
        """
        return smallest_rho(self.stated_epsilon)

    def _rdp_at(self, order: float) -> Bound:
        """Enclose the largest divergence, that of a mechanism whose loss takes two values."""
        return divergence(self.stated_epsilon, order)

    def to_pair(self) -> DominatingPair[R]:
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
        return dominated(self, DOMINATE_BOUNDED_RANGE, statement, pair)
