"""The spent and the remaining budget, and the entries of a ledger, as values."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final, final

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, Relation
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.readable import table
from dpproof.ledger import budget, chain, names
from dpproof.ledger.budget import Costs, Plan, State
from dpproof.ledger.places import Execute
from dpproof.ledger.verify import Replay
from dpproof.rounding import above, below, percent_below


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One way of spending a budget."""

    limit: Costs  # of the sums, exactly: epsilon and delta, or rho, or mu squared, or a divergence
    spent: Costs  # the sums so far, reservations included
    open: bool  # whether it has admitted everything that was spent

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
            "exact": {name: [str(number) for number in numbers] for name, numbers in exact.items()},
        }


@final
@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """One budget."""

    dataset: str | None  # on which it is; None for all
    principal: str | None  # whose it is; None for everybody
    guarantee: Guarantee[Relation]  # the guarantee of everything spent from it together
    # The ways to spend it; before the first spend of (epsilon, delta) there is none.
    ways: Mapping[str, Part]
    # The joint cost of all spends at the budget's delta, an upper end of epsilon, as if they had
    # been fixed in advance; None of a budget without an epsilon. The guarantee is that of the
    # budget, whatever this is.
    composed: float | None
    # The smaller budget that it has now, if it was lowered; what is spent satisfies that only if
    # nothing that was released led to it.
    lowered: Guarantee[Relation] | None = None
    # The larger budget that one name has signed, and that name.
    proposed: tuple[Guarantee[Relation], str] | None = None
    closed: str | None = None  # since when it admits nothing

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "dataset": self.dataset,
            "principal": self.principal,
            "guarantee": self.guarantee.describe(),
            "remaining": float_down(self.remaining),
            "composed": self.composed,
            "ways": {name: way.to_dict() for name, way in self.ways.items()},
            "lowered": self.lowered and self.lowered.describe(),
            "proposed": self.proposed and [self.proposed[0].describe(), self.proposed[1]],
            "closed": self.closed,
        }

    @property
    def remaining(self) -> Fraction:
        """Return the largest part of the budget, from 0 to 1, that is left in some way."""
        return Fraction(0) if self.closed else _share_left(self.ways)

    def describe(self) -> str:
        """Return what the budget is, whose, and how it was changed."""
        about = "".join(f", {text}" for text in (self.dataset, self.principal) if text is not None)
        if self.lowered is not None:
            about += f", lowered to {self.lowered.describe()}"
        if self.proposed is not None:
            about += f", {self.proposed[0].describe()} signed by {self.proposed[1]} alone"
        if self.closed is not None:
            about += f", closed on {self.closed[:10]}"
        return f"{self.guarantee.describe()}{about}"

    def __str__(self) -> str:
        """Return what is left, and the sums of each way to spend, on lines."""
        lines = [f"{self.describe()}: {percent_below(self.remaining)} left"]
        for name, way in self.ways.items():
            numbers = zip(way.spent, way.limit, strict=True)
            words = (f"{above(used, 6)} of {below(limit, 6)}" for used, limit in numbers)
            lines.append(f"  {name:9} {' and '.join(words)}{'' if way.open else ' (closed)'}")
        if self.composed is not None:
            cost = above(self.composed)
            lines.append(f"  composed, as if all was planned before: ε at most {cost}")
        return "\n".join(lines)


