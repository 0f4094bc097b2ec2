"""What every privacy filter does: admit, spend, and refuse what is over the budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Final, Generic, final

from dpproof.accountant.adaptive.undivided import Undivided
from dpproof.accountant.errors import BudgetExceeded, NotCertified, NotImplied, RelationMismatch
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import require_single, required_guarantee
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R, require_relation

Costs = tuple[Fraction, ...]

NO_COST: Final = (
    "has no cost here that adds up whatever is chosen next, as sums of profiles do not: to stop "
    "where a composed profile crosses a target is not private. Spend convert(guarantee, "
    "to=ApproxDP, delta=...) in ApproxDP..., or a finite divergence in Renyi..."
)


class PrivacyFilter(Undivided, ABC, Generic[R]):
    """A budget for mechanisms that are chosen one by one, each after looking at earlier outputs.

    Spend a guarantee before its mechanism runs, and run only what was spent. Whatever is run under
    that rule, for however long and however it was chosen, satisfies ``guarantee()`` as a whole.
    That is more than ``compose`` says, which asks that everything be fixed in advance, and it is
    true only of notions whose costs add up along every path: there is no filter for dominating
    pairs and profiles, because to stop when a composed profile crosses the target is not private
    (proofs/theory/filters.md has a counter-example). Threads may spend from one filter; it
    is not copied, pickled or spent in a forked process. A certificate of ``guarantee()`` shows what
    was spent, and that it is within the budget.
    """

    __slots__ = ("_admitted", "_budget", "_relation", "_spent")

    _UNITS: ClassVar[tuple[str, ...]]  # of the parts of the budget, in their order

    _relation: R
    _budget: Costs
    _spent: Costs
    _admitted: list[Guarantee[R]]

    @final
    def __repr__(self) -> str:
        """Return the class, what is left of the budget, and the relation, on one line."""
        return f"<{type(self).__name__}: {self._rest()} left, {self._relation}>"

    @property
    @final
    def relation(self) -> R:
        """Which datasets are neighbours."""
        return self._relation

    @abstractmethod
    def guarantee(self) -> Guarantee[R]:
        """Return what everything run under the filter satisfies together."""

    @abstractmethod
    def _restated(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        """Return what a guarantee says in the filter's notion.

        Raises:
            NotImplied: it says nothing there.
        """

    @abstractmethod
    def _costs(self, restated: Guarantee[R]) -> Costs:
        """Return upper bounds of what it costs, one for each part of the budget."""

    @final
    def admits(self, guarantee: Guarantee[R]) -> bool:
        """Whether what is left of the budget covers a guarantee; changes nothing."""
        return all(
            cost <= left
            for cost, left in zip(self._costs(self._accepted(guarantee)), self._left, strict=True)
        )

    @final
    def spend(self, guarantee: Guarantee[R]) -> None:
        """Take the cost of one mechanism out of the budget, before it runs.

        Raises:
            BudgetExceeded: it costs more than is left; nothing changes.
            NotImplied: the guarantee says nothing in the filter's notion.
            RelationMismatch: it is about other neighbours.
            NotShared: the filter was made by another process.
        """
        restated = self._accepted(guarantee)
        costs = self._costs(restated)
        with self._alone():
            if any(cost > left for cost, left in zip(costs, self._left, strict=True)):
                raise BudgetExceeded(
                    f"{guarantee.describe()} costs {self._shown(costs)}, and {self._rest()} is "
                    "left; run something cheaper, or nothing"
                )
            self._spent = tuple(one + cost for one, cost in zip(self._spent, costs, strict=True))
            self._admitted.append(restated)

    @property
    @final
    def _left(self) -> Costs:
        return tuple(one - spent for one, spent in zip(self._budget, self._spent, strict=True))

    def _begin(self, relation: R, *budget: Fraction) -> None:
        """Keep the relation and the budget, with nothing spent."""
        require_relation(relation)
        self._own()
        self._relation, self._budget = relation, budget
        self._spent = tuple(Fraction(0) for _ in budget)
        self._admitted = []

    def _accepted(self, guarantee: Guarantee[R]) -> Guarantee[R]:
        """Return what a guarantee about the filter's neighbours, one step apart, says there."""
        required_guarantee(guarantee)
        require_single(guarantee, "a filter")
        if guarantee.relation != self._relation:
            raise RelationMismatch(
                f"the filter is about {self._relation} neighbours, the guarantee about "
                f"{guarantee.relation}; state every sensitivity under one relation"
            )
        try:
            return self._restated(guarantee)
        except NotImplied as refusal:
            raise NotImplied(f"{guarantee.describe()} {NO_COST}") from refusal

    def _rest(self) -> str:
        """Return what is left of each part of the budget as a person writes it."""
        return " and ".join(
            f"{unit} = {show(left)} of {show(whole)}"
            for unit, left, whole in zip(self._UNITS, self._left, self._budget, strict=True)
        )

    def _shown(self, costs: Costs) -> str:
        """Return the costs as a person writes them."""
        parts = zip(self._UNITS, costs, strict=True)
        return " and ".join(f"{unit} = {show(cost)}" for unit, cost in parts)


def require_within(spent: Fraction, budget: Fraction) -> None:
    """Refuse spends that cost more, as their certificates prove them, than they were admitted for.

    Raises:
        NotCertified: they are over the budget.
    """
    if spent > budget:
        raise NotCertified(
            f"what was spent is proved to cost {float(spent):.12g}, above the budget of "
            f"{float(budget):.12g} that it was admitted under; leave a little of the budget unspent"
        )
