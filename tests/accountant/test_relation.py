"""Neighbouring relations."""

from __future__ import annotations

from typing import Any

import pytest

from dpproof.accountant.errors import ParameterError, RelationMismatch
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.relation import (
    RELATIONS,
    AddRemove,
    Relation,
    ReplaceOne,
    ZeroOut,
    require_relation,
    require_same_relation,
)


def test_relations_are_values() -> None:
    """Equal within a type, different across types, named as in a pipeline file."""
    assert AddRemove() == AddRemove()
    assert len({*RELATIONS, AddRemove()}) == 4
    assert [str(relation) for relation in RELATIONS] == [
        "add-remove",
        "replace-one",
        "zero-out",
        "replace-label",
    ]
    assert [relation.symmetric for relation in RELATIONS] == [False, True, False, True]


def test_one_relation_is_returned() -> None:
    """The relation that all parts share."""
    assert require_same_relation([ZeroOut(), ZeroOut()], "compose") == ZeroOut()


def test_mixing_names_both_and_their_positions() -> None:
    """The message says which part has which relation."""
    mixed: list[Relation] = [AddRemove(), AddRemove(), ReplaceOne()]
    with pytest.raises(RelationMismatch, match="part 0 is AddRemove, part 2 is ReplaceOne"):
        require_same_relation(mixed, "compose")


@pytest.mark.parametrize("wrong", ["add-remove", AddRemove, None])
def test_a_relation_is_an_instance(wrong: Any) -> None:  # noqa: ANN401  # of any kind
    """Strings and classes are refused, where a guarantee is stated too."""
    assert require_relation(ReplaceOne()) == ReplaceOne()
    for taken in (
        lambda: require_relation(wrong),
        lambda: PureDP(epsilon=1, relation=wrong),
        lambda: RDP(points=((2, 1),), relation=wrong),
    ):
        with pytest.raises(ParameterError, match=r"AddRemove\(\)"):
            taken()
