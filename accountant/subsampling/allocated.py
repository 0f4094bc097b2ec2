"""Gaussian sums over rounds to one of which every record is allocated at random.

P is the mean over i of N(mu e_i, I) and Q is N(0, I) in t dimensions. Under Q the ratio P/Q is the
mean of t log-normal variables of mean 1. Proofs: proofs/theory/allocation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Reals,
    from_swapped,
)
from dpproof.accountant.arithmetic.lognormal_means import (
    log_shortfall,
    mean_excess_above,
    mean_shortfall,
)
from dpproof.accountant.arithmetic.normal_distribution import ndtr
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.shuffled import BelowGaussian, ShuffledGaussianPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair

SMALL: Final = 1e-9  # Deltas below which tables are longer. Heuristic.
# Sizes at which tables end, of long ones and others. Heuristic: what is beyond is added.
_LEAST: Final = 1e-40
_SMALL: Final = 1e-15
_LARGEST: Final = 690.0  # Largest loss of a table, as e^700 is the largest float. Heuristic.
_LADDER: Final = np.geomspace(1e-6, _LARGEST, 1 << 10)  # Ends of tables, tried. Heuristic.
_DIGITS: Final = -40.0  # Log of a profile over e^epsilon - 1 that is summed, at least. Heuristic.
_WIDE: Final = 1e-5  # Relative width from which the largest coordinate is looked at. Heuristic.
_SHARES: Final = 2.0 ** -np.arange(1.0, 40.0)  # Of c that the others may add up to. Heuristic.
# Above the relative rounding of tails, up to 40 deviations. Soundness depends on it.
_ROOM: Final = 1e-9
_ROUNDING: Final = 8 * ELEMENTARY_ULPS * UNIT_ROUNDOFF  # Of what is done with ends of a shortfall.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedGaussianPair(BelowGaussian):
    """(mean over i of N(mu e_i, I), N(0, I)) in so many dimensions, or its swap.

    Attributes:
        mu_squared: that of one round, exact.
        rounds: t, from 2.
        removal: whether P is the mixture; else it is Q.
        distant: whether tables go on where little is left, on a coarser grid.
    """

    mu_squared: Fraction
    rounds: int
    removal: bool = True
    distant: bool = False
    is_quick: ClassVar[bool] = True  # Tables take many values of the profile.

    @property
    def largest(self) -> ShuffledGaussianPair:
        """Return the laws of the largest coordinate, which this pair dominates."""
        return ShuffledGaussianPair(
            mu_squared=self.mu_squared, batches=self.rounds, replaced=True, removal=self.removal
        )

    @property
    def finer(self) -> int:
        """Return how many times as fine its tables are. Heuristic."""
        return 1 if self.distant else 3

    @property
    def end(self) -> float:
        """Return the loss at which the upper end is negligible, or least."""
        return _end(self)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by the shortfall of a mean of log-normal variables."""
        lower, upper = self._ends(np.maximum(epsilon, 0.0))
        negative = epsilon < 0
        if negative.any():
            other = self.swapped().profile(-epsilon[negative])
            lower[negative], upper[negative] = from_swapped(*other, epsilon[negative])
        return lower, upper

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon of one allocation.

        Raises:
            NotCertified: delta is not reached where the profile has digits.
        """
        level = Bound.of(delta)
        if not level.lower > 0:
            raise NotCertified(f"epsilon of one allocation is not resolved at delta = 0; {EASIER}")
        guess = float(self.near(np.array([math.log(level.lower)]))[0])
        return self.inverted(level, guess, 0.02 * guess)

    def near(self, log_delta: Reals) -> Reals:
        """Return about epsilon at deltas. Heuristic."""
        mu = math.sqrt(self.mu_squared)
        most = (0.5 * mu + math.sqrt(-2.0 * log_delta.min())) * mu
        epsilon = np.geomspace(1e-6, 1.0, 128) * most
        size = np.minimum.accumulate(self.log_size(epsilon))
        return np.asarray(np.interp(-log_delta, -size, epsilon))

    def log_size(self, epsilon: Reals) -> Reals:
        """Return about the log of the profile: one round adds much, or all a little. Heuristic."""
        mu = math.sqrt(self.mu_squared)
        if not self.removal:
            return log_shortfall(mu * mu, self.rounds, np.exp(-epsilon)) + epsilon
        one = gaussian_profile(mu, np.log1p(self.rounds * np.expm1(epsilon)))[1]
        variance = math.expm1(min(mu * mu, 30.0)) / self.rounds
        return np.log(one + gaussian_profile(math.sqrt(math.log1p(variance)), epsilon)[1] + 1e-300)

    def _ends(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return both ends of the profile at epsilon >= 0.

        REMOVE is 1 - c + E(c - M)_+ at c = e^epsilon, ADD is E(c - M)_+ / c at c = e^-epsilon.
        """
        variance = float(self.mu_squared)
        reached = np.minimum(epsilon, _LARGEST)
        lower, upper = np.zeros(epsilon.shape), np.ones(epsilon.shape)
        if self.removal:
            some = self.log_size(reached) > np.log(np.expm1(reached) + 1e-300) + _DIGITS
            lower[some], upper[some] = mean_shortfall(variance, self.rounds, reached[some])
        else:
            c = np.exp(-reached)
            low, high = mean_shortfall(variance, self.rounds, -reached)
            lower, upper = low * (1 - _ROUNDING) / c, high * (1 + _ROUNDING) / c
        lower = np.where(epsilon <= _LARGEST, np.maximum(lower, 0.0), 0.0)
        upper = np.minimum(upper, 1.0)
        wide = lower < upper * (1 - _WIDE)
        if wide.any():
            upper[wide] = np.minimum(upper[wide], self._simple(epsilon[wide]))
            lower[wide] = np.maximum(lower[wide], self.largest.profile(epsilon[wide])[0])
        return lower, upper

    def _simple(self, epsilon: Reals) -> Reals:
        """Bound the profile from above by what is simple, at epsilon >= 0."""
        variance = float(self.mu_squared)
        most = gaussian_profile(math.sqrt(self.mu_squared), epsilon)[1]
        if not self.removal:
            return most
        reached = np.minimum(epsilon, _LARGEST)
        most = np.minimum(most, mean_excess_above(variance, self.rounds, reached))
        return np.minimum(most, _by_one_large(variance, self.rounds, reached))


