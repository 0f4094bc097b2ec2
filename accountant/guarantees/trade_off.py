"""A piecewise linear trade-off curve."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem, dominate_again
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, dominated
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION
from dpproof.accountant.guarantees.pair_guarantee import FaithfulPairGuarantee
from dpproof.accountant.guarantees.point_lists import (
    GivenPoints,
    Points,
    checked_points,
    pair_of_trade_off,
    symmetric,
)
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_TRADE_OFF: Final = Theorem(
    rule="dominate/trade-off",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.2",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class TradeOff(FaithfulPairGuarantee[R]):
    """f-DP in both directions, f linear between the listed (type_i, type_ii) points.

    The statement is about the whole curve, not only about the points, so the points must
    reach from type_i = 0 to type_ii = 0 and be convex; f is 0 after the last one. As it holds
    for both orders of two neighbours, the larger of f and its inverse is what is kept.

    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.3 and Proposition 2.4.

    Attributes:
        points: exact (type_i, type_ii) vertices, type_i increasing, each in [0, 1].

    Example:
        >>> 0.5 in TradeOff(points=((0, 1), (0.25, 0.25), (1, 0))).advantage()
        True
    """

    points: Points
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: TradeOff[AddRemove], *, points: GivenPoints, derivation: Derivation | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, *, points: GivenPoints, relation: R, derivation: Derivation | None = None
    ) -> None: ...
    def __init__(
        self,
        *,
        points: GivenPoints,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee; without a derivation it is an assumption."""
        exact = checked_points(
            points,
            lambda type_i: arguments.probability(type_i_error=type_i),
            lambda type_ii: arguments.probability(type_ii_error=type_ii),
        )
        state(self, "trade-off", relation, derivation, points=_curve(exact))

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"f-DP with f linear between {len(self.points)} points"

    def to_pair(self) -> DominatingPair[R]:
        """Return the finite pair with this trade-off curve, for both directions.

        Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.2 (every trade-off function is
            that of some pair); the pair is built in ``point_lists.pair_of_trade_off``.
        """
        statement = f"dominated by a pair of {len(self.points) + 1} outcomes or fewer"
        return dominated(self, DOMINATE_TRADE_OFF, statement, _pair(self.points))


def _curve(points: Points) -> Points:
    """Return the vertices of the curve up to the first 0.

    Refuse points that make no trade-off curve.
    """
    if points[0][0] != 0 or points[-1][1] != 0:
        raise ParameterError(
            "points", points, "from type_i_error = 0 to type_ii_error = 0", "add the end points"
        )
    if any(type_i + type_ii > 1 for type_i, type_ii in points):
        raise ParameterError("points", points, "at or below type_i + type_ii = 1 everywhere")
    hull = lower_hull([*points, (Fraction(1), Fraction(0))])
    if not all(_on(hull, point) for point in points):
        raise ParameterError("points", points, "convex", "keep the lower convex hull")
    first_zero = next(i for i, (_, type_ii) in enumerate(hull) if type_ii == 0)
    return symmetric(hull[: first_zero + 1])


def _on(hull: Points, point: tuple[Fraction, Fraction]) -> bool:
    """Return whether a point with type_i in [0, 1] lies on the hull."""
    x, y = point
    for (left, high), (right, low) in pairwise(hull):
        if left <= x <= right:
            return (y - high) * (right - left) == (low - high) * (x - left)
    return len(hull) == 1 and hull[0] == point


@lru_cache(maxsize=256)
def _pair(points: Points) -> FinitePair:
    """Return the finite pair with this trade-off curve."""
    return pair_of_trade_off(points)
