"""Bounded contributions of users."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import Histogram, bound_contributions

CELLS = ("a", "b", "c")


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("once", [True, False])
def test_a_user_moves_at_most_so_many_records(most: int, *, once: bool) -> None:
    """Over all sequences of four records of two users: the other's records stay as they are."""
    pairs = list(itertools.product((1, 2), CELLS))
    largest = 0
    for records in itertools.product(pairs, repeat=4):
        kept = bound_contributions(records, most, once=once)
        other = [record for record in records if record[0] != 1]
        alone = bound_contributions(other, most, once=once)
        counts = np.array([[list(part).count(cell) for cell in CELLS] for part in (kept, alone)])
        moved = counts[0] - counts[1]

        assert (moved >= 0).all()
        assert moved.sum() <= most
        assert not once or moved.max() <= 1
        largest = max(largest, int(moved.sum()))
    assert largest == most


def test_histograms_of_users() -> None:
    """Inside a query, the histogram's contributions are those of a user."""

    def table(visits: list[tuple[str, str]]) -> list[int]:
        return [bound_contributions(visits, 2, once=True).count(cell) for cell in CELLS]

    counts = Histogram(scale=1, contributions=2, query=table)
    visits = [("ann", cell) for cell in "aaab"] * 50 + [("bob", "c")]

    assert counts.cells == 2
    assert np.abs(counts.release(visits) - np.array([1, 1, 1])).max() < 12


def test_refuses_a_limit_that_is_none() -> None:
    """At least one record."""
    for most in (0, 1.5, None):
        with pytest.raises(ParameterError, match="most"):
            bound_contributions([], most)  # type: ignore[arg-type]
