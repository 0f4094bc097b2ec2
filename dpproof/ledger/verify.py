"""Recompute a ledger from its entries: hashes, sums, keys and certificates."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dpproof.accountant.errors import PrivacyError
from dpproof.accountant.relation import RELATIONS
from dpproof.ledger import budget, chain, names, spending
from dpproof.ledger.budget import State, proved_costs
from dpproof.ledger.chain import canonical, digest
from dpproof.ledger.errors import MISFITS, LedgerDamaged, LedgerError
from dpproof.ledger.places import Execute, Rows, Statement
from dpproof.proofs import Rejected, check_text
from dpproof.proofs.certificate import Certificate


@final
@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification."""

    entries: int  # their number, each with its hash
    certificates: int  # the number of different ones, each accepted by the checker
    # Keys of spends that no certificate covers, with the reason.
    uncertified: tuple[tuple[str, str], ...]
    head: str  # the hash of the last entry


@final
@dataclass(frozen=True, slots=True)
class Contents:
    """All that a ledger holds at one time."""

    last: Rows
    entries: Rows
    certificates: Rows
    spends: Rows
    names: Rows

    def statements(self) -> list[Statement]:
        """Return what writes all of it into the tables of a new ledger."""
        number, state, _, _ = self.last[0]
        names = [(digest(row[0]), row[0], at) for at, row in enumerate(self.names, start=1)]
        tables = (
            ("entries", ("number", "body", "hash"), self.entries),
            ("certificates", ("digest", "body"), self.certificates),
            ("spends", ("name", "status", "number", "digest", "owner"), self.spends),
            ("names", ("digest", "name", "number"), names),
            ("head", ("id", "number", "state"), [(1, number, state)]),
        )
        return [
            (
                # the names are above
                f"INSERT INTO ${table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})",  # noqa: S608
                dict(zip(columns, row, strict=True)),
            )
            for table, columns, rows in tables
            for row in rows
        ]


def contents(execute: Execute) -> Contents:
    """Read everything, so that it is verified while others go on."""
    queries = (
        chain.LAST,
        "SELECT number, body, hash FROM $entries ORDER BY number",
        "SELECT digest, body FROM $certificates ORDER BY digest",
        "SELECT name, status, number, digest, owner FROM $spends",
        "SELECT name FROM $names ORDER BY number",
    )
    return Contents(*execute.together([(one, {}) for one in queries]))


def verified(contents: Contents, head: str | None) -> Verification:
    """Recompute everything."""
    number, last, state = chain.read_last(contents.last)
    rows = contents.entries
    accepted = _accepted(contents.certificates)
    replay = Replay(accepted, state["relation"])
    place, previous, numbers = 0, chain.START, set()
    for place, _ in replay.applied(rows):
        previous = rows[place - 1][2]
        numbers.add(previous)
    if place != number or previous != last:
        raise LedgerDamaged(f"there are {len(rows)} entries, and {number} were written")
    replay.require(contents, state)
    if head is not None and head not in numbers:
        raise LedgerDamaged("the hash that was written down is none of the chain: entries are gone")
    return Verification(number, len(accepted), tuple(replay.uncertified), last)


def _accepted(rows: Rows) -> dict[str, Certificate]:
    """Return the certificates by digest, each checked."""
    accepted = {}
    for name, text in rows:
        if digest(text) != name:
            raise LedgerDamaged(f"certificate {name[:12]} was changed")
        verdict = check_text(text)
        if isinstance(verdict, Rejected):
            raise LedgerDamaged(f"certificate {name[:12]} is rejected: {verdict.reason}")
        accepted[name] = Certificate.from_json(text)
    return accepted


