"""Group privacy of a trade-off curve."""

from __future__ import annotations

from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.point_lists import chained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.trade_off import TradeOff
from dpproof.accountant.relation import R

_MAX_SIZE = 1000  # Largest size of a group, to bound the time. Larger ones raise.


GROUP_TRADE_OFF: Final = Theorem(
    rule="group/trade-off",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14",
    attained=Attained.NO,  # nothing is known about chains that attain every step
    again=lambda premises, given: group_trade_off(premises[0], size=given["size"]),
)


def group_trade_off(guarantee: TradeOff[R], *, size: int) -> TradeOff[R]:
    """Iterate the power curve of the best test.

    Statement: if M is f-DP for neighbours, it is [1 - (1-f)^{o size}]-DP for datasets that
        ``size`` steps between neighbours connect, the power 1-f applied size times over.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14.
    Proof: a test with power at most b on the i-th dataset of the chain has power at most
        1 - f(b) on the next one.
    Rounds: down for both errors, after every step, to 160 significant bits; the lower convex
        hull of lowered points is below the curve.

    Args:
        guarantee: f-DP, f piecewise linear.
        size: number of records, from 1 to 1000; the time grows with its cube.

    Returns:
        TradeOff for groups of that size.

    Raises:
        NotImplied: size is above 1000.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> f = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))
        >>> [float(x) for x, _ in group_trade_off(f, size=2).points]
        [0.0, 0.08333333333333333, 0.25, 1.0]
    """
    times = arguments.count(size=size)
    if times == 1:
        return guarantee
    points = guarantee.points
    if times > _MAX_SIZE:
        raise NotImplied(
            f"a curve is iterated for groups of at most {_MAX_SIZE}, not {times}; use PureDP, GDP "
            "or ZCDP, which scale by a formula"
        )
    for _ in range(times - 1):
        points = chained(points, guarantee.points)
        if len(points) == 1:
            break  # everything can be told: nothing is left to lose
    derivation = applied(
        GROUP_TRADE_OFF,
        f"f-DP for groups of {times}, f linear between {len(points)} points",
        guarantee,
        size=times,
    )
    return TradeOff(points=points, relation=guarantee.relation, derivation=derivation)
