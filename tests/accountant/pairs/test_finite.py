"""Finite pairs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from accountant.errors import ParameterError
from accountant.pairs.finite import FinitePair
from tests.contracts.pair_contract import Case, PairContract, flipped, masses

THIRD = Fraction(1, 3)
TINY = Fraction(1, 10**30)
TABLES: tuple[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ...] = (
    ((THIRD, THIRD, THIRD), (THIRD / 2, THIRD, THIRD * 3 / 2)),
    ((Fraction(1, 10), Fraction(9, 10)), (Fraction(9, 10), Fraction(1, 10))),
    ((Fraction(1, 2), Fraction(1, 2) - TINY, TINY), (Fraction(1, 4), Fraction(3, 4), Fraction(0))),
    ((Fraction(0), THIRD, 2 * THIRD), (THIRD, THIRD / 2, THIRD * 3 / 2)),
    (
        (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)),
        (Fraction(2, 5), Fraction(3, 10), Fraction(3, 10)),
    ),
    (
        (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)),
        (Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)),
    ),
    ((1 - TINY, TINY), (TINY, 1 - TINY)),
    (
        (Fraction(1, 2), Fraction(1, 2)),
        (Fraction(1, 2) + Fraction(1, 10**9), Fraction(1, 2) - Fraction(1, 10**9)),
    ),
)


class TestFinite(PairContract):
    """The sum over outcomes."""

    def cases(self) -> Sequence[Case]:
        """With and without outcomes of one side only; nearly equal; nearly disjoint."""
        found = []
        for p, q in TABLES:
            definition = masses(list(zip(p, q, strict=True)))
            found.append(Case(FinitePair(p=p, q=q), definition, flipped(definition)))
        return found


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((), ()),
        ((Fraction(1),), (Fraction(1, 2), Fraction(1, 2))),
        ((Fraction(1, 2), Fraction(1, 3)), (Fraction(1, 2), Fraction(1, 2))),
        ((Fraction(3, 2), Fraction(-1, 2)), (Fraction(1, 2), Fraction(1, 2))),
    ],
)
def test_refuses_what_is_not_a_pair(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> None:
    """Empty, of unequal lengths, not summing to 1, or negative: refused by name."""
    with pytest.raises(ParameterError):
        FinitePair(p=p, q=q)
