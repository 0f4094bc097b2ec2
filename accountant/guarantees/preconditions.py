"""Preconditions that every theorem on several parts checks first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, require_same_relation


def required(parts: Sequence[Guarantee[R]], what: str) -> R:
    """Return the relation of the parts; refuse an empty list, other objects, or mixed relations.

    Guarantees about groups of different sizes do not mix either.
    """
    if not parts:
        raise ParameterError("parts", tuple(parts), f"one guarantee or more to {what}")
    for part in parts:
        required_guarantee(part)
    sizes = [part.derivation.apart for part in parts]
    for position, size in enumerate(sizes):
        if size != sizes[0]:
            raise RelationMismatch(
                f"cannot {what} guarantees about groups of different sizes: part 0 is about "
                f"{_neighbours(sizes[0])}, part {position} about {_neighbours(size)}; group every "
                "part alike, or the total"
            )
    return require_same_relation([part.relation for part in parts], what)


def require_single(guarantee: Guarantee[Any], theorem: str) -> None:
    """Refuse a guarantee about groups if the theorem is about neighbours one step apart."""
    size = guarantee.derivation.apart
    if size != 1:
        raise NotImplied(
            f"{theorem} is about one record, and this guarantee about {_neighbours(size)}; apply "
            "it to the guarantee about one record and group what follows"
        )


def _neighbours(size: int) -> str:
    """Return the name of datasets so many steps apart."""
    return "neighbours" if size == 1 else f"groups of {size}"


def required_guarantee(part: Guarantee[Any]) -> None:
    """Refuse anything but a guarantee."""
    if not isinstance(part, Guarantee):
        raise ParameterError("guarantee", part, "a guarantee", "call .guarantee() on a mechanism")
