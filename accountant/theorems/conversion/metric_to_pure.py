"""From metric to pure differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

CONVERT_METRIC_PURE: Final = Theorem(
    rule="convert/metric-pure",
    source="proofs/theory/path.md, Section 1",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: metric_to_pure(premises[0]),
    lossless=False,
)


def metric_to_pure(guarantee: MetricDP[R]) -> PureDP[R]:
    """Bound the loss between the ends of a path.

    Statement: the ends of a path are at distance 1, so the loss between them is at most epsilon.
    Assumes: nothing.
    Source: proofs/theory/path.md, Section 1.
    Rounds: nothing.

    Args:
        guarantee: epsilon-metric-DP along paths.

    Returns:
        PureDP(epsilon).
    Laws: loses information: there is no way back.

    Example:
        >>> metric_to_pure(MetricDP(epsilon=1)).stated_epsilon
        Fraction(1, 1)
    """
    derivation = applied(
        CONVERT_METRIC_PURE,
        f"loss at most that between the ends of {guarantee.describe()}",
        guarantee,
    )
    return PureDP(
        epsilon=guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
