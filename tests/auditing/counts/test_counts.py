"""Counts of nested events: what is possible is kept, and nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import EventCounts, PrefixCounts

NUMBERS = st.lists(st.integers(-1, 6), min_size=1, max_size=3)


@given(NUMBERS, NUMBERS)
@example([3, 5], [3, 5])
@example([3, 5], [0, 0])
@example([3, 5], [4, 5])
@example([3, 5], [0, 3])
@example([5, 3], [1, 1])
def test_hits_grow_by_no_more_than_the_events(inside: list[int], hits: list[int]) -> None:
    """All of what an event adds may be hits, and none; more or less than that is refused."""
    events, found = [0, *inside], [0, *hits]
    possible = len(inside) == len(hits) and all(
        0 <= after - before <= end - start
        for (start, end), (before, after) in zip(pairwise(events), pairwise(found), strict=True)
    )
    if possible:
        counts = PrefixCounts(tuple(inside), tuple(hits), 10, 10)
        assert counts.hits == tuple(hits)
        assert counts.total == 20
    else:
        with pytest.raises(ParameterError):
            PrefixCounts(tuple(inside), tuple(hits), 10, 10)


@pytest.mark.parametrize(("hits", "other"), [(0, 0), (3, 4), (4, 0), (0, 5), (-1, 0), (0, -1)])
def test_all_trials_may_hit(hits: int, other: int) -> None:
    """Hits are from none to all of three and four trials."""
    if 0 <= hits <= 3 and 0 <= other <= 4:
        counts = EventCounts(hits=hits, trials=3, other_hits=other, other_trials=4)
        assert counts.complement().complement() == counts
    else:
        with pytest.raises(ParameterError, match="hits"):
            EventCounts(hits=hits, trials=3, other_hits=other, other_trials=4)
