"""Where a ledger is: a database, or a server that asks one."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import sqlite3
import stat
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, final

from dpproof.ledger.errors import LedgerError, TryAgain, of_own_form

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
        """Run statements in order, on a server in one round trip if it can, and return rows."""

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
        """Run statements together: after the block all of them are kept, or none."""
        # Durable ones outlive a loss of power; others do if a later transaction does. Those that
        # only read see one time, and nobody waits for them. ``TryAgain``: the block may be run
        # again.

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
    """A file, written through a log ahead (WAL), which is flushed to the disk where durable."""

    # Writers queue for another file's lock: who waits for SQLite's may sleep for seconds.

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
        """Return the time and size of a file that is read without locks, None of any other."""
        # Where a log for locks cannot be made, a reader sees whether it was written meanwhile.
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
        """Keep what a pipeline wrote, give the lock to the next, and wait for the disk."""
        # The next writer may read what is not on the disk yet, as nobody may publish before that:
        # the disk has whatever was written before what it has, so that a spend which is on the disk
        # when its call returns has all it was computed from there too.
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
        """Send them, and wait for their results."""
        # It stays open until the last: its end may look like life, and keep what stalls after it.
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
    """Return whether psycopg reports more than that it gave up a lost connection, refused here."""
    return not record.getMessage().startswith("error ignored ")


logging.getLogger("psycopg").addFilter(_is_news)


def _line(error: BaseException) -> str:
    """Return the first line of an error of a library."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_PASSWORD: Final = re.compile(r"(?<=://)([^:/?#@]*):.*@", re.DOTALL)
_SECRETS: Final = re.compile(
    r"([?&][^=&]*(?:pass|pwd|secret|token|odbc_connect)[^=&]*=)[^&]*", re.IGNORECASE
)
# Of what was meant to be a URL: a user and a password, or the words of a driver.
_NEARLY: Final = re.compile(r"^((?:[\w+.-]+:/)?[^:/?#@\\]*:)(?![/\\]).*@", re.DOTALL)
_WORDS: Final = re.compile(r"\b(password=)\S+", re.IGNORECASE)


def masked(place: str) -> str:
    """Return a place as it may be shown: of a URL without its password."""
    if "://" not in place:
        return _WORDS.sub(r"\1***", _NEARLY.sub(r"\1***@", place))
    return _SECRETS.sub(r"\1***", _PASSWORD.sub(r"\1:***@", place))


def refuse_secret(place: str) -> None:
    """Refuse to write down a URL with a password."""
    if masked(place) != place:
        raise LedgerError(
            f"{masked(place)} has a password, which would be in every copy of the pickle: write "
            "the URL without it, and let the driver find it (PGPASSFILE or ~/.pgpass)"
        )


@final
class SecretURL(str):
    """A URL with a password, which it neither shows nor pickles; what opens it reads it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show it without the password."""
        return repr(masked(self[:]))

    def __str__(self) -> str:
        """Show it without the password."""
        return masked(self[:])

    def __format__(self, spec: str) -> str:
        """Show it without the password."""
        return format(masked(self[:]), spec)

    def __copy__(self) -> SecretURL:
        """Return this very text."""
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> SecretURL:
        """Return this very text: clones of an estimator have the same ledger."""
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:  # noqa: ANN401  # as ``object`` has it
        """Refuse to be pickled."""
        refuse_secret(self[:])
        raise LedgerError("a URL with a password is never pickled")


def hidden(place: Any) -> Any:  # noqa: ANN401  # whatever an estimator is given
    """Return a URL with a password as one that does not show it, and all else as it is."""
    return SecretURL(place) if type(place) is str and masked(place) != place else place
