"""Derivations of stated guarantees, and the same guarantee with another derivation."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, TypeVar

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Parameter
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import Relation, require_relation

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
    known = derivation or stated(notion, guarantee, attained)
    object.__setattr__(guarantee, "derivation", derived(guarantee, known))


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
