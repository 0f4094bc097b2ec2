"""State the verdicts of the checker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """The claim follows, from nothing that is taken for granted.

    Attributes:
        claim: in words.
        rule_sets: those that the certificate needs.
        details: by digest, the contents that the claim names by their digests.
        labels: none, as facts are about no mechanism.
    """

    claim: str
    rule_sets: tuple[str, ...] = field(default=(), compare=False)
    details: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False)

    @property
    def ok(self) -> bool:
        """True: the certificate proves its claim."""
        return True


@final
@dataclass(frozen=True, slots=True)
class VerifiedUnder:
    """The claim follows if the assumptions hold.

    Attributes:
        claim: in words.
        assumptions: everything taken for granted, each once, in words that the checker chose.
        rule_sets: those that the certificate needs.
        details: by digest, the contents that the claim and assumptions name by their digests.
        labels: what the certificate's author calls mechanisms, quoted; nothing follows from it.
    """

    claim: str
    assumptions: tuple[str, ...]
    rule_sets: tuple[str, ...] = field(default=(), compare=False)
    details: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    labels: tuple[str, ...] = field(default=(), compare=False)

    @property
    def ok(self) -> bool:
        """True: the certificate proves its claim, under the assumptions that it lists."""
        return True


@final
@dataclass(frozen=True, slots=True)
class Rejected:
    """The claim is not proved by this certificate.

    Attributes:
        step: position of the first step that does not follow, None when no single step is wrong.
        rule: the rule it names, "format" when the text is not a certificate.
        reason: what is wrong, in one line.
    """

    step: int | None
    rule: str
    reason: str

    @property
    def ok(self) -> bool:
        """False: this certificate proves nothing."""
        return False


Verdict: TypeAlias = Verified | VerifiedUnder | Rejected
