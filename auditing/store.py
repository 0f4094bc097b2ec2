"""Evidence kept between runs: e-values of the same code and claim multiply."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import final

from accountant.errors import ParameterError
from auditing.errors import StoreRefused

_SCHEMA = """
CREATE TABLE IF NOT EXISTS evidence (
    name TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    log_evidence REAL NOT NULL,
    runs INTEGER NOT NULL
) STRICT
"""


@final
class EvidenceStore:
    """A SQLite file of accumulated evidence, one row a claim.

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

    def multiply(self, name: str, fingerprint: str, log_evidence: float) -> float:
        """Multiply a run's evidence in and return the log of the product.

        Args:
            name: whose evidence.
            fingerprint: of what was audited and claimed; see ``fingerprint``.
            log_evidence: of this run alone, whose trials no other run has used.
        Raises:
            ParameterError: the evidence is nan.
        """
        if math.isnan(log_evidence):
            raise ParameterError("log_evidence", log_evidence, "a number")
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            row = database.execute(
                "SELECT log_evidence, runs FROM evidence WHERE name = ? AND fingerprint = ?",
                (name, fingerprint),
            ).fetchone()
            before, runs = row or (0.0, 0)
            # Wealth that is lost altogether stays lost; a float keeps that as a low number.
            total = max(before + log_evidence, -1e300)
            database.execute(
                "INSERT OR REPLACE INTO evidence VALUES (?, ?, ?, ?)",
                (name, fingerprint, total, runs + 1),
            )
        return float(total)

    def runs(self, name: str) -> int:
        """How many runs the present evidence of a name comes from."""
        with closing(self._connect()) as database:
            row = database.execute("SELECT runs FROM evidence WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0, isolation_level=None)


def fingerprint(*parts: str | bytes) -> str:
    """A digest of everything that identifies code and claim, in order.

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
