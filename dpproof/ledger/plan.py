"""The cost of a spend in a budget, computed before the ledger is locked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dpproof.accountant import Guarantee
from dpproof.ledger import budget
from dpproof.ledger.budget import ALONE, Costs, State
from dpproof.ledger.charge import Charge, charge


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Costs of one spend in one budget, by way.

    Attributes:
        divided: the budget, divided among ways for its first spend; None where it was before.
        charges: the cost of the spend in each way that was open; None where it does not carry it.
    """

    divided: State | None
    charges: Mapping[str, Charge | None] = field(default_factory=dict)

    def speaks_of(self, state: State) -> bool:
        """Return whether the plan has a cost, or none, for every open way.

        A plan without one would close that way.
        """
        open_ = (way for way in state["limits"] or () if budget.alive(state, way))
        return all(way in self.charges for way in open_)

    def apply(self, state: State) -> tuple[State, dict[str, Any]] | None:
        """Return the budget after the spend and what was taken by way; None if over the budget."""
        if state["limits"] is None:
            if self.divided is None:
                return None
            state = {**self.divided, "spent": state["spent"], "refused": state["refused"]}
        costs: dict[str, Costs | None] = {
            way: None if found is None else budget.addable(state, way, found.costs)
            for way, found in self.charges.items()
        }
        return budget.charged(state, costs)


def planned(
    state: State, guarantee: Guarantee[Any], delta: Fraction | None, memory: dict[str, Any]
) -> Plan:
    """Return what a spend costs in one budget.

    Args:
        state: the budget.
        guarantee: of what runs.
        delta: at which it is charged in the basic way, if that is stated.
        memory: of earlier plans of the same guarantee in the same budget.

    The first spend of a budget of (epsilon, delta) divides delta among the ways that admit it
    with their share: it is chosen before any output, so that the shares may depend on it.
    """
    if state["limits"] is not None:
        return Plan(None, _charges(state, guarantee, delta, memory))
    chosen, plan, late = budget.ways(state), Plan(None), {"basic"}
    while chosen:  # sums of (epsilon, delta) cost a proof at each share, so they come last
        divided = budget.divided(state, chosen)
        plan = Plan(divided, _charges(divided, guarantee, delta, memory, late))
        admitted = late | _admitting(plan)
        if admitted.issuperset(chosen):
            if not late:
                return plan
            late = set()
        chosen = tuple(way for way in chosen if way in admitted)
    for way in ALONE:
        divided = budget.divided(state, (way,))
        alone = Plan(divided, _charges(divided, guarantee, delta, memory))
        if _admitting(alone):
            return alone
    return plan


def _charges(
    state: State,
    guarantee: Guarantee[Any],
    delta: Fraction | None,
    memory: dict[str, Any],
    but: Collection[str] = (),
) -> dict[str, Charge | None]:
    """Return costs in the ways that are open, but for some."""
    return {
        way: charge(state, way, guarantee, delta, memory)
        for way in state["limits"]
        if way not in but and budget.alive(state, way)
    }


def _admitting(plan: Plan) -> set[str]:
    """Return the ways that admit the first spend of a budget."""
    done = plan.apply(plan.divided) if plan.divided is not None else None
    return set() if done is None else {way for way, cost in done[1].items() if cost is not None}
