"""The spent and the remaining budget, as values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.readable import table
from dpproof.accountant.relation import Relation
from dpproof.ledger import budget, chain, names
from dpproof.ledger.budget import Costs
from dpproof.ledger.database import Execute


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
        """Return the part that is left."""
        return tuple(a - b for a, b in zip(self.limit, self.spent, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return floats, what is spent rounded up and all else down, and the rationals as text."""
        exact = {"limit": self.limit, "spent": self.spent, "remaining": self.remaining}
        return {
            "open": self.open,
            "limit": [float_down(number) for number in self.limit],
            "spent": [float_up(number) for number in self.spent],
            "remaining": [float_down(number) for number in self.remaining],
            "exact": {name: [str(number) for number in found] for name, found in exact.items()},
        }


@final
@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One budget.

    Attributes:
        dataset: on which it is; None for all.
        principal: whose it is; None for everybody.
        guarantee: the guarantee of everything spent from it together.
        ways: the ways to spend it; before the first spend of (epsilon, delta) there is none.
        composed: the joint cost of all spends at the budget's delta, an upper end of epsilon, as
            if they had been fixed in advance; None of a budget without an epsilon. The guarantee
            is that of the budget, whatever this is.
    """

    dataset: str | None
    principal: str | None
    guarantee: Guarantee[Relation]
    ways: Mapping[str, Part]
    composed: float | None

    @property
    def remaining(self) -> Fraction:
        """Return the largest part of the budget, from 0 to 1, that is left in some way."""
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
        relation: the neighbouring relation.
        budgets: each with what is spent.
        committed: keys of the spends that are done.
        pending: keys that are reserved, and neither committed nor released.
        entries: the number of entries.
        head: the hash of the last one. Whoever keeps it elsewhere can tell that entries were taken
            off the end: ``verify(head=…)``.
    """

    relation: Relation
    budgets: tuple[BudgetStatus, ...]
    committed: tuple[str, ...]
    pending: tuple[str, ...]
    entries: int
    head: str

    def _repr_html_(self) -> str:
        """Show a notebook what is left of each budget."""
        rows = [
            (
                ", ".join(one for one in (budget.dataset, budget.principal) if one) or "everything",
                f"{budget.guarantee.describe()}: {float_down(100 * budget.remaining):.4g} % left",
            )
            for budget in self.budgets
        ]
        counts = f"{len(self.committed)} committed, {len(self.pending)} pending"
        return table(f"Ledger: {counts}", rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "relation": str(self.relation),
            "budgets": [
                {
                    "dataset": one.dataset,
                    "principal": one.principal,
                    "guarantee": one.guarantee.describe(),
                    "remaining": float_down(one.remaining),
                    "composed": one.composed,
                    "ways": {name: way.to_dict() for name, way in one.ways.items()},
                }
                for one in self.budgets
            ],
            "committed": list(self.committed),
            "pending": list(self.pending),
            "entries": self.entries,
            "head": self.head,
        }


def status(execute: Execute) -> Status:
    """Return what is spent and what is left of a ledger.

    Raises:
        LedgerError: there is none, or it is damaged.
    """
    number, head, state = chain.last(execute)
    rows = execute("SELECT name, status FROM spends ORDER BY number")
    relation = budget.relation_named(state["relation"])
    return Status(
        relation=relation,
        budgets=tuple(
            budget_status(names.where(name), one, relation)
            for name, one in state["budgets"].items()
        ),
        committed=tuple(name for name, status in rows if status == "committed"),
        pending=tuple(name for name, status in rows if status == "pending"),
        entries=number,
        head=head,
    )


def budget_status(
    where: tuple[str | None, str | None], state: budget.State, relation: Relation
) -> BudgetStatus:
    """Return what is spent from one budget."""
    divided = budget.ways(state) if state["limits"] else ()
    ways = {
        way: Part(
            limit=budget.numbers(state["limits"][way]),
            spent=budget.spent(state, way),
            open=budget.alive(state, way),
        )
        for way in divided
    }
    guarantee = budget.goal(state, relation)
    return BudgetStatus(*where, guarantee, ways, _composed(state, guarantee, ways))


def _composed(
    state: budget.State, goal: Guarantee[Relation], ways: Mapping[str, Part]
) -> float | None:
    """Return the least epsilon that some way, which counts every spend, shows of their sum."""
    if not isinstance(goal, ApproxDP | PureDP):
        return None
    delta = goal.stated_delta if isinstance(goal, ApproxDP) else Fraction(0)
    told, points = [0.0] if not ways else [], []
    for way, part in ways.items():
        order = budget.order_of(state, way)
        if not part.open:
            continue
        if way == "basic":
            told.append(float_up(part.spent[0]))
        elif order is not None:
            points.append((order, part.spent[0]))
        else:
            (size,) = part.spent
            sums = ZCDP(rho=size) if way == "zcdp" else GDP(mu_squared=size)
            told.append(sums.epsilon(delta=delta).upper)
    if points:
        told.append(RDP(points=points).epsilon(delta=delta).upper)
    return min(told, default=math.inf)
