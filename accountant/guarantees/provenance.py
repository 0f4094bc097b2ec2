"""Derivations of stated guarantees, and the same guarantee with another derivation."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, TypeVar

from accountant.guarantees.derivation import Derivation, Parameter
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.theorem import Theorem
from accountant.relation import Relation, require_relation

N = TypeVar("N", bound=Guarantee[Any])


def stated(notion: str, guarantee: Guarantee[Any]) -> Derivation:
    """Return a derivation without premises: the guarantee itself is the assumption."""
    statement = f"{guarantee.describe()} under {guarantee.relation}"
    return Derivation(
        theorem=Theorem(rule=f"state/{notion}", source="stated by the caller"),
        statement=statement,
        assumptions=(f"the mechanism is {statement}",),
    )


def state(
    guarantee: Guarantee[Any],
    notion: str,
    relation: Relation,
    derivation: Derivation | None,
    **fields: object,
) -> None:
    """Set the fields of a new guarantee; without a derivation it is an assumption.

    Raises:
        ParameterError: the relation is none.
    """
    for name, value in {**fields, "relation": require_relation(relation)}.items():
        object.__setattr__(guarantee, name, value)
    known = derivation or stated(notion, guarantee)
    object.__setattr__(guarantee, "derivation", derived(guarantee, known))


def applied(
    theorem: Theorem,
    statement: str,
    *premises: Guarantee[Any],
    assumptions: tuple[str, ...] = (),
    **parameters: Parameter,
) -> Derivation:
    """Return one application of a theorem to guarantees, with its parameters by name."""
    before = tuple(premise.derivation for premise in premises)
    return Derivation(theorem, statement, before, assumptions, tuple(parameters.items()))


def rederived(guarantee: N, derivation: Derivation) -> N:
    """Return the same statement with another derivation."""
    twin = copy.copy(guarantee)
    object.__setattr__(twin, "derivation", derived(twin, derivation))
    return twin


def derived(guarantee: Guarantee[Any], derivation: Derivation) -> Derivation:
    """Return the derivation with its conclusion set to the guarantee."""
    return replace(derivation, conclusion=guarantee)
