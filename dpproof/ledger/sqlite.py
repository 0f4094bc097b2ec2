"""One transaction at a time on a file, by SQLite of the standard library."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

from dpproof.ledger.database import Database, Execute, OneByOne
from dpproof.ledger.errors import LedgerError

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
