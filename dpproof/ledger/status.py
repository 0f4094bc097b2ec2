"""What is spent and what is left, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from accountant import Guarantee
from accountant.relation import Relation
from dpproof.ledger import budget
from dpproof.ledger.budget import Costs


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One way of spending a budget.

    Attributes:
        limit: of the sums, exactly: epsilon and delta, or rho, or mu squared, or a divergence.
        spent: the sums so far, reservations included.
        open: whether it has admitted everything that was spent.
    """

    limit: Costs
    spent: Costs
    open: bool

    @property
    def remaining(self) -> Costs:
        """What is left."""
        return tuple(a - b for a, b in zip(self.limit, self.spent, strict=True))


@final
@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One budget.

    Attributes:
        dataset: on which it is; None for all.
        principal: whose it is; None for everybody.
        guarantee: what everything spent from it satisfies together.
        ways: how it may be spent; before the first spend of (epsilon, delta) there is none.
    """

    dataset: str | None
    principal: str | None
    guarantee: Guarantee[Relation]
    ways: Mapping[str, Part]

    @property
    def remaining(self) -> Fraction:
        """The largest part of the budget, from 0 to 1, that is left in some way."""
        if not self.ways:
            return Fraction(1)
        shares = [
            min(
                (
                    left / limit
                    for left, limit in zip(way.remaining, way.limit, strict=True)
                    if limit
                ),
                default=Fraction(0),
            )
            for way in self.ways.values()
            if way.open
        ]
        return max(shares, default=Fraction(0))


@final
@dataclass(frozen=True, slots=True)
class Status:
    """A ledger at one time.

    Attributes:
        relation: which datasets are neighbours.
        budgets: each with what is spent.
        committed: keys of the spends that are done.
        pending: keys that are reserved, and neither committed nor released.
        entries: how many entries there are.
        head: the hash of the last one. Whoever keeps it elsewhere can tell that entries were taken
            off the end: ``verify(head=…)``.
    """

    relation: Relation
    budgets: tuple[BudgetStatus, ...]
    committed: tuple[str, ...]
    pending: tuple[str, ...]
    entries: int
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON, rationals as text."""
        return {
            "relation": str(self.relation),
            "budgets": [
                {
                    "dataset": one.dataset,
                    "principal": one.principal,
                    "guarantee": one.guarantee.describe(),
                    "remaining": str(one.remaining),
                    "ways": {
                        name: {
                            "open": way.open,
                            "limit": [str(number) for number in way.limit],
                            "spent": [str(number) for number in way.spent],
                            "remaining": [str(number) for number in way.remaining],
                        }
                        for name, way in one.ways.items()
                    },
                }
                for one in self.budgets
            ],
            "committed": list(self.committed),
            "pending": list(self.pending),
            "entries": self.entries,
            "head": self.head,
        }


def budget_status(
    where: tuple[str | None, str | None], state: budget.State, relation: Relation
) -> BudgetStatus:
    """Return what is spent from one budget."""
    ways = {
        way: Part(
            limit=budget.numbers(state["limits"][way]),
            spent=budget.spent(state, way),
            open=budget.alive(state, way),
        )
        for way in state["limits"] or ()
    }
    return BudgetStatus(*where, budget.goal(state, relation), ways)
