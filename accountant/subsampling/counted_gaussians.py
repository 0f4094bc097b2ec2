"""Gaussian mixtures against a point: a record counts a random number of times in a sample.

Proofs: proofs/theory/one_step.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Reals,
    from_swapped,
)
from dpproof.accountant.arithmetic.normal_distribution import log_ndtr, ndtr
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.pairs.opposite_gaussians import opposite_profile
from dpproof.accountant.pairs.pair import required_square
from dpproof.accountant.sampling import OneStepScheme, TruncatedPoisson, WithReplacement
from dpproof.accountant.subsampling.count_laws import Counts, laws
from dpproof.accountant.subsampling.tabulated import TabulatedPair

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
    of records does, the largest. Under zero-out and replace-one both laws are mixtures, and the
    profile is a bound of all pairs of neighbours.

    Attributes:
        mu_squared: exact, above 0; mu is a record's contribution over sigma.
        scheme: which law.
        removal: whether the mixture comes first: the law with the record.
        relation: the name of the relation.
    """

    mu_squared: Fraction
    scheme: OneStepScheme
    removal: bool
    relation: str = "add-remove"
    is_quick: ClassVar[bool] = True  # The profile has a formula.
    is_wide: ClassVar[bool] = True  # A record that counts often is rare, and shows itself.

    def __post_init__(self) -> None:
        """Refuse parameters that are not representable as floats."""
        required_square(mu_squared=self.mu_squared)

    def swapped(self) -> CountedGaussiansPair:
        """Return the pair (Q, P), the same under replace-one."""
        return self if self.relation == "replace-one" else replace(self, removal=not self.removal)

    @property
    def leads(self) -> bool:
        """Return whether the mixture comes first."""
        return self.removal

    @property
    def end(self) -> float:
        """Return a loss beyond which the profile is 0, or up to 1e-30 above what is not listed."""
        return _end(self)

    @property
    def most(self) -> int:
        """Return the largest count, times how far one moves the sum."""
        if self.relation != "add-remove":  # whoever else is drawn may be revealed
            draws = self.scheme.sample_size if isinstance(self.scheme, WithReplacement) else 1
            return draws * (2 if self.relation == "replace-one" else 1)
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


def _above_zero(pair: CountedGaussiansPair, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose a profile at epsilons from 0: the largest of the laws' means."""
    ends = []
    for cases in laws(pair.scheme)[: 1 if pair.relation != "add-remove" else None]:
        low, high = np.zeros((2, *epsilon.shape))
        for law in cases:
            least, most = _of_law(pair, law, epsilon)
            low += law.share[0] * least
            high += law.share[1] * most
        ends.append((low * (1.0 - _SUM), high * (1.0 + _SUM) + _DENORMAL))
    lows, highs = zip(*ends, strict=True)
    return np.maximum.reduce(lows), np.maximum.reduce(highs)


def _of_law(pair: CountedGaussiansPair, law: Counts, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose the profile given what is revealed: proofs/theory/one_step.md, section 6."""
    mu, replaced = math.sqrt(pair.mu_squared), pair.relation == "replace-one"
    if pair.relation == "add-remove":
        return _Mixture(law, mu * law.shifts, pair.removal).profile(epsilon)
    if isinstance(pair.scheme, WithReplacement) and pair.scheme.sample_size > 1:
        return _drawn_again(law, mu, epsilon)
    if law.most == 1:
        if replaced and isinstance(pair.scheme, TruncatedPoisson):
            return opposite_profile(mu, pair.scheme.sampling_rate, epsilon)
        return _Mixture(law, mu * law.shifts, pair.removal).profile(epsilon)
    if replaced or not pair.removal:
        return _Mixture(law, mu * law.shifts / (1 if replaced else 2), removal=True).profile(
            epsilon
        )
    return _three_points(float(law.masses[0]), law.unsampled, mu, epsilon)


def _drawn_again(law: Counts, mu: float, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose sum_j w_j H_{t'}(N(2 j mu) || N(0)) over j >= 1, t' = 1 + (t - 1)/(1 - w_0)."""
    drawn = float(law.masses.sum())
    ends = []
    for sign, share in ((1.0, drawn), (-1.0, drawn + law.beyond)):
        with np.errstate(divide="ignore"):
            log_t = np.logaddexp(0.0, np.log(np.expm1(epsilon)) - math.log(share))
        at = log_t + sign * _SUM * law.masses.size * (1.0 + log_t + epsilon + abs(math.log(share)))
        found = [
            gaussian_profile(mu * one, np.maximum(at, 0.0))[int(sign < 0)] for one in law.shifts
        ]
        ends.append(law.masses @ np.array(found) + (law.beyond if sign < 0 else 0.0))
    slack = _SUM * (1.0 + law.masses.size)
    return ends[0] * (1.0 - slack), ends[1] * (1.0 + slack)


def _three_points(rate: float, rest: float, mu: float, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose the profile of (1-q) N(0) + q N(2 mu) against (1-q) N(0) + q N(mu), epsilon >= 0.

    The ratio of the densities of P - t Q and N(0) is a quadratic in e^{mu x} with one root above 0.
    A threshold that is off by h moves each tail at most by the share h (2 + |x| + 2 mu).
    """
    odds = math.log(rest) - math.log(rate)
    with np.errstate(divide="ignore"):
        log_share = np.log(-np.expm1(-epsilon))
        bend = np.logaddexp(0.0, math.log(4.0) + odds - mu * mu + log_share - epsilon)
    lift = np.logaddexp(0.0, 0.5 * bend) - math.log(2.0)
    x = (1.5 * mu * mu + epsilon + lift) / mu
    size = 8.0 + 4.0 * mu * mu + 4.0 * epsilon + lift + abs(odds)
    away = _SUM * size * (1.0 + 1.0 / mu)
    parts = [
        rate * np.exp(log_ndtr(2.0 * mu - x)),
        rate * np.exp(epsilon + log_ndtr(mu - x)),
        rest * np.exp(epsilon + log_share + log_ndtr(-x)),
    ]
    slack = _TAIL * (2.0 + x * x + 4.0 * mu * mu) + _SUM * (4.0 + epsilon)
    slack = slack + 2.0 * away * (2.0 + np.abs(x) + 2.0 * mu)
    value, error = parts[0] - parts[1] - parts[2], slack * sum(parts) + _DENORMAL
    return np.maximum(value - error, 0.0), np.maximum(value, 0.0) + error


@lru_cache(maxsize=64)
def _end(pair: CountedGaussiansPair) -> float:
    """Return the loss at which a table ends."""
    listed = [law for cases in laws(pair.scheme) for law in cases]
    if not pair.removal and pair.relation == "add-remove":
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
        value = scale * gained - spent
        error = scale * (slip + _SUM * gained) + slack * spent + 2.0 * _DENORMAL * scale
        room = error + scale * (missed + self.law.beyond)
        return np.maximum(value - error, 0.0), np.where(none, 0.0, np.maximum(value, 0.0) + room)

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
        terms = masses * np.where(right, moved - own, own - moved)
        error = _TAIL * masses * ((1.0 + x * x + a * a) * moved + (1.0 + x * x) * own)
        size = self.means.size
        return terms.sum(axis=0), error.sum(axis=0) * (1.0 + size * _SUM) + size * _DENORMAL
