"""A measured region that the whole trade-off curve has to pass through."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts.binomial import complement_up, lower_limit, upper_limit
from dpproof.auditing.counts.claim import Claim
from dpproof.auditing.counts.counts import PrefixCounts

# A test's false-alarm rate and its miss rate.
Rates = tuple[float, float]
_MARGIN = 1e-12


@final
@dataclass(frozen=True, slots=True, init=False)
class TradeOffRegion:
    """Upper limits of both error rates of many tests at once; the curve is below their hull.

    Statement: let S_1, ..., S_J be events fixed before the trials were drawn. With probability at
        least 1 - significance, Q(S_j) is at most a_j and 1 - P(S_j) at most b_j for all j, the
        Clopper-Pearson limits at level significance / 2J each. Then the trade-off curve f of
        (Q, P), the least miss rate of any test at each false-alarm rate, is on or below the lower
        convex hull of the points (a_j, b_j), (0, 1) and (1, 0). A claim of a curve f0, in both
        orders of the datasets, is refuted when f0(a) > b at a vertex (a, b) of the hull.
    Proof: f is convex and falls, f(0) <= 1 and f(1) = 0, and the test that says P on S_j gives
        f(Q(S_j)) <= 1 - P(S_j), so f(a_j) <= b_j. As f0 is convex, where it is at or below the
        vertices it is below the hull, and no other point of the hull would refute it.
    Source: Dong, Roth & Su (arXiv:1905.02383), Definitions 2.1 and 2.3 and Proposition 2.2;
        Clopper & Pearson, Biometrika 26 (1934).
    Rounds: the limits up.
    Use: what it costs to look everywhere is a factor 2J in the significance. ``audit`` tests one
        tangent that training chose, which sees more; this shows where a claim fails.

    Args:
        significance: error probability of the whole region, in (0, 1).
    Example:
        >>> counts = PrefixCounts((500, 1500), (450, 1050), 1200, 1200)
        >>> region = TradeOffRegion(significance=0.05)
        >>> region.refutes(counts, (1, 0)) is not None, region.refutes(counts, (3, 0)) is None
        (True, True)
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def points(self, counts: PrefixCounts) -> tuple[Rates, ...]:
        """Return upper limits of the error rates of every event, valid jointly."""
        counts.design.compare()
        level = self.significance / (2 * max(1, len(counts.inside)))
        hits, inside = np.array(counts.hits, int), np.array(counts.inside, int)
        alarms = upper_limit(inside - hits, counts.other_trials, level)
        misses = complement_up(lower_limit(hits, counts.trials, level))
        return tuple(zip(alarms.tolist(), misses.tolist(), strict=True))

    def vertices(self, counts: PrefixCounts) -> tuple[Rates, ...]:
        """Return the vertices of the lower convex hull, from (0, 1) to (1, 0)."""
        return lower_hull([(0.0, 1.0), *self.points(counts), (1.0, 0.0)])

    def type_ii_error(self, counts: PrefixCounts, *, type_i_error: Number) -> float:
        """Return an upper confidence bound of the trade-off curve at a false-alarm rate."""
        at = floats_around(arguments.probability(type_i_error=type_i_error))[0]
        for (left, above), (right, below) in pairwise(self.vertices(counts)):
            if left <= at <= right and left < right:
                share = (at - left) / (right - left)
                return min(above, above + share * (below - above) + _MARGIN)
        raise ArithmeticError(f"no edge of the hull is above {at}")

    def refutes(self, counts: PrefixCounts, claim: object) -> Rates | None:
        """Return the measured point that the claim excludes most clearly; None if there is none."""
        guarantee = Claim.of(claim).guarantee
        clearest: tuple[float, Rates | None] = (0.0, None)
        for rates in self.vertices(counts):
            excess = guarantee.type_ii_error(type_i_error=rates[0]).lower - rates[1]
            if excess > clearest[0]:
                clearest = (excess, rates)
        return clearest[1]
