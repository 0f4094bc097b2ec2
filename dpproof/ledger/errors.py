"""The errors of a ledger."""

from __future__ import annotations

from dpproof.accountant.errors import PrivacyError


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
