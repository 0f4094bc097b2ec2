"""An entry of the claims ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import final


@final
class Verdict(StrEnum):
    """The verdict on a published claim."""

    FALSE = "false"
    UNPROVED = "unproved as printed"
    LOOSE = "loose"
    HOLDS = "holds"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One published claim, with a check that can be run.

    Attributes:
        title: in a few words.
        source: paper and numbered item.
        printed: the published claim.
        verdict: the verdict on it.
        check: asserts the evidence, and returns it in one sentence.
        shipped: the replacement here.
    """

    title: str
    source: str
    printed: str
    verdict: Verdict
    check: Callable[[], str]
    shipped: str
