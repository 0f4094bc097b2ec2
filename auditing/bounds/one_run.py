"""Bounds from guesses which canaries training runs included: one run, or a bet over several."""

from __future__ import annotations

import math
from typing import Final, Self, final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import ConfidenceBound, largest_refuted, significance_of
from dpproof.auditing.counts import (
    MARGIN,
    Claim,
    Floats,
    LeastWrong,
    gaussian,
    lines,
    logistic_up,
    special,
    supported,
)


@final
@frozen
class Guesses:
    """The guesses made about the canaries of one run.

    Attributes:
        canaries: their number, each included by its own fair coin.
        made: for how many a guess was made; which ones may depend on the output, not on the coins.
        correct: the number of right guesses.
    """

    canaries: int
    made: int
    correct: int

    def __attrs_post_init__(self) -> None:
        for name in ("canaries", "made", "correct"):
            arguments.whole(**{name: getattr(self, name)})
        if not self.correct <= self.made <= self.canaries:
            raise ParameterError("guesses", self, "correct <= made <= canaries")


_LEAST_LOG, _FINE = -100.0, 1e-3


@final
@frozen(kw_only=True)
class OneRunCurve(ConfidenceBound):
    """The number of right guesses has a tail that the curve f leaves room for.

    Statement: let m canaries be included by independent fair coins, the run be f-DP for the
        inclusion of each one, in both orders, and at most c guesses be made, c fixed in advance.
        Let g(r) = f(1 - r) and p_j the probability of j right guesses. Then for every i,
        sum_{j >= i} (c - j) p_j / m >= g(sum_{j > i} j p_j / m). If Pr(at least v right) >= a, so
        do the p_j that start with p_v = a and take for i = v - 1, ..., 0 the least p_i >= 0 that
        the inequality allows; if these sum to more than 1 then Pr(at least v right) < a.
    Source: the recursion is Mahloujifar, Melis & Chaudhuri's (arXiv:2410.22235); the proof is ours.
    Proof: fix a canary l, the other coins, and i. Let W be the number of right guesses about the
        others, E1 the outputs with guess "in" for l and W >= i, E0 those with "out", P and Q the
        laws of the output with l in and out. By f-DP Q(E1) >= f(1 - P(E1)) and P(E0) >= f(1 -
        Q(E0)). f is convex, so the mean over l, its coin and the other coins gives the inequality:
        a right guess about l has i + 1 in all, a wrong one has W in all, at most c - j are wrong.
        Now let p be the true law, p' the one of the recursion, with the same tail a at v or less,
        and R(s), R'(s) the expected number of right guesses within their upper s. Suppose R >= R'
        as far as p' has come. Then p' stops at level i no later than p: else, with s the mass of p
        down to i, sum_{j >= i} (c - j) p_j = c s - R(s) <= c s - R'(s). That is less than what p'
        has there, which is m g(its right guesses above i) <= m g(those of p), a contradiction. So
        R >= R' one level further, and in the end the mass of p' is at most that of p, 1.
    Rounds: every p_i down, which the proof allows, so the p-value up.
    Use: tighter than ``PrefixBand`` for a claim that is a curve. With c below m some of the bound
        is lost, more than there.
    Limit: canaries disturb each other, and with r guesses no more than about ln(r / ln(1 /
        significance)) can be shown, so this bounds a large loss loosely.
    """

    def refutes(self, guesses: Guesses, claim: object) -> bool:
        """Return whether a claim, a guarantee or (epsilon, delta), is contradicted."""
        return contradicts(guesses, self.significance, supported(Claim.of(claim)))

    def p_value(self, guesses: Guesses, claim: object) -> float:
        """Return an upper bound of the p-value of a claim."""
        least = supported(Claim.of(claim))

        def holds(log_level: float) -> bool:
            return not contradicts(guesses, math.exp(log_level), least)

        return math.exp(bisect(holds, _LEAST_LOG, 0.0, close=_FINE)[1])

    def mu(self, guesses: Guesses) -> float:
        """Return the lower confidence bound of mu for a claim of GDP; 0 when nothing is shown."""
        return largest_refuted(
            lambda mu: contradicts(guesses, self.significance, gaussian(mu)), 1e-4
        )

    def epsilon(self, guesses: Guesses, *, delta: Number = 0) -> float:
        """Return the lower confidence bound of epsilon at delta, in nats; 0 if nothing is shown."""
        mass = floats_around(arguments.probability(delta=delta))[1]
        return largest_refuted(
            lambda e: contradicts(guesses, self.significance, lines([(e, mass)]))
        )


def contradicts(guesses: Guesses, tail: float, least_wrong: LeastWrong) -> bool:
    """Return whether Pr(at least this many right guesses) is below ``tail``, by the recursion."""
    c, m = guesses.made, guesses.canaries
    if guesses.correct == 0:
        return False
    mass, right, wrong = tail, tail * guesses.correct / m, tail * (c - guesses.correct) / m
    for i in range(guesses.correct - 1, -1, -1):
        missing = least_wrong(right * (1 - MARGIN)) * (1 - MARGIN) - wrong
        if missing > 0.0:
            added = missing * m / (c - i)
            mass, right, wrong = mass + added, right + added * i / m, wrong + missing
        if mass * (1 - MARGIN) > 1.0:
            return True
    return False


_STAKES: Final = (0.1, 0.3, 0.6, 0.95)


@final
@frozen(eq=False)
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
