"""Pure differential privacy."""

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
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_PURE_DP: Final = Theorem(
    rule="dominate/pure-dp",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.5",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class PureDP(FaithfulPairGuarantee[R]):
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
    def __init__(
        self: PureDP[AddRemove], *, epsilon: Number, derivation: Derivation | None = None
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
            "pure-dp",
            relation,
            derivation,
            stated_epsilon=arguments.non_negative(epsilon=epsilon),
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-DP"

    def stated_points(self) -> Points:
        """Return (epsilon, 0)."""
        return ((self.stated_epsilon, Fraction(0)),)

    def to_pair(self) -> DominatingPair[R]:
        """Return binary randomised response, which dominates every epsilon-DP mechanism.

        Statement: for every event P(S) <= e^eps Q(S) and P(S) <= 1 - e^{-eps} (1 - Q(S)), so the
            trade-off is at or above that of randomised response at eps, which has equality.
        Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.5 (due to Wasserman & Zhou);
            Kairouz, Oh & Viswanath (arXiv:1311.0776), Section 6.
        """
        epsilon = self.stated_epsilon
        statement = f"dominated by binary randomised response at {show(epsilon)}"
        pair = RandomizedResponsePair(epsilon=epsilon, categories=2) if epsilon > 0 else None
        return dominated(self, DOMINATE_PURE_DP, statement, pair)