def _by_one_large(variance: float, rounds: int, log_c: Reals) -> Reals:
    """Bound E(M - c)_+ for c >= 1 by one round's profile, if the others add little.

    Proof: proofs/theory/allocation.md, section 4.
    """
    a, log_rounds = math.sqrt(variance), math.log(rounds)
    one, half = log_c[:, None] + log_rounds, log_c + log_rounds - math.log(2.0)
    about = np.minimum((1.0 + _SHARES) * np.exp(-log_c[:, None]), 0.5)  # a little above the mean
    shares = np.concatenate([np.broadcast_to(_SHARES, about.shape), about], axis=1)
    alone = gaussian_profile(a, (one + np.log1p(-shares)).ravel())[1].reshape(log_c.size, -1)
    more = _sum_tail(variance, rounds - 1, one + np.log(shares))
    large = ndtr(0.5 * a - half / a)[:, None]
    bounds = (alone + more * large).min(axis=1) + _sum_tail(variance, rounds - 1, half)
    return np.asarray(bounds * (1.0 + _ROOM) + 1e-300)  # what underflows


def _sum_tail(variance: float, count: int, log_x: Reals) -> Reals:
    """Bound the probability that so many Y add up to more than x: one is large, or by Bennett."""
    a, level = math.sqrt(variance), log_x - math.log(3.0)
    z = level / a + 0.5 * a
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        size = count * np.exp(variance - 2.0 * level) * ndtr(z - 2.0 * a)
        u = (3.0 - count * np.exp(-level)) / size
        rate = np.where(u > 1.0, (1.0 + u) * np.log1p(u) - u, u * u / (2.0 + u))  # or less
        bound = count * ndtr(-z) + np.exp(-size * rate)
    return np.where(np.isfinite(bound) & (u > 0.0), np.minimum(bound, 1.0), 1.0)


def distant(product: Product) -> Product:
    """Return a product with tables of allocations that go on where little is left."""
    return product.mapped(_distant)


def _distant(pair: Pair) -> Pair:
    """Return an allocation with a longer table, other pairs as they are."""
    if isinstance(pair, AllocatedGaussianPair) and not pair.distant:
        return replace(pair, distant=True)
    return pair


def as_largest(product: Product) -> Product:
    """Return what a product dominates: the largest coordinate in the place of an allocation."""
    return product.mapped(_coordinate)


def _coordinate(pair: Pair) -> Pair:
    """Return the laws of the largest coordinate of an allocation, other pairs as they are."""
    return pair.largest if isinstance(pair, AllocatedGaussianPair) else pair


def is_allocated(product: Product) -> bool:
    """Return whether random allocation is in a product, or in what is sampled there."""
    pairs = [factor.pair for factor in product.factors]
    return any(
        isinstance(pair, AllocatedGaussianPair)
        or (isinstance(pair, SubsampledPair) and is_allocated(pair.base))
        for pair in pairs
    )


@lru_cache(maxsize=256)
def _end(pair: AllocatedGaussianPair) -> float:
    """Return where a table of a pair ends."""
    log_size = pair.log_size(_LADDER)
    short = np.flatnonzero(log_size <= math.log(_LEAST if pair.distant else _SMALL))
    return float(_LADDER[short[0] if short.size else np.argmin(log_size)])
