"""Renyi divergences: curves of orders, zCDP, and what follows from them.

``orders`` has shape (n,), each above 1; ``values`` holds an upper bound of the divergence at each
order, in nats, both orders of the neighbours. Every order alone gives a valid bound, so the
smallest over any set of orders is valid.
"""

from __future__ import annotations

import bisect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, final, overload

import numpy as np

from dpproof.accountant import answers, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, UNIT_ROUNDOFF, Reals, up
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees import dominating_pair
from dpproof.accountant.guarantees.derivation import Derivation, Proof
from dpproof.accountant.guarantees.dominating_pair import GDP, GivenPoints, PairGuarantee, Points
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, renyi_order, state
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import floats_around, show
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, R, Relation

if TYPE_CHECKING:
    from dpproof.accountant.guarantees.dominating_pair import DominatingPair


# Above the rounding of a sum of at most eight elementary terms, each within ELEMENTARY_ULPS,
# relative to its size. Soundness depends on it.
_MARGIN = 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF
# Most bisection steps, enough for every float. Heuristic: the upper end is valid after any number.
_MAX_HALVINGS = 1200


def epsilon_terms(orders: Reals, values: Reals, delta: float) -> Reals:
    """Return for each order an epsilon (of any sign) such that (epsilon, delta)-DP holds.

    Rounded up.

    Statement: R - log(order/(order - 1)) - (log delta + log order)/(order - 1).
    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Proposition 12; derived in
        ``log_delta_terms``.
    """
    excess = orders - 1.0
    ratio = np.log1p(1.0 / excess)
    tail = (math.log(delta) + np.log(orders)) / excess
    tail_size = (abs(math.log(delta)) + np.log(orders)) / excess
    terms: Reals = values - ratio - tail + _MARGIN * (values + ratio + tail_size)
    return terms


def log_delta_terms(orders: Reals, values: Reals, epsilon: float) -> Reals:
    """Return for each order the log of a delta such that (epsilon, delta)-DP holds.

    Rounded up.

    Statement: with s = order - 1, s (R - epsilon) - log s - order log(1 + 1/s).
    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Proposition 12.
    Proof: (1 - e^{eps - l})_+ <= c e^{s l} for every l with the smallest such c, attained at
        e^{eps - l} = s/order: c = e^{-s eps} s^s / order^order. Average over the loss l under
        P, where E e^{s l} = e^{s R}.
    """
    excess = orders - 1.0
    first = excess * (values - epsilon)
    second = np.log(excess)
    third = orders * np.log1p(1.0 / excess)
    size = excess * (values + abs(epsilon)) + np.abs(second) + third
    terms: Reals = first - second - third + _MARGIN * (size + 1.0)
    return terms


def total_variation(smallest_value: float) -> float:
    """Return the largest total variation given a bound of the divergence at some order.

    Statement: divergences grow with the order, so the Kullback-Leibler divergence (order 1) is
        at most the value; TV <= sqrt(KL/2) and TV <= sqrt(1 - e^{-KL}).
    Source: Pinsker's inequality; Bretagnolle & Huber (1979); both in Tsybakov, "Introduction to
        Nonparametric Estimation", Lemma 2.5 (i) and equation (2.25).
    """
    if smallest_value == 0 or math.isinf(smallest_value):
        return 0.0 if smallest_value == 0 else 1.0
    pinsker = math.sqrt(0.5) * math.sqrt(smallest_value)  # half a denormal number may be 0
    huber = math.sqrt(-math.expm1(-smallest_value))
    return min(1.0, up(min(pinsker, huber) * (1.0 + _MARGIN)))


