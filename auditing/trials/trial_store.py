"""Finished trials of one audit in a file: what was killed goes on where it was."""

from __future__ import annotations

import io
import secrets
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing.errors import StoreRefused
from dpproof.auditing.trials.encoding import Features

Labels = NDArray[np.bool_]
Chunk = tuple[Features, Labels]

# Locked as long as it is open: two audits would draw the same. The write-ahead log then needs no
# shared memory, whatever the file system, and keeps every chunk when the process is killed.
_KIND = 0x64707472
_SCHEMA = f"""
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
BEGIN EXCLUSIVE;
PRAGMA application_id = {_KIND};
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS chunks (
    position INTEGER PRIMARY KEY,
    features BLOB NOT NULL,
    labels BLOB NOT NULL
) STRICT;
COMMIT;
"""


@final
class TrialStore:
    """A SQLite file with the chunks of trials that one audit has drawn.

    The trials of one audit serve its purposes alone: which ones choose a test and which ones make
    it depends on everything that was asked. So a file is refused when anything but the time
    budget differs from what it was made for; the test that is made of a resumed audit's trials is
    the one that would have been made of the uninterrupted audit's.

    Args:
        path: the file; made when it is not there.
        about: what the trials are of, in digests.
        seed: of the audit; None takes the file's own, or a fresh one.
    Attributes:
        seed: of the audit.
    Raises:
        StoreRefused: the file is of another audit, in use, or not of this kind.
    """

    def __init__(self, path: str | Path, about: Mapping[str, str], seed: int | None) -> None:
        self._path = Path(path)
        try:
            self._database = sqlite3.connect(self._path, timeout=0.0, isolation_level=None)
        except sqlite3.Error as error:
            raise self._refused(f"cannot be opened: {error}") from error
        try:
            self._check_kind()
            self._database.executescript(_SCHEMA)
            self.seed = self._agree({**about, "seed": None if seed is None else str(seed)})
        except sqlite3.Error as error:
            self._database.close()
            raise self._refused(f"cannot be used: {error}") from error
        except StoreRefused:
            self._database.close()
            raise

    def _check_kind(self) -> None:
        (kind,) = self._database.execute("PRAGMA application_id").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and kind != _KIND:
            raise self._refused("is a database of something else")

    def _agree(self, asked: Mapping[str, str | None]) -> int:
        """Return the seed if everything asked agrees with the file, or the file has nothing yet."""
        stored: dict[str, str] = dict(self._database.execute("SELECT name, value FROM about"))
        if not stored:
            stored = {name: value for name, value in asked.items() if value is not None}
            stored.setdefault("seed", str(secrets.randbits(63)))
            with self._database:
                self._database.execute("BEGIN")
                self._database.executemany("INSERT INTO about VALUES (?, ?)", stored.items())
        other = [name for name, value in asked.items() if value not in (None, stored.get(name))]
        if other or set(stored) != set(asked):
            names = ", ".join(other) or "something else"
            raise self._refused(f"has the trials of an audit that differs in: {names}")
        try:
            return int(stored["seed"])
        except ValueError:
            raise self._refused("has no whole number as its seed") from None

    def chunk(self, position: int, size: int) -> Chunk | None:
        """Return the chunk at a position, None where it was not finished.

        Raises:
            StoreRefused: it is damaged, or has not the size that the audit gives it.
        """
        asked = "SELECT features, labels FROM chunks WHERE position = ?"
        try:
            row = self._database.execute(asked, (position,)).fetchone()
            if row is None:
                return None
            features, labels = map(_array, row)
        except (sqlite3.Error, ValueError, TypeError, EOFError, OSError):
            raise self._refused(f"has damaged trials at {position}") from None
        if features.dtype != np.float64 or labels.dtype != np.bool_:
            raise self._refused(f"has damaged trials at {position}")
        if features.shape[:1] != (size,) or labels.shape != (size,):
            raise self._refused(f"has {len(labels)} trials at {position}, not {size}")
        return features, labels

    def add(self, position: int, chunk: Chunk) -> None:
        """Keep a finished chunk; what is written survives the process."""
        self._database.execute(
            "INSERT INTO chunks VALUES (?, ?, ?)", (position, *map(_blob, chunk))
        )

    def __enter__(self) -> TrialStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close the file and unlock it."""
        self._database.close()

    def _refused(self, why: str) -> StoreRefused:
        return StoreRefused(f"{self._path} {why}; name another file, or remove this one")


def _blob(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _array(blob: bytes) -> NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(blob), allow_pickle=False))
