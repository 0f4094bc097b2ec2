"""Evidence that may be looked at after every trial, and multiplied over runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import LARGEST_EPSILON, significance_of
from dpproof.auditing.counts.binomial import Floats, exp_up, logistic_up
from dpproof.auditing.counts.counts import Design, EventCounts

# How much of the excess of a predicted posterior over the claim's bias is bet, mixed equally.
SHARES = (1.0, 0.6, 0.3, 0.1, 0.0)


@final
@dataclass(frozen=True, slots=True, init=False)
class EProcess:
    """Bets against a claim that a true claim does not let grow.

    Statement: let labels be fair coins, P(T) <= e^eps Q(T) + delta for all events T, q = e^eps /
        (1 + e^eps). Let eta be any predictions of Pr(L = 1 | x) that depend on earlier trials
        and on x alone, eta <= h with h fixed before x. With eta replaced by q where it is
        smaller, and h by q where that is smaller, each trial multiplies the wealth by (eta / q if
        L = 1, (1 - eta) / (1 - q) if L = 0) / (1 + delta (h / q - 1) / 2). Then the wealth is a
        non-negative supermartingale that starts at 1, and Pr(it ever reaches 1 / significance)
        <= significance.
    Proof: write P = m + b as in ``RandomisedLabel``. Where the trial is not marked, Pr(L = 1 | x)
        <= q and the multiplier grows with L, so its expectation is at most that under bias q,
        which is 1. A trial is marked with probability at most delta / 2; then L = 1 and the
        multiplier is at most h / q. So before the division the expectation is at most
        1 - delta / 2 + (delta / 2) h / q. Ville's inequality gives the rest. A mixture of such
        wealths is one, and so is a product over independent runs.
    Rounds: the wealth down.

    Args:
        epsilon: claimed.
        delta: claimed.
    """

    claimed_epsilon: float
    claimed_delta: float

    def __init__(self, *, epsilon: Number, delta: Number = 0) -> None:
        above = floats_around(arguments.non_negative(epsilon=epsilon))[1]
        object.__setattr__(self, "claimed_epsilon", above)
        object.__setattr__(
            self, "claimed_delta", floats_around(arguments.probability(delta=delta))[1]
        )

    def log_wealths(self, eta: Floats, labels: NDArray[np.bool_], *, highest: float) -> Floats:
        """Return the log wealths that several bettors gain from some trials, shape (bettors,).

        Add them over the blocks of a run; ``mixed`` gives the wealth.

        Args:
            eta: shape (n,), predictions fixed before the labels were seen, in [0, 1].
            labels: shape (n,), True where the trial was on D.
            highest: no prediction is above it; fixed before the outputs were seen.
        Raises:
            ParameterError: shapes differ, or a prediction is not between 0 and ``highest``.
        """
        if eta.shape != labels.shape or not ((eta >= 0) & (eta <= min(highest, 1.0))).all():
            raise ParameterError("eta", eta, f"one number up to {highest} for every label")
        return self.tallied(*tallies(eta, labels), highest=highest)

    def tallied(self, eta: Floats, hits: Floats, misses: Floats, *, highest: float) -> Floats:
        """Return the log wealths from the numbers of trials on D and on D' with each prediction."""
        return np.asarray(gained([self], eta, hits, misses, highest=highest)[0])

    def start(self) -> Floats:
        """Return the log wealths before any trial."""
        return np.zeros(len(SHARES))

    @staticmethod
    def mixed(log_wealths: Floats) -> float:
        """Return the log of the bettors' mixture, rounded down: evidence against the claim."""
        return float(mixed_rows(np.asarray(log_wealths)[None])[0])

    @staticmethod
    def refutes(log_wealth: float, *, significance: Number) -> bool:
        """Return whether the evidence, at any time, contradicts the claim at the significance."""
        return log_wealth >= EProcess.needed(significance=significance)

    @staticmethod
    def needed(*, significance: Number) -> float:
        """Return the log of the wealth that contradicts a claim: 1 / significance, rounded up."""
        return -math.log(significance_of(significance)) * (1 + 1e-12)


