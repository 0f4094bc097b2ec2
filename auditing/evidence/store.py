"""Evidence kept between runs: e-values of the same code and claim multiply."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import final

from dpproof.accountant.errors import ParameterError
from dpproof.auditing.errors import StoreRefused

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    log_evidence REAL NOT NULL
) STRICT
"""


@final
class EvidenceStore:
    """A SQLite file of accumulated evidence, one row a run.

    Statement: runs with independent trials have e-values whose product is an e-value, so
        Pr(the product ever reaches 1 / significance) <= significance while the claim holds. The
        product starts again at 1 when the fingerprint (of code and claim) changes: evidence
        against other code says nothing about this.

    Args:
        path: the file; made when it is not there.
    Raises:
        StoreRefused: it cannot be opened, or is no database.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        try:
            with closing(self._connect()) as database, database:
                database.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise StoreRefused(f"{self._path} cannot keep evidence: {error}") from error

    def begin(self, name: str, fingerprint: str, *, least: float) -> int:
        """Count a run before it draws anything, at the least that it can come to.

        Whether a run comes to its end may depend on its trials. One that does not is worth no
        more than if it had.

        Args:
            name: whose evidence.
            fingerprint: of what is audited and claimed; see ``fingerprint``.
            least: lower bound of the log of the run's e-value.
        Returns:
            What ``finish`` is told.
        """
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                "DELETE FROM runs WHERE name = ? AND fingerprint <> ?", (name, fingerprint)
            )
            row = (name, fingerprint, _number(least))
            made = database.execute(
                "INSERT INTO runs (name, fingerprint, log_evidence) VALUES (?, ?, ?)", row
            )
        return int(made.lastrowid or 0)

    def finish(self, run: int, log_evidence: float) -> float:
        """Give a run its evidence and return the log of the product, of 1 where it was deleted.

        Args:
            run: what ``begin`` returned.
            log_evidence: of this run alone, whose trials no other run has used.
        Raises:
            ParameterError: the evidence is nan.
        """
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                "UPDATE runs SET log_evidence = ? WHERE id = ?", (_number(log_evidence), run)
            )
            rows = database.execute(
                "SELECT log_evidence FROM runs JOIN (SELECT name, fingerprint FROM runs "
                "WHERE id = ?) USING (name, fingerprint)",
                (run,),
            ).fetchall()
        return math.fsum(log for (log,) in rows)

    def multiply(self, name: str, fingerprint: str, log_evidence: float) -> float:
        """Begin and finish a run in one call, for runs that always come to their end.

        Raises:
            ParameterError: the evidence is nan.
        """
        run = self.begin(name, fingerprint, least=log_evidence)
        return self.finish(run, log_evidence)

    def runs(self, name: str) -> int:
        """Return the number of runs behind the present evidence of a name."""
        with closing(self._connect()) as database:
            row = database.execute("SELECT count(*) FROM runs WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0, isolation_level=None)


def _number(log_evidence: float) -> float:
    """Return log evidence as a finite number for SQLite; -inf becomes a very low number."""
    if math.isnan(log_evidence):
        raise ParameterError("log_evidence", log_evidence, "a number")
    return max(log_evidence, -1e300)


def fingerprint(*parts: str | bytes) -> str:
    """Return a digest of everything that identifies code and claim, in order.

    Example:
        >>> fingerprint("def f(): ...", "epsilon = 1") != fingerprint("def f(): ...epsilon = 1")
        True
    """
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.hexdigest()
