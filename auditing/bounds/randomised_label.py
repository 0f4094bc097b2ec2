"""The bound for trials whose dataset was chosen by a fair coin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect_integers
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import EventBound, significance_of
from dpproof.auditing.counts.binomial import logistic_up, tail_up
from dpproof.auditing.counts.counts import Design, EventCounts


@final
@dataclass(frozen=True, slots=True, init=False)
class RandomisedLabel(EventBound):
    """One exact binomial: given the outputs, the labels of trials in S are coins.

    Statement: let L = 1 (dataset D) or 0 (D') be a fair coin for every one of N trials. Let P and Q
        be the laws of the outputs, S fixed, and P(T) <= e^eps Q(T) + delta for every T inside S.
        Then k1, the trials in S with L = 1, is at most A + B, where A given A + k0 is dominated by
        Bin(A + k0, e^eps / (1 + e^eps)) and B by Bin(N, delta / 2). Hence, with c such that
        Pr(Bin(N, delta/2) > c) <= t, the p-value t + Pr(Bin(k1 - c + k0, e^eps / (1 + e^eps)) >= k1
        - c) is valid.
    Proof: write P = m + b on S with m = min(P, e^eps Q), b(S) <= delta, and mark each trial with
        L = 1 as belonging to b with probability db/dP; B counts the marked ones. An unmarked
        trial at x has L = 1 with probability dm / (dm + dQ) <= e^eps / (1 + e^eps), and trials
        are independent. The tail Pr(Bin(j + k0, q) >= j) falls in j, and k1 - c <= A unless B > c.
    Guesses: let S1 and S0 be disjoint and fixed, D be guessed on S1 and D' on S0, and the claim
        hold in both orders of the datasets. Then the same is true of k1 right and k0 wrong
        guesses, with Bin(N, delta) in place of Bin(N, delta / 2): a trial is marked on S0, too,
        where it is on D'. Two tails that tell as much as each other count twice.
    Rounds: the p-value up.

    Args:
        significance: error probability, in (0, 1).
        thinning: the part t of the significance that pays for delta, as a share; unused when
            delta is 0.
    Example:
        >>> counts = EventCounts(hits=7311, trials=10_000, other_hits=2689, other_trials=10_000)
        >>> 0.95 < RandomisedLabel(significance=0.05).epsilon(counts) < 1
        True
    """

    significance: float
    thinning: float

    def __init__(self, *, significance: Number, thinning: Number = 0.1) -> None:
        object.__setattr__(self, "significance", significance_of(significance))
        object.__setattr__(self, "thinning", float(arguments.open_probability(thinning=thinning)))

    def p_value(self, counts: EventCounts, *, epsilon: Number, delta: Number = 0) -> float:
        """Return an upper bound of the p-value of P(S) <= e^epsilon Q(S) + delta.

        It grows with epsilon.

        Raises:
            ParameterError: the design is not by coins.
        """
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        marked = counts.design.marked(delta)
        paid, removed = thinned(counts.total, marked, self.thinning * self.significance)
        left = counts.hits - removed
        tail = float(tail_up(left, max(left, 0) + counts.other_hits, logistic_up(loss)))
        return min(1.0, paid + tail)


def thinned(
    trials: int, marked: Fraction, level: float, design: Design = Design.COIN
) -> tuple[float, int]:
    """Return the cost of delta: a t <= level, and a c with Pr(B > c) <= t for the number of marks.

    B is Bin(trials, marked). Of one run only its mean is known to be at most that: Markov.
    Nothing of the level is used when nothing is marked.
    """
    mark = floats_around(marked)[1]
    if mark == 0.0 or trials == 0:
        return 0.0, 0
    if design is Design.ONE_RUN:
        mass = mark * trials * (1 + 1e-15)
        removed = max(0, math.ceil(mass / level) - 1)
        return mass / (removed + 1) * (1 + 1e-15), removed

    def likely(most: int) -> bool:
        return not float(tail_up(most + 1, trials, mark)) <= level

    most = bisect_integers(likely, -1, trials)[1]
    return float(tail_up(most + 1, trials, mark)), most
