"""What every theorem on several parts asks of them first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accountant.errors import ParameterError
from accountant.guarantees.guarantee import Guarantee
from accountant.relation import R, require_same_relation


def required(parts: Sequence[Guarantee[R]], what: str) -> R:
    """Return the relation of the parts; refuse none at all, other things, or mixed relations."""
    if not parts:
        raise ParameterError("parts", tuple(parts), f"one guarantee or more to {what}")
    for part in parts:
        required_guarantee(part)
    return require_same_relation([part.relation for part in parts], what)


def required_guarantee(part: Guarantee[Any]) -> None:
    """Refuse anything but a guarantee."""
    if not isinstance(part, Guarantee):
        raise ParameterError("guarantee", part, "a guarantee", "call .guarantee() on a mechanism")
