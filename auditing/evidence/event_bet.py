"""Evidence from one event's counts, to be multiplied over runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import LARGEST_EPSILON
from dpproof.auditing.counts.binomial import Floats, exp_up
from dpproof.auditing.counts.counts import Design, EventCounts
from dpproof.auditing.evidence.e_process import SHARES, EProcess

_MOST = 0.99
_STEPS = 100


@final
@dataclass(frozen=True, slots=True, init=False)
class EventBet:
    """A bet against P(S) <= e^eps Q(S) + delta that is fair or worse while that holds.

    Statement: let labels be fair coins and S, g >= e^eps, delta, w, b >= 0 be fixed in advance,
        and for one trial Z = 2 1{x in S} (1{L = 1} - g 1{L = 0}) - w (1{L = 1} - 1{L = 0}) -
        delta. If b Z >= -1 always, the product of 1 + b Z over independent trials has expectation
        at most 1: it is an e-value. So is a mixture over several b, and a product over runs.
    Proof: E Z = P(S) - g Q(S) - delta <= 0, since E 1{L = 1} = E 1{L = 0}; and 1 + b Z >= 0.
    Choice: for predicted p > g q + delta let (p', q') on p' = g q' + delta be nearest to (p, q) in
        relative entropy. The likelihood ratio of (p, q) to (p', q') has the form 1 + b Z, and its
        b and w make the evidence grow fastest where the prediction is true. Any b and w are valid.
    Rounds: the evidence down.

    Args:
        epsilon: claimed, or of a tangent of the claimed curve.
        delta: with it.
        p: predicted P(S), from other trials.
        q: predicted Q(S). Where p <= e^epsilon q + delta nothing is bet.
    """

    slope: float
    delta: float
    balance: float
    stake: float

    def __init__(self, *, epsilon: Number, delta: Number, p: float, q: float) -> None:
        loss = floats_around(arguments.real(epsilon=epsilon))[1]
        slope = exp_up(min(loss, LARGEST_EPSILON))
        mass = floats_around(arguments.probability(delta=delta))[1]
        for name, value in (("p", p), ("q", q)):
            if not 0 < value < 1:
                raise ParameterError(name, value, "a predicted probability in (0, 1)")
        stake = balance = 0.0
        if loss <= LARGEST_EPSILON and p > slope * q + mass:
            nearest = _nearest(p, q, slope, mass)
            here = slope * nearest + mass
            stake = 0.5 * (p / here - (1 - p) / (1 - here))
            balance = (1 - (1 - p) / (1 - here)) / stake - mass
        object.__setattr__(self, "slope", slope)
        object.__setattr__(self, "delta", mass)
        object.__setattr__(self, "balance", balance)
        worst = min(self._gains())
        object.__setattr__(self, "stake", min(stake, _MOST / -worst) if worst < 0 else 0.0)

    def _gains(self) -> tuple[float, float, float, float]:
        """Return the four values of Z: on D in S, on D outside, on D' in S, on D' outside."""
        w, delta = self.balance, self.delta
        return 2 - w - delta, -w - delta, w - 2 * self.slope - delta, w - delta

    def log_evidence(self, counts: EventCounts) -> float:
        """Log of the e-value of fresh counts, rounded down.

        Raises:
            ParameterError: no coins decided where the trials ran.
        """
        return EProcess.mixed(self.log_wealths(counts))

    def log_wealths(self, counts: EventCounts) -> Floats:
        """Log of what each of several bettors makes of fresh counts, shape (bettors,).

        Raises:
            ParameterError: no coins decided where the trials ran.
        """
        if counts.design is not Design.COIN:
            raise ParameterError("counts.design", counts.design, "Design.COIN")
        times = (
            counts.hits,
            counts.trials - counts.hits,
            counts.other_hits,
            counts.other_trials - counts.other_hits,
        )
        return np.array([self._log_wealth(share * self.stake, times) for share in SHARES])

    def _log_wealth(self, stake: float, times: tuple[int, ...]) -> float:
        terms = [n * math.log1p(stake * z) for n, z in zip(times, self._gains(), strict=True)]
        rounding = 1e-14 * (sum(times) + math.fsum(map(abs, terms)))
        return math.fsum(terms) - rounding


def unbet() -> float:
    """Log of what is left when a run ends before its counts are complete: what nobody bets.

    Whether it ends may depend on its trials; e 1{complete} + unbet 1{not} is at most e, since the
    bettor with share 0 keeps its part of the wealth whatever happens.
    """
    return EProcess.mixed(np.array([0.0 if share == 0 else -math.inf for share in SHARES]))


def _nearest(p: float, q: float, slope: float, delta: float) -> float:
    """The q' in [q, (p - delta) / slope] whose (slope q' + delta, q') is nearest to (p, q)."""

    def falling(there: float) -> bool:
        here = slope * there + delta
        rise = slope * (here - p) / (here * (1 - here)) + (there - q) / (there * (1 - there))
        return not rise > 0

    return 0.5 * sum(bisect(falling, q, (p - delta) / slope, rounds=_STEPS))
