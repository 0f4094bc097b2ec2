"""Group privacy of bounded range."""

from __future__ import annotations

from typing import Any, Final

from accountant import arguments
from accountant.guarantees.bounded_range import BoundedRange
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R


def _again(premises: Premises, given: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return group_bounded_range(premises[0], size=given["size"])


GROUP_BOUNDED_RANGE: Final = Theorem(
    rule="group/bounded-range",
    source="proved in group_bounded_range",
    again=_again,
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
    Checked by: rule ``group/bounded-range``.

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
    derivation = Derivation(
        theorem=GROUP_BOUNDED_RANGE,
        statement=f"{guarantee.describe()}, for groups of {times}",
        premises=(guarantee.derivation,),
        parameters=(("size", times),),
    )
    return BoundedRange(
        epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
