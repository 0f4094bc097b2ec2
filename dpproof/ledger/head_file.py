"""A hash of the last entry, kept outside the ledger: what tells that the ledger lost its end."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import final

from dpproof.ledger.database import Execute
from dpproof.ledger.errors import LedgerDamaged, LedgerError


@final
class HeadFile:
    """The path of a file with the hash of an entry.

    A write of another process may be older by an entry or two; it is in the ledger all the same.
    """

    __slots__ = ("path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def require_new(self) -> None:
        """Refuse a file that is there: it is another ledger's.

        Raises:
            LedgerError: it is.
        """
        if Path(self.path).exists():
            raise LedgerError(f"{self.path}: exists already; name a new file for the hash")

    def require(self, execute: Execute) -> None:
        """Refuse a ledger that does not have the entry.

        Raises:
            LedgerError: the file cannot be read.
            LedgerDamaged: the ledger lost entries, or is another one.
        """
        try:
            kept = Path(self.path).read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            raise LedgerError(
                f"{self.path}: no hash of an entry can be read there ({type(error).__name__}); "
                "write the head that dpproof ledger status shows, if you trust the ledger"
            ) from error
        if not execute("SELECT number FROM entries WHERE hash = :hash", hash=kept):
            raise LedgerDamaged(
                f"the ledger has no entry with the hash in {self.path}: its end was cut, an older "
                "copy was put back, or it is another ledger; spend nothing"
            )

    def write(self, head: str) -> None:
        """Put the hash of the last entry in the place of the one before, on the disk.

        Raises:
            LedgerError: it cannot be written; what was spent is spent.
        """
        new = Path(f"{self.path}.{uuid.uuid4().hex}")
        try:
            with new.open("w", encoding="ascii") as stream:
                stream.write(f"{head}\n")
                stream.flush()
                os.fsync(stream.fileno())
            new.replace(self.path)
        except OSError as error:
            raise LedgerError(
                f"{self.path}: {error.strerror}; the ledger was written, its hash was not: release "
                "or commit what was reserved before anything runs"
            ) from error