def power(orders: Reals, values: Reals, false_positive_rate: float) -> float:
    """Return the largest true-positive rate p at a false-positive rate q.

    Statement: a test is a map to two outcomes, so by data processing, at every order a,
        p^a q^{1-a} + (1-p)^a (1-q)^{1-a} <= e^{(a-1) R}, and the same with p and q swapped.
        Both left sides grow with p on [q, 1]: bisect, and keep a p where one is exceeded.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9 (data processing).
    """
    finite = np.isfinite(values)
    if not finite.any():
        return 1.0
    if false_positive_rate == 0.0:
        return 0.0  # a finite divergence leaves no mass outside the support of Q
    orders, values = orders[finite], values[finite]
    low, high = false_positive_rate, 1.0
    for _ in range(_MAX_HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high) if high > 2 * low else 0.5 * (low + high)
        if not low < middle < high:
            break
        if _exceeds(middle, false_positive_rate, orders, values):
            high = middle
        else:
            low = middle
    return high


def _exceeds(p: float, q: float, orders: Reals, values: Reals) -> bool:
    """Return whether some order certainly forbids power p at rate q, both in (0, 1)."""
    spread = abs(math.log(p)) + abs(math.log(q)) + abs(math.log1p(-p)) + abs(math.log1p(-q))
    with np.errstate(over="ignore", invalid="ignore"):  # what is inf or nan forbids nothing
        allowed = (orders - 1.0) * values
        margin = _MARGIN * (orders * spread + allowed + 1.0)
        return bool(np.any(log_power_terms(orders, p, q) > allowed + margin))


def log_power_terms(orders: Reals, p: float, q: float) -> Reals:
    """Return the log of the larger left side of ``power`` at each order."""
    excess = orders - 1.0
    log_p, log_q = math.log(p), math.log(q)
    log_not_p, log_not_q = math.log1p(-p), math.log1p(-q)
    forward = np.logaddexp(orders * log_p - excess * log_q, orders * log_not_p - excess * log_not_q)
    backward = np.logaddexp(
        orders * log_q - excess * log_p, orders * log_not_q - excess * log_not_p
    )
    return np.asarray(np.maximum(forward, backward))


# Range of rho for which a Gaussian pair is computed. Soundness does not depend on it: lower ends
# get weaker.
_LEAST_WITNESS, _LARGEST_WITNESS = Fraction(1, 10**200), Fraction(10**199)
_REFINEMENTS = 4  # Rounds of refinement of the orders. Heuristic: every order is valid.
_POINTS_PER_REFINEMENT = 41  # Orders in a round of refinement. Heuristic.


