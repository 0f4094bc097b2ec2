"""The size of a published cover."""

from __future__ import annotations

import pytest

from dpproof.accountant.errors import ParameterError
from experiments.plans.published_cover import published_cover


def test_sizes_of_the_specification() -> None:
    """The published cover cannot be listed, however large the margin."""
    covers = [published_cover(ratio=ratio, records=10_000) for ratio in (1, 2, 5, 10)]

    assert [cover.dimension for cover in covers] == [6_000, 23_169, 141_871, 563_673]
    assert [round(cover.log10_size) for cover in covers[:2]] == [9_677, 44_218]
    assert not any(cover.feasible for cover in covers)
    assert "out of reach" in str(covers[0])
    with pytest.raises(ParameterError, match="at least 1"):
        published_cover(ratio=0.5, records=10)
