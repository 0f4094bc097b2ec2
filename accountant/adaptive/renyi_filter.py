"""The privacy filter of Rényi differential privacy at one order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, cast, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.divergence_cost import divergence_cost
from dpproof.accountant.adaptive.privacy_filter import Costs, PrivacyFilter, require_within
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, renyi_order
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.side_conditions import SPENT_BEFORE
from dpproof.accountant.theorems.conversion.notion_to_rdp import notion_to_rdp

RENYI_FILTER: Final = Theorem(
    rule="filter/renyi",
    source="Feldman & Zrnic, arXiv:2008.11193; proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda premises, given: _whole(
        premises, (given["order"], given["epsilon"]), premises[0].relation
    ),
)


@final
class RenyiFilter(PrivacyFilter[R]):
    """A budget of Rényi divergence at one order that is fixed in advance.

    Statement: if every mechanism has Rényi divergence at most r_i at the order, given the outputs
        before it, r_i is chosen from those outputs alone, and sum_i r_i is at most epsilon on
        every path, then all outputs together have divergence at most epsilon at the order.
        The best of several orders may not be chosen at the end.
    Source: Feldman & Zrnic (arXiv:2008.11193). Proof: proofs/theory/filters.md.
    Rounds: up, where a divergence is computed; sums are exact rationals.
    Assumes: spent before.
    Laws: sharp: what ``compose`` says at the order of divergences fixed in advance.

    Args:
        order: above 1.
        epsilon: the budget, a divergence in nats, at or above 0.
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> from dpproof.accountant import ZCDP
        >>> budget = RenyiFilter(order=8, epsilon=1)
        >>> budget.spend(ZCDP(rho=0.0625))
        >>> budget.remaining
        Fraction(1, 2)
    """

    __slots__ = ("_order",)
    _UNITS = ("divergence",)

    _order: Fraction

    @overload
    def __init__(self: RenyiFilter[AddRemove], *, order: Number, epsilon: Number) -> None: ...
    @overload
    def __init__(self, *, order: Number, epsilon: Number, relation: R) -> None: ...
    def __init__(
        self, *, order: Number, epsilon: Number, relation: Relation = DEFAULT_RELATION
    ) -> None:
        self._order = renyi_order(order=order)
        self._begin(cast("R", relation), arguments.non_negative(epsilon=epsilon))

    @property
    def remaining(self) -> Fraction:
        """The divergence that is left, in nats, exactly."""
        return self._left[0]

    def guarantee(self) -> RDP[R]:
        """Return the whole budget at the order."""
        return _whole(self._admitted, (self._order, self._budget[0]), self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return notion_to_rdp(guarantee, orders=[self._order])

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return (divergence_cost(restated, self._order),)


def _whole(spent: Sequence[Guarantee[R]], point: tuple[Fraction, Fraction], relation: R) -> RDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    order, epsilon = point
    require_within(sum((divergence_cost(one, order) for one in spent), Fraction(0)), epsilon)
    derivation = applied(
        RENYI_FILTER,
        f"divergence {show(epsilon)} at order {show(order)}, whatever is spent",
        *spent,
        assumptions=(SPENT_BEFORE(),),
        order=order,
        epsilon=epsilon,
    )
    return RDP(points=(point,), relation=relation, derivation=derivation)
