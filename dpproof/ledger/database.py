"""One transaction at a time on SQLite, by the standard library, or on any server, by SQLAlchemy."""

from __future__ import annotations

import contextlib
import importlib
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from dpproof.ledger.errors import LedgerError

Rows: TypeAlias = list[tuple[Any, ...]]
Statement: TypeAlias = tuple[str, dict[str, Any]]
"""SQL with ``:names``, and their values."""

WAIT: Final = 60.0  # seconds for other writers, then an error: nothing is spent
SCHEMA: Final = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, state TEXT NOT NULL)",
    """CREATE TABLE spends (name VARCHAR(200) PRIMARY KEY, digest TEXT NOT NULL,
    status TEXT NOT NULL, owner TEXT NOT NULL, number INTEGER NOT NULL)""",
    "CREATE TABLE certificates (digest VARCHAR(64) PRIMARY KEY, body TEXT NOT NULL)",
)
# A write that changes nothing: it takes the lock on the one row that every writer needs, in every
# database, before anything is read.
LOCK: Final = "UPDATE head SET number = number WHERE id = 1"


class Execute(ABC):
    """What runs statements of one transaction."""

    @abstractmethod
    def together(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run statements in their order, on a server in one round trip if it can, and return rows.

        Each sees what those before it did, and all that others had committed when it began.
        """

    @final
    def __call__(self, sql: str, **values: object) -> Rows:
        """Run one statement with ``:names``, whose values are keywords, and return its rows."""
        return self.together([(sql, values)])[0]


@final
class _OneByOne(Execute):
    """Statements that are run one after another."""

    def __init__(self, run: Callable[[str, dict[str, Any]], Rows]) -> None:
        self._run = run

    def together(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run them."""
        return [self._run(sql, values) for sql, values in statements]


@final
class _Pipeline(Execute):
    """Statements that psycopg sends together, before it waits for their results."""

    def __init__(self, connection: Any, text: Callable[[str], str]) -> None:  # noqa: ANN401  # untyped here
        self._connection, self._text = connection, text

    def together(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run them."""
        with self._connection.pipeline():
            found = [self._connection.execute(self._text(sql), one) for sql, one in statements]
        return [one.fetchall() if one.description else [] for one in found]


class Database(ABC):
    """Where a ledger is kept."""

    @abstractmethod
    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Execute]:
        """Run statements together: after the block all of them are kept, or none.

        Args:
            durable: whether they have to outlive a loss of power; at least if a later transaction
                does. A process that is killed loses nothing either way.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connections of this process."""


def connect(place: str | os.PathLike[str], *, create: bool = False) -> Database:
    """Return the database at a path, or at a URL such as ``postgresql+psycopg://…``.

    Raises:
        LedgerError: there is no such file, or there is one that should be created.
    """
    text = os.fspath(place)
    if "://" in text:
        return ServerDatabase(text)
    if create and Path(text).exists():
        raise LedgerError(f"{text}: exists already; open it, or choose another file")
    if not create and not Path(text).is_file():
        raise LedgerError(f"{text}: no such ledger; make one with dpproof ledger init")
    return SQLiteDatabase(text)


@final
class SQLiteDatabase(Database):
    """A file, written through a log ahead (WAL), which is flushed to the disk where durable."""

    def __init__(self, path: str) -> None:
        self._path, self._lock = str(Path(path).absolute()), threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Execute]:
        """Run statements together, while no other process writes."""
        with self._lock:
            try:
                connection = self._opened()
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield _OneByOne(lambda sql, values: connection.execute(sql, values).fetchall())
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise LedgerError(f"{self._path}: {error}; nothing was spent") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        """Return this process's connection: one that was made before a fork is never used."""
        if self._connection is None or self._process != os.getpid():
            self._connection = sqlite3.connect(
                self._path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            self._process = os.getpid()
            self._connection.execute("PRAGMA journal_mode = WAL")
        return self._connection


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
            self._engine = self._library.create_engine(
                url, pool_reset_on_return=None
            )  # each block ends it
        except (self._library.exc.SQLAlchemyError, ImportError) as error:
            raise LedgerError(f"cannot use this database: {_line(error)}") from error
        self._place = self._engine.url.render_as_string(hide_password=True)
        self._process = os.getpid()
        self._texts: dict[str, Any] = {}
        self._errors = (self._library.exc.SQLAlchemyError, *_errors_of(self._engine))

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Execute]:
        """Run statements together; ``LOCK`` makes other writers wait."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)  # connections made before a fork are the parent's
            self._process = os.getpid()
        try:
            with self._engine.begin() as connection:
                execute = self._executing(connection)
                if not durable and self._engine.dialect.name == "postgresql":
                    execute("SET LOCAL synchronous_commit = off")
                yield execute
        except self._errors as error:
            raise LedgerError(f"{self._place}: {_line(error)}; nothing was spent") from error

    def close(self) -> None:
        """Close the pool of connections."""
        with contextlib.suppress(Exception):
            self._engine.dispose()

    def _executing(self, connection: Any) -> Execute:  # noqa: ANN401  # untyped here
        """Return what runs statements on a connection, in fewest round trips."""
        if self._engine.dialect.driver == "psycopg" and _pipelines():
            return _Pipeline(connection.connection.driver_connection, self._compiled)
        return _OneByOne(lambda sql, values: self._run(connection, sql, values))

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


def _errors_of(engine: Any) -> tuple[type[Exception], ...]:  # noqa: ANN401  # untyped here
    """Return the errors of an engine's driver, which statements sent together raise as they are."""
    return (engine.dialect.loaded_dbapi.Error,)


def _pipelines() -> bool:
    """Whether the library of the driver can send statements together."""
    return bool(importlib.import_module("psycopg").Pipeline.is_supported())


def _line(error: BaseException) -> str:
    """Return the first line of an error of a library."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
