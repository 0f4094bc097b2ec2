"""From pure differential privacy to bounded range."""

from __future__ import annotations

from typing import Any, Final

from accountant.guarantees.bounded_range import BoundedRange
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.theorem import Parameters, Premises, Theorem
from accountant.relation import R


def _again(premises: Premises, _: Parameters) -> Guarantee[Any]:
    """Apply the theorem to other premises, with the parameters that it had."""
    return pure_to_bounded_range(premises[0])


CONVERT_PURE_BOUNDED_RANGE: Final = Theorem(
    rule="convert/pure-bounded-range",
    source="Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3",
    again=_again,
    lossless=False,
)


def pure_to_bounded_range(guarantee: PureDP[R]) -> BoundedRange[R]:
    """Bound the range of the loss by twice its bound.

    Statement: the loss of an epsilon-DP mechanism lies in [-epsilon, epsilon], an interval of
        length 2 epsilon.
    Assumes: nothing.
    Source: Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3; the statement is its own proof.
    Rounds: nothing.
    Checked by: rule ``convert/pure-bounded-range``.

    Args:
        guarantee: epsilon-DP.

    Returns:
        BoundedRange(2 epsilon).
    Laws: loses information: the way back gives 2 epsilon, not epsilon.

    Example:
        >>> pure_to_bounded_range(PureDP(epsilon=1)).stated_epsilon
        Fraction(2, 1)
    """
    derivation = Derivation(
        theorem=CONVERT_PURE_BOUNDED_RANGE,
        statement=f"range at most twice that of {guarantee.describe()}",
        premises=(guarantee.derivation,),
    )
    return BoundedRange(
        epsilon=2 * guarantee.stated_epsilon, relation=guarantee.relation, derivation=derivation
    )
