"""Write the entries that open budgets: the first of a ledger, and those of further limits."""

from __future__ import annotations

from typing import Any, TypeAlias

from dpproof.accountant import Guarantee, PrivacyFilter
from dpproof.accountant.errors import ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, Relation, require_relation
from dpproof.ledger import chain, names, taking
from dpproof.ledger.budget import opened
from dpproof.ledger.database import LOCK, SCHEMA, Execute
from dpproof.ledger.errors import KeyConflict
from dpproof.ledger.names import Where

Budget: TypeAlias = Guarantee[Any] | PrivacyFilter[Any]


def begun(
    budget: Budget, relation: Relation | None, place: Where, *, open_names: bool
) -> dict[str, Any]:
    """Return what a new ledger with one budget keeps.

    Raises:
        ParameterError: a budget in another notion, a relation that is none, or a bad name.
        RelationMismatch: a relation that is not the budget's.
    """
    state = opened(budget)
    names.require_place(place)
    if not isinstance(open_names, bool):
        raise ParameterError("open_names", open_names, "True or False")
    found = budget.relation
    about = found if relation is None else require_relation(relation)
    if about != found and found != AddRemove():
        raise RelationMismatch(f"the budget is about {found} neighbours, not {about}")
    return {
        "relation": str(about),
        "budgets": {names.name(place): state},
        "seen": [],
        "open_names": open_names,
    }


def create(execute: Execute, state: dict[str, Any]) -> None:
    """Make the tables of a ledger, and its first entry."""
    for table in SCHEMA:
        execute(table)
    execute("INSERT INTO head (id, number, state) VALUES (1, 0, '')")
    entry = {
        "kind": "create",
        "time": taking.now(),
        "opened": state["budgets"],
        "open_names": state["open_names"],
    }
    chain.append(execute, number=1, previous=chain.START, state=state, entry=entry)


def limit(execute: Execute, budget: Budget, place: Where) -> None:
    """Add a budget to a ledger.

    Raises:
        ParameterError: a budget in another notion, or a bad name.
        RelationMismatch: a budget about other neighbours than the ledger.
        KeyConflict: there is one already, or something was spent that it would have to count.
    """
    names.require_place(place)
    label, begun = names.name(place), opened(budget)
    execute(LOCK)
    number, previous, state = chain.last(execute)
    if str(budget.relation) not in (state["relation"], str(AddRemove())):
        raise RelationMismatch(
            f"the ledger is about {state['relation']} neighbours, not {budget.relation}"
        )
    if label in state["budgets"]:
        raise KeyConflict("there is such a budget already; budgets are never changed")
    if any(names.covers(place, tuple(one)) for one in state["seen"]):
        raise KeyConflict("something was spent already that this budget would have to count")
    state["budgets"][label] = begun
    entry = {"kind": "limit", "time": taking.now(), "opened": {label: begun}}
    chain.append(execute, number=number + 1, previous=previous, state=state, entry=entry)
