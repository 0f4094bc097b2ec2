"""Recompute a ledger from its entries: hashes, sums, keys and certificates."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dpproof.ledger import budget, chain, names, spending
from dpproof.ledger.budget import State
from dpproof.ledger.chain import canonical, digest
from dpproof.ledger.charge import proved_costs
from dpproof.ledger.database import Execute, Rows
from dpproof.ledger.errors import LedgerDamaged
from dpproof.proofs import Rejected, check_text
from dpproof.proofs.core.certificate import Certificate
from dpproof.proofs.core.errors import CertificateError


@final
@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        entries: their number, each with its hash.
        certificates: the number of different ones, each accepted by the checker.
        uncertified: keys of spends that no certificate covers, with the reason.
        uncovered: keys from before entries had the digest of what a key stands for, and who has
            it: that these two were not changed is not known.
        head: the hash of the last entry.
    """

    entries: int
    certificates: int
    uncertified: tuple[tuple[str, str], ...]
    uncovered: tuple[str, ...]
    head: str


@final
@dataclass(frozen=True, slots=True)
class Contents:
    """All that a ledger holds at one time."""

    last: Rows
    entries: Rows
    certificates: Rows
    spends: Rows


def contents(execute: Execute) -> Contents:
    """Read everything, so that it is verified while others go on."""
    queries = (
        chain.LAST,
        "SELECT number, body, hash FROM entries ORDER BY number",
        "SELECT digest, body FROM certificates ORDER BY digest",
        "SELECT name, status, number, digest, owner FROM spends",
    )
    return Contents(*execute.together([(one, {}) for one in queries]))


