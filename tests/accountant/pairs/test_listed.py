"""Pairs given by masses at losses that lie on no lattice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpproof.accountant.pairs.listed import ListedPair
from dpproof.accountant.pairs.pair import Pair
from tests.accountant.pairs.builders import balanced, ladders
from tests.contracts.pair_contract import Case, PairContract, flipped


class TestListed(PairContract):
    """The table's own masses."""

    tilts = (1e-6, 0.7, 30.0)
    heights = (0.0, 1e-5, 3.0, 300.0)
    frequencies = (0.1, 4.0, 400.0)
    bracket_width = 1e-8

    def cases(self) -> Sequence[Case]:
        """Ladders without their lattice, with a little mass outside on both sides."""
        found = []
        for pair in ladders()[:2]:
            definition = balanced(pair.atoms)
            found.append(Case(ListedPair(pair.atoms), definition, flipped(definition)))
        return found

    def assert_same(self, one: Pair, other: Pair) -> None:
        """Equal entry by entry, up to one rounding: the pairs are compared by identity."""
        assert isinstance(one, ListedPair)
        assert isinstance(other, ListedPair)
        assert np.array_equal(one.atoms.loss, other.atoms.loss)
        assert np.allclose(one.atoms.log_p, other.atoms.log_p, rtol=0, atol=1e-13)
