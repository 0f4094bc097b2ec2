"""What several tests of ledgers do to a file."""

from __future__ import annotations

import sqlite3

import dpproof as dp


def run(ledger: dp.Ledger, sql: str, *values: str) -> list[tuple[str]]:
    """Change the file of a ledger."""
    ledger.close()
    with sqlite3.connect(ledger.place) as connection:
        rows = connection.execute(sql, values).fetchall()
    connection.close()
    return rows
