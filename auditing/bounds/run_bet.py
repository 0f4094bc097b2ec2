"""A bet on the guesses of several independent runs, which may stop at any run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arguments import Number
from dpproof.auditing.bounds.event_bound import largest_refuted, significance_of
from dpproof.auditing.counts.binomial import Floats, logistic_up, special

_STAKES: Final = (0.1, 0.3, 0.6, 0.95)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunBet:
    """The mean over runs of right minus wrong guesses is at most the advantage that a claim allows.

    Statement: let each of independent runs have canaries with fair coins, and no event tell one
        coin with more advantage than a, whatever the other coins. With X_k the share of right
        minus that of wrong guesses in run k, W_n = mean over s of prod_{k <= n} (1 + s (X_k - a) /
        (1 + a)) has Pr(some W_n >= 1 / significance) <= significance.
    Proof: for a coin, the others fixed, with guesses "in" on E1 and "out" on E0, the expected right
        minus wrong is (P(E1) - Q(E1) + Q(E0) - P(E0)) / 2 <= a. So the mean of X_k given earlier
        runs is at most a, however canaries disturb each other; X_k >= -1 and s < 1 leave every
        factor positive, and W is a supermartingale from 1: Ville.
    Rounds: the wealth down. It falls in a.

    Attributes:
        gains: X_k, one a run; a guess may depend on the run's output and on earlier runs.
        significance: error probability, in (0, 1).
    """

    gains: Floats
    significance: float

    @classmethod
    def of(cls, scores: Floats, included: NDArray[np.bool_], *, significance: Number) -> Self:
        """Guess "in" above the middle of the quartiles of all scores up to this run.

        Both are of shape (runs, canaries).
        """
        gains = np.zeros(len(scores))
        for k, row in enumerate(scores):
            middle = np.quantile(scores[: k + 1], [0.25, 0.75]).mean()
            gains[k] = np.mean(np.sign(row - middle) * np.where(included[k], 1, -1))
        return cls(gains, significance_of(significance))

    def refutes(self, advantage: float) -> bool:
        """Return whether the bet wins against an advantage, rounded up."""
        shares = (self.gains - advantage * (1 + 1e-12)) / (1 + advantage)
        grown = np.log1p(np.outer(_STAKES, shares)).cumsum(axis=1)
        wealth = special().logsumexp(grown, axis=0) - math.log(len(_STAKES))
        return bool(np.max(wealth, initial=0.0) * (1 - 1e-9) >= -math.log(self.significance))

    def epsilon(self, *, delta: float = 0.0) -> float:
        """Return the lower confidence bound of epsilon at delta; 0 when nothing is shown."""
        return largest_refuted(
            lambda e: self.refutes(min(1.0, 2 * logistic_up(e) * (1 - delta) + 2 * delta - 1))
        )

    def mu(self) -> float:
        """Return the lower confidence bound of mu for a claim of GDP; 0 when nothing is shown."""
        return largest_refuted(lambda mu: self.refutes(2 * float(special().ndtr(mu / 2)) - 1), 1e-4)