@final
class Replay:
    """Budgets and keys as the entries make them, by the rules by which a ledger writes them."""

    def __init__(self, certificates: dict[str, Certificate] | None, relation: str) -> None:
        self.certificates, self.relation = certificates, relation
        self.met: dict[names.Where, None] = {}  # in their order, with a digest of them
        self.names: list[Any] = [0, ""]
        self.budgets: dict[str, State] = {}
        # The status of a key, the entry that reserved it, and the digest of what it stands for.
        self.keys: dict[str, tuple[str, int, str]] = {}
        self.owners: dict[str, str] = {}
        self.open_names = False
        self.taken: dict[int, dict[str, Any]] = {}
        self.uncertified: list[tuple[str, str]] = []

    def applied(self, rows: Rows) -> Iterator[tuple[int, dict[str, Any]]]:
        """Apply entries in their order, and return each, with its number, after it was applied."""
        previous = chain.START
        for expected, (place, body, link) in enumerate(rows, start=1):
            if place != expected:
                raise LedgerDamaged(f"entry {expected} is missing")
            if chain.linked(previous, body) != link:
                raise LedgerDamaged(f"entry {place} was changed: its hash is another one")
            previous = link
            try:
                read = json.loads(body)
                self._apply(place, read["entry"])
                if read["state"] != digest(canonical(self.state())):
                    raise ValueError("what is left is not what the entries say")
            except (*MISFITS, PrivacyError) as error:
                words = f"entry {place} does not fit what is before it: {error}"
                raise LedgerDamaged(words) from error
            yield place, read["entry"]

    def _apply(self, place: int, entry: dict[str, Any]) -> None:
        """Apply one entry."""
        kind = entry["kind"]
        if kind in ("create", "limit"):
            self._opened(place, entry)
        elif kind in ("reserve", "spend"):
            self._spend(place, entry)
        elif kind in ("commit", "take over"):
            at = self._pending(entry["key"])
            status = "committed" if kind == "commit" else "pending"
            self.keys[entry["key"]] = (status, at, self.keys[entry["key"]][2])
            self.owners[entry["key"]] = entry.get("owner", self.owners[entry["key"]])
        elif kind in spending.CHANGES:
            self.budgets[entry["budget"]] = spending.applied(self.budgets[entry["budget"]], entry)
        elif kind == "release":
            at = self._pending(entry["key"])
            del self.keys[entry["key"]]
            for name, taken in self.taken[at].items():
                self.budgets[name] = budget.returned(self.budgets[name], taken)
        else:
            raise ValueError(f"no such kind: {kind}")

    def state(self) -> dict[str, Any]:
        """Return what the ledger keeps after the entries so far."""
        return {
            "format": chain.FORMAT,
            "relation": self.relation,
            "budgets": self.budgets,
            "names": self.names,
            "open_names": self.open_names,
        }

    def require(self, contents: Contents, state: dict[str, Any]) -> None:
        """Refuse tables that are not what the entries say."""
        if canonical(self.state()) != canonical(state):
            raise LedgerDamaged("what is left of the budgets is not what the entries say")
        if [names.where(row[0]) for row in contents.names] != [*self.met]:
            raise LedgerDamaged("the names that were spent on are not those of the entries")
        keys = {(name, *about, self.owners[name]) for name, about in self.keys.items()}
        if set(contents.spends) != keys:
            raise LedgerDamaged("the keys are not those of the entries")

    def _opened(self, place: int, entry: dict[str, Any]) -> None:
        if (entry["kind"] == "create") != (place == 1):
            raise ValueError("a ledger is made once, by its first entry")
        if place == 1:
            self.open_names = entry["open_names"]
        for name, opened in entry["opened"].items():
            where = names.where(name)
            if name in self.budgets or any(names.covers(where, one) for one in self.met):
                raise ValueError("a budget is added that was there, or after it was spent from")
            goal = budget.goal(opened, budget.relation_named(self.relation))
            if opened != budget.opened(goal):
                raise ValueError("a budget is added with limits, spends or changes of its own")
            self.budgets[name] = opened

    def _pending(self, key: str) -> int:
        """Return the entry that reserved a key that is pending."""
        status, at, _ = self.keys[key]
        if status != "pending":
            raise ValueError("the key was committed before")
        return at

    def _spend(self, place: int, entry: dict[str, Any]) -> None:
        if entry["key"] in self.keys:
            raise ValueError("the key was spent before")
        where = (entry["dataset"], entry["principal"])
        covering = {name for name in self.budgets if names.covers(names.where(name), where)}
        if set(entry["taken"]) != covering:
            raise ValueError("it is not charged to the budgets that cover it")
        if where not in self.met:
            self.met[where] = None
            sums = {"names": self.names}
            names.meeting(sums, where)
            self.names = sums["names"]
        for name, taken in entry["taken"].items():
            state = self.budgets[name]
            limits = entry["limits"][name]
            if state["limits"] is None:
                state = budget.divided_as(state, limits)
            if any(one < 0 for cost in taken.values() for one in budget.numbers(cost or [])):
                raise ValueError("a cost below 0")
            if state["limits"] != limits:
                raise ValueError("the limits are not those of the budget")
            costs = {way: cost and budget.numbers(cost) for way, cost in taken.items()}
            done = budget.charged(state, costs)
            if done is None or done[1] != taken:
                raise ValueError("it is over the budget")
            self.budgets[name] = done[0]
            if self.certificates is not None:
                self._certified(self.certificates, entry, name, costs)
        status = "committed" if entry["kind"] == "spend" else "pending"
        self.keys[entry["key"]] = (status, place, entry["request"])
        self.owners[entry["key"]] = entry["owner"]
        self.taken[place] = entry["taken"]

    def _certified(
        self,
        certificates: dict[str, Certificate],
        entry: dict[str, Any],
        name: str,
        costs: dict[str, tuple[Fraction, ...] | None],
    ) -> None:
        """Compare every cost with the number that its certificate proves."""
        for way, cost in costs.items():
            if cost is None:
                continue
            digest = entry["certificates"][name][way]
            if digest.startswith(spending.WITHOUT):
                self.uncertified.append((entry["key"], digest.removeprefix(spending.WITHOUT)))
                continue
            claim = certificates[digest].claim
            order = budget.order_of(self.budgets[name], way)
            notions = ("rdp",) if order is not None else _NOTIONS[way]
            about = claim["relation"] == self.relation and claim["steps"] == 1
            if not about or claim["notion"] not in notions:
                raise ValueError("the certificate is about something else")
            proved = proved_costs(claim, order)
            if any(paid < shown for paid, shown in zip(cost, proved, strict=True)):
                raise ValueError("it costs more than was taken")


