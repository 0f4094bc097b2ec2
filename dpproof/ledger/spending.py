"""One spend: its key, entry, certificates, and the budgets after it; and changes of budgets.

A budget that stands is lowered, closed, or raised by two who sign.
"""

import json
import os
import platform
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from types import TracebackType
from typing import Any, Final, Protocol, Self, final

from dpproof.accountant import Guarantee, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.certificates import serialize
from dpproof.accountant.errors import BudgetExceeded, NotCertified, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import require_single, required_guarantee
from dpproof.accountant.readable import declared
from dpproof.ledger import budget, chain, names
from dpproof.ledger.budget import Plan, State
from dpproof.ledger.chain import canonical, digest
from dpproof.ledger.errors import AlreadySpent, KeyConflict, LedgerDamaged, LedgerError
from dpproof.ledger.names import Where
from dpproof.ledger.places import LOCK, Execute, Rows
from dpproof.proofs.certificate import show_rational

VERSION: Final = 2  # 1 was made of texts for people, which are free to change
WITHOUT: Final = "none: "  # and why, in the place of a certificate's digest


@final
@dataclass(frozen=True, slots=True)
class SpendRequest:
    """A spend to be made, and one attempt at it."""

    guarantee: Guarantee[Any]  # of what runs
    key: str
    label: str
    delta: Fraction | None  # where it is charged in sums of (epsilon, delta), if that is stated
    where: names.Where  # the dataset it reads and the principal that runs it
    digest: str  # of everything that has to be equal if the key is the same
    # Tells this attempt from another one at the same key.
    attempt: str = field(default_factory=lambda: f"{here()} {uuid.uuid4().hex}")


def wanted(
    guarantee: Guarantee[Any], key: str, label: str, delta: Number | None, where: names.Where
) -> SpendRequest:
    """Return a checked request to spend."""
    required_guarantee(guarantee)
    require_single(guarantee, "a ledger")
    names.require_line("key", key)
    if label:
        names.require_line("label", label)
    names.require_place(where)
    at = None if delta is None else arguments.probability(delta=delta)
    stated = digest(canonical([identity(guarantee), *where]))
    return SpendRequest(guarantee, key, label, at, where, stated)


def identity(guarantee: Guarantee[Any]) -> str:
    """Return a text that is equal for equal guarantees that follow in the same way."""
    # Rules, exact parameters and the conclusion are in it, but no wording and no rounded number.
    nodes = list(guarantee.derivation.everything())
    place = {id(node): number for number, node in enumerate(nodes)}
    steps = [
        [
            node.rule,
            {name: _exact(value) for name, value in node.parameters},
            [place[id(premise)] for premise in node.premises],
            None if node.premises or node.parameters else _concluded(node),
        ]
        for node in nodes
    ]
    return canonical([VERSION, _concluded(guarantee.derivation), steps])


def _concluded(node: Derivation) -> Any:  # noqa: ANN401  # JSON is anything
    """Return the conclusion of one application, as certificates write it if they know it."""
    guarantee: Any = node.conclusion
    try:
        return serialize.conclusion(guarantee, node.apart)
    except NotCertified:
        return _exact(guarantee)


def _exact(value: object) -> Any:  # noqa: ANN401  # JSON is anything
    """Return an exact value as JSON."""
    match value:
        case None | bool() | str():
            return value
        case float():
            return repr(value)
        case int() | Fraction():
            return show_rational(Fraction(value))
        case tuple():
            return [_exact(one) for one in value]
    stated = declared(value)
    if stated is not None:
        return [type(value).__name__, {name: _exact(getattr(value, name)) for name in stated}]
    raise LedgerError(
        f"{type(value).__name__} cannot be told from others of its type, so that no key could "
        "stand for it alone; nothing was spent: reserve what it implies, as "
        "convert(guarantee, to=ApproxDP, delta=...)"
    )


@final
@dataclass(frozen=True, slots=True)
class LockedState:
    """The rows that a spend reads under the lock, in one round trip."""

    # The number and hash of the last entry, and the state after it.
    last: chain.Last
    key: Rows  # the digest, status and entry of the key, if it is there
    kept: frozenset[str]  # the digests of certificates that are there already
    met: bool  # whether something was spent before on the same dataset by the same principal


