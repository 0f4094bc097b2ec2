"""Approximate differential privacy at one point (epsilon, delta)."""

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
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_APPROX_DP: Final = Theorem(
    rule="dominate/approx-dp",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.5",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class ApproxDP(FaithfulPairGuarantee[R]):
    """(epsilon, delta)-DP: P(S) <= e^epsilon Q(S) + delta for all neighbours and every event S.

    Source: Dwork, Kenthapadi, McSherry, Mironov & Naor (EUROCRYPT 2006), Definition 1.

    Attributes:
        stated_epsilon: exact, at or above 0, nats.
        stated_delta: exact, in [0, 1].

    Example:
        >>> ApproxDP(epsilon=1, delta=0).stated_delta
        Fraction(0, 1)
    """

    stated_epsilon: Fraction
    stated_delta: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: ApproxDP[AddRemove],
        *,
        epsilon: Number,
        delta: Number,
        derivation: Derivation | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self, *, epsilon: Number, delta: Number, relation: R, derivation: Derivation | None = None
    ) -> None: ...
    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee; without a derivation it is an assumption."""
        exact = arguments.non_negative(epsilon=epsilon), arguments.probability(delta=delta)
        state(
            self, "approx-dp", relation, derivation, stated_epsilon=exact[0], stated_delta=exact[1]
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"({show(self.stated_epsilon)}, {show(self.stated_delta)})-DP"

    def stated_points(self) -> Points:
        """Return the one stated point."""
        return ((self.stated_epsilon, self.stated_delta),)

    def to_pair(self) -> DominatingPair[R]:
        """Return the pair that tells all with probability delta, else is randomised response.

        Statement: for every event P(S) <= e^eps Q(S) + delta and, from the other order on the
            complement, P(S) <= 1 - e^{-eps} (1 - delta - Q(S)); the smaller of the two is the
            power of the best test between P and Q of this pair.
        Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.5 (due to Wasserman & Zhou);
            Kairouz, Oh & Viswanath (arXiv:1311.0776), Section 6.
        """
        pair = self._pair() if self.stated_epsilon > 0 or self.stated_delta > 0 else None
        statement = f"dominated by the pair of {self.describe()}"
        return dominated(self, DOMINATE_APPROX_DP, statement, pair)

    def _pair(self) -> Pair:
        """Return randomised response with infinite mass delta.

        If epsilon is 0 or delta is 1 it is a pair of three outcomes.
        """
        delta = self.stated_delta
        if self.stated_epsilon > 0 and delta < 1:
            return RandomizedResponsePair(epsilon=self.stated_epsilon, infinite=delta)
        zero = Fraction(0)
        return FinitePair(p=(delta, 1 - delta, zero), q=(zero, 1 - delta, delta))
