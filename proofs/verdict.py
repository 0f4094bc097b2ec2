"""What the checker can say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """The claim follows, from nothing that is taken for granted.

    Attributes:
        claim: in words.
    """

    claim: str


@final
@dataclass(frozen=True, slots=True)
class VerifiedUnder:
    """The claim follows if the assumptions hold.

    Attributes:
        claim: in words.
        assumptions: everything taken for granted, each once, in words that the checker chose.
    """

    claim: str
    assumptions: tuple[str, ...]


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


Verdict: TypeAlias = Verified | VerifiedUnder | Rejected
