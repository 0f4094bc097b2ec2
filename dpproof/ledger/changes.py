"""Changes of a budget that stands: lowered, closed, or raised by two who sign."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from dpproof.accountant.errors import ParameterError
from dpproof.ledger import budget, chain, names, spending
from dpproof.ledger.budget import State
from dpproof.ledger.errors import KeyConflict
from dpproof.ledger.names import Where
from dpproof.ledger.places import LOCK, Execute

KINDS = ("lower", "propose", "raise", "close")


def applied(state: State, entry: Mapping[str, Any]) -> State:
    """Return a budget after an entry that changes it."""
    kind = entry["kind"]
    if "closed" in state:
        raise KeyConflict(f"the budget was closed on {state['closed'][:10]}, for good")
    if kind == "close":
        return {**state, "closed": entry["time"]}
    if kind == "lower":
        return budget.changed(state, entry["goal"], entry["limits"], up=False)
    proposed, by = state.get("proposed", {}), entry["by"]
    signed = proposed.get("goal") == entry["goal"]
    if signed and _alike(proposed["by"], by):
        raise KeyConflict(f"{by!r} has signed this already; it takes a second name")
    if signed != (kind == "raise"):
        raise KeyConflict("a budget is raised by two names for the same numbers")
    after = budget.changed(state, entry["goal"], entry["limits"], up=True)
    return after if signed else {**state, "proposed": {"goal": entry["goal"], "by": by}}


def _alike(name: str, other: str) -> bool:
    """Return whether two names are one, in whatever case and form of Unicode."""
    one, two = (unicodedata.normalize("NFKC", text).casefold() for text in (name, other))
    return one == two


def change(
    execute: Execute, kind: str, place: Where, by: str, wanted: Mapping[str, str] | None
) -> str:
    """Write one change of a budget, and return its kind: a second name makes a proposal a raise."""
    names.require_place(place)
    if kind in ("propose", "add") or by:
        names.require_line("by", by)
    if by != by.strip():
        raise ParameterError("by", by, "a name without spaces around it")
    label = names.name(place)
    execute(LOCK)
    last = chain.last(execute)
    state = last[2]
    if label not in state["budgets"]:
        raise KeyConflict(f"there is no budget{spending.about(label)} of its own; limit makes one")
    before = state["budgets"][label]
    entry: dict[str, Any] = {"kind": kind, "time": spending.now(), "budget": label, "by": by}
    entry["owner"] = spending.here()
    if wanted is not None:
        goal = budget.added(before, wanted) if kind == "add" else dict(wanted)
        budget.goal(before, budget.relation_named(state["relation"]), goal)  # or it is refused
        entry |= {"goal": goal, "limits": budget.limits_of(before, goal, up=kind != "lower")}
        if kind != "lower":
            other = not _alike(before.get("proposed", {}).get("by", by), by)
            signed = other and before["proposed"]["goal"] == goal
            entry["kind"] = "raise" if signed else "propose"
    state["budgets"][label] = applied(before, entry)
    chain.append(execute, last, entry)
    return str(entry["kind"])
