"""Gaussian mixtures against a point: a record counts a random number of times in a sample.

Proofs: proofs/theory/one_step.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.crossing import bisect, invert
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Reals,
    from_swapped,
    log_down,
    log_up,
)
from dpproof.accountant.arithmetic.normal_distribution import log_ndtr, ndtr
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import log_ends
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.smoothness import required_square
from dpproof.accountant.sampling import CountedScheme
from dpproof.accountant.subsampling.count_laws import Counts, laws
from dpproof.accountant.subsampling.tabulated import TabulatedPair

_LEAST_LEVEL: Final = 1e-30  # Least delta at which the profile is inverted. Smaller ones raise.
_TINY: Final = 1e-30  # Profile at which a table ends. Heuristic: what is beyond is added.
# Largest loss of a table, nats. Heuristic, likewise.
_WIDEST: Final = 600.0
# Largest epsilon whose power is a float. Soundness depends on it: beyond it only upper ends hold.
_LARGEST: Final = 690.0
_FARTHEST: Final = 40.0  # Standard deviations beyond which Phi is 0 as a float. Heuristic.
_ROUNDS: Final = 60  # Most steps of Newton's method. Heuristic: any threshold gives both ends.
_HALVINGS: Final = 40  # Of a table's end. Heuristic.
_NEAR: Final = 1e-9  # How far left of a threshold the true one may be. Heuristic: it is verified.
# Relative rounding of Phi(x - a) is at most this times 1 + x^2 + a^2, that of x - a included.
# Soundness depends on it.
_TAIL: Final = 256 * UNIT_ROUNDOFF
# Relative rounding of sums and exponentials of some terms, for each. Soundness depends on it.
_SUM: Final = 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF
_DENORMAL: Final = 1e-300  # What is lost where a product underflows. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CountedGaussiansPair(TabulatedPair):
    """The mixture sum_j w_j N(r_j mu, 1) against N(0, 1), w the law of a record's count.

    Where a public event changes the law the profile is the mean over the event; where the number
    of records does, the largest.

    Attributes:
        mu_squared: exact, above 0; mu is a record's contribution over sigma.
        scheme: which law.
        removal: whether the mixture comes first.
    """

    mu_squared: Fraction
    scheme: CountedScheme
    removal: bool

    def __post_init__(self) -> None:
        """Refuse parameters that are not representable as floats."""
        required_square(mu_squared=self.mu_squared)

    def swapped(self) -> CountedGaussiansPair:
        """Return the pair (Q, P)."""
        return replace(self, removal=not self.removal)

    @property
    def leads(self) -> bool:
        """Return whether the mixture comes first."""
        return self.removal

    @property
    def is_quick(self) -> bool:
        """Return True: the profile has a formula."""
        return True

    @property
    def is_wide(self) -> bool:
        """Return True: a record that counts often is rare, and shows itself."""
        return True

    @property
    def end(self) -> float:
        """Return a loss beyond which the profile is 0, or up to 1e-30 above what is not listed."""
        return _end(self)

    @property
    def most(self) -> int:
        """Return the largest count, times how far one moves the sum."""
        return max(law.most for cases in laws(self.scheme) for law in cases)

    @property
    def zcdp_bound(self) -> float:
        """Return rho of the largest count: Renyi divergences are quasi-convex."""
        return 0.5 * self.most**2 * float(self.mu_squared) * (1 + 1e-14)

    @property
    def gdp_bound(self) -> float:
        """Return mu of the largest count: the count may be revealed."""
        return self.most * math.sqrt(self.mu_squared) * (1 + 1e-14)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile at real epsilons; below 0 by that of the swapped pair."""
        size = np.abs(epsilon)
        lower, upper = np.zeros((2, *epsilon.shape))
        for below in (False, True):
            some = (epsilon < 0.0) == below
            one = self.swapped() if below else self
            if not some.any():
                continue
            low, high = _above_zero(one, np.minimum(size[some], _LARGEST))
            low = np.where(size[some] > _LARGEST, 0.0, low)
            if below:
                low, high = from_swapped(low, high, epsilon[some])
            lower[some], upper[some] = low, high
        return np.maximum(lower, 0.0), np.minimum(upper, 1.0)

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon of one sample by the profile.

        Raises:
            NotCertified: delta is too small, or not reached where the profile has digits.
        """
        level, end = Bound.of(delta), self.end
        if not (level.lower >= _LEAST_LEVEL and self.delta(end).upper <= level.lower):
            raise NotCertified(
                f"epsilon of one sample is not resolved at delta = {level.lower:.3g}; {EASIER}"
            )
        target = log_down(np.array(level.lower)).item(), log_up(np.array(level.upper)).item()
        ends = partial(log_ends, self, Bound.exactly(0.0))  # no part of delta is set aside
        return invert(ends, target, 0.1 * end, 0.1 * end, math.inf)


def _above_zero(pair: CountedGaussiansPair, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose a profile at epsilons from 0: the largest of the laws' means."""
    mu = math.sqrt(pair.mu_squared)
    ends = []
    for cases in laws(pair.scheme):
        low, high = np.zeros((2, *epsilon.shape))
        for law in cases:
            least, most = _Mixture(law, mu * law.shifts, pair.removal).profile(epsilon)
            low += law.share[0] * least
            high += law.share[1] * most
        ends.append((low * (1.0 - _SUM), high * (1.0 + _SUM) + _DENORMAL))
    lows, highs = zip(*ends, strict=True)
    return np.maximum.reduce(lows), np.maximum.reduce(highs)


