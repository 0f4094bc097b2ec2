"""The privacy filter of Gaussian differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, cast, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.privacy_filter import Costs, PrivacyFilter, require_within
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.side_conditions import SPENT_BEFORE
from dpproof.accountant.theorems.conversion.convert import convert

GDP_FILTER: Final = Theorem(
    rule="filter/gdp",
    source="Smith & Thakurta, arXiv:2210.17520; proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    again=lambda premises, given: _whole(premises, given["mu_squared"], premises[0].relation),
)


@final
class GDPFilter(PrivacyFilter[R]):
    """A budget of mu-GDP.

    Statement: if every mechanism is mu_i-GDP given the outputs before it, mu_i is chosen from
        those outputs alone, and sum_i mu_i^2 is at most mu^2 on every path, then all outputs
        together are mu-GDP.
    Source: Smith & Thakurta (arXiv:2210.17520). Proof: proofs/theory/filters.md.
    Rounds: up, where a guarantee of another notion is converted; sums are exact rationals.
    Assumes: spent before.
    Laws: sharp: what ``compose`` says of the same mu_i fixed in advance.

    Args:
        mu: the budget, at or above 0.
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> budget = GDPFilter(mu=5)
        >>> budget.spend(GDP(mu=3))
        >>> budget.remaining
        Fraction(16, 1)
        >>> budget.admits(GDP(mu=4))
        True
    """

    __slots__ = ()
    _UNITS = ("μ²",)

    @overload
    def __init__(self: GDPFilter[AddRemove], *, mu: Number) -> None: ...
    @overload
    def __init__(self, *, mu: Number, relation: R) -> None: ...
    def __init__(self, *, mu: Number, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation), arguments.non_negative(mu=mu) ** 2)

    @property
    def remaining(self) -> Fraction:
        """The square of mu that is left, exactly."""
        return self._left[0]

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP for the whole budget."""
        return _whole(self._admitted, self._budget[0], self.relation)

    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        return convert(guarantee, to=GDP)

    def _costs(self, restated: Guarantee[R]) -> Costs:
        return (convert(restated, to=GDP).mu_squared,)


def _whole(spent: Sequence[Guarantee[R]], squared: Fraction, relation: R) -> GDP[R]:
    """Return the guarantee of a budget from which something was spent."""
    require_within(sum((convert(one, to=GDP).mu_squared for one in spent), Fraction(0)), squared)
    derivation = applied(
        GDP_FILTER,
        f"{show(sqrt_up(squared))}-GDP, whatever is spent",
        *spent,
        assumptions=(SPENT_BEFORE(),),
        mu_squared=squared,
    )
    return GDP(mu_squared=squared, relation=relation, derivation=derivation)
