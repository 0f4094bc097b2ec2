"""What compositions attain."""

from __future__ import annotations

import pytest

from dpproof.accountant import GDP, AddRemove, Attained, BoundedRange, DominatingPair, post_process
from dpproof.accountant.guarantees.composed_level import composed_level
from dpproof.accountant.pairs.product import Product

_RANGE = BoundedRange(epsilon=1).to_pair()
_FORGOTTEN = post_process(BoundedRange(epsilon=1).to_pair(), description="rounding")
_GAUSSIAN = GDP(mu=1).to_pair()


@pytest.mark.parametrize(
    ("parts", "level"),
    [
        ([_RANGE, _RANGE], Attained.POINTS),
        ([_RANGE, _FORGOTTEN], Attained.NO),
        ([_RANGE, _GAUSSIAN], Attained.NO),
        ([_GAUSSIAN, _GAUSSIAN], Attained.WHOLE),
        ([_RANGE] * 513, Attained.NO),
    ],
    ids=["ranges", "post-processed", "beside", "whole", "too many"],
)
def test_ranges_alone_attain_points(
    parts: list[DominatingPair[AddRemove]], level: Attained
) -> None:
    """Up to 512 mechanisms of one range, each attained at points, attain points together."""
    product = Product.merge([factor for one in parts for factor in one.forward.factors])

    assert composed_level(parts, product, product) is level
