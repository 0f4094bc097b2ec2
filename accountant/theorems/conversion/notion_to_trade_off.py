"""From any notion to a trade-off curve, through points of its profile."""

from __future__ import annotations

from collections.abc import Sequence

from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.trade_off import TradeOff
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.conversion.notion_to_profile import notion_to_profile
from dpproof.accountant.theorems.conversion.profile_to_trade_off import profile_to_trade_off


def notion_to_trade_off(guarantee: Guarantee[R], *, epsilons: Sequence[Number]) -> TradeOff[R]:
    """Support the trade-off curve from below by lines of slope -e^epsilon.

    Statement: f(a) >= 1 - delta(epsilon) - e^epsilon a for every epsilon; the curve returned is
        the largest of these lines and their mirror images. (Values of f at points would not
        do: a convex curve may lie below its chords.)
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12.
    Rounds: down for type II errors, which is the safe side.

    Args:
        guarantee: any notion.
        epsilons: one or more, in [0, 700] nats: minus the log slopes of the lines.

    Returns:
        TradeOff.

    Raises:
        ParameterError: epsilons is empty, repeats itself or leaves [0, 700].
    Laws: the trade-off of the result is at or below the original everywhere.

    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> len(notion_to_trade_off(GDP(mu=1), epsilons=[0, 1, 2]).points)
        6
    """
    return profile_to_trade_off(notion_to_profile(guarantee, epsilons=epsilons))
