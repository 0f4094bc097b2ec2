"""One training run with many canaries, each in or out by its own coin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import largest_refuted, significance_of
from dpproof.auditing.counts.binomial import MARGIN
from dpproof.auditing.counts.claim import Claim, LeastWrong, gaussian, lines, supported


@final
@dataclass(frozen=True, slots=True)
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

    def __post_init__(self) -> None:
        for name in ("canaries", "made", "correct"):
            arguments.whole(**{name: getattr(self, name)})
        if not self.correct <= self.made <= self.canaries:
            raise ParameterError("guesses", self, "correct <= made <= canaries")


_LEAST_LOG, _FINE = -100.0, 1e-3


@final
@dataclass(frozen=True, slots=True, init=False)
class OneRunCurve:
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

    Args:
        significance: error probability, in (0, 1).
    """

    significance: float

    def __init__(self, *, significance: Number) -> None:
        object.__setattr__(self, "significance", significance_of(significance))

    def refutes(self, guesses: Guesses, claim: object) -> bool:
        """Return whether a claim is contradicted at the significance.

        The claim is a guarantee or (epsilon, delta).
        """
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
