"""The interface of the database that keeps a ledger: one transaction at a time."""

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
    """A runner of the statements of one transaction."""

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
    """A place where a ledger is kept."""

    @abstractmethod
    def transaction(
        self, *, durable: bool = True, reading: bool = False
    ) -> AbstractContextManager[Execute]:
        """Run statements together: after the block all of them are kept, or none.

        Args:
            durable: whether they have to outlive a loss of power; at least if a later transaction
                does. A process that is killed loses nothing either way.
            reading: whether they only read, and all of them what was there at one time: nobody
                waits for them.
        Raises:
            LedgerError: the database is out of reach, or another process has the lock too long.
            TryAgain: the same block may be run again.
        """

    def backup(self, copy: str) -> None:
        """Write all of it to a new file.

        Raises:
            LedgerError: the file is there, or this is no file.
        """
        raise LedgerError(f"{copy}: a server is backed up by its own tools, as pg_dump")

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the connections of what cannot be used."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def close(self) -> None:
        """Close the connections of this process."""


_WAIT: Final = 60.0  # seconds for other writers, then an error: nothing is spent


@final
class SQLiteDatabase(Database):
    """A file, written through a log ahead (WAL), which is flushed to the disk where durable."""

    def __init__(self, path: str) -> None:
        self._path, self._lock = str(Path(path).absolute()), threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()

    @contextmanager
    def transaction(self, *, durable: bool = True, reading: bool = False) -> Iterator[Execute]:
        """Run statements together, while no other process writes if they do."""
        with self._lock:
            try:
                connection = self._opened()
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
                try:
                    yield OneByOne(lambda sql, values: connection.execute(sql, values).fetchall())
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise LedgerError(f"{self._path}: {error}; nothing was spent") from error

    def backup(self, copy: str) -> None:
        """Write all of it, with what is only in its log, to a new file."""
        with self._lock:
            try:
                Path(copy).open("x").close()
                target = sqlite3.connect(copy)
                try:
                    self._opened().backup(target)
                finally:
                    target.close()
            except FileExistsError:
                raise LedgerError(f"{copy}: exists already; name another file") from None
            except (sqlite3.Error, OSError) as error:
                raise LedgerError(f"{copy}: {error}; the copy is no ledger") from error

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
                self._path, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            self._process = os.getpid()
            self._connection.execute("PRAGMA journal_mode = WAL")
        return self._connection
