"""Bounded range: the privacy loss stays in an interval of known length."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final, final, overload

from accountant import arguments
from accountant.arguments import Number
from accountant.arithmetic.enclosure import DENORMAL_ROUNDING, raised_up
from accountant.arithmetic.langevin import GROWTH_ERROR, log_sinh_growth
from accountant.bound import Bound
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.dominating_pair import DominatingPair, dominated
from accountant.guarantees.guarantee import DEFAULT_RELATION
from accountant.guarantees.pair_guarantee import PairGuarantee
from accountant.guarantees.point_lists import Points
from accountant.guarantees.provenance import state
from accountant.guarantees.rounding import epsilon_tanh_up, floats_around, show
from accountant.guarantees.theorem import Theorem, dominate_again
from accountant.pairs.logistic import LogisticPair
from accountant.relation import AddRemove, R, Relation

# Orders minus 1, between which the curve of divergences is bounded by its chords. Heuristic: chords
# are valid for any orders.
_ORDERS = tuple(1.0 + 10.0 ** (k / 60) for k in range(-360, 361))
# Epsilons between which rho is refined; outside them the proved bound is rho to 1e-6. Heuristic.
_PLAIN = Fraction(1, 1000), 10**6
_SOURCE = "odds ratio of an event, proved in BoundedRange.to_pair"


DOMINATE_BOUNDED_RANGE: Final = Theorem(
    rule="dominate/bounded-range",
    source=_SOURCE,
    again=dominate_again,
    lossless=False,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class BoundedRange(PairGuarantee[R]):
    """epsilon-bounded range: log P(y)/Q(y) stays in some interval [t, t + epsilon].

    The interval may depend on the two neighbours, not on the output y.

    Source: Durfee & Rogers (arXiv:1905.04273), Definition 4.1.

    Attributes:
        stated_epsilon: exact length of the interval, at or above 0, nats.

    Example:
        >>> BoundedRange(epsilon=1).stated_epsilon
        Fraction(1, 1)
    """

    stated_epsilon: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: BoundedRange[AddRemove], *, epsilon: Number, derivation: Derivation | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, *, epsilon: Number, relation: R, derivation: Derivation | None = None
    ) -> None: ...
    def __init__(
        self,
        *,
        epsilon: Number,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee; without a derivation it is an assumption."""
        state(
            self,
            "bounded-range",
            relation,
            derivation,
            stated_epsilon=arguments.non_negative(epsilon=epsilon),
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.stated_epsilon)}-bounded-range"

    def stated_points(self) -> Points:
        """Return (epsilon, 0): the loss is at most the length of its range."""
        return ((self.stated_epsilon, Fraction(0)),)

    def zcdp(self) -> Bound:
        """The smallest rho, where orders next to 1 decide: about the largest KL divergence.

        Statement: the supremum over s > 0 of k(s)/(s(s + 1)), k(s) = s times the divergence of
            order s + 1. As a supremum of functions log E_P e^{sL}, k is convex, and k(0) = 0:
            between two orders it is below its chord, beyond the last one at most epsilon s. Nor
            is rho above what ``theorems.convert_bounded_range_zcdp`` proves.
        Rounds: outwards. The pair's own rho is larger: for divergences a range says more than it.
        """
        epsilon = self.stated_epsilon
        proved = floats_around(min(epsilon * epsilon / 8, epsilon_tanh_up(epsilon)))[1]
        found = [(order, self._rdp_at(order)) for order in _ORDERS]
        least = max(one.lower / order for order, one in found) * (1 - 1e-15)
        upper = proved
        if _PLAIN[0] <= epsilon <= _PLAIN[1]:
            known = [
                (0.0, 0.0),
                *((order - 1.0, (order - 1.0) * one.upper) for order, one in found),
            ]
            most = max(_steepest(left, right) for left, right in pairwise(known))
            beyond = floats_around(epsilon)[1] / _ORDERS[-1]
            upper = min(max(most, beyond) * (1 + 1e-12), proved)
        return Bound(min(least, upper), upper)

    def _rdp_at(self, order: float) -> Bound:
        """Enclose the largest divergence of a mechanism whose loss takes both ends of an interval.

        Statement: with e = epsilon and a the order, log x + (log((e^{a e} - 1)/(e^e - 1)) -
            log a)/(a - 1), x = (a - 1)/a e^{-e} (e^{a e} - 1)/(e^{(a-1) e} - 1). With
            g(y) = log(sinh(y)/y) that is g(a e/2) - g((a-1) e/2) + (g(a e/2) - g(e/2))/(a - 1),
            two positive terms, about a e^2/8 next to 0.
        Proof: given the lower end t of the interval, E_Q e^{a L} is largest when the likelihood
            ratio e^L, of mean 1 under Q, takes the two ends only, as its a-th power is convex:
            it is x^{a-1} (A - 1 - x (A - e^e))/(e^e - 1) with x = e^t and A = e^{a e}, and
            largest at the x above.
        Source: Dong, Durfee & Rogers (arXiv:1909.13830) maximise the same two-point laws.
        """
        epsilon = floats_around(self.stated_epsilon)[1]
        cap = epsilon
        if order < math.inf:  # the float above an order beyond floats
            cap = min(floats_around(self.stated_epsilon**2 * Fraction(order) / 8)[1], epsilon)
        if epsilon == 0.0 or math.isinf(epsilon):
            return Bound(0.0, cap)
        half, more = 0.5 * epsilon, 0.5 * epsilon * (order - 1.0)
        if not 0.0 < min(half, more) <= max(half, more) < math.inf:
            return Bound(0.0, cap)
        value = log_sinh_growth(more, half) + log_sinh_growth(half, more) / (order - 1.0)
        upper = min(raised_up(value, 2 * GROWTH_ERROR), cap)
        lower = max(value * (1 - 2 * GROWTH_ERROR) - DENORMAL_ROUNDING, 0.0)
        return Bound(min(lower, upper), upper)

    def to_pair(self) -> DominatingPair[R]:
        """Two logistic distributions shifted by epsilon.

        Statement: logit P(S) <= logit Q(S) + eps for every event S, which is the trade-off of
            the logistic distribution against itself shifted by eps.
        Proof: P(S) <= e^{t + eps} Q(S) and 1 - P(S) >= e^t (1 - Q(S)); divide. For the shifted
            logistic the likelihood ratio is monotone, so the best events are half-lines
            {x > c}, and their logits are eps - c under P and -c under Q.
        Lossless: no pair is smaller, as every event's bound is met by a two-outcome mechanism of
            range eps; but the bound on the range itself is forgotten.
        """
        epsilon = self.stated_epsilon
        statement = f"dominated by logistic distributions {show(epsilon)} apart"
        pair = LogisticPair(epsilon=epsilon) if epsilon > 0 else None
        return dominated(self, DOMINATE_BOUNDED_RANGE, statement, pair)


def _steepest(left: tuple[float, float], right: tuple[float, float]) -> float:
    """Return the largest (a + b s)/(s(s + 1)) on a cell in s, of the line through its two ends."""
    (start, low), (end, high) = left, right
    slope = (high - low) / (end - start)
    if start == 0.0:
        return slope
    level = low - slope * start
    inside = math.sqrt(max(level * (level - slope), 0.0)) - level
    turn = min(max(inside / slope, start), end) if slope > 0.0 else start
    return max((level + slope * s) / (s * (s + 1.0)) for s in (start, turn, end))