@final
@dataclass(frozen=True, slots=True)
class Reservation:
    """A spend that is neither committed nor released."""

    key: str  # names it
    since: str  # when it was made, in UTC, as ISO 8601 writes it
    owner: str  # the machine and the process of the attempt that has it
    label: str  # its purpose
    dataset: str | None  # which data it reads
    principal: str | None  # who runs it

    def age(self) -> float:
        """Return the seconds since it was made, by the clock of this machine."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds()


@final
@dataclass(frozen=True, slots=True)
class Status:
    """A ledger at one time."""

    relation: Relation  # the neighbouring relation
    budgets: tuple[BudgetStatus, ...]  # each with what is spent
    committed: tuple[str, ...]  # keys of the spends that are done
    pending: tuple[str, ...]  # keys that are reserved, and neither committed nor released
    reservations: tuple[Reservation, ...]  # the same, each with its age and owner, the oldest first
    entries: int  # the number of entries
    # The hash of the last one. Whoever keeps it elsewhere can tell that entries were taken off
    # the end: ``verify(head=…)``.
    head: str

    def __str__(self) -> str:
        """Return what ``dpproof ledger status`` prints."""
        head = f"{self.relation} neighbours, {self.entries} entries, head {self.head}"
        return "\n".join([head, *map(str, self.budgets), self._counts()])

    def _counts(self) -> str:
        return f"{len(self.committed)} committed, {len(self.pending)} pending"

    def _repr_html_(self) -> str:
        """Show a notebook what is left of each budget."""
        rows = [
            (
                ", ".join(one for one in (budget.dataset, budget.principal) if one) or "everything",
                f"{budget.guarantee.describe()}: {percent_below(budget.remaining)} left",
            )
            for budget in self.budgets
        ]
        return table(f"Ledger: {self._counts()}", rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "relation": str(self.relation),
            "budgets": [one.to_dict() for one in self.budgets],
            "committed": list(self.committed),
            "pending": list(self.pending),
            "reservations": [asdict(one) for one in self.reservations],
            "entries": self.entries,
            "head": self.head,
        }

    def metrics(self) -> str:
        """Return what is left and pending as Prometheus reads it, shares rounded down."""
        oldest = max((one.age() for one in self.reservations), default=0.0)
        costs = [(_labels(one), one.composed) for one in self.budgets]
        families: dict[str, list[tuple[str, float]]] = {
            "budget_remaining": [(_labels(one), float_down(one.remaining)) for one in self.budgets],
            "budget_epsilon": [(about, cost) for about, cost in costs if cost is not None],
            "committed": [("", len(self.committed))],
            "pending": [("", len(self.pending))],
            "oldest_pending_seconds": [("", oldest)],
            "entries": [("", self.entries)],
        }
        return "".join(
            f"# TYPE dpproof_{name} gauge\n"
            + "".join(f"dpproof_{name}{about} {value}\n" for about, value in samples)
            for name, samples in families.items()
        )


def _labels(budget: BudgetStatus) -> str:
    """Return the labels of a metric."""
    texts = ((one or "").replace("\\", r"\\") for one in (budget.dataset, budget.principal))
    dataset, principal = (text.replace('"', r"\"") for text in texts)
    return f'{{dataset="{dataset}",principal="{principal}"}}'


def status(execute: Execute) -> Status:
    """Return what is spent and what is left of a ledger."""
    number, head, state = chain.last(execute)
    rows = execute("SELECT name, status FROM $spends ORDER BY number")
    waiting = execute(
        "SELECT s.name, s.owner, e.body FROM $spends s JOIN $entries e ON e.number = s.number "
        "WHERE s.status = 'pending' ORDER BY s.number"
    )
    relation = budget.relation_named(state["relation"])
    return Status(
        relation=relation,
        budgets=tuple(
            budget_status(names.where(name), one, relation)
            for name, one in budget.required_form(state["budgets"]).items()
        ),
        committed=tuple(name for name, status in rows if status == "committed"),
        pending=tuple(name for name, status in rows if status == "pending"),
        reservations=tuple(_reservation(*row) for row in waiting),
        entries=number,
        head=head,
    )


def _reservation(key: str, owner: str, body: str) -> Reservation:
    made = json.loads(body)["entry"]
    names = {name: made[name] for name in ("label", "dataset", "principal")}
    one = Reservation(key=key, since=made["time"], owner=machine(owner), **names)
    one.age()  # now, if its time is none
    return one


def machine(owner: str) -> str:
    """Return the machine and the process of an attempt."""
    return owner.partition(" ")[0]


def share_left(state: State) -> Fraction:
    """Return the largest part of a budget, from 0 to 1, that is left in some way."""
    return Fraction(0) if "closed" in state else _share_left(_parts(state))


def _share_left(ways: Mapping[str, Part]) -> Fraction:
    if not ways:
        return Fraction(1)
    shares = [
        min(
            (left / limit for left, limit in zip(way.remaining, way.limit, strict=True) if limit),
            default=Fraction(0),
        )
        for way in ways.values()
        if way.open
    ]
    return max(shares, default=Fraction(0))


def _parts(state: State) -> dict[str, Part]:
    """Return the ways to spend a budget; before the first spend of (epsilon, delta) none."""
    return {
        way: Part(
            limit=budget.numbers(state["limits"][way]),
            spent=budget.spent(state, way),
            open=budget.alive(state, way),
        )
        for way in (budget.ways(state) if state["limits"] else ())
    }


def budget_status(
    where: tuple[str | None, str | None], state: State, relation: Relation
) -> BudgetStatus:
    """Return what is spent from one budget."""
    ways = _parts(state)
    guarantee, proposed = budget.goal(state, relation), state.get("proposed")
    costs = {way: part.spent for way, part in ways.items() if part.open}
    return BudgetStatus(
        *where,
        guarantee,
        ways,
        composed(state, guarantee, costs),
        lowered=budget.goal(state, relation, state["lowered"]) if "lowered" in state else None,
        proposed=proposed and (budget.goal(state, relation, proposed["goal"]), proposed["by"]),
        closed=state.get("closed"),
    )


@final
@dataclass(frozen=True, slots=True)
class WhatIf:
    """One budget and a spend that was not made."""

    before: BudgetStatus
    after: BudgetStatus | None  # the budget with the spend; None if it does not admit it
    # What it would take, by the ways that are open; None where they do not carry it.
    costs: Mapping[str, Costs | None]
    closes: tuple[str, ...]  # the ways that would admit nothing any more

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON, costs rounded up."""
        costs = {way: cost and list(map(float_up, cost)) for way, cost in self.costs.items()}
        ends = {"before": self.before.to_dict(), "after": self.after and self.after.to_dict()}
        return {**ends, "costs": costs, "closes": list(self.closes)}


