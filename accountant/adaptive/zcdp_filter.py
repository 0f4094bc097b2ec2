"""The privacy filter of zero-concentrated differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, cast, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.privacy_filter import Costs, PrivacyFilter, require_within
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.side_conditions import SPENT_BEFORE
from dpproof.accountant.theorems.conversion.convert import convert

ZCDP_FILTER: Final = Theorem(
    rule="filter/zcdp",
    source="Whitehouse, Ramdas, Rogers & Wu, arXiv:2203.05481; proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda premises, given: _whole(premises, given["rho"], premises[0].relation),
)


@final
class ZCDPFilter(PrivacyFilter[R]):
    """A budget of rho-zCDP.

    Statement: if every mechanism is rho_i-zCDP given the outputs before it, rho_i is chosen from
        those outputs alone, and sum_i rho_i is at most rho on every path, then all outputs
        together are rho-zCDP.
    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481); Feldman & Zrnic
        (arXiv:2008.11193), order by order. Proof: proofs/theory/filters.md.
    Rounds: up, where a guarantee of another notion is converted; sums are exact rationals.
    Assumes: spent before.
    Laws: sharp: what ``compose`` says of the same rho_i fixed in advance.

    Args:
        rho: the budget, at or above 0.
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> budget = ZCDPFilter(rho=0.5)
        >>> budget.spend(ZCDP(rho=0.375))
        >>> budget.remaining
        Fraction(1, 8)
        >>> budget.admits(ZCDP(rho=0.25))
        False
    """

    __slots__ = ()
    _UNITS = ("ρ",)

    @overload
    def __init__(self: ZCDPFilter[AddRemove], *, rho: Number) -> None: ...
    @overload
    def __init__(self, *, rho: Number, relation: R) -> None: ...
    def __init__(self, *, rho: Number, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation), arguments.non_negative(rho=rho))

    @property
    def remaining(self) -> Fraction:
        """The rho that is left, exactly."""
        return self._left[0]

    def guarantee(self) -> ZCDP[R]:
        """Return rho-zCDP for the whole budget."""
        return _whole(self._admitted, self._budget[0], self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return convert(guarantee, to=ZCDP)

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return (convert(restated, to=ZCDP).rho,)


def _whole(spent: Sequence[Guarantee[R]], rho: Fraction, relation: R) -> ZCDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    require_within(sum((convert(one, to=ZCDP).rho for one in spent), Fraction(0)), rho)
    derivation = applied(
        ZCDP_FILTER,
        f"{show(rho)}-zCDP, whatever is spent",
        *spent,
        assumptions=(SPENT_BEFORE(),),
        rho=rho,
    )
    return ZCDP(rho=rho, relation=relation, derivation=derivation)
