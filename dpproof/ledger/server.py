"""One transaction at a time on a server, by SQLAlchemy; on PostgreSQL in two round trips."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

from dpproof.ledger.database import Database, Execute, OneByOne, Rows, Statement
from dpproof.ledger.errors import LedgerError

_PIPELINED: Final = "psycopg"  # the driver that can send statements together
# Writes to PostgreSQL's log, so that to commit it waits until everything before it is on the disk
# too. A server that only follows another has what is on the disk there.
_FLUSH: Final = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'dpproof', '') END"
)
_MAY_FLUSH: Final = (
    "SELECT count(*) FROM pg_proc WHERE proname = 'pg_logical_emit_message' "
    "AND has_function_privilege(oid, 'execute')"
)


@final
class ServerDatabase(Database):
    """A database server that SQLAlchemy reaches (extra ``server``)."""

    def __init__(self, url: str) -> None:
        try:
            self._library: Any = importlib.import_module("sqlalchemy")
        except ImportError as error:
            raise LedgerError(
                "a ledger on a server needs SQLAlchemy and the server's driver; "
                "pip install 'dpproof[server]'"
            ) from error
        try:
            made = self._library.make_url(url)
            self._pipelined = made.get_driver_name() == _PIPELINED and _pipelines()
            # Each block ends its transaction; a pipeline begins it too, with its first statement.
            begun = {"isolation_level": "AUTOCOMMIT"} if self._pipelined else {}
            self._engine = self._library.create_engine(made, pool_reset_on_return=None, **begun)
        except (self._library.exc.SQLAlchemyError, ImportError) as error:
            raise LedgerError(f"cannot use this database: {_line(error)}") from error
        self._place = self._engine.url.render_as_string(hide_password=True)
        self._process = os.getpid()
        self._texts: dict[str, Any] = {}
        self._may_flush: bool | None = None
        driver = self._engine.dialect.loaded_dbapi.Error  # of statements that are sent together
        self._errors = (self._library.exc.SQLAlchemyError, driver)

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Execute]:
        """Run statements together; ``LOCK`` makes other writers wait."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)  # connections made before a fork are the parent's
            self._process = os.getpid()
        try:
            with self._piped(durable=durable) if self._pipelined else self._begun() as execute:
                yield execute
        except self._errors as error:
            raise LedgerError(f"{self._place}: {_line(error)}; nothing was spent") from error

    def close(self) -> None:
        """Close the pool of connections."""
        with contextlib.suppress(Exception):
            self._engine.dispose()

    @contextmanager
    def _begun(self) -> Iterator[Execute]:
        """Run statements one after another."""
        with self._engine.begin() as connection:
            yield OneByOne(lambda sql, values: self._run(connection, sql, values))

    @contextmanager
    def _piped(self, *, durable: bool) -> Iterator[Execute]:
        """Run statements in few round trips, on a connection that is given back if it is whole."""
        lent = self._engine.raw_connection()
        driver = lent.driver_connection
        try:
            if self._may_flush is None:
                self._may_flush = bool(driver.execute(_MAY_FLUSH).fetchone()[0])
            pipe = _Pipeline(driver, self._compiled)
            pipe.later([("BEGIN", {})])
            if self._may_flush or not durable:
                pipe.later([("SET LOCAL synchronous_commit = off", {})])
            yield pipe
            self._commit(pipe, flush=durable and self._may_flush)
        except BaseException:
            _end(lent, driver)
            raise
        lent.close()

    def _commit(self, pipe: _Pipeline, *, flush: bool) -> None:
        """Keep what a pipeline wrote, give the lock to the next, and wait for the disk.

        Statement: the next writer may read what is not on the disk yet, as nobody may publish
            before that: the disk has whatever was written before what it has, so that a spend
            which is on the disk when its call returns has all it was computed from there too.

        Raises:
            LedgerError: whether it was kept is not known.
        """
        ending: list[Statement] = [("COMMIT", {}), *([(_FLUSH, {})] if flush else [])]
        try:
            done = pipe.ended(ending)
        except self._errors as error:
            raise LedgerError(
                f"{self._place}: {_line(error)}; whether this was kept is not known: publish "
                "nothing, and ask again with the same key, which is never paid twice"
            ) from error
        if done != "COMMIT":
            raise LedgerError(f"{self._place}: the server did not commit; nothing was spent")

    def _compiled(self, sql: str) -> str:
        """Return a statement as the driver writes its names."""
        if sql not in self._texts:
            compiled = self._library.text(sql).compile(dialect=self._engine.dialect)
            self._texts[sql] = str(compiled)
        return str(self._texts[sql])

    def _run(self, connection: Any, sql: str, values: dict[str, Any]) -> Rows:  # noqa: ANN401  # untyped here
        prepared = self._texts.setdefault(sql, self._library.text(sql))
        result = connection.execute(prepared, values)
        return [tuple(row) for row in result] if result.returns_rows else []


@final
class _Pipeline(Execute):
    """Statements that psycopg sends together, before it waits for their results."""

    def __init__(self, connection: Any, text: Callable[[str], str]) -> None:  # noqa: ANN401  # untyped here
        self._connection, self._text = connection, text
        self._waiting: list[Statement] = []

    def together(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run them, after those that wait."""
        found = self._sent(statements)[len(self._waiting) :]
        self._waiting = []
        return [one.fetchall() if one.description else [] for one in found]

    def later(self, statements: Sequence[Statement]) -> None:
        """Let them wait for the next that are run."""
        self._waiting += statements

    def ended(self, ending: Sequence[Statement]) -> str:
        """Run all that wait and what ends them, and return the server's word for the first end."""
        found = self._sent(ending)
        return str(found[len(self._waiting)].statusmessage)

    def _sent(self, statements: Sequence[Statement]) -> list[Any]:
        with self._connection.pipeline():
            return [
                self._connection.execute(self._text(sql), values)
                for sql, values in (*self._waiting, *statements)
            ]


def _end(lent: Any, driver: Any) -> None:  # noqa: ANN401  # untyped here
    """Undo a transaction, and give its connection back if that worked."""
    try:
        driver.rollback()
    except Exception:  # noqa: BLE001  # whatever it is, nobody may use the connection again
        lent.invalidate()
    lent.close()


def _pipelines() -> bool:
    """Whether the library of the driver can send statements together."""
    return bool(importlib.import_module("psycopg").Pipeline.is_supported())


def _line(error: BaseException) -> str:
    """Return the first line of an error of a library."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