class RenyiGuarantee(Guarantee[R], ABC):
    """A guarantee on Renyi divergences, for both orders of every two neighbours.

    Upper ends come from the best conversion at the best order. Lower ends come from a
    Gaussian mechanism that meets the statement: rho-zCDP for the largest rho under the whole
    curve, whose divergence at every order a is exactly rho a.
    """

    __slots__ = ()

    @abstractmethod
    def divergence_up(self, order: Fraction) -> Fraction | None:
        """Return an exact upper bound of the divergence at an order above 1, or None."""

    @abstractmethod
    def _curve_up(self, orders: Reals) -> Reals:
        """Return upper bounds of the divergence at orders above 1, +inf if none is known."""

    @abstractmethod
    def _trial_orders(self) -> Reals:
        """Return orders to start a search for the best order, increasing, each above 1."""

    @abstractmethod
    def _gaussian_rho(self) -> Fraction:
        """Return the largest rho such that rho a is at most the stated curve at every order a."""

    @final
    def to_pair(self) -> DominatingPair[R]:
        """Raise NotImplied: a Renyi curve has no single worst pair."""
        raise NotImplied(
            f"no dominating pair follows from {self.describe()}: a Renyi curve does not single "
            "one out; convert it with to=ApproxDP (at a delta) or to=PrivacyProfile (at epsilons)"
        )

    @final
    def _epsilon_at(self, delta: Bound) -> Bound:
        lower = self._witness(lambda product: answers.epsilon(product, delta), 0.0)
        if delta.lower >= self._total_variation():
            return Bound(min(lower, 0.0), 0.0)
        if delta.lower == 0.0:
            return Bound(lower, math.inf)
        upper = self._least(lambda orders, values: epsilon_terms(orders, values, delta.lower))
        return Bound(lower, max(0.0, upper))

    @final
    def _delta_at(self, epsilon: float) -> Bound:
        if math.isinf(epsilon):
            return Bound.exactly(0.0 if epsilon > 0 else 1.0)
        lower = self._witness(lambda product: answers.delta(product, epsilon), 0.0)
        log_delta = self._least(
            lambda orders, values: log_delta_terms(orders, values, abs(epsilon))
        )
        upper = min(self._total_variation(), up(math.exp(min(log_delta, 0.0)) * (1 + 1e-14)))
        if epsilon < 0:  # H_eps(P || Q) = 1 - e^eps + e^eps H_{-eps}(Q || P)
            upper = float(
                enclosure.from_swapped(np.zeros(1), np.array([upper]), np.array([epsilon]))[1][0]
            )
        return Bound(min(lower, upper), upper)

    @final
    def _rdp_at(self, order: float) -> Bound:
        if math.isinf(order):  # the float above an order beyond floats
            return Bound(0.0, math.inf)
        exact = self.divergence_up(Fraction(order))
        upper = math.inf if exact is None else floats_around(exact)[1]
        return Bound(floats_around(self._gaussian_rho() * Fraction(order))[0], upper)

    @final
    def _zcdp(self) -> Bound:
        """Return the smallest rho such that the mechanism is rho-zCDP.

        Finitely many orders do not bound larger ones, so that the upper end of a list of points is
        +inf.
        """
        below, above = floats_around(self._gaussian_rho())
        return Bound(below, above if self._holds_at_every_order() else math.inf)

    @abstractmethod
    def _holds_at_every_order(self) -> bool:
        """Return whether the stated curve is rho a at every order a."""

    @final
    def _gdp_at(self, smallest_delta: float) -> Bound:
        """Return an infinite upper end: no theorem bounds mu by a Renyi curve."""
        lower = self._witness(lambda product: answers.smallest_mu(product, smallest_delta), 0.0)
        return Bound(lower, math.inf)

    @final
    def _true_positive_rate_at(self, false_positive_rate: float) -> Bound:
        rate = false_positive_rate
        lower = self._witness(lambda product: answers.true_positive_rate(product, rate), rate)
        variation = self._total_variation()
        by_variation = rate if variation == 0.0 else up(rate + variation)
        orders = self._trial_orders()
        by_orders = power(orders, self._curve_up(orders), rate)
        upper = min(1.0, by_variation, by_orders)
        return Bound(min(lower, upper), upper)

    def _total_variation(self) -> float:
        """Return an upper bound of the total variation."""
        return total_variation(float(np.min(self._curve_up(self._trial_orders()))))

    def _witness(self, question: Callable[[Product], Bound], nothing: float) -> float:
        """Return the lower end of the answer for a Gaussian that meets the statement.

        A Gaussian of a smaller rho meets it as well. It returns ``nothing`` below the least rho
        whose pair is computed.
        """
        rho = min(self._gaussian_rho(), _LARGEST_WITNESS)
        if rho < _LEAST_WITNESS:
            return nothing
        return question(Product.of(GaussianPair(mu_squared=2 * rho))).lower

    def _least(self, terms: Callable[[Reals, Reals], Reals]) -> float:
        """Return the smallest term over the orders, all of them valid, refined around the best."""
        orders = self._trial_orders()
        least = math.inf
        for _ in range(_REFINEMENTS):
            values = self._curve_up(orders)
            with np.errstate(invalid="ignore", over="ignore"):
                bounds = terms(orders, values)
            bounds = np.where(np.isfinite(values) & ~np.isnan(bounds), bounds, math.inf)
            best = int(np.argmin(bounds))
            least = min(least, float(bounds[best]))
            low, high = orders[max(best - 1, 0)], orders[min(best + 1, orders.size - 1)]
            if not low < high:
                break
            orders = 1.0 + np.geomspace(low - 1.0, min(high - 1.0, 1e300), _POINTS_PER_REFINEMENT)
            orders = orders[orders > 1.0]
        return least


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
        self: RDP[AddRemove], *, points: GivenPoints, derivation: Proof = None
    ) -> None: ...
    @overload
    def __init__(self, *, points: GivenPoints, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self,
        *,
        points: GivenPoints,
        relation: Relation = DEFAULT_RELATION,
        derivation: Proof = None,
    ) -> None:
        exact = dominating_pair.checked_points(
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
        """Return the bound at an order, exact at points, between them interpolated; else None."""
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
        orders = enclosure.distinct(np.concatenate([stated_orders, np.minimum(between, largest)]))
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
    """Return every listed order at which all parts are known, or a fixed list if none is listed."""
    listed = [part for part in parts if isinstance(part, RDP)]
    if not listed:
        return DEFAULT_ORDERS
    limit = min(part.largest_order for part in listed)
    return sorted({order for part in listed for order, _ in part.points if order <= limit})


# Orders to start a search with. Heuristic: every order is valid.
_TRIAL_ORDERS = 1.0 + np.geomspace(1e-8, 1e12, 200)


@final
@dataclass(frozen=True, slots=True, init=False)
class ZCDP(RenyiGuarantee[R]):
    """rho-zCDP: Renyi divergence at most rho a at every order a > 1.

    Source: Bun & Steinke (arXiv:1605.02065), Definition 1.1.

    Attributes:
        rho: exact, at or above 0, nats.

    Example:
        >>> ZCDP(rho=2).rdp(order=3)
        Bound(lower=6.0, upper=6.0)
    """

    rho: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(self: ZCDP[AddRemove], *, rho: Number, derivation: Proof = None) -> None: ...
    @overload
    def __init__(self, *, rho: Number, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self, *, rho: Number, relation: Relation = DEFAULT_RELATION, derivation: Proof = None
    ) -> None:
        state(self, "zcdp", relation, derivation, rho=arguments.non_negative(rho=rho))

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.rho)}-zCDP"

    def divergence_up(self, order: Fraction) -> Fraction | None:
        """Return the stated curve, rho times the order."""
        return self.rho * order

    def _curve_up(self, orders: Reals) -> Reals:
        """Return upper bounds of the stated curve."""
        with np.errstate(over="ignore"):
            curve: Reals = floats_around(self.rho)[1] * orders * (1 + 4 * UNIT_ROUNDOFF)
        return curve

    def _trial_orders(self) -> Reals:
        """Return orders over the range in which the best one usually lies."""
        return _TRIAL_ORDERS

    def _gaussian_rho(self) -> Fraction:
        """Return rho: a Gaussian with mu^2 = 2 rho has divergence exactly rho a."""
        return self.rho

    def _holds_at_every_order(self) -> bool:
        """Return True: the statement covers every order."""
        return True


