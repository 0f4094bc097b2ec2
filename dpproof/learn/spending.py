"""A fit that is paid for from a ledger before it sees the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from dpproof.accountant import Guarantee
from dpproof.accountant.errors import ParameterError
from dpproof.ledger.ledger import Ledger

LedgerPlace: TypeAlias = Ledger | str
"""A ledger, or where it is: a path or a database URL."""


@contextmanager
def paid(
    ledger: LedgerPlace | None, key: str | None, guarantee: Guarantee[Any], label: str
) -> Iterator[None]:
    """Reserve a guarantee for the block and commit it at its end; do nothing without a ledger.

    Nothing of the fit may be kept before the block has ended.

    Raises:
        ParameterError: a ledger without a key, or a key without a ledger.
        BudgetExceeded: the ledger has less left; the block does not run.
        AlreadySpent: the key paid for a fit before: another fit is another release.
        LedgerError: the ledger is out of reach; the block does not run.
    """
    if (ledger is None) != (key is None):
        raise ParameterError(
            "ledger and ledger_key",
            "one of them",
            "given together, or neither",
            "the key names this fit in the ledger, which pays for it once",
        )
    if ledger is None or key is None:
        yield
        return
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    try:
        with opened.reserve(guarantee, key=key, label=label):
            yield
    finally:
        if opened is not ledger:
            opened.close()
