"""Programs that must not pass the type checker.

Every line marked ``type: ignore`` is a mistake that mypy has to see: if it stopped seeing it, the
unused comment would be an error. What mypy refuses, the run time refuses as well.
"""

from __future__ import annotations

import pytest

from dpproof.accountant.errors import ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Composed, Gaussian, Laplace, Mechanism, compose

ADDED = Gaussian(sigma=1, sensitivity=L2(1))
REPLACED = Laplace(scale=1, sensitivity=L1(1), relation=ReplaceOne())


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
        Gaussian(sigma=1, sensitivity=L1(1))  # type: ignore[call-overload]
    with pytest.raises(ParameterError):
        Laplace(scale=1, sensitivity=1.0)  # type: ignore[call-overload]


def test_parameters_are_keywords() -> None:
    """A positional number does not say what it is."""
    with pytest.raises(TypeError):
        Gaussian(1.0, L2(1))  # type: ignore[call-overload]


def test_the_default_relation_is_known_to_the_type_checker() -> None:
    """Without ``relation`` it is AddRemove, also for the type checker."""
    known: Composed[AddRemove] = compose(ADDED, ADDED.repeat(3))

    assert known.relation == AddRemove()