@lru_cache(maxsize=64)
def _end(pair: CountedGaussiansPair) -> float:
    """Return the loss at which a table ends."""
    listed = [law for cases in laws(pair.scheme) for law in cases]
    if not pair.removal:
        least = min(law.unsampled for law in listed)
        return min(-math.log(least) * (1 + 1e-12), _WIDEST) if least > 0.0 else _WIDEST
    left_out = _TINY + 2.0 * max(law.beyond for law in listed)

    def beyond(loss: float) -> bool:
        return float(pair.profile(np.array([loss]))[1][0]) > left_out

    return max(bisect(beyond, 0.0, _WIDEST, rounds=_HALVINGS)[1], _DENORMAL)


@final
@dataclass(frozen=True, slots=True)
class _Mixture:
    """One law's mixture A = w_0 + sum w_j e^{a_j x - a_j^2/2} of likelihoods, x ~ N(0, 1) under Q.

    With D(x) = sum_{j >= 1} w_j (Phi(x) - Phi(x - a_j)), which is P(X > x) - Q(X > x), the event
    X > x has P - t Q = D(x) - (t - 1) Phi(-x), and X <= x has Q - t P = t D(x) - (t - 1) Phi(x).
    log A is convex and increases: Newton's method falls to the threshold from its right.
    """

    law: Counts
    means: Reals
    removal: bool

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile at epsilons from 0 to 690.

        Any threshold x gives a lower end. Between it and the true one A is between t (1/t) and
        A(x), so that it misses at most |A(x) - t| Q (|1 - t A(x)| Q) of what lies between.
        """
        target = epsilon if self.removal else -epsilon
        x, missed, none = self._threshold(target)
        side = -x if self.removal else x
        gained, slip = self._difference(x)
        with np.errstate(divide="ignore", over="ignore"):
            log_t = np.log(-np.expm1(-epsilon)) + epsilon
            spent = np.exp(log_t + log_ndtr(side))
        slack = _TAIL * (2.0 + x * x) + _SUM * (1.0 + epsilon)
        scale = np.exp(0.0 * epsilon if self.removal else epsilon)
        found = scale * gained - spent
        error = scale * (slip + _SUM * gained) + slack * spent + 2.0 * _DENORMAL * scale
        room = error + scale * (missed + self.law.beyond)
        return np.maximum(found - error, 0.0), np.where(none, 0.0, np.maximum(found, 0.0) + room)

    def _threshold(self, target: Reals) -> tuple[Reals, Reals, NDArray[np.bool_]]:
        """Return about where log A is the target, what that may miss over t, and if it is nowhere.

        With G = e^target - w_0 that is where the terms of A but w_0 add up to G, of which the
        log has at least the slope a_1: no digits are lost where w_0 is next to 1. Where G is below
        0 no event has a divergence above 0.
        """
        whole, change = float(self.law.masses.sum()), np.expm1(target)
        goal, blur = whole + change, _SUM * (whole + np.abs(change))
        least = np.maximum(goal, blur)
        log_goal = np.log(least)
        x = self._root(log_goal)
        value, _, slip = self._log_terms(x)
        near = _NEAR * (1.0 + np.abs(x))
        side = -1.0 if self.removal else 1.0
        beside, _, error = self._log_terms(x + side * near)
        sure = side * (beside - log_goal) > error + 2.0 * blur / least
        if self.removal:
            beyond = -np.minimum(np.where(sure, x - near, 0.5 * self.means[0] - 1e-9), x)
        else:
            beyond = np.where(sure, x + near, np.maximum(x, _FARTHEST))
        with np.errstate(over="ignore"):
            away = least * np.expm1(np.abs(value - log_goal) + slip) + least - goal + blur
            missed = np.exp(np.log(away) + log_ndtr(beyond)) * (1.0 + 1e-6)
        none = goal < -blur
        return np.where(none, -_FARTHEST, x), missed, none

    def _root(self, log_goal: Reals) -> Reals:
        """Return about where the terms of A but w_0 add up to a number, or -40 if it is farther."""
        a, logs = self.means[:, None], np.log(self.law.masses)[:, None]
        x = np.maximum(((log_goal - logs) / a + 0.5 * a).min(axis=0), -_FARTHEST)
        for _ in range(_ROUNDS):
            value, slope, _ = self._log_terms(x)
            new = np.maximum(x - np.maximum(value - log_goal, 0.0) / slope, -_FARTHEST)
            if np.all(x - new <= 1e-15 * (1.0 + np.abs(x))):
                break
            x = new
        return np.asarray(x)

    def _log_terms(self, x: Reals) -> tuple[Reals, Reals, Reals]:
        """Return the log of A - w_0, its slope, and a bound of its rounding."""
        a, logs = self.means[:, None], np.log(self.law.masses)[:, None]
        linear = a * x
        exponent = linear - 0.5 * a * a + logs
        peak = exponent.max(axis=0)
        terms = np.exp(exponent - peak)
        total = terms.sum(axis=0)
        share = terms / total
        size = np.abs(linear) + a * a + np.abs(logs)
        error = _SUM * (4.0 + self.means.size + np.abs(peak) + (share * size).sum(axis=0))
        return np.asarray(peak + np.log(total)), np.asarray((share * a).sum(axis=0)), error

    def _difference(self, x: Reals) -> tuple[Reals, Reals]:
        """Return D(x), and a bound of its rounding."""
        a, masses = self.means[:, None], self.law.masses[:, None]
        right = x > 0.0
        side = np.where(right, -1.0, 1.0)
        own, moved = ndtr(side * x), ndtr(side * (x - a))
        found = masses * np.where(right, moved - own, own - moved)
        error = _TAIL * masses * ((1.0 + x * x + a * a) * moved + (1.0 + x * x) * own)
        size = self.means.size
        return found.sum(axis=0), error.sum(axis=0) * (1.0 + size * _SUM) + size * _DENORMAL
