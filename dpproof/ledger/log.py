"""The entries of a ledger as people ask for them: when, who, what it cost, what is left."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Final, final

from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.ledger import budget, chain, names
from dpproof.ledger.budget import Costs, State
from dpproof.ledger.database import Execute
from dpproof.ledger.status import composed, machine, share_left
from dpproof.ledger.verify import Replay


@final
@dataclass(frozen=True, slots=True)
class Logged:
    """One entry.

    Attributes:
        number: from 1.
        time: in UTC, as ISO 8601 writes it.
        kind: create, limit, reserve, spend, commit, take over, release, lower, propose, raise or
            close.
        key: of the spend; "" where it is about none.
        label: its purpose.
        dataset: which data it reads; of a change of a budget, whose that is.
        principal: who runs it, likewise.
        who: the name that signed a change, else the machine and the process.
        guarantee: what runs, or what a budget has from then on.
        epsilon: what it costs alone, an upper end at the delta of the budget; None where neither
            the budget nor the question has a delta, or nothing bounds it there. The largest of
            several budgets.
        costs: what it takes, by budget and way, exactly.
        left: the share of each budget that it concerns that is left after it, by budget.
    """

    number: int
    time: str
    kind: str
    key: str
    label: str
    dataset: str | None
    principal: str | None
    who: str
    guarantee: str
    epsilon: float | None
    costs: Mapping[str, Mapping[str, Costs]]
    left: Mapping[str, Fraction]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON: costs rounded up, what is left rounded down."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        columns["costs"] = {
            whose(label): {way: [float_up(one) for one in cost] for way, cost in by.items()}
            for label, by in self.costs.items()
        }
        return columns | {
            "left": {whose(label): float_down(one) for label, one in self.left.items()}
        }

    def row(self) -> list[str]:
        """Return the fields as texts, which spreadsheets take for no formula."""
        columns = self.to_dict()
        columns["costs"] = json.dumps(columns["costs"])
        columns["left"] = min(columns["left"].values(), default=None)
        return ["" if one is None else _inert(str(one)) for one in columns.values()]


COLUMNS: Final = tuple(field.name for field in fields(Logged))


def _inert(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def whose(label: str) -> str:
    """Return the dataset and the principal of a budget, "everything" without both."""
    pairs = zip(names.KINDS, names.where(label), strict=True)
    return ", ".join(f"{what} {name}" for what, name in pairs if name) or "everything"


def log(execute: Execute, delta: Fraction | None = None) -> tuple[Logged, ...]:
    """Return the entries of a ledger in their order, each after its sums were recomputed."""
    relation = chain.last(execute)[2]["relation"]
    rows = execute("SELECT number, body, hash FROM $entries ORDER BY number")
    replay, memory = Replay(None, relation), dict[str, float | None]()
    return tuple(
        _logged(replay, number, entry, delta, memory) for number, entry in replay.applied(rows)
    )


def _logged(
    replay: Replay,
    number: int,
    entry: dict[str, Any],
    delta: Fraction | None,
    memory: dict[str, float | None],
) -> Logged:
    """Return what an entry says, after it was applied."""
    relation = budget.relation_named(replay.relation)
    key, kind = entry.get("key", ""), entry["kind"]
    taken: dict[str, dict[str, Any]] = entry.get("taken", {})
    about = taken or replay.taken.get(entry.get("reserved", 0), {})
    changed = [entry["budget"]] if "budget" in entry else [*entry.get("opened", {})]
    after = {label: replay.budgets[label] for label in (*about, *changed)}
    place = names.where(changed[0]) if changed else (entry.get("dataset"), entry.get("principal"))
    costs = {
        label: {way: budget.numbers(cost) for way, cost in by.items() if cost is not None}
        for label, by in taken.items()
    }
    epsilons = [_epsilon(after[label], by, delta, memory) for label, by in costs.items()]
    costs_known = [one for one in epsilons if one is not None]
    goals = [budget.now(after[label]) for label in changed]
    if kind == "propose":
        goals = [entry["goal"]]
    words = [budget.goal(after[changed[0]], relation, goal).describe() for goal in goals]
    return Logged(
        number=number,
        time=entry["time"],
        kind=kind,
        key=key,
        label=entry.get("label", ""),
        dataset=place[0],
        principal=place[1],
        who=entry.get("by") or machine(entry.get("owner", "")),
        guarantee=entry.get("guarantee", ", ".join(words)),
        epsilon=max(costs_known, default=None),
        costs=costs,
        left={label: share_left(one) for label, one in after.items()},
    )


def _epsilon(
    state: State,
    costs: Mapping[str, Costs],
    delta: Fraction | None,
    memory: dict[str, float | None],
) -> float | None:
    """Return the epsilon of one spend, which is computed once for like costs."""
    goal, answers = budget.goal(state, budget.relation_named("add-remove")), []
    for part in (("basic",), costs.keys() - {"basic"}):
        some = {way: cost for way, cost in costs.items() if way in part}
        name = f"{state['goal']} {sorted(some.items())}"
        if name not in memory:
            memory[name] = composed(state, goal, some, delta)
        answers.append(memory[name])
    return min((one for one in answers if one is not None and math.isfinite(one)), default=None)
