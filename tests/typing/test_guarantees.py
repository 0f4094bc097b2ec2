"""Programs about guarantees that must not pass the type checker.

Every line marked ``type: ignore`` is a mistake that mypy has to see: if it stopped seeing it, the
unused comment would be an error. What mypy refuses, the run time refuses as well.
"""

from __future__ import annotations

import dataclasses

import pytest

from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne
from dpproof.accountant.theorems.composition import compose, compose_gdp
from dpproof.accountant.theorems.conversion import convert
from dpproof.accountant.theorems.parallel import parallel_compose

ADDED = GDP(mu=1)
REPLACED = GDP(mu=1, relation=ReplaceOne())


def test_relations_do_not_mix() -> None:
    """Composing two relations is a type error and a run-time error."""
    with pytest.raises(RelationMismatch):
        compose(ADDED, REPLACED)  # type: ignore[misc]
    with pytest.raises(RelationMismatch):
        compose_gdp([ADDED, REPLACED])  # type: ignore[arg-type]
    with pytest.raises(RelationMismatch):
        parallel_compose(ADDED, REPLACED)  # type: ignore[misc]


def test_a_guarantee_is_invariant_in_its_relation() -> None:
    """A guarantee under one relation is not one under another, nor under any."""
    wrong: Guarantee[ReplaceOne] = ADDED  # type: ignore[assignment]
    vague: GDP[Relation] = ADDED  # type: ignore[assignment]

    assert wrong is vague


def test_parameters_are_keywords() -> None:
    """A positional number does not say what it is."""
    with pytest.raises(TypeError):
        GDP(1.0)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        PureDP(1.0)  # type: ignore[call-overload]


def test_text_is_not_a_number() -> None:
    """Numbers enter as int, float or Fraction."""
    with pytest.raises(ParameterError):
        PureDP(epsilon="0.1")  # type: ignore[call-overload]


def test_a_guarantee_does_not_change() -> None:
    """Fields cannot be assigned."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        ADDED.mu_squared = 2  # type: ignore[misc,assignment]


def test_a_composition_of_one_notion_takes_no_other() -> None:
    """compose_gdp wants GDP."""
    with pytest.raises(AttributeError):
        compose_gdp([ZCDP(rho=1)])  # type: ignore[arg-type]


def test_conversions_know_their_options() -> None:
    """An option of another notion is refused."""
    with pytest.raises(ParameterError):
        convert(ADDED, to=ZCDP, orders=[2])  # type: ignore[arg-type]
    with pytest.raises(NotImplied):
        convert(ADDED, to=int)  # type: ignore[arg-type]


def test_the_default_relation_is_known_to_the_type_checker() -> None:
    """Without ``relation`` it is AddRemove, through composition and conversion."""
    total: Guarantee[AddRemove] = compose(ADDED, PureDP(epsilon=1))
    listed: RDP[ReplaceOne] = convert(REPLACED, to=RDP, orders=[2])

    assert total.relation == AddRemove()
    assert listed.relation == ReplaceOne()
