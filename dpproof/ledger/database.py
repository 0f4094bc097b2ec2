"""The interface of the database that keeps a ledger: one transaction at a time."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from dpproof.ledger.errors import LedgerError, of_own_form

Rows: TypeAlias = list[tuple[Any, ...]]
Statement: TypeAlias = tuple[str, dict[str, Any]]
"""SQL with ``:names``, and their values; ``$`` stands for what precedes the names of tables."""

SCHEMA: Final = (
    "CREATE TABLE $entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE $head (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, state TEXT NOT NULL)",
    """CREATE TABLE $spends (name VARCHAR(200) PRIMARY KEY, digest TEXT NOT NULL,
    status TEXT NOT NULL, owner TEXT NOT NULL, number INTEGER NOT NULL)""",
    "CREATE TABLE $certificates (digest VARCHAR(64) PRIMARY KEY, body TEXT NOT NULL)",
    """CREATE TABLE $names (digest VARCHAR(64) PRIMARY KEY, name TEXT NOT NULL,
    number INTEGER NOT NULL)""",
)
# A write that changes nothing: it takes the lock on the one row that every writer needs, in every
# database, before anything is read.
LOCK: Final = "UPDATE $head SET number = number WHERE id = 1"


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

        Durable ones outlive a loss of power; others do if a later transaction does. Those that only
        read see what was there at one time, and nobody waits for them. ``TryAgain`` means that the
        same block may be run again.
        """

    def backup(self, copy: str) -> None:
        """Write all of it to a new file."""
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
_POLL: Final = 0.002


@final
class SQLiteDatabase(Database):
    """A file, written through a log ahead (WAL), which is flushed to the disk where durable.

    Writers queue for the lock of another file, as SQLite would let one that waits sleep and try
    again, for seconds where many write. Whoever cannot queue still waits for SQLite's own lock.
    """

    def __init__(self, path: str) -> None:
        self._path, self._lock = str(Path(path).absolute()), threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()

    @contextmanager
    def transaction(self, *, durable: bool = True, reading: bool = False) -> Iterator[Execute]:
        """Run statements together, while no other process writes if they do."""
        with self._lock, self._refusing(), of_own_form():
            connection, writes = self._opened(), not reading and self._may_write()
            before = None if writes else self._unlocked()
            try:
                with self._turn() if writes else nullcontext():
                    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                    connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
                    run = connection.execute
                    yield OneByOne(lambda sql, named: [*run(sql.replace("$", ""), named)])
                    connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if before is not None:
                    connection.close()
                    self._connection = None
                    if self._unlocked() != before:
                        raise LedgerError(f"{self._path}: written while it was read; try again")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn errors of SQLite and of files into refusals."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"{self._path}: {error}; nothing was spent") from error

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for those who asked before."""
        name = f"{self._path}-queue"
        try:
            queue = os.open(name, os.O_RDWR)
        except FileNotFoundError:
            queue = os.open(name, os.O_RDWR | os.O_CREAT)
            Path(name).chmod(stat.S_IMODE(Path(self._path).stat().st_mode))
        try:
            _take_turn(queue)
            yield
        finally:
            os.close(queue)  # which gives the lock to the next

    def backup(self, copy: str) -> None:
        """Write all of it, with what is only in its log, to a new file."""
        with self._lock:
            try:
                Path(copy).open("x").close()
                before, source, target = self._unlocked(), self._opened(), sqlite3.connect(copy)
                try:
                    source.backup(target)
                finally:
                    target.close()
                    source.close()
                    self._connection = None
                if before is not None and self._unlocked() != before:
                    raise LedgerError(
                        f"{self._path}: written while it was read; {copy} is no ledger"
                    )
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

    def __del__(self) -> None:
        """Close what nobody closed: Python 3.13 warns of it."""
        with contextlib.suppress(AttributeError):  # of a path that was refused
            self.close()

    def _opened(self) -> sqlite3.Connection:
        """Return this process's connection: one that was made before a fork is never used."""
        if self._connection is None or self._process != os.getpid():
            writes = self._may_write()
            still = "&immutable=1" if self._unlocked() else ""
            self._connection = sqlite3.connect(
                self._path if writes else f"{Path(self._path).as_uri()}?mode=ro{still}",
                timeout=_WAIT,
                isolation_level=None,
                check_same_thread=False,
                uri=not writes,
            )
            self._process = os.getpid()
            if writes:
                self._connection.execute("PRAGMA journal_mode = WAL")
        return self._connection

    def _may_write(self) -> bool:
        """Return whether this process may write the file, and its log beside it."""
        folder, there = Path(self._path).parent, Path(self._path).exists()
        return os.access(folder, os.W_OK) and (not there or os.access(self._path, os.W_OK))

    def _unlocked(self) -> tuple[int, int] | None:
        """Return the time and size of a file that is read without locks, None of any other.

        SQLite needs a log beside a file to lock it. Where there is none and none can be made, a
        reader sees whether the file was written meanwhile.
        """
        log = Path(f"{self._path}-wal").exists()
        if log or os.access(Path(self._path).parent, os.W_OK):
            return None
        facts = Path(self._path).stat()
        return facts.st_mtime_ns, facts.st_size


def _is_given(lock: Callable[[], None]) -> bool:
    """Ask for a lock until it is given; a minute at most."""
    for _ in range(int(_WAIT / _POLL)):
        try:
            lock()
        except OSError:
            time.sleep(_POLL)
        else:
            return True
    return False


if sys.platform == "win32":
    import msvcrt

    def _take_turn(queue: int) -> None:
        """Wait for the lock of a file."""
        _is_given(lambda: msvcrt.locking(queue, msvcrt.LK_NBLCK, 1))

else:
    import fcntl

    _NOW: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
    _COUNT: Final = 8  # bytes of the last number, at the beginning of the file

    def _take_turn(queue: int) -> None:
        """Take the next number, and wait for the one before it.

        Each writer locks the byte of its number until its turn ends. One lock for all would often
        go to the writer that just gave it back, as others have to wake up first. The system knows
        no limit of time, so that a thread waits for a minute at most.
        """
        if not _is_given(lambda: fcntl.lockf(queue, _NOW, _COUNT)):
            return
        number = int.from_bytes(os.pread(queue, _COUNT, 0), "big") + 1
        os.pwrite(queue, number.to_bytes(_COUNT, "big"), 0)
        fcntl.lockf(queue, _NOW, 1, _COUNT + number)
        fcntl.lockf(queue, fcntl.LOCK_UN, _COUNT)
        try:
            fcntl.lockf(queue, _NOW, 1, _COUNT + number - 1)
        except BlockingIOError:
            turn = threading.Thread(target=_wait, args=(queue, _COUNT + number - 1), daemon=True)
            turn.start()
            turn.join(_WAIT)

    def _wait(queue: int, place: int) -> None:
        """Wait without a limit; if the file is closed meanwhile, the lock is not taken."""
        with contextlib.suppress(OSError):
            fcntl.lockf(queue, fcntl.LOCK_EX, 1, place)