def read_under_lock(
    execute: Execute, request: SpendRequest, plans: Mapping[str, Plan]
) -> LockedState:
    """Take the lock, and read what a spend has to know."""
    queries = [
        ("SELECT digest FROM $certificates WHERE digest = :digest", {"digest": name})
        for name in _texts(plans)
    ]
    key = ("SELECT digest, status, number FROM $spends WHERE name = :name", {"name": request.key})
    place = (names.IS_MET, {"digest": digest(names.name(request.where))})
    asked = [(LOCK, {}), (chain.LAST, {}), key, place, *queries]
    _, last, rows, met, *stored = execute.together(asked)
    there = frozenset(str(row[0]) for one in stored for row in one)
    return LockedState(chain.read_last(last), rows, there, bool(met))


def resume_or_refuse(
    execute: Execute, rows: Rows, request: SpendRequest, *, take_over: bool
) -> str | None:
    """Return the status of a key that is there, else None."""
    if not rows:
        return None
    kept_digest, status, number = rows[0]
    entry = spent_at(execute, int(number))
    if (entry.get("key"), entry.get("request")) != (request.key, kept_digest):
        raise LedgerDamaged(
            f"the key {request.key!r} does not stand for what its entry says: the ledger was "
            "changed by something else; run dpproof ledger verify, and run nothing"
        )
    if kept_digest != request.digest:
        raise KeyConflict(_other_spend(request, entry))
    if status == "pending" and not take_over:
        raise KeyConflict(
            f"the key {request.key!r} is reserved already, by a run that may still publish: "
            "release it first if you know that nothing was or will be published"
        )
    return str(status)


def take_over_pending(
    execute: Execute, locked: LockedState, request: SpendRequest, *, commit: bool
) -> None:
    """Write that an attempt has a key that is pending, and that it is committed if it is."""
    entry = {
        "kind": "commit" if commit else "take over",
        "time": now(),
        "key": request.key,
        "owner": request.attempt,
    }
    execute.later([(TAKEN_OVER, {"owner": request.attempt, "name": request.key})])
    if commit:
        settle(execute, request.key)
    chain.append(execute, locked.last, entry)


def spent_at(execute: Execute, number: int) -> dict[str, Any]:
    """Return what an entry says of the spend that it made."""
    ((body,),) = execute("SELECT body FROM $entries WHERE number = :number", number=number)
    entry: dict[str, Any] = json.loads(body)["entry"]
    return entry


def _other_spend(request: SpendRequest, entry: Mapping[str, Any]) -> str:
    """Return why a key does not stand for what is asked, in one line."""
    difference = (
        f"the key {request.key!r} stands for another spend, which was made on {entry['time'][:10]} "
        f"and is {entry['guarantee']}; every release needs a key of its own"
    )
    if entry["guarantee"] == request.guarantee.describe():
        difference += (
            ". It reads alike, and is another: its dataset, principal, rules or exact numbers "
            "differ; if you know that it is this very spend, it was paid for then: publish what "
            "was released"
        )
    return difference


def certificates(execute: Execute, key: str) -> dict[tuple[str, str], str]:
    """Return the certificates of a spend by budget and way."""
    rows = execute("SELECT number FROM $spends WHERE name = :name", name=key)
    if not rows:
        raise KeyConflict(f"nothing is spent for the key {key!r}; dpproof ledger status lists keys")
    named = spent_at(execute, int(rows[0][0]))["certificates"]
    digests = {(label, way): name for label, ways in named.items() for way, name in ways.items()}
    none = [name for name in digests.values() if name.startswith(WITHOUT)]
    texts = {}
    for place, name in digests.items():
        if name in none:
            continue
        bodies = execute("SELECT body FROM $certificates WHERE digest = :digest", digest=name)
        if not bodies:
            raise LedgerDamaged(f"certificate {name[:12]} is missing; run dpproof ledger verify")
        texts[place] = str(bodies[0][0])
    if not texts:
        raise LedgerError(f"the spend {key!r} has no certificate: {none[0].removeprefix(WITHOUT)}")
    return texts


