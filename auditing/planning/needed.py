"""How many samples a claim needs before anything can refute it."""

from __future__ import annotations

import math

from dpproof.accountant.arguments import Number
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts.claim import Claim


def samples_needed(claim: object, *, significance: Number = 0.05) -> float:
    """Fewest samples on both datasets together with which any test can refute a claim.

    Statement: a test that errs with probability at most ``significance`` needs at least so many,
        even of an implementation whose every output gives its dataset away.
    Proof: the claim allows guesses of the dataset that are right with probability
        r = (1 + advantage)/2, independently for every coin. Releasing such a guess satisfies the
        claim, and makes all n guesses right with probability r^n; so does releasing the dataset,
        always. A test that rejects the second where all are right errs on the first with
        probability at least r^n, which has to be at most the significance.
    Rounds: down, by at most one sample in a million.

    Args:
        claim: a guarantee, or ``(epsilon, delta)``.
        significance: error probability, in (0, 1).
    Returns:
        A whole number, or inf if the claim allows everything.
    Example:
        >>> samples_needed((1, 0)), samples_needed((10, 1e-6))
        (10, 65987)
    """
    advantage = Claim.of(claim).guarantee.advantage().lower
    level = float(significance_of(significance))
    if advantage >= 1.0:
        return math.inf
    least = math.log(level) / math.log1p((advantage - 1.0) / 2)
    return math.ceil(least * (1 - 1e-6))
