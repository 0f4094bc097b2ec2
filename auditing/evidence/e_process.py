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
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts.binomial import Floats, logistic_up

# How much of the excess of a predicted posterior over the claim's bias is bet, mixed equally.
SHARES = (1.0, 0.6, 0.3, 0.1, 0.0)


@final
@dataclass(frozen=True, slots=True, init=False)
class EProcess:
    """Bets against a claim that a true claim does not let grow.

    Statement: let labels be fair coins, P(T) <= e^eps Q(T) + delta for all events T, q = e^eps /
        (1 + e^eps), and let eta be any predictions of Pr(L = 1 | x) that depend on earlier trials
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
        """Log of what each of several bettors makes of some trials, shape (bettors,).

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
        """The same from how many trials had each prediction, on D and on D'."""
        return np.asarray(gained([self], eta, hits, misses, highest=highest)[0])

    def start(self) -> Floats:
        """The log wealths before any trial."""
        return np.zeros(len(SHARES))

    @staticmethod
    def mixed(log_wealths: Floats) -> float:
        """Log of the mixture of the bettors, rounded down: evidence against the claim."""
        return float(mixed_rows(np.asarray(log_wealths)[None])[0])

    @staticmethod
    def refutes(log_wealth: float, *, significance: Number) -> bool:
        """Whether the evidence, at any time, contradicts the claim at the significance."""
        return log_wealth >= EProcess.needed(significance=significance)

    @staticmethod
    def needed(*, significance: Number) -> float:
        """Log of the wealth that contradicts a claim: 1 / significance, rounded up."""
        return -math.log(significance_of(significance)) * (1 + 1e-12)


def tallies(eta: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """The distinct predictions, and how many trials had each on D and on D'."""
    values, place = np.unique(eta, return_inverse=True)
    hits, misses = (np.bincount(place[side], minlength=len(values)) for side in (labels, ~labels))
    return values, hits.astype(np.float64), misses.astype(np.float64)


def gained(
    bets: Sequence[EProcess], eta: Floats, hits: Floats, misses: Floats, *, highest: float
) -> Floats:
    """``EProcess.tallied`` of many claims at once, shape (claims, bettors)."""
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
    """``EProcess.mixed`` of every row, shape (rows,)."""
    largest = log_wealths.max(axis=1)
    lost = largest == -math.inf
    apart = log_wealths - np.where(lost, 0.0, largest)[:, None]
    with np.errstate(divide="ignore"):
        value = np.where(lost, 0.0, largest) + np.log(np.exp(apart).mean(axis=1))
        return np.asarray(np.where(lost, -math.inf, value - 1e-12 * (1 + np.abs(value))))