_NOTIONS: Final = {"basic": ("pure-dp", "approx-dp"), "zcdp": ("zcdp",), "gdp": ("gdp",)}


def exported(contents: Contents) -> dict[str, Any]:
    """Return all entries and certificates as JSON."""
    return {
        "format": "dpproof-ledger",
        "version": 1,
        "entries": [
            {"number": number, "hash": link, **json.loads(body)}
            for number, body, link in contents.entries
        ],
        "certificates": {name: json.loads(body) for name, body in contents.certificates},
    }


def imported(export: Mapping[str, Any]) -> Contents:
    """Return what an export was made of; keys and names are read from the entries."""
    try:
        if export["format"] != "dpproof-ledger" or export["version"] != 1:
            raise ValueError  # as all else that is no export
        if any(one["entry"]["format"] != chain.FORMAT for one in export["entries"][:1]):
            raise ValueError  # of another version
        entries = [
            (one["number"], canonical({"entry": one["entry"], "state": one["state"]}), one["hash"])
            for one in export["entries"]
        ]
        certificates = [
            (name, Certificate.from_json(json.dumps(one)).to_json(full=one["version"] == 1))
            for name, one in export["certificates"].items()
        ]
    except MISFITS as error:
        raise LedgerError(
            "this is not what dpproof ledger export of this version writes; nothing was made"
        ) from error
    replay = _replayed(entries)
    keys = [
        (key, status, at, request, replay.owners[key])
        for key, (status, at, request) in replay.keys.items()
    ]
    number, body, link = entries[-1]
    names_read = [(names.name(place),) for place in replay.met]
    return Contents(
        [(number, canonical(replay.state()), body, link)], entries, certificates, keys, names_read
    )


def _replayed(entries: Rows) -> Replay:
    """Return what entries make, whose first one fits one relation alone."""
    fitting = []
    for relation in RELATIONS:
        with contextlib.suppress(LedgerDamaged):
            fitting += [relation.name for _ in Replay(None, relation.name).applied(entries[:1])]
    if not fitting:
        raise LedgerDamaged("the first entry does not fit its hashes")
    replay = Replay(None, fitting[0])
    for _ in replay.applied(entries):
        pass
    return replay
