"""One transaction at a time, on SQLite by the standard library; ``server.py`` has the servers."""

from __future__ import annotations

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

    def later(self, statements: Sequence[Statement]) -> None:
        """Run statements whose rows nobody needs, at the latest when the transaction ends."""
        self.together(statements)

    @final
    def __call__(self, sql: str, **values: object) -> Rows:
        """Run one statement with ``:names``, whose values are keywords, and return its rows."""
        return self.together([(sql, values)])[0]


@final
class OneByOne(Execute):
    """Statements that are run one after another."""

    def __init__(self, run: Callable[[str, dict[str, Any]], Rows]) -> None:
        self._run = run

    def together(self, statements: Sequence[Statement]) -> list[Rows]:
        """Run them."""
        return [self._run(sql, values) for sql, values in statements]


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
        from dpproof.ledger.server import ServerDatabase  # noqa: PLC0415  # a file needs none

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
                    yield OneByOne(lambda sql, values: connection.execute(sql, values).fetchall())
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
