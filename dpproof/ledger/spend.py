"""One reservation: run, then commit or release."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, final

from dpproof.ledger.errors import AlreadySpent
from dpproof.ledger.taking import Wanted


class Keeper(Protocol):
    """The methods of a ledger that a reservation uses."""

    def commit(self, key: str, *, attempt: str | None = None) -> None:
        """Keep what a key has reserved."""

    def release(self, key: str, *, attempt: str | None = None) -> None:
        """Give back what a key has reserved."""


@final
class Spend:
    """A reserved part of a budget, spent until it is released.

    As a context manager it commits at the end of the block, and releases if the block raises
    before ``commit`` was called. Publish what a mechanism returned after the block, or inside it
    after ``commit()``: what was published is never released, and is not run again for its key.

    Attributes:
        key: names the spend; another process that reserves it takes this attempt over.
        label: its purpose.
        committed: whether it stays spent.
        fresh: whether it may run: its key was not committed before.
        closed: the ways of spending that admit nothing any more because of it.
    """

    __slots__ = ("_attempt", "_ledger", "closed", "committed", "fresh", "key", "label")

    def __init__(
        self,
        ledger: Keeper,
        wanted: Wanted,
        *,
        committed: bool,
        fresh: bool = True,
        closed: tuple[str, ...] = (),
    ) -> None:
        self._ledger, self.key, self.label = ledger, wanted.key, wanted.label
        self._attempt, self.committed = wanted.attempt, committed
        self.fresh, self.closed = fresh, closed

    def __repr__(self) -> str:
        """Show the key and whether it is committed."""
        return f"Spend(key={self.key!r}, committed={self.committed})"

    def commit(self) -> None:
        """Keep what was reserved, for good; to do it twice changes nothing.

        Raises:
            AlreadySpent: another attempt of the same key came first: publish nothing.
            LedgerError: the ledger is out of reach; what was reserved stays spent.
        """
        self._ledger.commit(self.key, attempt=self._attempt)
        self.committed = True

    def release(self) -> None:
        """Give back what was reserved; the mechanism did not run, or nothing was published.

        Raises:
            AlreadySpent: it was committed.
            LedgerError: the ledger is out of reach; what was reserved stays spent.
        """
        self._ledger.release(self.key, attempt=self._attempt)

    def __enter__(self) -> Self:
        """Begin the run.

        Raises:
            AlreadySpent: the key was committed: its release was made, and a second one costs.
        """
        if self.committed:
            raise AlreadySpent(
                f"the key {self.key!r} was committed before: publish what was released then, or "
                "reserve another key for another release"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or release if the block raised before it committed."""
        if kind is None:
            self.commit()
        elif not self.committed:
            self.release()
