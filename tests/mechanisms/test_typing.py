"""Programs that must not pass the type checker.

Every line marked ``type: ignore`` is a mistake that mypy has to see: if it stopped seeing it, the
unused comment would be an error. What mypy refuses, the run time refuses as well.
"""

from __future__ import annotations

import pytest

from dpproof.accountant.errors import ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Composed, Gaussian, Histogram, Laplace, Mechanism, compose

ADDED = Gaussian(sigma=1, sensitivity=L2(1))
REPLACED = Laplace(scale=1, sensitivity=L1(1, ReplaceOne()))


def test_relations_do_not_mix() -> None:
    """Composing two relations is a type error and a run-time error."""
    with pytest.raises(RelationMismatch):
        compose(ADDED, REPLACED)  # type: ignore[misc]
    with pytest.raises(RelationMismatch):
        compose(ADDED.repeat(2), REPLACED.repeat(2))  # type: ignore[misc]


def test_a_mechanism_is_invariant_in_its_relation() -> None:
    """A mechanism under one relation is not one under another."""
    wrong: Mechanism[ReplaceOne] = ADDED  # type: ignore[assignment]

    assert isinstance(wrong, Gaussian)


def test_a_norm_is_not_another() -> None:
    """A Gaussian wants L2, and a bare number has no norm."""
    with pytest.raises(ParameterError):
        Gaussian(sigma=1, sensitivity=L1(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        Laplace(scale=1, sensitivity=1.0)  # type: ignore[arg-type]


def test_parameters_are_keywords() -> None:
    """A positional number does not say what it is."""
    with pytest.raises(TypeError):
        Gaussian(1.0, L2(1))  # type: ignore[arg-type, call-arg]


def test_the_default_relation_is_known_to_the_type_checker() -> None:
    """A sensitivity without a relation speaks of AddRemove, also for the type checker."""
    known: Composed[AddRemove] = compose(ADDED, ADDED.repeat(3))

    assert known.relation == AddRemove()


def test_a_sensitivity_is_of_one_relation() -> None:
    """A mechanism has its sensitivity's relation, and no other."""
    wrong: Laplace[ReplaceOne] = Laplace(scale=1, sensitivity=L1(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="relation must be one of"):
        L1(1, "replace-one")  # type: ignore[call-overload]
    other = {"relation": ReplaceOne()}
    with pytest.raises(TypeError):
        Laplace(scale=1, sensitivity=L1(1), **other)  # type: ignore[arg-type]

    assert isinstance(wrong.relation, Relation)
    assert wrong.relation != REPLACED.relation


def test_a_relation_without_a_sensitivity_is_said() -> None:
    """A mechanism that has no sensitivity has no default relation."""
    silent = Histogram
    with pytest.raises(TypeError):
        silent(scale=1)  # type: ignore[call-arg]
    stated: Histogram[ReplaceOne] = Histogram(scale=1, relation=ReplaceOne())

    assert stated.relation == ReplaceOne()


def test_a_parameter_is_checked_by_its_declaration() -> None:
    """A text is no scale, for the type checker and for the run time."""
    with pytest.raises(ParameterError, match="scale must be"):
        Laplace(scale="x", sensitivity=L1(1))  # type: ignore[arg-type]
