"""The ledger of privacy budgets that many processes spend."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self, final

from accountant import Guarantee, PrivacyFilter
from accountant.arguments import Number
from accountant.errors import BudgetExceeded, RelationMismatch
from accountant.relation import AddRemove, Relation, require_relation
from dpproof.ledger import chain, taking
from dpproof.ledger.budget import State, opened, relation_named, returned
from dpproof.ledger.connect import connect
from dpproof.ledger.database import LOCK, SCHEMA, Database
from dpproof.ledger.errors import AlreadySpent, KeyConflict, LedgerError
from dpproof.ledger.plan import Plan, planned
from dpproof.ledger.spend import Spend
from dpproof.ledger.status import Status, budget_status
from dpproof.ledger.taking import Wanted
from dpproof.ledger.verify import Verification, verified

REMEMBERED: Final = 256  # costs of guarantees, so that the same one again costs no time
ATTEMPTS: Final = 8  # how often a spend is planned anew because others changed what is left


@final
class Ledger:
    """Budgets of privacy that are reserved, and then committed or released.

    Statement: what runs after its reservation, and is published after its commit, satisfies the
        budget's guarantee as a whole: each budget is spent through the filters of
        ``accountant.adaptive``, in the order of the reservations, and every reservation counts
        until it is released.
    Source: proofs/theory/filters.md; docs/LEDGER.md says what is taken for granted.

    Example:
        >>> import tempfile, pathlib
        >>> from accountant import ZCDP
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "study.ledger"
        >>> ledger = Ledger.create(file, budget=ZCDP(rho=1))
        >>> with ledger.reserve(ZCDP(rho=0.25), key="counts 2026", label="counts") as spend:
        ...     pass  # run the mechanism here, and publish what it returned after the block
        >>> ledger.status().budgets[0].remaining
        Fraction(3, 4)
    """

    __slots__ = ("_database", "_last_states", "_memories", "place")

    def __init__(self, place: str | os.PathLike[str], database: Database) -> None:
        self.place, self._database = os.fspath(place), database
        self._last_states: dict[str, State] = {}  # to plan with; what they say is checked again
        self._memories: dict[tuple[Guarantee[Any], str, str], dict[str, Any]] = {}

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> Self:
        """Open the ledger at a path, or at a database URL of SQLAlchemy.

        Raises:
            LedgerError: there is none, or it is damaged.
        """
        ledger = cls(place, connect(place))
        with _closed_on_error(ledger), ledger._database.transaction() as execute:
            chain.last(execute)
        return ledger

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str],
        *,
        budget: Guarantee[Any] | PrivacyFilter[Any],
        relation: Relation | None = None,
        dataset: str | None = None,
        principal: str | None = None,
    ) -> Self:
        """Make a ledger with one budget.

        Args:
            place: the path of a new file, or the URL of a database without a ledger.
            budget: PureDP, ApproxDP, ZCDP, GDP, RDP at one order, or a filter of these.
            relation: which datasets are neighbours; by default the budget's own.
            dataset: which data the budget is about; None for all that is spent here.
            principal: who spends it; None for everybody.
        Raises:
            ParameterError: a budget in another notion, or a relation that is none.
            RelationMismatch: a relation that is not the budget's.
            LedgerError: the place cannot be used.
        """
        begun = opened(budget)
        found = budget.relation
        about = found if relation is None else require_relation(relation)
        if about != found and found != AddRemove():
            raise RelationMismatch(f"the budget is about {found} neighbours, not {about}")
        state = {
            "relation": str(about),
            "budgets": {taking.name((dataset, principal)): begun},
            "seen": [],
        }
        ledger = cls(place, connect(place, create=True))
        with _closed_on_error(ledger), ledger._database.transaction() as execute:
            for table in SCHEMA:
                execute(table)
            execute("INSERT INTO head (id, number, state) VALUES (1, 0, '')")
            entry = {"kind": "create", "time": taking.now(), "opened": state["budgets"]}
            chain.append(execute, number=1, previous=chain.START, state=state, entry=entry)
        return ledger

    def limit(
        self,
        budget: Guarantee[Any] | PrivacyFilter[Any],
        *,
        dataset: str | None = None,
        principal: str | None = None,
    ) -> None:
        """Add a budget that spends on a dataset, or of a principal, are charged to as well.

        Raises:
            RelationMismatch: a budget about other neighbours than the ledger.
            KeyConflict: there is one already, or something was spent that it would have to count.
        """
        where, begun = (dataset, principal), opened(budget)
        with self._database.transaction() as execute:
            execute(LOCK)
            number, previous, state = chain.last(execute)
            if str(budget.relation) not in (state["relation"], str(AddRemove())):
                raise RelationMismatch(
                    f"the ledger is about {state['relation']} neighbours, not {budget.relation}"
                )
            if taking.name(where) in state["budgets"]:
                raise KeyConflict("there is such a budget already; budgets are never changed")
            if any(taking.covers(where, tuple(one)) for one in state["seen"]):
                raise KeyConflict(
                    "something was spent already that this budget would have to count"
                )
            state["budgets"][taking.name(where)] = begun
            entry = {
                "kind": "limit",
                "time": taking.now(),
                "opened": {taking.name(where): begun},
            }
            chain.append(execute, number=number + 1, previous=previous, state=state, entry=entry)

    def reserve(
        self,
        guarantee: Guarantee[Any],
        *,
        key: str,
        label: str = "",
        delta: Number | None = None,
        dataset: str | None = None,
        principal: str | None = None,
        take_over: bool = True,
    ) -> Spend:
        """Take the cost of a mechanism out of every budget that it falls under, before it runs.

        A key that is reserved already is taken over: nothing is taken again, and the earlier
        attempt can no longer commit. A key that was committed takes nothing either, and refuses to
        be run again.

        Args:
            guarantee: what the mechanism satisfies, given everything released before.
            key: names the spend, on one line of at most 200 characters.
            label: what it is for.
            delta: where the guarantee is charged in a budget of sums of (epsilon, delta); by
                default half of the delta that is left.
            dataset: which data it reads.
            principal: who runs it.
            take_over: whether a pending key may be taken over; say no if whoever commits cannot
                tell one attempt from another.
        Raises:
            BudgetExceeded: no budget is changed.
            KeyConflict: the key stands for another guarantee, or is pending and not taken over.
            LedgerError: the ledger is out of reach or damaged; nothing may run.
        """
        wanted = taking.wanted(guarantee, key, label, delta, (dataset, principal))
        return self._take(wanted, commit=False, take_over=take_over)[0]

    def spend(
        self,
        guarantee: Guarantee[Any],
        *,
        key: str,
        label: str = "",
        delta: Number | None = None,
        dataset: str | None = None,
        principal: str | None = None,
    ) -> bool:
        """Reserve and commit at once; whatever happens to the run, it is paid for.

        Returns:
            Whether it was spent now; False if the key was committed before, so that its mechanism
            may not run again.
        Raises:
            BudgetExceeded, KeyConflict, LedgerError: as ``reserve``.
        """
        wanted = taking.wanted(guarantee, key, label, delta, (dataset, principal))
        return self._take(wanted, commit=True, take_over=True)[1]

    def commit(self, key: str, *, attempt: str | None = None) -> None:
        """Keep what a key has reserved, for good; to do it twice changes nothing.

        Raises:
            KeyConflict: nothing is reserved for it.
            AlreadySpent: another attempt has taken it over.
        """
        with self._database.transaction() as execute:
            (number, previous, state), status, _ = taking.owned_under_lock(execute, key, attempt)
            if status == "pending":
                taking.settle(execute, key)
                entry = {"kind": "commit", "time": taking.now(), "key": key}
                chain.append(
                    execute, number=number + 1, previous=previous, state=state, entry=entry
                )

    def release(self, key: str, *, attempt: str | None = None) -> None:
        """Give back what a key has reserved: its mechanism did not run, or published nothing.

        Raises:
            KeyConflict: nothing is reserved for it.
            AlreadySpent: it was committed, or another attempt has taken it over.
        """
        with self._database.transaction() as execute:
            (number, previous, state), status, at = taking.owned_under_lock(execute, key, attempt)
            if status == "committed":
                raise AlreadySpent(f"the key {key!r} was committed, and what is spent stays spent")
            for name, taken in taking.spent_at(execute, at)["taken"].items():
                state["budgets"][name] = returned(state["budgets"][name], taken)
            execute.later([("DELETE FROM spends WHERE name = :name", {"name": key})])
            entry = {"kind": "release", "time": taking.now(), "key": key, "reserved": at}
            chain.append(execute, number=number + 1, previous=previous, state=state, entry=entry)

    def status(self) -> Status:
        """Return what is spent and what is left.

        Raises:
            LedgerError: the ledger is out of reach or damaged.
        """
        with self._database.transaction() as execute:
            number, head, state = chain.last(execute)
            rows = execute("SELECT name, status FROM spends ORDER BY number")
        relation = relation_named(state["relation"])
        return Status(
            relation=relation,
            budgets=tuple(
                budget_status(taking.where(name), one, relation)
                for name, one in state["budgets"].items()
            ),
            committed=tuple(name for name, status in rows if status == "committed"),
            pending=tuple(name for name, status in rows if status == "pending"),
            entries=number,
            head=head,
        )

    def verify(self, *, head: str | None = None) -> Verification:
        """Recompute every hash, every sum and every certificate.

        Args:
            head: the hash of an entry that was written down earlier: it has to be in the chain.
        Raises:
            LedgerDamaged: something does not fit; it says what.
        """
        with self._database.transaction() as execute:
            return verified(execute, head)

    def export(self) -> dict[str, Any]:
        """Return all entries and certificates as JSON.

        Raises:
            LedgerError: the ledger is out of reach or damaged.
        """
        with self._database.transaction() as execute:
            chain.last(execute)
            entries = execute("SELECT number, body, hash FROM entries ORDER BY number")
            certificates = execute("SELECT digest, body FROM certificates ORDER BY digest")
        return {
            "format": "dpproof-ledger",
            "version": 1,
            "entries": [
                {"number": number, "hash": found, **json.loads(body)}
                for number, body, found in entries
            ],
            "certificates": {name: json.loads(body) for name, body in certificates},
        }

    def certificates(self, key: str) -> dict[tuple[str, str], str]:
        """Return the certificates of one spend, as text, by budget and way of spending.

        Raises:
            KeyConflict: nothing was spent for the key.
            LedgerError: no rule covers any of its costs, or the ledger is out of reach or damaged.
        """
        with self._database.transaction() as execute:
            return taking.certificates(execute, key)

    def close(self) -> None:
        """Close the connections of this process; the next call opens them again."""
        self._database.close()

    def __repr__(self) -> str:
        """Show where it is."""
        return f"Ledger({self.place!r})"

    def __deepcopy__(self, _: dict[int, object]) -> Self:
        """Return this very ledger: a copy of an estimator spends the same budget."""
        return self

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Pickle the place; the copy opens the same ledger."""
        return type(self).open, (self.place,)

    def _take(self, wanted: Wanted, *, commit: bool, take_over: bool) -> tuple[Spend, bool]:
        """Return a spend, and whether it was taken now; plan outside the lock, apply inside."""
        plans: dict[str, Plan] = {}
        states = self._last_states
        for _ in range(ATTEMPTS):
            plans = {
                name: planned(state, wanted.guarantee, wanted.delta, self._memory(wanted, name))
                for name, state in states.items()
            }
            # A reservation is lost with the power only if its commit was not reached: then nothing
            # was published, and nothing is spent.
            with self._database.transaction(durable=commit) as execute:
                read = taking.found_under_lock(execute, wanted, plans)
                number, previous, state = read.last
                found = taking.existing(execute, read.key, wanted, take_over=take_over)
                if found == "pending" and commit:
                    taking.settle(execute, wanted.key)
                    entry = {"kind": "commit", "time": taking.now(), "key": wanted.key}
                    chain.append(
                        execute, number=number + 1, previous=previous, state=state, entry=entry
                    )
                if found is not None:
                    done = found == "committed" or commit
                    return Spend(self, wanted, committed=done), found == "pending"
                matching = taking.matching(state, wanted)
                if plans.keys() == matching.keys():
                    if taking.write(execute, read, wanted, plans, commit=commit):
                        self._last_states = {name: state["budgets"][name] for name in matching}
                        return Spend(self, wanted, committed=commit), True
                    if states == matching:
                        raise BudgetExceeded(taking.refusal(matching, wanted, plans))
            states = matching
        raise LedgerError(f"{self.place}: others spend too fast; nothing was spent, try again")

    def _memory(self, wanted: Wanted, name: str) -> dict[str, Any]:
        """Return what is known of the costs of a guarantee, by its derivation, in a budget."""
        if len(self._memories) >= REMEMBERED:
            self._memories.clear()
        return self._memories.setdefault((wanted.guarantee, wanted.digest, name), {})


@contextmanager
def _closed_on_error(ledger: Ledger) -> Iterator[None]:
    """Close the connections of a ledger that cannot be used."""
    try:
        yield
    except BaseException:
        ledger.close()
        raise
