"""Group privacy of metric differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

GROUP_METRIC: Final = Theorem(
    rule="group/metric-dp",
    source="proved in group_metric",
    attained=Attained.WHOLE,  # a longer path under Laplace noise
    again=lambda premises, given: group_metric(premises[0], size=given["size"]),
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
    derivation = applied(
        GROUP_METRIC, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return MetricDP(
        epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
