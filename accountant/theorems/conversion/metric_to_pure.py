"""From metric to pure differential privacy."""

from __future__ import annotations

from typing import Any, Final

from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.metric_dp import MetricDP
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R


def _again(premises: Premises, _: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return metric_to_pure(premises[0])


CONVERT_METRIC_PURE: Final = Theorem(
    rule="convert/metric-pure",
    source="proofs/theory/path.md, Section 1",
    again=_again,
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
    derivation = Derivation(
        theorem=CONVERT_METRIC_PURE,
        statement=f"loss at most that between the ends of {guarantee.describe()}",
        premises=(guarantee.derivation,),
    )
    return PureDP(
        epsilon=guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
