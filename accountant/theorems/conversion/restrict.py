"""Restriction to a relation with fewer neighbours."""

from __future__ import annotations

import copy
from typing import Any, Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.provenance import applied, derived
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import ReplaceLabel, ReplaceOne

RESTRICT_RELATION: Final = Theorem(
    rule="restrict/relation",
    source="proofs/theory/margins.md, section 1",
    attained=Attained.NO,  # a label alone may move a query by less
    again=lambda premises, _: restrict(premises[0]),
    lossless=False,
)


def restrict(guarantee: Guarantee[ReplaceOne]) -> Guarantee[ReplaceLabel]:
    """State a guarantee under replace-one for datasets that differ in one label alone.

    Statement: datasets that differ in the label of one record differ in one record, so what holds
        for all neighbours under replace-one holds for all under replace-label; likewise for
        groups. It says nothing about features and the number of records: they are not protected.
    Assumes: nothing.
    Source: proofs/theory/margins.md, section 1.
    Rounds: nothing.

    Args:
        guarantee: any notion, under ReplaceOne. One under AddRemove or ZeroOut bounds a changed
            label as two steps, not one.
    Returns:
        The same statement under ReplaceLabel.
    Raises:
        NotImplied: the guarantee is under another relation.
        ParameterError: it is no guarantee.
    Laws: every answer is unchanged.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> restrict(GDP(mu=1, relation=ReplaceOne()))
        GDP(mu_squared=1, relation=ReplaceLabel())
    """
    required_guarantee(guarantee)
    relation: object = guarantee.relation
    if not isinstance(relation, ReplaceOne):
        raise NotImplied(
            f"a guarantee under {type(relation).__name__} does not speak of a changed label in one "
            "step; state it under ReplaceOne(), whose neighbours include those of ReplaceLabel()"
        )
    twin: Guarantee[Any] = copy.copy(guarantee)
    object.__setattr__(twin, "relation", ReplaceLabel())
    derivation = applied(
        RESTRICT_RELATION,
        f"{guarantee.describe()} where labels alone differ; features and the number of "
        "records are public",
        guarantee,
    )
    object.__setattr__(twin, "derivation", derived(twin, derivation))
    return twin
