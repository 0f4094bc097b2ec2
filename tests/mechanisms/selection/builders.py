"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Sequence

from dpproof.mechanisms import Scores


def occurrences(words: Sequence[str], candidate: str) -> int:
    """How often the candidate occurs."""
    return list(words).count(candidate)


FAVOURITE = Scores(candidates=("tea", "coffee", "water"), score=occurrences)
