"""What every privacy filter does: admit, spend, and refuse what is over the budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Generic, final

from accountant.errors import BudgetExceeded, RelationMismatch
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.preconditions import require_single, required_guarantee
from accountant.relation import R

Costs = tuple[Fraction, ...]


class PrivacyFilter(ABC, Generic[R]):
    """A budget for mechanisms that are chosen one by one, each after looking at earlier outputs.

    Spend a guarantee before its mechanism runs, and run only what was spent. Whatever is run under
    that rule, for however long and however it was chosen, satisfies ``guarantee()`` as a whole.
    That is more than ``compose`` says, which asks that everything be fixed in advance, and it is
    true only of notions whose costs add up along every path: there is no filter for dominating
    pairs and profiles, because to stop when a composed profile crosses the target is not private
    (proofs/theory/filters.md has a counter-example). A filter may be spent from one thread only.
    """

    __slots__ = ("_budget", "_relation", "_spent")

    _relation: R
    _budget: Costs
    _spent: Costs

    @property
    @final
    def relation(self) -> R:
        """Which datasets are neighbours."""
        return self._relation

    @abstractmethod
    def guarantee(self) -> Guarantee[R]:
        """Return what everything run under the filter satisfies together."""

    @abstractmethod
    def _costs(self, guarantee: Guarantee[R]) -> Costs:
        """Return upper bounds of what a guarantee costs, one for each part of the budget.

        Raises:
            NotImplied: the guarantee says nothing in the filter's notion.
        """

    @final
    def admits(self, guarantee: Guarantee[R]) -> bool:
        """Whether what is left of the budget covers a guarantee; changes nothing."""
        return all(
            cost <= left for cost, left in zip(self._cost(guarantee), self._left, strict=True)
        )

    @final
    def spend(self, guarantee: Guarantee[R]) -> None:
        """Take the cost of one mechanism out of the budget, before it runs.

        Raises:
            BudgetExceeded: it costs more than is left; nothing changes.
            NotImplied: the guarantee says nothing in the filter's notion.
            RelationMismatch: it is about other neighbours.
        """
        costs = self._cost(guarantee)
        if any(cost > left for cost, left in zip(costs, self._left, strict=True)):
            raise BudgetExceeded(
                f"{guarantee.describe()} costs {_shown(costs)}, and {_shown(self._left)} of "
                f"{_shown(self._budget)} is left; run something cheaper, or nothing"
            )
        self._spent = tuple(one + cost for one, cost in zip(self._spent, costs, strict=True))

    @property
    @final
    def _left(self) -> Costs:
        return tuple(one - spent for one, spent in zip(self._budget, self._spent, strict=True))

    def _begin(self, relation: R, *budget: Fraction) -> None:
        """Keep the relation and the budget, with nothing spent."""
        self._relation, self._budget = relation, budget
        self._spent = tuple(Fraction(0) for _ in budget)

    def _cost(self, guarantee: Guarantee[R]) -> Costs:
        """Return the costs of a guarantee about the filter's neighbours, one step apart."""
        required_guarantee(guarantee)
        require_single(guarantee, "a filter")
        if guarantee.relation != self._relation:
            raise RelationMismatch(
                f"the filter is about {self._relation} neighbours, the guarantee about "
                f"{guarantee.relation}; state every sensitivity under one relation"
            )
        return self._costs(guarantee)


def _shown(costs: Costs) -> str:
    """Return the costs as a person writes them."""
    return " and ".join(f"{float(cost):.6g}" for cost in costs)
