"""Parallel composition by position: each mechanism sees the records at some places."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.common_worst import common_worst
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import require_single, required
from dpproof.accountant.guarantees.provenance import applied, rederived
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import AddRemove, R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS, SPLIT_BY_POSITION

PARALLEL_POSITIONS: Final = Theorem(
    rule="parallel/position",
    source="proofs/theory/margins.md, section 6",
    attained=Attained.WHOLE,  # the worst part sees the record
    pointwise=True,
    again=lambda premises, _: parallel_positions(*premises),
)


def parallel_positions(*parts: Guarantee[R]) -> Guarantee[R]:
    """Compose mechanisms on disjoint sets of positions of the data: the worst of them counts.

    Statement: let the positions 1, ..., n be split by a law that looks at no data, and let M_i see
        the records at the positions of part i (and earlier outputs), with randomness of its own.
        Under replace-one, replace-label and zero-out one position changes, so one M_i does: if
        every M_i is mu_i-GDP the outputs of all are max mu_i-GDP, and the same holds for epsilon
        of pure DP, for rho of zCDP, and for a dominating pair that all share. The positions may
        be released. Unlike ``parallel_compose`` no rule looks at a record.
    Assumes: split by position; own randomness; fixed in advance.
    Source: proofs/theory/margins.md, section 6. Under add-remove a record has no position: the
        others move up, and every part may change.
    Rounds: nothing.
    Checked by: rule ``parallel/position``.

    Args:
        parts: at least one guarantee, all under one relation that keeps positions.
    Returns:
        The common notion, with the largest parameter; for other notions the pair they share.
    Raises:
        NotImplied: under add-remove, about groups, or parts without a common worst one.
        RelationMismatch: two parts differ in relation.
    Laws: order does not matter; equal parts give what each of them gives; never better than any.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> parts = [GDP(mu=mu, relation=ReplaceOne()) for mu in (1, 2)]
        >>> parallel_positions(*parts).mu
        Fraction(2, 1)
    """
    relation = required(parts, "compose in parallel")
    if isinstance(relation, AddRemove):
        raise NotImplied(
            "a split by position says nothing under add-remove: without a record the others move "
            "up; state the parts under ReplaceOne(), or use parallel_compose for a split by record"
        )
    for part in parts:
        require_single(part, "parallel composition")
    compared, worst = common_worst(parts)
    derivation = applied(
        PARALLEL_POSITIONS,
        f"{worst.describe()}, the worst of {len(parts)} parts by position",
        *compared,
        assumptions=(SPLIT_BY_POSITION(), OWN_RANDOMNESS(), FIXED()),
    )
    return rederived(worst, derivation)