def owned_under_lock(
    execute: Execute, key: str, attempt: str | None
) -> tuple[chain.Last, str, int]:
    """Take the lock, and return the last entry, the status of a key and what entry reserved it."""
    owner_of = ("SELECT status, owner, number FROM $spends WHERE name = :name", {"name": key})
    _, last, rows = execute.together([(LOCK, {}), (chain.LAST, {}), owner_of])
    read = chain.read_last(last)
    if not rows:
        raise KeyConflict(f"nothing is reserved for the key {key!r}")
    status, owner, number = rows[0]
    if attempt is not None and owner != attempt:
        raise AlreadySpent(
            f"another attempt has taken over the key {key!r}: publish nothing of this one"
        )
    return read, str(status), int(number)


def settle(execute: Execute, key: str) -> None:
    """Mark a key as committed."""
    settled = "UPDATE $spends SET status = 'committed' WHERE name = :name"
    execute.later([(settled, {"name": key})])


def matching(state: Mapping[str, Any], request: SpendRequest) -> dict[str, State]:
    """Return the budgets that a spend is charged to."""
    if str(request.guarantee.relation) != state["relation"]:
        raise RelationMismatch(
            f"the ledger is about {state['relation']} neighbours, the guarantee about "
            f"{request.guarantee.relation}; state every sensitivity under one relation"
        )
    names.require_limited(state, request.where)
    every: dict[str, State] = state["budgets"]
    covering = [label for label in every if names.covers(names.where(label), request.where)]
    budgets = {label: every[label] for label in covering}
    if not budgets:
        raise LedgerError("no budget covers this dataset and principal; nothing may run")
    for label, one in budgets.items():
        if "closed" in one:
            raise BudgetExceeded(
                f"the budget{about(label)} was closed on {one['closed'][:10]}; nothing was spent"
            )
    return budgets


def write(
    execute: Execute,
    locked: LockedState,
    request: SpendRequest,
    plans: Mapping[str, Plan],
    *,
    commit: bool,
) -> bool:
    """Write a spend if every budget admits it, and return whether they do."""
    number, _, state = locked.last
    taken, after = {}, {}
    for label, plan in plans.items():
        done = plan.apply(state["budgets"][label])
        if done is None:
            return False
        after[label], taken[label] = done
    state["budgets"].update(after)
    first = [] if locked.met else names.meeting(state, request.where)
    named = _certificates(plans, taken)
    entry = {
        "kind": "spend" if commit else "reserve",
        "time": now(),
        "key": request.key,
        "label": request.label,
        "dataset": request.where[0],
        "principal": request.where[1],
        "guarantee": request.guarantee.describe(),
        "request": request.digest,
        "owner": request.attempt,
        "taken": taken,
        "limits": {label: one["limits"] for label, one in after.items()},
        "certificates": named,
    }
    spent = {
        "name": request.key,
        "digest": request.digest,
        "status": "committed" if commit else "pending",
        "owner": request.attempt,
        "number": number + 1,
    }
    used = {name for ways in named.values() for name in ways.values()}
    execute.later(
        [
            *(
                (KEEP, {"digest": name, "body": text})
                for name, text in _texts(plans).items()
                if name in used - locked.kept
            ),
            *chain.appending(locked.last, entry),
            (SPENT, spent),
            *first,
        ]
    )
    return True


KEEP: Final = "INSERT INTO $certificates (digest, body) VALUES (:digest, :body)"
TAKEN_OVER: Final = "UPDATE $spends SET owner = :owner WHERE name = :name"
SPENT: Final = (
    "INSERT INTO $spends (name, digest, status, owner, number) "
    "VALUES (:name, :digest, :status, :owner, :number)"
)


def _texts(plans: Mapping[str, Plan]) -> dict[str, str]:
    """Return the certificates of plans by their digests."""
    texts = (
        charge.proof
        for plan in plans.values()
        for charge in plan.charges.values()
        if charge is not None and charge.proof
    )
    return {digest(text): text for text in texts}


def _certificates(
    plans: Mapping[str, Plan], taken: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, str]]:
    """Return the digests of the certificates of what was taken, or why there is none."""
    digests: dict[str, dict[str, str]] = {}
    for label, plan in plans.items():
        digests[label] = {}
        for way, charge in plan.charges.items():
            if charge is None or taken[label].get(way) is None:
                continue
            without = f"{WITHOUT}{charge.reason}"
            digests[label][way] = digest(charge.proof) if charge.proof else without
    return digests


