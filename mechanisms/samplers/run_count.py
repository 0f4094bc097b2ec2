"""Draws of the number of times a selection runs its base, from the laws of that number."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import BinomialRuns, FixedRuns, PoissonRuns, RunLaw
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.mechanisms.samplers.arrays import Integers
from dpproof.mechanisms.samplers.coins import bernoulli, geometric_ratio
from dpproof.mechanisms.samplers.rng import Rng

_HALF = Fraction(1, 2)


def run_count(law: RunLaw, size: int, rng: Rng) -> Integers:
    """Draw ``size`` independent numbers of runs with exactly the stated law.

    Law: that of ``law``, with its exact rational parameters.
    Proof: every draw is made of coins with rational probabilities. Fixed and binomial laws are
        what they say. A finite law is drawn by asking, for k from 0 on, whether K = k given
        K >= k. Truncated negative binomial: let n be the least whole number at or above
        max(eta, 1). The sum of n geometric numbers has masses proportional to
        r^k prod_{l<k} (l + n)/(l + 1), r = 1 - gamma; given that it is at least 1 it is kept
        with probability prod_{0<l<k} (l + eta)/(l + n), at most 1, which leaves masses
        proportional to r^k prod_{l<k} (l + eta)/(l + 1). Poisson: a sum of equal parts of rate
        s <= 1/2, each a geometric number of ratio 1/2 kept with probability
        prod_{0<l<=k} 2 s/l.

    Args:
        law: of the number of runs.
        size: number of draws.
        rng: source of words.
    Returns:
        shape (size,), int64.
    Raises:
        ParameterError: not one of the laws.
    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> run_count(FixedRuns(count=3), 2, ReplayRng(1)).tolist()
        [3, 3]
    """
    number = arguments.whole(size=size)
    match law:
        case FixedRuns():
            return np.full(number, law.count, dtype=np.int64)
        case BinomialRuns():
            coins = bernoulli(law.probability, number * law.trials, rng)
            return np.asarray(coins.reshape(number, law.trials).sum(axis=1), dtype=np.int64)
        case FiniteRuns():
            return _first_success(law.probabilities, number, rng)
        case TruncatedNegativeBinomial():
            return _negative_binomial(law, number, rng)
        case PoissonRuns():
            return _poisson(law.rate, number, rng)
        case _:
            raise ParameterError("law", law, "a law of the number of runs that can be drawn")


def _first_success(probabilities: tuple[Fraction, ...], size: int, rng: Rng) -> Integers:
    drawn = np.full(size, len(probabilities) - 1, dtype=np.int64)
    still, left = np.arange(size), Fraction(1)
    for k, mass in enumerate(probabilities[:-1]):
        here = bernoulli(mass / left, still.size, rng)
        drawn[still[here]] = k
        still, left = still[~here], left - mass
    return drawn


def _negative_binomial(law: TruncatedNegativeBinomial, size: int, rng: Rng) -> Integers:
    parts, ratio = max(math.ceil(law.eta), 1), 1 - law.gamma

    def propose(number: int) -> Integers:
        every = geometric_ratio(ratio, number * parts, rng).reshape(number, parts)
        return np.asarray(every.sum(axis=1), dtype=np.int64)

    return _thinned(propose, 1, lambda k: (k + law.eta) / (k + parts), size, rng)


def _poisson(rate: Fraction, size: int, rng: Rng) -> Integers:
    parts = math.ceil(2 * rate)
    double = 2 * rate / parts

    def propose(number: int) -> Integers:
        return geometric_ratio(_HALF, number, rng)

    drawn = _thinned(propose, 0, lambda k: double / (k + 1), size * parts, rng)
    return np.asarray(drawn.reshape(size, parts).sum(axis=1), dtype=np.int64)


def _thinned(
    propose: Callable[[int], Integers],
    least: int,
    chance: Callable[[int], Fraction],
    size: int,
    rng: Rng,
) -> Integers:
    """Redraw proposals until k >= ``least`` and a coin for every step up to k shows heads."""
    drawn, still = np.zeros(size, dtype=np.int64), np.arange(size)
    while still.size:
        k = propose(still.size)
        alive = np.flatnonzero(k >= least)
        kept = alive[k[alive] == least]
        for step in range(least, int(k.max())):
            alive = alive[k[alive] > step]
            alive = alive[bernoulli(chance(step), alive.size, rng)]
            kept = np.concatenate([kept, alive[k[alive] == step + 1]])
        drawn[still[kept]] = k[kept]
        still = np.delete(still, kept)
    return drawn
