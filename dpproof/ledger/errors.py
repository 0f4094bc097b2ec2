"""The errors of a ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dpproof.accountant.errors import PrivacyError
from dpproof.proofs.core.errors import CheckError


class LedgerError(PrivacyError):
    """The ledger cannot answer: no such file, no ledger, damaged, or out of reach."""


class TryAgain(LedgerError):
    """The server undid a transaction for another one; nothing was spent, and it may be repeated."""


class LedgerDamaged(LedgerError):
    """The ledger's contents contradict its own hashes; nothing may be spent from it."""


class AlreadySpent(LedgerError):
    """The key was committed before: its release was made, and may not be made again for it."""


class KeyConflict(LedgerError):
    """The key stands for another spend, or for none."""


# Raised by JSON of another form than a ledger writes.
MISFITS: Final = (ArithmeticError, AttributeError, CheckError, LookupError, TypeError, ValueError)


@contextmanager
def of_own_form() -> Iterator[None]:
    """Turn what contents of another form raise, whose hashes may fit, into damage."""
    try:
        yield
    except PrivacyError:  # some are ValueErrors too
        raise
    except MISFITS as error:
        raise LedgerDamaged(
            f"what is kept has another form than a ledger writes ({type(error).__name__}): the "
            "ledger was changed by something else; run dpproof ledger verify, and spend nothing"
        ) from error
