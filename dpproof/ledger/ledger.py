"""The ledger of privacy budgets that many processes spend."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeAlias, TypeVar, final

from dpproof.accountant import Guarantee, PrivacyFilter, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import BudgetExceeded, ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, Relation, require_relation
from dpproof.ledger import chain, names, places, spending
from dpproof.ledger.budget import (
    Plan,
    State,
    closed,
    opened,
    planned,
    relation_named,
    required_form,
    returned,
)
from dpproof.ledger.chain import FORMAT, HeadFile
from dpproof.ledger.errors import AlreadySpent, KeyConflict, LedgerError, TryAgain
from dpproof.ledger.names import Where
from dpproof.ledger.spending import Spend, SpendRequest, change
from dpproof.ledger.status import Logged, Status, WhatIf, log, status, what_if
from dpproof.ledger.verify import Verification, contents, exported, imported, verified

REMEMBERED: Final = 256  # costs of guarantees, so that the same one again costs no time
ATTEMPTS: Final = 8  # how often a spend is planned anew because others changed what is left


P = ParamSpec("P")
T = TypeVar("T")


def _written(method: Callable[Concatenate[Ledger, P], T]) -> Callable[Concatenate[Ledger, P], T]:
    """Repeat what a server undid for others, and remember the last entry after it."""

    @functools.wraps(method)
    def repeated(self: Ledger, /, *arguments: P.args, **named: P.kwargs) -> T:
        for left in reversed(range(ATTEMPTS)):
            try:
                done = method(self, *arguments, **named)
            except TryAgain:
                if not left:
                    raise
            else:
                self._remember()  # its own
                return done
        raise AssertionError("unreachable")

    return repeated


@final
class Ledger:
    """Budgets of privacy that are reserved, and then committed or released.

    Statement: what runs after its reservation, and is published after its commit, satisfies the
        budget's guarantee as a whole: each budget is spent through the filters of
        ``accountant.adaptive``, in the order of the reservations, and every reservation counts
        until it is released.
    Source: proofs/theory/filters.md; docs/LEDGER.md says what is taken for granted.

    A budget is named by its dataset and its principal, a spend by what it reads and who runs it;
    None is all of them. Every method raises ``LedgerError`` where the ledger is out of reach or
    damaged, and ``ParameterError`` for a bad name or number: then nothing was spent.

    Example:
        >>> import tempfile, pathlib
        >>> from dpproof.accountant import ZCDP
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "study.ledger"
        >>> ledger = Ledger.create(file, budget=ZCDP(rho=1))
        >>> with ledger.reserve(ZCDP(rho=0.25), key="counts 2026", label="counts") as spend:
        ...     pass  # run the mechanism here, and publish what it returned after the block
        >>> ledger.status().budgets[0].remaining
        Fraction(3, 4)
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        database: places.Database,
        head_file: HeadFile | None = None,
    ) -> None:
        self._opens, self._database = places.hidden(os.fspath(place)), database
        self._head_file = head_file
        self.place = places.masked(os.fspath(place)[:])
        self._last_states: dict[str, State] = {}  # to plan with; what they say is checked again
        self._memories: dict[tuple[Guarantee[Any], str, str], dict[str, Any]] = {}

    @classmethod
    def open(
        cls, place: str | os.PathLike[str], *, head_file: str | os.PathLike[str] | None = None
    ) -> Self:
        """Open the ledger at a path, or at a database URL of SQLAlchemy.

        Args:
            place: where it is.
            head_file: the path of a file with the hash of an entry, which has to be in the ledger;
                every spend writes its own there.
        Raises:
            LedgerError: there is none, or there is no such file.
            LedgerDamaged: it is damaged, or lost the entry.
        """
        remembered = None if head_file is None else HeadFile(head_file)
        ledger = cls(place, connect(place), remembered)
        with (
            ledger._database.closed_on_error(),
            ledger._database.transaction(reading=True) as execute,
        ):
            chain.last(execute)
            if remembered is not None:
                remembered.require(execute)
        return ledger

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str],
        *,
        budget: Budget,
        relation: Relation | None = None,
        dataset: str | None = None,
        principal: str | None = None,
        open_names: bool = False,
        head_file: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Make a ledger with one budget.

        Args:
            place: the path of a new file, or the URL of a database without a ledger.
            budget: PureDP, ApproxDP, ZCDP, GDP, RDP at one order, or a filter of these.
            relation: which datasets are neighbours; by default the budget's own.
            dataset: which data the budget is about.
            principal: who spends it.
            open_names: whether names without a limit of their own may spend where others have one.
            head_file: the path of a new file for the hash of the last entry; as of ``open``.
        Raises:
            RelationMismatch: a relation that is not the budget's.
        """
        state = _first_state(budget, relation, (dataset, principal), open_names=open_names)
        remembered = None if head_file is None else HeadFile(head_file)
        if remembered is not None:
            remembered.require_new()
        ledger = cls(place, connect(place, create=True), remembered)
        with ledger._database.closed_on_error(), ledger._database.transaction() as execute:
            _create_tables(execute, state)
        ledger._remember()
        return ledger

    @_written
    def limit(
        self, budget: Budget, *, dataset: str | None = None, principal: str | None = None
    ) -> None:
        """Add a budget that spends on a dataset, or of a principal, are charged to as well.

        Raises:
            RelationMismatch: a budget about other neighbours than the ledger.
            KeyConflict: there is one already, or something was spent that it would have to count.
        """
        place = (dataset, principal)
        names.require_place(place)
        label, fresh = names.name(place), opened(budget)
        with self._database.transaction() as execute:
            execute(places.LOCK)
            last = chain.last(execute)
            state = last[2]
            _require_relation(state, budget)
            if label in state["budgets"]:
                raise KeyConflict("there is such a budget already; lower, raise or close it")
            if any(names.covers(place, one) for one in names.met(execute, state)):
                raise KeyConflict(
                    "something was spent already that this budget would have to count"
                )
            state["budgets"][label] = fresh
            entry = {"kind": "limit", "time": spending.now(), "opened": {label: fresh}}
            chain.append(execute, last, entry)

    def lower(
        self,
        budget: Budget,
        *,
        by: str = "",
        dataset: str | None = None,
        principal: str | None = None,
    ) -> None:
        """Let a budget admit less from now on; its guarantee stays that of the larger one.

        Raises:
            BudgetExceeded: more than that is spent.
            KeyConflict: there is no such budget, or it is closed.
        """
        self._change("lower", (dataset, principal), by, budget)

    def raise_to(
        self, budget: Budget, *, by: str, dataset: str | None = None, principal: str | None = None
    ) -> bool:
        """Sign that a budget is larger; it is from the second name for the same numbers on.

        Names are not proved: docs/LEDGER.md says what two of them are good for.

        Returns:
            Whether it is in force; if not, somebody else has to sign.
        Raises:
            KeyConflict: there is no such budget, it is closed, or the name signed before.
        """
        return self._change("propose", (dataset, principal), by, budget) == "raise"

    def renew(
        self, budget: Budget, *, by: str, dataset: str | None = None, principal: str | None = None
    ) -> bool:
        """Sign that a budget has so much more, as for another year of the same data.

        All but the budget, which is added, is as of ``raise_to``.
        """
        return self._change("add", (dataset, principal), by, budget) == "raise"

    def close_budget(
        self, *, by: str = "", dataset: str | None = None, principal: str | None = None
    ) -> None:
        """Let a budget admit nothing any more; what is pending is committed or released.

        Raises:
            KeyConflict: there is no such budget, or it is closed.
        """
        self._change("close", (dataset, principal), by, None)

    @_written
    def _change(self, kind: str, place: Where, by: str, budget: Budget | None) -> str:
        """Write a change of a budget, and return its kind."""
        wanted = None if budget is None else opened(budget)["goal"]
        with self._database.transaction() as execute:
            if budget is not None:
                _require_relation(chain.last(execute)[2], budget)
            return change(execute, kind, place, by, wanted)

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
                default a sixteenth of what sums have, or half of what is left.
            dataset: which data it reads.
            principal: who runs it.
            take_over: whether a pending key may be taken over; say no if whoever commits cannot
                tell one attempt from another.
        Raises:
            BudgetExceeded: no budget is changed.
            KeyConflict: the key stands for another guarantee, or is pending and not taken over.
        """
        wanted = spending.wanted(guarantee, key, label, delta, (dataset, principal))
        return self._take(wanted, commit=False, take_over=take_over)

    def spend(
        self,
        guarantee: Guarantee[Any],
        *,
        key: str,
        label: str = "",
        delta: Number | None = None,
        dataset: str | None = None,
        principal: str | None = None,
        idempotent: bool = False,
    ) -> Spend:
        """Reserve and commit at once; whatever happens to the run, it is paid for.

        If idempotent, a key that was committed before is returned, not ``fresh``, instead of
        refused: its mechanism may not run again. All else is as of ``reserve``.

        Raises:
            AlreadySpent: the key was committed before, so that nothing may run.
        """
        wanted = spending.wanted(guarantee, key, label, delta, (dataset, principal))
        done = self._take(wanted, commit=True, take_over=True)
        if not (done.fresh or idempotent):
            raise AlreadySpent(
                f"the key {key!r} was committed before: run nothing for it again, and reserve "
                "another key for another release; idempotent=True, or --idempotent, is for those "
                "who know that the release of this key was not made"
            )
        return done

    @_written
    def commit(self, key: str, *, attempt: str | None = None) -> None:
        """Keep what a key has reserved, for good; to do it twice changes nothing.

        Raises:
            KeyConflict: nothing is reserved for it.
            AlreadySpent: another attempt has taken it over.
        """
        with self._database.transaction() as execute:
            last, status, _ = spending.owned_under_lock(execute, key, attempt)
            if status == "pending":
                spending.settle(execute, key)
                entry = {"kind": "commit", "time": spending.now(), "key": key}
                chain.append(execute, last, entry)

    @_written
    def release(self, key: str, *, attempt: str | None = None) -> None:
        """Give back what a key has reserved: its mechanism did not run, or published nothing.

        Raises:
            KeyConflict: nothing is reserved for it.
            AlreadySpent: it was committed, or another attempt has taken it over.
        """
        with self._database.transaction() as execute:
            last, status, at = spending.owned_under_lock(execute, key, attempt)
            if status == "committed":
                raise AlreadySpent(f"the key {key!r} was committed, and what is spent stays spent")
            budgets = last[2]["budgets"]
            for name, taken in spending.spent_at(execute, at)["taken"].items():
                budgets[name] = returned(budgets[name], taken)
            execute.later([("DELETE FROM $spends WHERE name = :name", {"name": key})])
            entry = {"kind": "release", "time": spending.now(), "key": key, "reserved": at}
            chain.append(execute, last, entry)

    def status(self) -> Status:
        """Return what is spent and what is left."""
        with self._database.transaction(reading=True) as execute:
            return status(execute)

    def log(self, *, delta: Number | None = None) -> tuple[Logged, ...]:
        """Return all entries: when, who, for what, what it cost, what was left.

        The delta is where the cost of a spend is given as an epsilon; by default the budget's own.
        """
        at = None if delta is None else arguments.probability(delta=delta)
        with self._database.transaction(reading=True) as execute:
            return log(execute, at)

    def what_if(
        self,
        guarantee: Guarantee[Any],
        *,
        delta: Number | None = None,
        dataset: str | None = None,
        principal: str | None = None,
    ) -> tuple[WhatIf, ...]:
        """Return what a spend would cost and leave in every budget, and write nothing.

        Raises:
            BudgetExceeded: a budget is closed.
        """
        asked = spending.wanted(guarantee, "what if", "", delta, (dataset, principal))
        with self._database.transaction(reading=True) as execute:
            state = chain.last(execute)[2]
            budgets = required_form(spending.matching(state, asked))
        relation = relation_named(state["relation"])
        return tuple(
            what_if(names.where(label), one, self._planned(one, asked, label), relation)
            for label, one in budgets.items()
        )

    def verify(self, *, head: str | None = None) -> Verification:
        """Recompute every hash, every sum and every certificate.

        Args:
            head: the hash of an entry that was written down earlier: it has to be in the chain.
        Raises:
            LedgerDamaged: something does not fit; it says what.
        """
        with self._database.transaction(reading=True) as execute:
            rows = contents(execute)
        return verified(rows, head)

    def export(self) -> dict[str, Any]:
        """Return all entries and certificates as JSON."""
        with self._database.transaction(reading=True) as execute:
            chain.last(execute)
            return exported(contents(execute))

    @classmethod
    def from_export(
        cls,
        export: Mapping[str, Any],
        place: str | os.PathLike[str],
        *,
        head_file: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Make a ledger of what ``export`` returned, after all of it was verified.

        The place is as of ``create``; the head file has the hash of an entry that must be there.

        Raises:
            LedgerDamaged: something does not fit, or the entry is not there.
        """
        remembered = None if head_file is None else HeadFile(head_file)
        read = imported(export)
        verified(read, None if remembered is None else remembered.kept())
        ledger = cls(place, connect(place, create=True), remembered)
        with ledger._database.closed_on_error(), ledger._database.transaction() as execute:
            for table in places.SCHEMA:
                execute(table)
            execute.later(read.statements())
        return ledger

    def backup(self, copy: str | os.PathLike[str]) -> None:
        """Write all of a file's ledger to a new file, while others may spend from it.

        Raises:
            LedgerError: the file is there, or this is no file; servers have backups of their own.
        """
        self._database.backup(os.fspath(copy))
        Ledger.open(copy).close()

    def certificates(self, key: str) -> dict[tuple[str, str], str]:
        """Return the certificates of one spend, as text, by budget and way of spending.

        Raises:
            KeyConflict: nothing was spent for the key.
            LedgerError: no rule covers any of its costs.
        """
        with self._database.transaction(reading=True) as execute:
            return spending.certificates(execute, key)

    def close(self) -> None:
        """Close the connections of this process; the next call opens them again."""
        self._database.close()

    def __repr__(self) -> str:
        """Show where it is."""
        return f"Ledger({self.place!r})"

    def _repr_html_(self) -> str:
        """Show a notebook what is left of each budget."""
        return self.status()._repr_html_()

    def _remember(self) -> None:
        """Write the hash of the last entry down, if it is asked to."""
        if self._head_file is not None:
            with self._database.transaction(reading=True) as execute:
                self._head_file.write(chain.last(execute)[1])

    def __deepcopy__(self, _: dict[int, object]) -> Self:
        """Return this very ledger: a copy of an estimator spends the same budget."""
        return self

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickle the place; the copy opens the same ledger.

        Raises:
            LedgerError: it is a URL with a password.
        """
        places.refuse_secret(self._opens[:])
        file = None if self._head_file is None else self._head_file.path
        return functools.partial(Ledger.open, head_file=file), (self._opens,)

    @_written
    def _take(self, wanted: SpendRequest, *, commit: bool, take_over: bool) -> Spend:
        """Return a spend; plan outside the lock, apply inside."""
        plans: dict[str, Plan] = {}
        states = self._last_states
        for _ in range(ATTEMPTS):
            plans = {name: self._planned(state, wanted, name) for name, state in states.items()}
            # A reservation is lost with the power only if its commit was not reached: then nothing
            # was published, and nothing is spent.
            with self._database.transaction(durable=commit) as execute:
                read = spending.read_under_lock(execute, wanted, plans)
                state = read.last[2]
                resumed = spending.resume_or_refuse(execute, read.key, wanted, take_over=take_over)
                if resumed is not None:
                    pending = resumed == "pending"
                    if pending:
                        spending.take_over_pending(execute, read, wanted, commit=commit)
                    return Spend(self, wanted, committed=commit or not pending, fresh=pending)
                matching = spending.matching(state, wanted)
                if plans.keys() == matching.keys() and all(
                    plan.speaks_of(matching[name]) for name, plan in plans.items()
                ):
                    if spending.write(execute, read, wanted, plans, commit=commit):
                        after = {name: state["budgets"][name] for name in matching}
                        self._last_states = after
                        ended = [closed(one, after[name]) for name, one in matching.items()]
                        ways = tuple(dict.fromkeys(way for one in ended for way in one))
                        return Spend(self, wanted, committed=commit, closed=ways)
                    if states == matching:
                        raise BudgetExceeded(spending.refusal(matching, wanted, plans))
                states = required_form(matching)
        raise LedgerError(f"{self.place}: others spend too fast; nothing was spent, try again")

    def _planned(self, state: State, wanted: SpendRequest, name: str) -> Plan:
        """Return what a spend costs in a budget, by what is known of its guarantee there."""
        if len(self._memories) >= REMEMBERED:
            self._memories.clear()
        about = f"{name} {state['goal']}"
        memory = self._memories.setdefault((wanted.guarantee, wanted.digest, about), {})
        return planned(state, wanted.guarantee, wanted.delta, memory)


def connect(place: str | os.PathLike[str], *, create: bool = False) -> places.Database:
    """Return the database at a path, or at a URL such as ``postgresql+psycopg://…``."""
    text = os.fspath(place)[:]  # of a URL that is shown without its password all of it
    if "://" in text:
        return places.ServerDatabase(text)
    if places.masked(text) != text:
        raise LedgerError(
            f"{places.masked(text)} is no path and no URL; a URL begins as postgresql+psycopg://"
        )
    try:
        return _file(text, create=create)
    except OSError as error:
        raise LedgerError(f"{text}: {error.strerror}; nothing was read or spent") from error


def _file(text: str, *, create: bool) -> places.Database:
    """Return the database at a path."""
    if not text.strip() or Path(text).is_dir():
        named = f"{text} is a folder" if text.strip() else f"{text!r} names no file"
        raise LedgerError(
            f"{named}; a ledger is a file such as study.ledger, or the URL of a database"
        )
    if create and Path(text).exists():
        raise LedgerError(f"{text}: exists already; open it, or choose another file")
    if not create and not Path(text).is_file():
        raise LedgerError(f"{text}: no such ledger; make one with dpproof ledger init")
    return places.SQLiteDatabase(text)


Budget: TypeAlias = Guarantee[Any] | PrivacyFilter[Any]


def _first_state(
    budget: Budget, relation: Relation | None, place: Where, *, open_names: bool
) -> dict[str, Any]:
    """Return what a new ledger with one budget keeps."""
    state = opened(budget)
    names.require_place(place)
    if not isinstance(open_names, bool):
        raise ParameterError("open_names", open_names, "True or False")
    own = budget.relation
    about = own if relation is None else require_relation(relation)
    if about != own and own != AddRemove():
        raise RelationMismatch(f"the budget is about {own} neighbours, not {about}")
    return {
        "format": FORMAT,
        "relation": str(about),
        "budgets": {names.name(place): state},
        "names": [0, ""],
        "open_names": open_names,
    }


def _create_tables(execute: places.Execute, state: dict[str, Any]) -> None:
    """Make the tables of a ledger, and its first entry."""
    for table in places.SCHEMA:
        execute(table)
    execute("INSERT INTO $head (id, number, state) VALUES (1, 0, '')")
    entry = {
        "kind": "create",
        "format": FORMAT,
        "time": spending.now(),
        "opened": state["budgets"],
        "open_names": state["open_names"],
    }
    chain.append(execute, (0, chain.START, state), entry)


def _require_relation(state: dict[str, Any], budget: Budget) -> None:
    """Refuse a budget about other neighbours than the ledger."""
    if str(budget.relation) not in (state["relation"], str(AddRemove())):
        raise RelationMismatch(
            f"the ledger is about {state['relation']} neighbours, not {budget.relation}"
        )
