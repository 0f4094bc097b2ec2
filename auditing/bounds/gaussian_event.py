"""A lower bound of mu for claims of Gaussian differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpproof.accountant.arguments import Number
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.bounds.rectangle import Rectangle
from dpproof.auditing.counts.binomial import special
from dpproof.auditing.counts.counts import EventCounts

_MARGIN = 1e-9


@final
@dataclass(frozen=True, slots=True, init=False)
class GaussianEvent:
    """How far apart two normal distributions have to be to explain one event.

    Statement: if the mechanism is mu-GDP then Phi^-1(P(S)) - Phi^-1(Q(S)) <= mu for every event
        S; with the limits of ``Rectangle`` in place of P(S) and Q(S), the left side exceeds mu
        with probability at most the significance.
    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6; used so by Nasr et al.
        (arXiv:2302.07956), Section 5.
    Rounds: down.
    Beware: this is a bound of mu, for a claim of mu. To turn it into a bound of epsilon one has to
        assume that the trade-off curve is Gaussian; ``epsilon`` of an event bound needs no such
        assumption.

    Args:
        significance: error probability, in (0, 1).
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def mu(self, counts: EventCounts) -> float:
        """Lower confidence bound of mu; 0 when nothing is shown."""
        low, high = Rectangle(significance=self.significance).limits(counts)
        if not low > 0 or not high < 1 or low <= high:
            return 0.0
        quantile = special().ndtri
        return max(0.0, float(quantile(low) - quantile(high)) - _MARGIN)
