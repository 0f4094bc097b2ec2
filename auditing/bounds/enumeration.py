"""Outputs whose exact law is known: no sampling, no error probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.auditing.counts.claim import Claim, Tangent

# The outputs may be anything hashable.
Law = Mapping[Any, Number]


@final
@dataclass(frozen=True, slots=True, init=False)
class Enumeration:
    """The privacy loss of one pair of datasets, from the exact probabilities of every output.

    Statement: for discrete laws P and Q, sup over S of P(S) - e^eps Q(S) = sum of
        max(P(y) - e^eps Q(y), 0). A claim is refuted when this exceeds the claimed delta(eps) at
        some eps, in either order; both sides are rigorous brackets, so a refutation is a proof.
        Not being refuted is a proof for a claim of one point, and says for a curve that it holds
        at the epsilons that were looked at: the log ratios of the outputs.
    Rounds: the loss down, the claim up.

    Args:
        first: output -> exact probability on D, summing to exactly 1.
        second: the same on D'.
    Example:
        >>> law = Enumeration({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: 0.25, 1: 0.75})
        >>> law.refutes((1, 0)) is not None, law.refutes((1.1, 0)) is None
        (True, True)
    """

    pair: DominatingPair[Any]

    def __init__(self, first: Law, second: Law) -> None:
        outputs = list(dict.fromkeys([*first, *second]))
        p, q = (
            tuple(arguments.probability(mass=law.get(output, 0)) for output in outputs)
            for law in (first, second)
        )
        forward = Product.of(FinitePair(p=p, q=q))
        object.__setattr__(
            self, "pair", DominatingPair(forward=forward, backward=forward.swapped())
        )

    def epsilon(self, *, delta: Number = 0) -> Bound:
        """The smallest epsilon of this pair, in the worse order."""
        return self.pair.epsilon(delta=delta)

    def delta(self, *, epsilon: Number) -> Bound:
        """The smallest delta of this pair, in the worse order."""
        return self.pair.delta(epsilon=epsilon)

    def refutes(self, claim: object) -> Tangent | None:
        """A point (epsilon, delta) of the claim that is false for this pair, None if none is."""
        stated = Claim.of(claim)
        for tangent in (self._point(stated), *stated.tangents()):
            if self.delta(epsilon=Fraction(tangent.epsilon)).lower > tangent.delta:
                return tangent
        return None

    def _point(self, claim: Claim) -> Tangent:
        epsilon = claim.epsilon
        return Tangent(epsilon, claim.guarantee.delta(epsilon=epsilon).upper, 0.0)