def what_if(where: names.Where, state: State, plan: Plan, relation: Relation) -> WhatIf:
    """Return what a planned spend would leave of a budget."""
    done = plan.apply(state)
    return WhatIf(
        before=budget_status(where, state, relation),
        after=None if done is None else budget_status(where, done[0], relation),
        costs={way: one and one.costs for way, one in plan.charges.items()},
        closes=() if done is None else budget.closed(state, done[0]),
    )


def composed(
    state: State,  # the budget that they are taken from
    goal: Guarantee[Relation],
    costs: Mapping[str, Costs],
    delta: Fraction | None = None,  # where epsilon is asked for; by default that of the goal
) -> float | None:
    """Return the least epsilon that some way shows of costs, an upper end; None without a delta."""
    at = delta if delta is not None else _delta(goal)
    if at is None:
        return None
    if state["limits"] is None:
        return 0.0
    upper, points = [], []
    for way, cost in costs.items():
        order = budget.order_of(state, way)
        if way == "basic":
            upper.append(float_up(cost[0]) if cost[1] <= at else math.inf)
        elif order is not None:
            points.append((order, cost[0]))
        else:
            (size,) = cost
            sums = ZCDP(rho=size) if way == "zcdp" else GDP(mu_squared=size)
            upper.append(sums.epsilon(delta=at).upper)
    if points:
        upper.append(RDP(points=points).epsilon(delta=at).upper)
    return min(upper, default=math.inf)


def _delta(goal: Guarantee[Relation]) -> Fraction | None:
    """Return the delta of a budget; None if it has no epsilon."""
    if isinstance(goal, ApproxDP):
        return goal.stated_delta
    return Fraction(0) if isinstance(goal, PureDP) else None


@final
@dataclass(frozen=True, slots=True)
class Logged:
    """One entry."""

    number: int  # from 1
    time: str  # in UTC, as ISO 8601 writes it
    # Create, limit, reserve, spend, commit, take over, release, lower, propose, raise or close.
    kind: str
    key: str  # of the spend; "" where it is about none
    label: str  # its purpose
    dataset: str | None  # which data it reads; of a change of a budget, whose that is
    principal: str | None  # who runs it, likewise
    who: str  # the name that signed a change, else the machine and the process
    guarantee: str  # what runs, or what a budget has from then on
    # What it costs alone, an upper end at the delta of the budget; None where neither the budget
    # nor the question has a delta, or nothing bounds it there. The largest of several budgets.
    epsilon: float | None
    costs: Mapping[str, Mapping[str, Costs]]  # what it takes, by budget and way, exactly
    # The share of each budget that it concerns that is left after it, by budget.
    left: Mapping[str, Fraction]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON: costs rounded up, what is left rounded down."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        columns["costs"] = {
            whose(label): {way: [float_up(one) for one in cost] for way, cost in by.items()}
            for label, by in self.costs.items()
        }
        left = {whose(label): float_down(one) for label, one in self.left.items()}
        return columns | {"left": left}

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
    applied = replay.applied(rows)
    return tuple(_logged(replay, number, entry, delta, memory) for number, entry in applied)


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