def common_worst(parts: Sequence[Guarantee[R]]) -> tuple[list[Guarantee[R]], Guarantee[R]]:
    """Return the parts in a notion that they share, and the one that all of them satisfy."""
    listed = list(parts)
    if all(isinstance(part, GDP) for part in parts):
        return listed, max(parts, key=lambda part: part.mu_squared)  # type: ignore[attr-defined]
    if all(isinstance(part, PureDP) for part in parts):
        return listed, max(parts, key=lambda part: part.stated_epsilon)  # type: ignore[attr-defined]
    if all(isinstance(part, ZCDP) for part in parts):
        return listed, max(parts, key=lambda part: part.rho)  # type: ignore[attr-defined]
    pairs = [part.to_pair() for part in parts if isinstance(part, PairGuarantee)]
    if len(pairs) == len(parts) and all(pair == pairs[0] for pair in pairs):
        return list(pairs), pairs[0]
    names = ", ".join(sorted({type(part).__name__ for part in parts}))
    raise NotImplied(
        f"mechanisms known as {names} have no common worst one; a common worst one needs equal "
        "guarantees, or all of them mu-GDP, pure or zCDP: give each the noise at which they cost "
        "the same"
    )


def has_common_worst(parts: Sequence[Guarantee[R]]) -> bool:
    """Return whether ``common_worst`` has an answer."""
    try:
        common_worst(parts)
    except NotImplied:
        return False
    return True
