"""Renyi differential privacy at finitely many orders."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import final, overload

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals, distinct
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, renyi_order
from dpproof.accountant.guarantees.point_lists import GivenPoints, Points, checked_points
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around, show
from dpproof.accountant.relation import AddRemove, R, Relation

_BETWEEN = 60  # Trial orders between the listed ones. Heuristic: every order is valid.
# 1 plus this is the next float after 1. Orders that floats cannot represent are left out.
_LEAST = 2.0**-52
# Largest order that is tried, unless it is listed. Heuristic: every order is valid.
_MOST = 1e300
# Used when no part names an order: dense where the best order of a conversion usually lies.
DEFAULT_ORDERS: tuple[Fraction, ...] = (
    *(1 + Fraction(k, 8) for k in range(1, 24)),
    *(Fraction(k) for k in range(4, 32)),
    *(Fraction(2**k) for k in range(5, 17)),
)


@final
@dataclass(frozen=True, slots=True, init=False)
class RDP(RenyiGuarantee[R]):
    """(order, value)-RDP for every listed point: divergence at most value at that order.

    Between the orders the curve is interpolated: (a - 1) times the divergence at order a is
    convex in a and 0 at a = 1. Above the largest order nothing is known.

    Source: Mironov (arXiv:1702.07476), Definition 4; convexity: van Erven & Harremoes
        (arXiv:1206.2459), Corollary 2.

    Attributes:
        points: exact (order, value) pairs in nats, orders increasing and above 1; a value that
            convexity shows to be too large is lowered to what it implies.

    Example:
        >>> RDP(points=((2, 1), (4, 2))).rdp(order=2).upper
        1.0
    """

    points: Points
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: RDP[AddRemove], *, points: GivenPoints, derivation: Derivation | None = None
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
            lambda order: renyi_order(order=order),
            lambda value: arguments.non_negative(value=value),
        )
        state(self, "rdp", relation, derivation, points=_lowered(exact))

    @property
    def largest_order(self) -> Fraction:
        """Return the order above which no bound is known."""
        return self.points[-1][0]

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        if len(self.points) == 1:
            ((order, value),) = self.points
            return f"({show(order)}, {show(value)})-RDP"
        low, high = show(self.points[0][0]), show(self.largest_order)
        return f"RDP at {len(self.points)} orders from {low} to {high}"

    def divergence_up(self, order: Fraction) -> Fraction | None:
        """Return the bound at an order, exact at the points, interpolated between them.

        It returns None above the largest order.
        """
        position = bisect.bisect_left(self.points, order, key=lambda point: point[0])
        if position == len(self.points):
            return None
        right, high = self.points[position]
        left, low = self.points[position - 1] if position else (Fraction(1), Fraction(0))
        share = (order - left) / (right - left)
        return ((1 - share) * (left - 1) * low + share * (right - 1) * high) / (order - 1)

    def _curve_up(self, orders: Reals) -> Reals:
        # The scaled curve grows, so a vertex moved left and an argument moved right only raise it.
        """Return upper bounds of the divergence at orders, +inf above the largest one."""
        scaled = [(Fraction(0), Fraction(0))]
        scaled += [(order - 1, (order - 1) * value) for order, value in self.points]
        left = np.array([floats_around(excess)[0] for excess, _ in scaled])
        height = np.array([floats_around(value)[1] for _, value in scaled])
        excess = orders - 1.0
        with np.errstate(over="ignore"):
            curve = (
                np.interp(excess * (1 + 4 * UNIT_ROUNDOFF), left, height)
                / excess
                * (1 + 64 * UNIT_ROUNDOFF)
            )
        largest = floats_around(self.largest_order)[0]
        return np.where(orders <= largest, curve, math.inf)

    def _trial_orders(self) -> Reals:
        """Return the listed orders and orders between them."""
        largest = floats_around(self.largest_order)[0]
        stated_orders = np.array([floats_around(order)[0] for order, _ in self.points])
        first, last = (
            max(min(stated_orders[0] - 1.0, 1e-3), _LEAST),
            max(min(largest - 1.0, _MOST), _LEAST),
        )
        between = 1.0 + np.geomspace(first, last, _BETWEEN)
        orders = distinct(np.concatenate([stated_orders, np.minimum(between, largest)]))
        # orders that floats do not tell from 1 leave one at which nothing is known
        return orders[orders > 1.0] if largest > 1.0 else np.array([1.0 + _LEAST])

    def _gaussian_rho(self) -> Fraction:
        """Return the smallest value over order: the divergence rho a is at or below all values."""
        return min(value / order for order, value in self.points)

    def _holds_at_every_order(self) -> bool:
        """Return False: above the largest order no bound is known."""
        return False


def _lowered(points: Points) -> Points:
    """Return the points with every value lowered to what convexity implies from the others."""
    scaled = [(order - 1, (order - 1) * value) for order, value in points]
    vertices = lower_hull([(Fraction(0), Fraction(0)), *scaled])
    lowered = []
    for order, value in points:
        excess = order - 1
        for (left, low), (right, high) in pairwise(vertices):
            if left < excess <= right:
                chord = low + (high - low) * (excess - left) / (right - left)
                lowered.append((order, min(value, chord / excess)))
    return tuple(lowered)


def listed_curve(guarantee: RenyiGuarantee[R]) -> dict[Fraction, Fraction]:
    """Return the divergence at every order that the guarantee lists, else at a fixed list."""
    if isinstance(guarantee, RDP):
        return dict(guarantee.points)
    points = ((order, guarantee.divergence_up(order)) for order in DEFAULT_ORDERS)
    return {order: value for order, value in points if value is not None}


def shared_orders(parts: Sequence[Guarantee[R]]) -> Sequence[Fraction]:
    """Return every order that some part lists and at which all parts are known.

    It returns a fixed list if no part lists orders.
    """
    listed = [part for part in parts if isinstance(part, RDP)]
    if not listed:
        return DEFAULT_ORDERS
    limit = min(part.largest_order for part in listed)
    return sorted({order for part in listed for order, _ in part.points if order <= limit})