def refusal(states: Mapping[str, State], request: SpendRequest, plans: Mapping[str, Plan]) -> str:
    """Return why a spend is over a budget, in one line."""
    reasons = []
    for label, plan in plans.items():
        if plan.apply(states[label]) is None:
            reasons.append(f"the budget{about(label)} ({_budget_words(states[label], plan)})")
    return (
        f"the spend {request.key!r} costs more than is left of {', and of '.join(reasons)}; "
        "nothing was spent: run something cheaper, or nothing"
    )


def about(label: str) -> str:
    """Return whose a budget is."""
    pairs = zip(names.KINDS, names.where(label), strict=True)
    return "".join(f" of {what} {one}" for what, one in pairs if one is not None)


def _budget_words(state: State, plan: Plan) -> str:
    """Return what a spend costs in every way that is open, and what is left there."""
    divided = state if plan.divided is None else plan.divided
    words = []
    for way in divided["limits"] or ():
        if not budget.alive(divided, way):
            continue
        charge = plan.charges.get(way)
        rest = " and ".join(f"{float_down(one):.4g}" for one in budget.left(divided, way))
        cost = "not bounded or too large"
        if charge is not None:
            cost = " and ".join(f"{float_up(one):.4g}" for one in charge.costs)
        order = budget.order_of(divided, way)
        unit = f"divergence at order {float(order):g}" if order is not None else _UNITS[way]
        words.append(f"{unit} {cost}, left {rest}")
    return "; ".join(words)


_UNITS: Final = {"basic": "epsilon and delta", "zcdp": "rho", "gdp": "mu squared"}


def here() -> str:
    """Return the machine and the process."""
    return f"{platform.node()}:{os.getpid()}"


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Keeper(Protocol):
    """The methods of a ledger that a reservation uses."""

    def commit(self, key: str, *, attempt: str | None = None) -> None:
        """Keep what a key has reserved."""

    def release(self, key: str, *, attempt: str | None = None) -> None:
        """Give back what a key has reserved."""


@final
class Spend:
    """A reserved part of a budget, spent until it is released.

    As a context manager it commits at the end of the block, and releases if the block raises
    before ``commit`` was called. Publish what a mechanism returned after the block, or inside it
    after ``commit()``: what was published is never released, and is not run again for its key.

    Attributes:
        key: names the spend; another process that reserves it takes this attempt over.
        label: its purpose.
        committed: whether it stays spent.
        fresh: whether it may run: its key was not committed before.
        closed: the ways of spending that admit nothing any more because of it.
    """

    def __init__(
        self,
        ledger: Keeper,
        wanted: SpendRequest,
        *,
        committed: bool,
        fresh: bool = True,
        closed: tuple[str, ...] = (),
    ) -> None:
        self._ledger, self.key, self.label = ledger, wanted.key, wanted.label
        self._attempt, self.committed = wanted.attempt, committed
        self.fresh, self.closed = fresh, closed

    def __repr__(self) -> str:
        """Show the key and whether it is committed."""
        return f"Spend(key={self.key!r}, committed={self.committed})"

    def commit(self) -> None:
        """Keep what was reserved, for good; to do it twice changes nothing.

        Raises:
            AlreadySpent: another attempt of the same key came first: publish nothing.
            LedgerError: the ledger is out of reach; what was reserved stays spent.
        """
        self._ledger.commit(self.key, attempt=self._attempt)
        self.committed = True

    def release(self) -> None:
        """Give back what was reserved; the mechanism did not run, or nothing was published.

        Raises:
            AlreadySpent: it was committed.
            LedgerError: the ledger is out of reach; what was reserved stays spent.
        """
        self._ledger.release(self.key, attempt=self._attempt)

    def __enter__(self) -> Self:
        """Begin the run.

        Raises:
            AlreadySpent: the key was committed: its release was made, and a second one costs.
        """
        if self.committed:
            raise AlreadySpent(
                f"the key {self.key!r} was committed before: publish what was released then, or "
                "reserve another key for another release"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or release if the block raised before it committed."""
        if kind is None:
            self.commit()
        elif not self.committed:
            self.release()


CHANGES = ("lower", "propose", "raise", "close")


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
        raise KeyConflict(f"there is no budget{about(label)} of its own; limit makes one")
    before = state["budgets"][label]
    entry: dict[str, Any] = {"kind": kind, "time": now(), "budget": label, "by": by}
    entry["owner"] = here()
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
