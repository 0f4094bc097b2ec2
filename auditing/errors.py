"""The errors of auditing, under the accountant's tree."""

from __future__ import annotations

from dpproof.accountant.errors import (
    MissingDependency as MissingDependency,  # noqa: PLC0414  # also a name of this package
    PrivacyError,
)


class ClaimRefuted(PrivacyError, AssertionError):
    """An audit refuted a claim, or showed a fact, that was asserted not to be; with its report."""


class SamplesUsed(PrivacyError):
    """Samples that were tested once are asked to be tested again."""


class SamplerFailed(PrivacyError):
    """A program or a server gave no outputs, or an executor gave those of another task."""


class StoreRefused(PrivacyError):
    """A file of trials belongs to another audit or is in use, or a file is no store."""


class Unidentified(PrivacyError):
    """Code or data that cannot be told from other code or data: a version has to be given."""
