"""The choice of the database that keeps a ledger: a file, or a server by its URL."""

from __future__ import annotations

import os
from pathlib import Path

from dpproof.ledger.database import Database, SQLiteDatabase
from dpproof.ledger.errors import LedgerError
from dpproof.ledger.places import masked
from dpproof.ledger.server import ServerDatabase


def connect(place: str | os.PathLike[str], *, create: bool = False) -> Database:
    """Return the database at a path, or at a URL such as ``postgresql+psycopg://…``.

    Raises:
        LedgerError: there is no such file, or there is one that should be created.
    """
    text = os.fspath(place)[:]  # of a URL that is shown without its password all of it
    if "://" in text:
        return ServerDatabase(text)
    if masked(text) != text:
        raise LedgerError(
            f"{masked(text)} is no path and no URL; a URL begins as postgresql+psycopg://"
        )
    if not text.strip() or Path(text).is_dir():
        named = f"{text} is a folder" if text.strip() else f"{text!r} names no file"
        raise LedgerError(
            f"{named}; a ledger is a file such as study.ledger, or the URL of a database"
        )
    if create and Path(text).exists():
        raise LedgerError(f"{text}: exists already; open it, or choose another file")
    if not create and not Path(text).is_file():
        raise LedgerError(f"{text}: no such ledger; make one with dpproof ledger init")
    return SQLiteDatabase(text)
