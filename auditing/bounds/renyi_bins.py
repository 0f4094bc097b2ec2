"""Lower bounds of Renyi divergences and of rho, from all bins of a partition at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import renyi_order
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts.binomial import Floats, lower_limit, upper_limit
from dpproof.auditing.counts.counts import BinCounts

ORDERS = (1.01, 1.25, 1.5, 2, 3, 4, 8)

_MARGIN = 1e-12
_ROUNDING = 2.0**-50
_ROUNDS = 200
_STILL = 1e-7


@final
@dataclass(frozen=True, slots=True, init=False)
class RenyiBins:
    """The smallest divergence among the laws of the bins that the counts leave plausible.

    Statement: let a partition into k bins be fixed before the trials were drawn, with
        probabilities p_i on D and q_i on D'. Let every p_i and q_i lie between its two
        Clopper-Pearson limits at level significance / 4k, which holds for all of them with
        probability at least 1 - significance. Then for every order a > 1 and all r_1, ..., r_k > 0,
        (a - 1) D_a(P || Q) >= ln (min_p sum u_i p_i - max_q sum v_i q_i). There p and q are within
        their limits and sum to 1; u_i = a r_i^(a-1), v_i = (a - 1) r_i^a.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9, for the divergence of the bins.
    Proof: p^a q^(1-a) is convex and homogeneous, so it is above its tangent plane where p = r q,
        which is u p - v q. The two sums are linear, so their extremes are those of their duals.
        Whatever r is, the bound holds; it depends on the data here.
    Search: r is the ratio of the least favourable pair, which is p_i = t q_i and q_i = s p_i, each
        as far as its limits allow; that pair minimises the divergence of every order, so the
        bound is then the minimum itself.
    Rounds: down.
    Use: one confidence set serves every order, so ``rho`` pays nothing for its choice of orders.
        Sixteen bins of equal probability show about nine tenths of Gaussians' divergence at order
        2; high orders stay hard. The other order of the datasets is ``counts.reversed()``.

    Args:
        significance: error probability, in (0, 1), for all orders together.
    Example:
        >>> counts = BinCounts((900, 3000, 5000, 1100), (2400, 4600, 2700, 300))
        >>> bound = RenyiBins(significance=0.05)
        >>> 0.3 < bound.rdp(counts, order=2) < 0.6
        True
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def rdp(self, counts: BinCounts, *, order: Number) -> float:
        """Return the lower confidence bound of the divergence at an order above 1, in nats."""
        limits = self._limits(counts)
        return limits.divergence(float(renyi_order(order=order)), limits.ratios())

    def rho(self, counts: BinCounts, *, orders: Sequence[Number] = ORDERS) -> float:
        """Return the lower confidence bound of rho for a zCDP claim: the best D_a / a."""
        if not orders:
            raise ParameterError("orders", orders, "at least one order above 1")
        exact = [float(renyi_order(order=order)) for order in orders]
        limits = self._limits(counts)
        ratios = limits.ratios()
        return max(limits.divergence(order, ratios) / order for order in exact) * (1 - _MARGIN)

    def _limits(self, counts: BinCounts) -> _Limits:
        level = self.significance / (4 * len(counts.hits))
        hits, others = np.array(counts.hits), np.array(counts.other_hits)
        return _Limits(
            lower_limit(hits, counts.trials, level),
            upper_limit(hits, counts.trials, level),
            lower_limit(others, counts.other_trials, level),
            upper_limit(others, counts.other_trials, level),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Limits:
    """Lower and upper limits of the probability of every bin, on D and on D'."""

    low: Floats
    high: Floats
    other_low: Floats
    other_high: Floats

    def divergence(self, order: float, ratio: Floats) -> float:
        """Return the divergence that tangents at these ratios certify at one order."""
        # A price that overflows makes the total nan or -inf, which shows nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            first = order * ratio ** (order - 1)
            second = (order - 1) * ratio**order
            above = _cheapest(first, self.low, self.high)
            below = -_cheapest(-second, self.other_low, self.other_high)
            total = above - below - _MARGIN * (above + below)
        if not total > 1.0:
            return 0.0
        value = math.log(total) / (order - 1)
        return value * (1 - _MARGIN)

    def ratios(self) -> Floats:
        """Return the ratios p / q of the least favourable pair.

        Minimise over p and over q in turn.
        """
        q = _filled(np.ones(self.low.size), self.other_low, self.other_high)
        ratio = np.ones(self.low.size)
        for _ in range(_ROUNDS):
            p = _filled(q, self.low, self.high)
            q = _filled(p, self.other_low, self.other_high)
            before, ratio = ratio, p / q
            if float(np.max(np.abs(ratio - before) / ratio)) < _STILL:
                break
        return ratio


def _filled(shape: Floats, low: Floats, high: Floats) -> Floats:
    """Scale a positive shape so that, cut to the limits, it sums to 1."""
    multiples = np.sort(np.concatenate([low / shape, high / shape]))
    sums = np.clip(multiples[:, None] * shape, low, high).sum(axis=1)  # linear in between
    return np.asarray(np.clip(np.interp(1.0, sums, multiples) * shape, low, high))


def _cheapest(prices: Floats, low: Floats, high: Floats) -> float:
    """Bound from below the sum of price times probability, within limits and of sum 1.

    For every level c it is at least c + sum min((price - c) low, (price - c) high), which is the
    minimum at the price of the bin that is filled in part. Each of the prices is tried, and what
    the terms lose to rounding is subtracted, so that no dear bin gets mass that rounding left over.
    """
    excess = prices - prices[:, None]
    terms = np.minimum(excess * low, excess * high)
    lost = _ROUNDING * prices.size * (np.abs(prices) + np.abs(terms).sum(axis=1))
    return float(np.max(prices + terms.sum(axis=1) - lost))
