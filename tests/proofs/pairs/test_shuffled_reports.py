"""The laws of shuffled reports in words, and what is not known of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.pairs.pair import ShuffledReportsPair


def made(categories: int, *, removal: bool = True) -> ShuffledReportsPair:
    """Four reports at epsilon = 1."""
    return ShuffledReportsPair(Fraction(1), categories, 4, removal)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (made(0), "C of successes in 3 trials of probability e^-1"),
        (made(2), "all others in the second"),
        (made(2, removal=False), "all others in the first"),
        (made(3), "how many of 4 reports by randomised response at epsilon 1 on 3 categories"),
        (made(3), "all others in a third"),
    ],
)
def test_names_both_laws(pair: ShuffledReportsPair, words: str) -> None:
    """What the others report, and which record differs."""
    assert words in pair.describe()


def test_the_swap_exchanges_two_categories() -> None:
    """More categories and clones are their own swaps."""
    assert made(2).swapped() == made(2, removal=False)
    assert made(2, removal=False).swapped() == made(2)
    assert made(3).swapped() == made(3)
    assert made(0).swapped() == made(0)


def test_refuses_moments_and_formula() -> None:
    """No other rule bounds it."""
    with pytest.raises(RefusedError, match="no profile"):
        made(3).moments(None)
    with pytest.raises(RefusedError, match="no profile"):
        made(3).profile(arb(0))
