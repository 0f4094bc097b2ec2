"""Group privacy of metric differential privacy."""

from __future__ import annotations

from typing import Any, Final

from accountant import arguments
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.metric_dp import MetricDP
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R


def _again(premises: Premises, given: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return group_metric(premises[0], size=given["size"])


GROUP_METRIC: Final = Theorem(
    rule="group/metric-dp",
    source="proved in group_metric",
    again=_again,
)


def group_metric(guarantee: MetricDP[R], *, size: int) -> MetricDP[R]:
    """Multiply epsilon by the size of the group.

    Statement: epsilon-metric-DP for neighbours is size epsilon-metric-DP along a chain of size
        neighbours.
    Assumes: nothing.
    Source: the proof below.
    Proof: the paths of the steps one after the other are one path of length size; at constant
        speed it takes time 1, and the loss grows size times as fast.
    Rounds: nothing.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps, from 1 to 10**12.

    Returns:
        MetricDP for datasets that size steps connect.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> group_metric(MetricDP(epsilon=1), size=3).stated_epsilon
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    derivation = Derivation(
        theorem=GROUP_METRIC,
        statement=f"{guarantee.describe()}, for groups of {times}",
        premises=(guarantee.derivation,),
        parameters=(("size", times),),
    )
    return MetricDP(
        epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
