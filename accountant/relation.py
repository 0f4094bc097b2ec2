"""Neighbouring relations, as types.

A relation is both a type parameter (so that mixing two is a type error) and a value (so that
mixing two is a run-time error with a good message). Sensitivities are stated for a relation.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar, TypeVar, final

from dpproof.accountant.errors import ParameterError, RelationMismatch


@dataclass(frozen=True, slots=True)
class Relation(ABC):
    """The pairs of datasets that count as neighbours."""

    symmetric: ClassVar[bool]
    name: ClassVar[str]

    def __str__(self) -> str:
        """Spell the relation as in a pipeline file."""
        return self.name


@final
@dataclass(frozen=True, slots=True)
class AddRemove(Relation):
    """D' is D with one record added or removed; the two directions are kept apart."""

    symmetric: ClassVar[bool] = False
    name: ClassVar[str] = "add-remove"


@final
@dataclass(frozen=True, slots=True)
class ReplaceOne(Relation):
    """D' is D with one record replaced by another; the number of records is public."""

    symmetric: ClassVar[bool] = True
    name: ClassVar[str] = "replace-one"


@final
@dataclass(frozen=True, slots=True)
class ZeroOut(Relation):
    """D' is D with one record replaced by a blank that contributes nothing, or the reverse."""

    symmetric: ClassVar[bool] = False
    name: ClassVar[str] = "zero-out"


@final
@dataclass(frozen=True, slots=True)
class ReplaceLabel(Relation):
    """D' is D with the label of one record replaced; all features and their number are public."""

    symmetric: ClassVar[bool] = True
    name: ClassVar[str] = "replace-label"


RELATIONS: tuple[Relation, ...] = (AddRemove(), ReplaceOne(), ZeroOut(), ReplaceLabel())

# Classic, hence invariant: a frozen generic dataclass written ``class X[R: Relation]`` is
# inferred covariant, and then mixing relations passes the type checker.
R = TypeVar("R", bound=Relation)


def require_relation(relation: object) -> Relation:
    """Return the argument if it is a neighbouring relation, else raise ParameterError."""
    if isinstance(relation, Relation):
        return relation
    names = ", ".join(f"{type(allowed).__name__}()" for allowed in RELATIONS)
    raise ParameterError("relation", relation, f"one of {names}")


def require_same_relation(relations: list[R], what: str) -> R:
    """Return the one relation that all parts share, or refuse."""
    first = relations[0]
    for position, relation in enumerate(relations):
        if relation != first:
            raise RelationMismatch(
                f"cannot {what} guarantees under different neighbouring relations: part 0 is "
                f"{type(first).__name__}, part {position} is {type(relation).__name__}; "
                "state every sensitivity under one relation"
            )
    return first
