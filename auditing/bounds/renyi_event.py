"""Lower bounds of Renyi divergences and of rho, from one event."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import renyi_order
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.bounds.rectangle import Rectangle
from dpproof.auditing.counts.counts import EventCounts

_MARGIN = 1e-12
_FAR = 600.0  # e^x is a float for x up to here


@final
@dataclass(frozen=True, slots=True, init=False)
class RenyiEvent:
    """The divergence between two coins, which data processing puts below that of the outputs.

    Statement: D_a(P || Q) >= d_a(p, q) = ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1) with p =
        P(S), q = Q(S). d_a grows with p and falls with q where p > q, so d_a at the limits of
        ``Rectangle`` exceeds D_a with probability at most the significance; the same limits serve
        every order, and rho >= D_a / a at each of them.
    Source: van Erven & Harremoes (arXiv:1206.2459), Theorem 9 (data processing).
    Rounds: down.
    Limit: one event shows about two thirds of the divergence of Gaussians at order 2, less above.

    Args:
        significance: error probability, in (0, 1), for all orders together.
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def rdp(self, counts: EventCounts, *, order: Number) -> float:
        """Lower confidence bound of the divergence at an order above 1, in nats."""
        exact = float(renyi_order(order=order))
        low, high = Rectangle(significance=self.significance).limits(counts)
        if low <= high:
            return 0.0
        return _of_coins(low, high, exact - 1.0)

    def rho(self, counts: EventCounts, *, orders: Sequence[Number] = (1.01, 1.5, 2, 4, 8)) -> float:
        """Lower confidence bound of rho for a claim of zCDP: the best of the orders."""
        if not orders:
            raise ParameterError("orders", orders, "at least one order above 1")
        shares = [self.rdp(counts, order=order) / float(order) for order in orders]
        return max(shares) * (1 - _MARGIN)


def _of_coins(p: float, q: float, excess: float) -> float:
    """d_a(p, q) for p > q and a = 1 + excess, rounded down.

    As log(1 + p (e^(s l) - 1) + (1-p) (e^(s m) - 1))/s, s = a - 1, with l = log p/q and
    m = log (1-p)/(1-q): next to order 1 the terms are as small as s, and so is their rounding. Far
    out the first of them alone is enough.
    """
    hit = math.log1p((p - q) / q)
    if excess * hit > _FAR:
        value, size = math.log(p) + excess * hit, abs(math.log(p)) + excess * hit
    else:
        missed = math.log1p(-(p - q) / (1.0 - q)) if p < 1.0 else -math.inf
        terms = p * math.expm1(excess * hit), (1.0 - p) * math.expm1(excess * missed)
        size = value = math.log1p(max(sum(terms) - _MARGIN * sum(map(abs, terms)), 0.0))
    return max(0.0, (value - _MARGIN * size) / excess)
