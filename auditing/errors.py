"""What auditing can refuse, under the accountant's tree.

PrivacyError
├─ ClaimRefuted (AssertionError)   an audit found a violation, and a test asserted the claim
├─ SamplesUsed                     samples asked for a second purpose
└─ MissingDependency               an optional library is not installed
"""

from __future__ import annotations

from accountant.errors import PrivacyError


class ClaimRefuted(PrivacyError, AssertionError):
    """An audit refuted a claim that was asserted; the message is the audit's report."""


class SamplesUsed(PrivacyError):
    """Samples that were tested once are asked to be tested again."""