def tallies(eta: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return the distinct predictions and the numbers of trials with each, on D and on D'."""
    values, place = np.unique(eta, return_inverse=True)
    hits, misses = (np.bincount(place[side], minlength=len(values)) for side in (labels, ~labels))
    return values, hits.astype(np.float64), misses.astype(np.float64)


def gained(
    bets: Sequence[EProcess], eta: Floats, hits: Floats, misses: Floats, *, highest: float
) -> Floats:
    """Return ``EProcess.tallied`` of many claims at once, shape (claims, bettors)."""
    q = np.array([logistic_up(bet.claimed_epsilon) for bet in bets])[:, None]
    delta = np.array([bet.claimed_delta for bet in bets])[:, None]
    excess = np.maximum(eta - q, 0.0)
    most = np.maximum(highest - q, 0.0) / q
    shares = np.array(SHARES)
    costs = np.log1p(0.5 * delta * shares * most)
    with np.errstate(divide="ignore"):
        won = np.log1p(shares[:, None] * (excess / q)[:, None, :])
        lost = np.log1p(-shares[:, None] * (excess / (1 - q))[:, None, :])
    # A prediction that nobody had loses nothing, even if it were certain.
    lost = np.where(misses > 0, lost, 0.0)
    trials = float(hits.sum() + misses.sum())
    return np.asarray(won @ hits + lost @ misses - trials * costs * (1 + 1e-12))


def mixed_rows(log_wealths: Floats) -> Floats:
    """Return ``EProcess.mixed`` of every row, shape (rows,)."""
    largest = log_wealths.max(axis=1)
    lost = largest == -math.inf
    apart = log_wealths - np.where(lost, 0.0, largest)[:, None]
    with np.errstate(divide="ignore"):
        value = np.where(lost, 0.0, largest) + np.log(np.exp(apart).mean(axis=1))
        return np.asarray(np.where(lost, -math.inf, value - 1e-12 * (1 + np.abs(value))))


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
        """Return the log of the e-value of fresh counts, rounded down.

        Raises:
            ParameterError: no coins decided where the trials ran.
        """
        return EProcess.mixed(self.log_wealths(counts))

    def log_wealths(self, counts: EventCounts) -> Floats:
        """Return the log wealths that several bettors gain from fresh counts, shape (bettors,).

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
    """Return the log of the wealth not bet, left when a run ends before its counts are complete.

    Whether it ends may depend on its trials; e 1{complete} + unbet 1{not} is at most e, since the
    bettor with share 0 keeps its part of the wealth whatever happens.
    """
    return EProcess.mixed(np.array([0.0 if share == 0 else -math.inf for share in SHARES]))


def _nearest(p: float, q: float, slope: float, delta: float) -> float:
    """Return the q' in [q, (p - delta) / slope] with (slope q' + delta, q') nearest to (p, q)."""

    def falling(there: float) -> bool:
        here = slope * there + delta
        rise = slope * (here - p) / (here * (1 - here)) + (there - q) / (there * (1 - there))
        return not rise > 0

    return 0.5 * sum(bisect(falling, q, (p - delta) / slope, rounds=_STEPS))


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
        """Return the process before any trial."""
        return BetProcess(np.zeros(len(SHARES)), 0.0)

    def after(self, bet: EventBet, counts: EventCounts) -> BetProcess:
        """Return the process after one more block.

        Args:
            bet: chosen by the blocks before.
            counts: of the bet's event in this block.
        """
        wealths = self.wealths + bet.log_wealths(counts)
        return BetProcess(wealths, max(self.largest, EProcess.mixed(wealths)))

    @property
    def evidence(self) -> float:
        """Return the log of the present wealth: an e-value."""
        return EProcess.mixed(self.wealths)

    def refutes(self, *, significance: float) -> bool:
        """Return whether the wealth was large enough at any time."""
        return EProcess.refutes(self.largest, significance=significance)
