"""Parallel composition by position."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    ZCDP,
    AddRemove,
    BoundedRange,
    Guarantee,
    PureDP,
    ReplaceLabel,
    ReplaceOne,
    ZeroOut,
    group,
    parallel_positions,
)
from dpproof.accountant.errors import NotImplied, RelationMismatch
from dpproof.mechanisms import RandomizedResponse

ONE = ReplaceOne()


@pytest.mark.parametrize("relation", [ONE, ReplaceLabel(), ZeroOut()], ids=str)
def test_the_worst_part_counts(relation: Any) -> None:  # noqa: ANN401
    """Within one notion the largest parameter, in any order, with a certificate."""
    cases: list[tuple[list[Guarantee[Any]], Guarantee[Any]]] = [
        ([GDP(mu=m, relation=relation) for m in (1, 3, 2)], GDP(mu=3, relation=relation)),
        (
            [PureDP(epsilon=e, relation=relation) for e in (1, 2)],
            PureDP(epsilon=2, relation=relation),
        ),
        ([ZCDP(rho=r, relation=relation) for r in (1, 2)], ZCDP(rho=2, relation=relation)),
    ]
    for parts, worst in cases:
        assert parallel_positions(*parts) == worst
        assert parallel_positions(*reversed(parts)) == worst
        verdict = proofs.check(parallel_positions(*parts).certify(delta=1e-6))
        assert isinstance(verdict, proofs.VerifiedUnder)
        assert "disjoint sets of positions" in " ".join(verdict.assumptions)


def test_equal_pairs_are_shared() -> None:
    """Randomised response at every position has the pair of one answer; ranges give their pair."""
    answer = RandomizedResponse(epsilon=1, relation=ReplaceLabel()).guarantee()
    ranged = BoundedRange(epsilon=1, relation=ONE)

    assert parallel_positions(answer, answer) == answer
    assert parallel_positions(ranged, ranged) == ranged.to_pair()


def test_refusals() -> None:
    """Add-remove, groups, other notions, mixed relations."""
    with pytest.raises(NotImplied, match="move up"):
        parallel_positions(GDP(mu=1), GDP(mu=1))
    with pytest.raises(NotImplied, match="one record"):
        parallel_positions(*[group(GDP(mu=1, relation=ONE), size=2)] * 2)
    with pytest.raises(NotImplied, match="no common worst"):
        parallel_positions(GDP(mu=1, relation=ONE), PureDP(epsilon=1, relation=ONE))
    mixed: Any = (GDP(mu=1, relation=ONE), GDP(mu=1, relation=ZeroOut()))
    with pytest.raises(RelationMismatch):
        parallel_positions(*mixed)
    with pytest.raises(NotImplied):
        parallel_positions(GDP(mu=1, relation=AddRemove()))


def test_enumerated_splits_have_the_divergence_of_one_part() -> None:
    """Two bits, split uniformly, answered adaptively: no event exceeds the larger epsilon."""
    kept = {0: Fraction(3, 4), 1: Fraction(2, 3)}  # e^epsilon = 3 and 2

    def law(data: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        found: dict[tuple[int, ...], Fraction] = {}
        orders = [(0, 1), (1, 0)] if len(data) == 2 else [(0,)]
        for order in orders:
            for said in product((0, 1), repeat=2):
                mass = Fraction(1, len(orders))
                for part in (0, 1):
                    bit = data[order[part]] if part < len(order) else 0
                    asked = bit ^ (said[0] if part == 1 else 0)
                    mass *= kept[part] if said[part] == asked else 1 - kept[part]
                key = (*order, *said)
                found[key] = found.get(key, Fraction(0)) + mass
        return found

    worst = max(
        law(a)[key] / law(b)[key]
        for a, b in product(product((0, 1), repeat=2), repeat=2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
        for key in law(a)
    )

    assert worst == 3
