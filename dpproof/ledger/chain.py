"""Entries of a ledger: canonical JSON, each with a hash of itself and of the one before."""

import contextlib
import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from dpproof.ledger.errors import LedgerDamaged, LedgerError
from dpproof.ledger.places import Execute, Rows, Statement

START: Final = hashlib.sha256(b"dpproof ledger 1").hexdigest()
# Of the state: 1 is older than any release. Every later format keeps ``LAST`` and this number in
# the state, so that this library can refuse it.
FORMAT: Final = 2


def canonical(value: object) -> str:
    """Return JSON with sorted keys and no spaces: equal values have equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def linked(previous: str, body: str) -> str:
    """Return the hash of an entry after the one with the previous hash."""
    return digest(f"{previous}\n{body}")


LAST: Final = (
    "SELECT h.number, h.state, e.body, e.hash FROM $head h "
    "LEFT JOIN $entries e ON e.number = h.number WHERE h.id = 1"
)


Last: TypeAlias = tuple[int, str, dict[str, Any]]
"""The number and hash of the last entry, and the state after it."""


def last(execute: Execute) -> Last:
    """Return the number and hash of the last entry and the state after it."""
    return read_last(execute(LAST))


def read_last(rows: Rows) -> Last:
    """Return the same from the rows of ``LAST``."""
    if not rows:
        raise LedgerError("there is no ledger here")
    number, state, body, head = rows[0]
    state_read, newer, older, intact = {}, False, False, False
    with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
        state_read = json.loads(state)
        newer = state_read.get("format", 1) > FORMAT
        older = state_read.get("format", 1) < FORMAT
        intact = json.loads(body)["state"] == digest(state)
    if newer:
        raise LedgerError(
            "a newer version of dpproof wrote this ledger, in a format that this version does not "
            "know: install the newer one; nothing was read, and nothing was spent"
        )
    if older and intact:
        raise LedgerError(
            "a version of dpproof before its first release wrote this ledger, in a format that no "
            "release reads: see by that version what was spent, and spend it in a new ledger; "
            "nothing was read, and nothing was spent"
        )
    if not intact:
        raise LedgerDamaged(
            f"entry {number} is missing or does not fit the budgets that are left: the ledger was "
            "changed by something else; run dpproof ledger verify, and spend nothing"
        )
    return int(number), str(head), state_read


def append(execute: Execute, last: Last, entry: object) -> None:
    """Write an entry after the last one, and the state, which is by now that after it."""
    execute.later(appending(last, entry))


def appending(last: Last, entry: object) -> list[Statement]:
    """Return the statements that ``append`` runs."""
    number, previous, state = last
    text = canonical(state)
    body = canonical({"entry": entry, "state": digest(text)})
    return [
        (
            "INSERT INTO $entries (number, body, hash) VALUES (:number, :body, :hash)",
            {"number": number + 1, "body": body, "hash": linked(previous, body)},
        ),
        (
            "UPDATE $head SET number = :number, state = :state WHERE id = 1",
            {"number": number + 1, "state": text},
        ),
    ]


@final
class HeadFile:
    """The path of a file with the hash of an entry, one or two older if another process writes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def require_new(self) -> None:
        """Refuse a file that is there: it is another ledger's."""
        if Path(self.path).exists():
            raise LedgerError(f"{self.path}: exists already; name a new file for the hash")

    def kept(self) -> str:
        """Return the hash."""
        try:
            return Path(self.path).read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            raise LedgerError(
                f"{self.path}: no hash of an entry can be read there ({type(error).__name__}); "
                "write the head that dpproof ledger status shows, if you trust the ledger"
            ) from error

    def require(self, execute: Execute) -> None:
        """Refuse a ledger that does not have the entry."""
        if not execute("SELECT number FROM $entries WHERE hash = :hash", hash=self.kept()):
            raise LedgerDamaged(
                f"the ledger has no entry with the hash in {self.path}: its end was cut, an older "
                "copy was put back, or it is another ledger; spend nothing"
            )

    def write(self, head: str) -> None:
        """Put the hash of the last entry in the place of the one before, on the disk."""
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
