"""One training run with many canaries, each in or out by its own coin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import largest_refuted, significance_of
from dpproof.auditing.counts.binomial import logistic_up, tail_up


@final
@dataclass(frozen=True, slots=True)
class Guesses:
    """What was guessed about the canaries of one run.

    Attributes:
        canaries: how many there were, each included by its own fair coin.
        made: for how many a guess was made; which ones may depend on the output, not on the coins.
        correct: how many guesses were right.
    """

    canaries: int
    made: int
    correct: int

    def __post_init__(self) -> None:
        for name in ("canaries", "made", "correct"):
            arguments.whole(**{name: getattr(self, name)})
        if not self.correct <= self.made <= self.canaries:
            raise ParameterError("guesses", self, "correct <= made <= canaries")


@final
@dataclass(frozen=True, slots=True, init=False)
class OneRun:
    """A lower bound of epsilon from guesses about the canaries of a single run.

    Statement: let m canaries be included by independent fair coins, and the run be (eps, delta)-DP
        for the inclusion of each one, in both orders. Of r guesses that depend on the output
        only, the number of right ones is at most A + B with A dominated, given the output, by
        Bin(r, q), q = e^eps / (1 + e^eps), and E[B] <= m delta. Hence, with c fixed such that
        t = m delta / (c + 1), the p-value t + Pr(Bin(r, q) >= v - c) of v right guesses is valid.
    Proof: take the coins one after the other. Given the earlier coins, the output's laws P, Q with
        the next coin up or down are mixtures of neighbours, so P = min(P, e^eps Q) + b and Q =
        min(Q, e^eps P) + b' with b, b' of mass <= delta; mark the coin with probability db/dP or
        db'/dQ, so with probability <= delta. Given output and earlier coins, the coin is
        unmarked and has one given side with probability <= q, whichever the side; so unmarked
        right guesses are dominated by coins of bias q. B is the number of marks; Markov.
    Source: the method is Steinke, Nasr & Jagielski's (arXiv:2305.08846); their delta term is
        tighter where many canaries could be marked.
    Rounds: the p-value up.
    Limit: canaries disturb each other, and with r guesses no more than about ln(r / ln(1 /
        significance)) can be shown, so this bounds a large loss loosely.

    Args:
        significance: error probability, in (0, 1).
        marked: the part of the significance that pays for delta, as a share.
    """

    significance: float
    marked: float

    def __init__(self, *, significance: Number, marked: Number = 0.1) -> None:
        object.__setattr__(self, "significance", significance_of(significance))
        object.__setattr__(self, "marked", float(arguments.open_probability(marked=marked)))

    def p_value(self, guesses: Guesses, *, epsilon: Number, delta: Number = 0) -> float:
        """Upper bound of the p-value of (epsilon, delta); grows with epsilon."""
        loss = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        mass = floats_around(arguments.probability(delta=delta))[1] * guesses.canaries * (1 + 1e-15)
        removed = max(0, math.ceil(mass / (self.marked * self.significance)) - 1)
        paid = mass / (removed + 1) * (1 + 1e-15)
        tail = float(tail_up(guesses.correct - removed, guesses.made, logistic_up(loss)))
        return min(1.0, paid + tail)

    def epsilon(self, guesses: Guesses, *, delta: Number = 0) -> float:
        """Lower confidence bound of epsilon at delta, in nats; 0 when nothing is shown."""
        return largest_refuted(
            lambda e: self.p_value(guesses, epsilon=e, delta=delta) <= self.significance
        )