def verified(contents: Contents, head: str | None) -> Verification:
    """Recompute everything.

    Raises:
        LedgerDamaged: something does not fit; it says what.
    """
    number, last, state = chain.read_last(contents.last)
    rows = contents.entries
    accepted = _accepted(contents.certificates)
    replay = _Replay(accepted, state["relation"])
    previous, numbers = chain.START, set()
    for expected, (place, body, link) in enumerate(rows, start=1):
        if place != expected:
            raise LedgerDamaged(f"entry {expected} is missing")
        if chain.linked(previous, body) != link:
            raise LedgerDamaged(f"entry {place} was changed: its hash is another one")
        previous = link
        numbers.add(link)
        try:
            read = json.loads(body)
            replay.apply(place, read["entry"])
            if read["state"] != digest(canonical(replay.state())):
                raise ValueError("what is left is not what the entries say")  # noqa: TRY301
        except (KeyError, TypeError, ValueError, CertificateError) as error:
            raise LedgerDamaged(f"entry {place} does not fit what is before it: {error}") from error
    if place != number or previous != last:
        raise LedgerDamaged(f"there are {len(rows)} entries, and {number} were written")
    if canonical(replay.state()) != canonical(state):
        raise LedgerDamaged("what is left of the budgets is not what the entries say")
    if not replay.has_keys(contents.spends):
        raise LedgerDamaged("the keys are not those of the entries")
    if head is not None and head not in numbers:
        raise LedgerDamaged("the hash that was written down is none of the chain: entries are gone")
    uncovered = tuple(key for key, (_, _, request) in replay.keys.items() if request is None)
    return Verification(number, len(accepted), tuple(replay.uncertified), uncovered, last)


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
class _Replay:
    """Budgets and keys as the entries make them, by the rules by which a ledger writes them."""

    def __init__(self, certificates: dict[str, Certificate], relation: str) -> None:
        self.certificates, self.relation = certificates, relation
        self.seen: list[list[str | None]] = []
        self.budgets: dict[str, State] = {}
        # The status of a key, the entry that reserved it, and the digest of what it stands for.
        self.keys: dict[str, tuple[str, int, str | None]] = {}
        self.owners: dict[str, str | None] = {}
        self.more: dict[str, Any] = {}
        self.taken: dict[int, dict[str, Any]] = {}
        self.uncertified: list[tuple[str, str]] = []

    def apply(self, place: int, entry: dict[str, Any]) -> None:
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
            if "owner" in entry:
                self.owners[entry["key"]] = entry["owner"]
        elif kind == "release":
            at = self._pending(entry["key"])
            del self.keys[entry["key"]]
            for name, taken in self.taken[at].items():
                self.budgets[name] = budget.returned(self.budgets[name], taken)
        else:
            raise ValueError(f"no such kind: {kind}")

    def state(self) -> dict[str, Any]:
        """Return what the ledger keeps after the entries so far."""
        state = {"relation": self.relation, "budgets": self.budgets, "seen": self.seen}
        return state | self.more

    def has_keys(self, rows: Rows) -> bool:
        """Return whether the keys are those of the entries, with all that these say of them."""
        return {row[0] for row in rows} == self.keys.keys() and all(
            (self.keys[name] == (status, at, request) and self.owners[name] == owner)
            or self.keys[name] == (status, at, None)
            for name, status, at, request, owner in rows
        )

    def _opened(self, place: int, entry: dict[str, Any]) -> None:
        if (entry["kind"] == "create") != (place == 1):
            raise ValueError("a ledger is made once, by its first entry")
        if place == 1 and "open_names" in entry:
            self.more = {"open_names": entry["open_names"]}
        for name, opened in entry["opened"].items():
            where = names.where(name)
            if name in self.budgets or any(names.covers(where, (a, b)) for a, b in self.seen):
                raise ValueError("a budget is added that was there, or after it was spent from")
            if opened["spent"] or opened["refused"]:
                raise ValueError("a budget is added with something spent or refused")
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
        if set(entry["taken"]) != {
            name for name in self.budgets if names.covers(names.where(name), where)
        }:
            raise ValueError("it is not charged to the budgets that cover it")
        if list(where) not in self.seen:
            self.seen.append(list(where))
        for name, taken in entry["taken"].items():
            state = self.budgets[name]
            limits = entry["limits"][name]
            if state["limits"] is None:
                state = budget.divided_as(state, limits)
            if any(one < 0 for cost in taken.values() for one in budget.numbers(cost or [])):
                raise ValueError("a cost below 0")
            if state["limits"] != limits:
                raise ValueError("the limits are not those of the budget")
            costs = {
                way: None if cost is None else budget.numbers(cost) for way, cost in taken.items()
            }
            done = budget.charged(state, costs)
            if done is None or done[1] != taken:
                raise ValueError("it is over the budget")
            self.budgets[name] = done[0]
            self._certified(entry, name, costs)
        status = "committed" if entry["kind"] == "spend" else "pending"
        self.keys[entry["key"]] = (status, place, entry.get("request"))
        self.owners[entry["key"]] = entry.get("owner")
        self.taken[place] = entry["taken"]

    def _certified(
        self, entry: dict[str, Any], name: str, costs: dict[str, tuple[Fraction, ...] | None]
    ) -> None:
        """Compare every cost with the number that its certificate proves."""
        for way, cost in costs.items():
            if cost is None:
                continue
            digest = entry["certificates"][name][way]
            if digest.startswith(spending.WITHOUT):
                self.uncertified.append((entry["key"], digest.removeprefix(spending.WITHOUT)))
                continue
            claim = self.certificates[digest].claim
            order = budget.order_of(self.budgets[name], way)
            notions = ("rdp",) if order is not None else _NOTIONS[way]
            about = claim["relation"] == self.relation and claim["steps"] == 1
            if not about or claim["notion"] not in notions:
                raise ValueError("the certificate is about something else")
            proved = proved_costs(claim, order)
            if any(paid < shown for paid, shown in zip(cost, proved, strict=True)):
                raise ValueError("it costs more than was taken")


_NOTIONS: Final = {
    "basic": ("pure-dp", "approx-dp"),
    "zcdp": ("zcdp",),
    "gdp": ("gdp",),
}


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
