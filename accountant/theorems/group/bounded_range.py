"""Group privacy of bounded range."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

GROUP_BOUNDED_RANGE: Final = Theorem(
    rule="group/bounded-range",
    source="proved in group_bounded_range",
    attained=Attained.POINTS,  # along a chain the odds of two outputs move on
    pointwise=True,
    again=lambda premises, given: group_bounded_range(premises[0], size=given["size"]),
)


def group_bounded_range(guarantee: BoundedRange[R], *, size: int) -> BoundedRange[R]:
    """Multiply the range by the size of the group.

    Statement: epsilon-bounded-range for neighbours is size epsilon-bounded-range along a chain of
        size neighbours.
    Assumes: nothing.
    Source: the proof below.
    Proof: the loss of the chain at an output is the sum of the losses of its steps there, each
        in an interval of length epsilon.
    Rounds: nothing.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps, from 1 to 10**12.

    Returns:
        BoundedRange for datasets that size steps connect.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> group_bounded_range(BoundedRange(epsilon=1), size=3).stated_epsilon
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    derivation = applied(
        GROUP_BOUNDED_RANGE, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return BoundedRange(
        epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
