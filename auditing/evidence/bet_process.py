"""Evidence from bets on events, each chosen by the trials before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.counts.counts import EventCounts
from dpproof.auditing.evidence.e_process import SHARES, EProcess
from dpproof.auditing.evidence.event_bet import EventBet


@final
@dataclass(frozen=True, slots=True, eq=False)
class BetProcess:
    """One ``EventBet`` after the other, against a claim of which each bet's inequality is a part.

    Statement: let a claim say P(T) <= e^eps Q(T) + delta for all events T and all (eps, delta) of
        a set, in both orders of the datasets, as a trade-off curve does. Let trials be drawn by
        fair coins, block after block, and let the order, the event, the (eps, delta) and the bet
        of each block be functions of the blocks before. Then the wealth, the mean over the
        bettors' products, is a non-negative supermartingale that starts at 1, and Pr(it ever
        reaches 1 / significance) <= significance.
    Proof: given the earlier blocks the bet is fixed and the block's trials are independent of
        them, so by ``EventBet`` no bettor's wealth grows in expectation. Ville's inequality.
    Rounds: the wealth down.

    Attributes:
        wealths: log wealth of every bettor, shape (bettors,).
        largest: log of the largest wealth so far.
    Example:
        >>> bet = EventBet(epsilon=0, delta=0, p=0.9, q=0.1)
        >>> process = BetProcess.start().after(bet, EventCounts(9, 10, 1, 10))
        >>> process.refutes(significance=0.05)
        True
    """

    wealths: Floats
    largest: float

    @staticmethod
    def start() -> BetProcess:
        """The process before any trial."""
        return BetProcess(np.zeros(len(SHARES)), 0.0)

    def after(self, bet: EventBet, counts: EventCounts) -> BetProcess:
        """The process after one more block.

        Args:
            bet: chosen by the blocks before.
            counts: of the bet's event in this block.
        """
        wealths = self.wealths + bet.log_wealths(counts)
        return BetProcess(wealths, max(self.largest, EProcess.mixed(wealths)))

    @property
    def evidence(self) -> float:
        """Log of the present wealth: an e-value."""
        return EProcess.mixed(self.wealths)

    def refutes(self, *, significance: float) -> bool:
        """Whether the wealth has been large enough, at any time."""
        return EProcess.refutes(self.largest, significance=significance)
