"""Derivations of stated guarantees, and the same guarantee with another derivation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Parameter, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, Relation, require_relation, require_same_relation

N = TypeVar("N", bound=Guarantee[Any])


def stated(notion: str, guarantee: Guarantee[Any], attained: Attained) -> Derivation:
    """Return a derivation without premises: the guarantee itself is the assumption.

    The mechanisms that it describes are all that meet it. Of pairs one is the pair itself, on two
    datasets; of Renyi curves a Gaussian mechanism has the lower ends that are computed.
    """
    statement = f"{guarantee.describe()} under {guarantee.relation}"
    return Derivation(
        theorem=Theorem(f"state/{notion}", "stated by the caller", attained),
        statement=statement,
        assumptions=(f"the mechanism is {statement}",),
    )


def state(
    guarantee: Guarantee[Any],
    notion: str,
    relation: Relation,
    derivation: Derivation | None,
    *,
    attained: Attained = Attained.WHOLE,
    **fields: object,
) -> None:
    """Set the fields of a new guarantee; without a derivation it is an assumption.

    Args:
        guarantee: the new one.
        notion: its name in rules.
        relation: which datasets are neighbours.
        derivation: what it follows from.
        attained: what some mechanism that meets the statement attains of its answers.
        fields: the others, by name.
    Raises:
        ParameterError: the relation is none.
    """
    for name, value in {**fields, "relation": require_relation(relation)}.items():
        object.__setattr__(guarantee, name, value)
    proof = derivation or stated(notion, guarantee, attained)
    object.__setattr__(guarantee, "derivation", derived(guarantee, proof))


def applied(
    theorem: Theorem,
    statement: str,
    *premises: Guarantee[Any],
    assumptions: tuple[str, ...] = (),
    attained: Attained | None = None,
    **parameters: Parameter,
) -> Derivation:
    """Return one application of a theorem to guarantees, with its parameters by name.

    Args:
        theorem: what is applied.
        statement: what follows, in words and numbers.
        premises: the guarantees.
        assumptions: what is taken for granted.
        attained: the level, where it hangs on more than the theorem and the premises' levels.
        parameters: by name.
    """
    before = tuple(premise.derivation for premise in premises)
    node = Derivation(theorem, statement, before, assumptions, tuple(parameters.items()))
    return node if attained is None else replace(node, attained=attained)


def rederived(guarantee: N, derivation: Derivation) -> N:
    """Return the same statement with another derivation."""
    twin = copy.copy(guarantee)
    object.__setattr__(twin, "derivation", derived(twin, derivation))
    return twin


def derived(guarantee: Guarantee[Any], derivation: Derivation) -> Derivation:
    """Return the derivation with its conclusion set to the guarantee."""
    return replace(derivation, conclusion=guarantee)


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
