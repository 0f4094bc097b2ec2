"""The discrete Laplace pair."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import pytest

from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.discrete_laplace import DiscreteLaplacePair
from tests.contracts.definition import Outcomes, ball
from tests.contracts.pair_contract import Case, PairContract, flipped


@functools.cache
def discrete_laplaces(scale: Fraction, shift: int) -> Outcomes:
    """All whole numbers; the two sides beyond the centres are geometric sums."""
    r = (-1 / ball(scale)).exp()
    norm = (1 - r) / (1 + r)
    beyond = norm / (1 - r)
    inside = [(norm * r ** (shift - x), norm * r**x) for x in range(1, shift)]
    return Outcomes([(beyond * r**shift, beyond), *inside, (beyond, beyond * r**shift)])


class TestDiscreteLaplace(PairContract):
    """The definition over all whole numbers."""

    def cases(self) -> Sequence[Case]:
        """Shifts of one, of a few and of many."""
        found = []
        for scale, shift in (
            (Fraction(2), 1),
            (Fraction(5, 3), 4),
            (Fraction(1000), 3),
            (Fraction(1, 4), 2),
            (Fraction(30), 40),
        ):
            definition = discrete_laplaces(scale, shift)
            pair = DiscreteLaplacePair(scale=scale, shift=shift)
            found.append(Case(pair, definition, flipped(definition)))
        return found


@pytest.mark.parametrize("shift", [0, -1, 10**9])
def test_refuses_shifts_without_a_table(shift: int) -> None:
    """A shift below 1 or far too large is refused with the range."""
    with pytest.raises(NotCertified, match="1 to 100000"):
        DiscreteLaplacePair(scale=Fraction(1), shift=shift)
