"""One transaction at a time on a server, by SQLAlchemy; on PostgreSQL in two round trips."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, final

from dpproof.ledger.database import Database, Execute, OneByOne, Rows, Statement
from dpproof.ledger.errors import LedgerError, TryAgain, of_own_form
from dpproof.ledger.places import masked

_PIPELINED: Final = "psycopg"  # the driver that can send statements together
# Writes to PostgreSQL's log, so that to commit it waits until everything before it is on the disk
# too. A server that only follows another has what is on the disk there.
_FLUSH: Final = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'dpproof', '') END"
)
# What PostgreSQL waits for others, and then refuses; and how long a transaction may stall, as on a
# sleeping client, before the server undoes it and gives the lock to the next. Bounds, nothing else.
_LOCK_WAIT, _STALL, _CONNECT_WAIT = "60s", "30s", 10
_TABLES: Final = re.compile(r"([a-z][a-z0-9_]{0,30}\.)?([a-z][a-z0-9_]{0,30}_)?")
_AGAIN: Final = ("40001", "40P01")  # undone because of another transaction
_MAY_FLUSH: Final = (
    "SELECT count(*) FROM pg_proc WHERE proname = 'pg_logical_emit_message' "
    "AND has_function_privilege(oid, 'execute')"
)


@final
class ServerDatabase(Database):
    """A database server that SQLAlchemy reaches (extra ``server``).

    A URL may end in ``#team_``, with which the names of its tables begin, in ``#audit.``, a schema
    that is there, or in both, ``#audit.team_``.
    """

    def __init__(self, place: str) -> None:
        url, _, self._tables = place.partition("#")
        if not _TABLES.fullmatch(self._tables):
            raise LedgerError(
                "what follows # in the database's URL begins the names of tables: a prefix such as "
                "team_, a schema such as audit., or both, audit.team_; in a password write # as %23"
            )
        try:
            self._library: Any = importlib.import_module("sqlalchemy")
        except ImportError as error:
            raise LedgerError(
                "a ledger on a server needs SQLAlchemy and the server's driver; "
                "pip install 'dpproof[server]'"
            ) from error
        try:
            made = self._library.make_url(url)
            if "@" in (made.host or ""):
                raise ValueError  # noqa: TRY301  # the end of a password is taken for the host
            self._pipelined = made.get_driver_name() == _PIPELINED and bool(
                importlib.import_module("psycopg").Pipeline.is_supported()
            )
            # Each block ends its transaction; a pipeline begins it too, with its first statement.
            begun: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"} if self._pipelined else {}
            if made.get_driver_name() == _PIPELINED and "connect_timeout" not in made.query:
                begun["connect_args"] = {"connect_timeout": _CONNECT_WAIT}
            self._engine = self._library.create_engine(made, pool_reset_on_return=None, **begun)
        except (self._library.exc.SQLAlchemyError, ImportError) as error:
            raise LedgerError(f"cannot use this database: {_line(error)}") from error
        except ValueError:  # whose text may be part of a password
            raise LedgerError(
                "the database's URL has a port that is no number, or an @ too many; in a user's "
                "name or password write : as %3A, / as %2F and @ as %40"
            ) from None
        self._place = masked(self._engine.url.render_as_string(hide_password=True))
        self._process = os.getpid()
        self._texts: dict[str, Any] = {}
        self._may_flush: bool | None = None
        driver = self._engine.dialect.loaded_dbapi.Error  # of statements that are sent together
        self._errors = (self._library.exc.SQLAlchemyError, driver)

    @contextmanager
    def transaction(self, *, durable: bool = True, reading: bool = False) -> Iterator[Execute]:
        """Run statements together; ``LOCK`` makes other writers wait."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)  # connections made before a fork are the parent's
            self._process = os.getpid()
        level = "REPEATABLE READ" if reading else "READ COMMITTED"
        with self._refusing("nothing was spent"), of_own_form():
            if not self._pipelined:
                with self._begun(level) as execute:
                    yield execute
                return
            begin = f"BEGIN ISOLATION LEVEL {level}{' READ ONLY' if reading else ''}"
            with self._piped(begin, durable=durable and not reading) as execute:
                yield execute

    @contextmanager
    def _refusing(self, outcome: str) -> Iterator[None]:
        """Turn errors of libraries into refusals that say what came of it."""
        try:
            yield
        except self._errors as error:
            again = getattr(getattr(error, "orig", error), "sqlstate", None) in _AGAIN
            if again:
                raise TryAgain(f"{self._place}: {_line(error)}; nothing was spent") from error
            raise LedgerError(f"{self._place}: {_line(error)}; {outcome}") from error

    def close(self) -> None:
        """Close the pool of connections."""
        with contextlib.suppress(Exception):
            self._engine.dispose()

    @contextmanager
    def _begun(self, level: str) -> Iterator[Execute]:
        """Run statements one after another; other servers than PostgreSQL have their own level."""
        options = {"isolation_level": level} if self._engine.dialect.name == "postgresql" else {}
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield OneByOne(lambda sql, values: self._run(connection, sql, values))

    @contextmanager
    def _piped(self, begin: str, *, durable: bool) -> Iterator[Execute]:
        """Run statements in few round trips, on a connection that is given back if it is whole."""
        lent = self._engine.raw_connection()
        driver = lent.driver_connection
        try:
            if self._may_flush is None:
                self._may_flush = bool(driver.execute(_MAY_FLUSH).fetchone()[0])
            with ExitStack() as stack:
                sent = stack.enter_context(driver.pipeline())
                pipe = _Pipeline(driver, self._compiled, sent.sync)
                pipe.later([(begin, {}), (f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'", {})])
                pipe.later([(f"SET LOCAL idle_in_transaction_session_timeout = '{_STALL}'", {})])
                if self._may_flush or not durable:
                    pipe.later([("SET LOCAL synchronous_commit = off", {})])
                yield pipe
                self._commit(pipe, stack.close, flush=durable and self._may_flush)
        except BaseException:
            _end(lent, driver)
            raise
        lent.close()

    def _commit(self, pipe: _Pipeline, end: Callable[[], None], *, flush: bool) -> None:
        """Keep what a pipeline wrote, give the lock to the next, and wait for the disk.

        Statement: the next writer may read what is not on the disk yet, as nobody may publish
            before that: the disk has whatever was written before what it has, so that a spend
            which is on the disk when its call returns has all it was computed from there too.
        """
        ending: list[Statement] = [("COMMIT", {}), *([(_FLUSH, {})] if flush else [])]
        with self._refusing(
            "whether this was kept is not known: publish nothing, and ask again with the same "
            "key, which is never paid twice"
        ):
            done = pipe.ended(ending, end)
        if done != "COMMIT":
            raise LedgerError(f"{self._place}: the server did not commit; nothing was spent")

    def _compiled(self, sql: str) -> str:
        """Return a statement as the driver writes its names."""
        if sql not in self._texts:
            text = self._library.text(sql.replace("$", self._tables))
            self._texts[sql] = str(text.compile(dialect=self._engine.dialect))
        return str(self._texts[sql])

    def _run(self, connection: Any, sql: str, values: dict[str, Any]) -> Rows:  # noqa: ANN401  # untyped here
        prepared = self._texts.setdefault(sql, self._library.text(sql.replace("$", self._tables)))
        result = connection.execute(prepared, values)
        return [tuple(row) for row in result] if result.returns_rows else []


@final
class _Pipeline(Execute):
    """Statements that psycopg sends together, before it waits for their results."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401  # untyped here
        text: Callable[[str], str],
        sync: Callable[[], None],
    ) -> None:
        self._connection, self._text, self._sync = connection, text, sync
        self._waiting: list[Statement] = []

    def together(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run them, after those that wait."""
        replies = self._sent(statements, self._sync)[len(self._waiting) :]
        self._waiting = []
        return [one.fetchall() if one.description else [] for one in replies]

    def later(self, statements: Sequence[Statement]) -> None:
        """Let them wait for the next that are run."""
        self._waiting += statements

    def ended(self, ending: Sequence[Statement], end: Callable[[], None]) -> str:
        """Run all that wait and what ends them, and return the server's word for the first end."""
        replies = self._sent(ending, end)
        return str(replies[len(self._waiting)].statusmessage)

    def _sent(self, statements: Sequence[Statement], wait: Callable[[], None]) -> list[Any]:
        """Send them, and wait for their results.

        The pipeline stays open until the last: its end may send what a server takes for a sign of
        life, so that a transaction that stalls after it would not be undone.
        """
        results = [
            self._connection.execute(self._text(sql), values)
            for sql, values in (*self._waiting, *statements)
        ]
        wait()
        return results


def _end(lent: Any, driver: Any) -> None:  # noqa: ANN401  # untyped here
    """Undo a transaction, and give its connection back if that worked."""
    try:
        driver.rollback()
    except Exception:  # noqa: BLE001  # whatever it is, nobody may use the connection again
        lent.invalidate()
    lent.close()


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether psycopg reports more than its giving up of a lost connection.

    A lost connection is refused here.
    """
    return not record.getMessage().startswith("error ignored ")


logging.getLogger("psycopg").addFilter(_is_news)


def _line(error: BaseException) -> str:
    """Return the first line of an error of a library."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
