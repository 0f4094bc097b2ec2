"""Counts of events, limits of binomial tails, the claims to compare with, and the errors of audits.

Assumed: scipy's incomplete beta function and its inverse are right to a relative 1e-9, of the
smaller of the value and its complement's distance to an end; the tests compare with 50 digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant import ApproxDP, NotCertified, NotImplied, ParameterError, PureDP, arguments
from dpproof.accountant.errors import (
    MissingDependency as MissingDependency,  # noqa: PLC0414  # also a name of this package
    PrivacyError,
)
from dpproof.accountant.guarantees.guarantee import Guarantee, in_words
from dpproof.accountant.guarantees.rounding import floats_around


class ClaimRefuted(PrivacyError, AssertionError):
    """An audit refuted a claim, or showed a fact, that was asserted not to be; with its report."""


class SamplesUsed(PrivacyError):
    """Samples that were tested once are asked to be tested again."""


class SamplerFailed(PrivacyError):
    """A program or a server gave no outputs, or an executor gave those of another task."""


class StoreRefused(PrivacyError):
    """A file of trials belongs to another audit or is in use, or a file is no store."""


class Unidentified(PrivacyError):
    """Code or data that cannot be told from other code or data: a version has to be given."""


@final
class Design(Enum):
    """The rule that assigns trials to the two datasets, and the definition of a hit."""

    COIN = "a fair coin for every trial"
    FIXED = "numbers fixed in advance"
    GUESSES = "a fair coin for every trial; hits are right guesses of it, of either dataset"
    ONE_RUN = "a fair coin for every canary of one run; hits are right guesses of it"

    def marked(self, delta: arguments.Number) -> Fraction:
        """Return the largest probability that a coin trial is a hit which only delta explains."""
        if self is Design.FIXED:
            raise ParameterError("counts.design", self, "by coins", "use Rectangle or TwoSample")
        return arguments.probability(delta=delta) / (2 if self is Design.COIN else 1)

    def compare(self) -> None:
        """Make sure that hits and other hits are of one event on two datasets, and no guesses."""
        if self in (Design.GUESSES, Design.ONE_RUN):
            raise ParameterError("counts.design", self, "one event", "use RandomisedLabel")


@final
@dataclass(frozen=True, slots=True)
class EventCounts:
    """Trials of an event S that was fixed before they were drawn.

    Of guesses, the hits are right, the other hits wrong, and only the sum of the trials counts.
    """

    hits: int  # trials on D whose output was in S
    trials: int  # on D
    other_hits: int  # on D' whose output was in S
    other_trials: int  # on D'
    design: Design = Design.COIN  # what decided the numbers of trials

    def __post_init__(self) -> None:
        for name in ("trials", "other_trials", "hits", "other_hits"):
            arguments.whole(**{name: getattr(self, name)})
        if self.design is Design.ONE_RUN:
            raise ParameterError("design", self.design, "of trials", "use PrefixCounts")
        if self.hits > self.trials:
            raise ParameterError("hits", self.hits, f"at most {self.trials} trials")
        if self.other_hits > self.other_trials:
            raise ParameterError("other_hits", self.other_hits, f"at most {self.other_trials}")

    @property
    def total(self) -> int:
        """Return the number of trials on both datasets."""
        return self.trials + self.other_trials

    def reversed(self) -> EventCounts:
        """Return the same event with the datasets exchanged."""
        return EventCounts(self.other_hits, self.other_trials, self.hits, self.trials, self.design)

    def complement(self) -> EventCounts:
        """Return the counts of the complementary event."""
        return EventCounts(
            self.trials - self.hits,
            self.trials,
            self.other_trials - self.other_hits,
            self.other_trials,
            self.design,
        )


@final
@dataclass(frozen=True, slots=True)
class PrefixCounts:
    """Coin trials sorted into nested events S_1 < S_2 < ... that were fixed in advance.

    The design is no ``FIXED``; only ``COIN`` tells the trials apart.
    """

    inside: tuple[int, ...]  # trials in S_j, increasing; a function of the outputs alone
    hits: tuple[int, ...]  # those of them that were on D
    trials: int  # all on D
    other_trials: int  # all on D'
    design: Design = Design.COIN

    def __post_init__(self) -> None:
        self.design.marked(0)
        if len(self.inside) != len(self.hits) or list(self.inside) != sorted(self.inside):
            raise ParameterError("inside", self.inside, "increasing, one number for each event")
        steps = zip((0, *self.inside), self.inside, (0, *self.hits), self.hits, strict=False)
        if any(not 0 <= h2 - h1 <= k2 - k1 for k1, k2, h1, h2 in steps):
            raise ParameterError("hits", self.hits, "counted inside the same nested events")

    @property
    def total(self) -> int:
        """Return the number of trials on both datasets."""
        return self.trials + self.other_trials

    def event(self, position: int) -> EventCounts:
        """Return the counts of one of the events; to test it, it has to be chosen in advance."""
        hits = self.hits[position]
        return EventCounts(
            hits, self.trials, self.inside[position] - hits, self.other_trials, self.design
        )

    def plus(self, more: PrefixCounts) -> PrefixCounts:
        """Return the counts with further trials of the same events added."""
        return PrefixCounts(
            tuple(a + b for a, b in zip(self.inside, more.inside, strict=True)),
            tuple(a + b for a, b in zip(self.hits, more.hits, strict=True)),
            self.trials + more.trials,
            self.other_trials + more.other_trials,
            self.design,
        )


@final
@dataclass(frozen=True, slots=True)
class BinCounts:
    """Trials in every bin of a partition that was fixed before they were drawn."""

    hits: tuple[int, ...]  # for every bin, trials on D whose output was in it
    other_hits: tuple[int, ...]  # the same on D'

    def __post_init__(self) -> None:
        for name in ("hits", "other_hits"):
            for number in getattr(self, name):
                arguments.whole(**{name: number})
        if not self.hits or len(self.hits) != len(self.other_hits):
            raise ParameterError("hits", self.hits, "one number for each bin, on either dataset")

    @staticmethod
    def between(counts: PrefixCounts) -> BinCounts:
        """Return the bins between nested events, and the rest outside of all."""
        counts.design.compare()
        others = [inside - hit for inside, hit in zip(counts.inside, counts.hits, strict=True)]
        totals = [*counts.hits, counts.trials], [*others, counts.other_trials]
        return BinCounts(*(tuple(b - a for a, b in pairwise([0, *total])) for total in totals))

    @property
    def trials(self) -> int:
        """Return the number of trials on D."""
        return sum(self.hits)

    @property
    def other_trials(self) -> int:
        """Return the number of trials on D'."""
        return sum(self.other_hits)

    def reversed(self) -> BinCounts:
        """Return the same bins with the datasets exchanged."""
        return BinCounts(self.other_hits, self.hits)


MARGIN = 1e-9
Floats = NDArray[np.float64]


@functools.cache
def special() -> Any:  # noqa: ANN401  # scipy's module, imported when first used: it is slow
    """Import ``scipy.special`` on first use."""
    from scipy import special as functions  # noqa: PLC0415  # start-up time

    return functions


def tail_up(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return an upper bound of Pr(Bin(n, p) >= k), elementwise; 1 where k <= 0, 0 where k > n."""
    k, n, p = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float), np.asarray(p, float))
    inside = (k > 0) & (k <= n)
    a, b = np.where(inside, k, 1.0), np.where(inside, n - k + 1.0, 1.0)
    value = np.nextafter(special().betainc(a, b, p) * (1 + MARGIN), 2.0)  # no tail is 0
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > n, 0.0, np.minimum(value, 1.0))))


def lower_limit(k: ArrayLike, n: ArrayLike, significance: ArrayLike) -> Floats:
    """Return the p with Pr(Bin(n, p) >= k) = significance, rounded down; 0 where k <= 0."""
    # Clopper & Pearson, Biometrika 26 (1934): Pr(p < limit) <= significance.
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    inside = k > 0
    limit = special().betaincinv(
        np.where(inside, k, 1.0), np.where(inside, n - k + 1.0, 1.0), significance
    )
    return np.asarray(np.where(inside, limit * (1 - MARGIN), 0.0))


def upper_limit(k: ArrayLike, n: ArrayLike, significance: ArrayLike) -> Floats:
    """Return the p with Pr(Bin(n, p) <= k) = significance, rounded up; 1 where k >= n."""
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    return complement_up(lower_limit(n - k, n, significance))


def complement_up(limit: Floats) -> Floats:
    """Return 1 - limit, rounded up: next to 1 a limit's own margin is less than a float's width."""
    return np.asarray(np.where(limit > 0.0, np.minimum(np.nextafter(1.0 - limit, 2.0), 1.0), 1.0))


def masses_up(n: int, p: Floats) -> Floats:
    """Return upper bounds of Pr(Bin(n, p) = k) for k = 0, ..., n <= 4096, a row for each p."""
    # Assumed: scipy's gammaln is right to a relative 1e-15, which is 1e-10 of a mass here.
    k = np.arange(n + 1.0)
    # At the ends of [0, 1] a mass that is 0 is a little more.
    hit, miss = np.log(np.maximum(p, 1e-300)), np.log1p(-np.minimum(p, 1 - 2.0**-53))
    return np.asarray(np.exp(_choices(n) + np.outer(hit, k) + np.outer(miss, n - k)) * (1 + MARGIN))


@functools.lru_cache(maxsize=64)
def _choices(n: int) -> Floats:
    k, gammaln = np.arange(n + 1.0), special().gammaln
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1))


def logistic_up(epsilon: float) -> float:
    """Return e^epsilon / (1 + e^epsilon), rounded up; at most 1."""
    return min(1.0, (1.0 + 4e-16) / (1.0 + math.exp(-epsilon)))


def exp_up(epsilon: float) -> float:
    """Return e^epsilon, rounded up."""
    return math.exp(epsilon) * (1.0 + 1e-15)


def quantile(probability: float, n: int, p: float) -> int:
    """Return the smallest k with Pr(Bin(n, p) <= k) >= probability, for planning, not bounds."""
    if p >= 1.0:
        return n
    if float(special().bdtr(0, n, p)) >= probability:
        return 0
    return int(np.clip(np.ceil(special().bdtrik(probability, n, p)), 0, n))


_DEFAULT_DELTA = Fraction(1, 10**6)
# Where on the curve tangents are taken: fractions of its value at epsilon = 0.
_HEIGHTS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, *(10.0 ** (-j / 2) for j in range(2, 13)))
_GROWTH = 0.1


@final
@dataclass(frozen=True, slots=True)
class Tangent:
    """One consequence of a claim: P(S) <= e^epsilon Q(S) + delta for every event S."""

    epsilon: float
    delta: float  # at or above the claimed delta(epsilon)
    room: float  # about how much delta would grow if every loss grew by a tenth; for planning


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to be contradicted."""

    guarantee: Guarantee[Any]  # for a point (epsilon, delta) the ApproxDP of it
    delta: Fraction  # where the audit reports its lower bound of epsilon
    is_curve: bool  # whether the claim says more than one point does

    @staticmethod
    def of(claim: object, delta: arguments.Number | None = None) -> Claim:
        """Return a claim from a guarantee or a tuple (epsilon, delta).

        Epsilon is reported at ``delta``, by default the claim's own, 0 where the claim bounds
        epsilon there, else 1e-6.
        """
        if isinstance(claim, Claim):
            return claim
        if isinstance(claim, tuple) and len(claim) == 2:
            return Claim.of(ApproxDP(epsilon=claim[0], delta=claim[1]), delta)
        if not isinstance(claim, Guarantee):
            raise ParameterError("claim", claim, "a guarantee or a tuple (epsilon, delta)")
        chosen = None if delta is None else arguments.probability(delta=delta)
        if isinstance(claim, PureDP):
            return Claim(claim, chosen or Fraction(0), is_curve=bool(chosen))
        if isinstance(claim, ApproxDP):
            own = claim.stated_delta
            return Claim(claim, own if chosen is None else chosen, chosen not in (None, own))
        if chosen is None:
            chosen = Fraction(0) if math.isfinite(_epsilon(claim, Fraction(0))) else _DEFAULT_DELTA
        return Claim(claim, chosen, is_curve=True)

    @property
    def epsilon(self) -> float:
        """Return the claimed epsilon at the claim's delta: a value above it is a violation."""
        return _epsilon(self.guarantee, self.delta)

    @property
    def delta_up(self) -> float:
        """Return the delta as a float at or above it."""
        return floats_around(self.delta)[1]

    def tangents(self) -> tuple[Tangent, ...]:
        """Return consequences of a curve, one for each of a few heights; none for a point."""
        return _tangents(self.guarantee) if self.is_curve else ()

    def describe(self) -> str:
        """Return the claim's label or mechanism in words, or what is stated of it."""
        return in_words(self.guarantee)


@functools.lru_cache(maxsize=64)
def _epsilon(guarantee: Guarantee[Any], delta: Fraction) -> float:
    return guarantee.epsilon(delta=delta).upper


@functools.lru_cache(maxsize=64)
def _tangents(guarantee: Guarantee[Any]) -> tuple[Tangent, ...]:
    """Return points of the profile, deltas rounded up; what is not certified is a test less."""
    highest = guarantee.delta(epsilon=0).upper
    tangents = [Tangent(0.0, highest, _GROWTH * highest)]
    for height in _HEIGHTS:
        try:
            epsilon = guarantee.epsilon(delta=height * highest).lower
            if math.isfinite(epsilon) and epsilon > tangents[-1].epsilon:
                here = guarantee.delta(epsilon=epsilon).upper
                grown = (1 + _GROWTH) * guarantee.delta(epsilon=epsilon / (1 + _GROWTH)).upper
                tangents.append(Tangent(epsilon, here, max(grown - here, 0.0)))
        except (NotCertified, NotImplied):
            continue
    return tuple(tangents)


_LINES = 64
_FAR, _MOST = 1e-9, 40.0

# The least probability of an event on one dataset, given that on the other: f(1 - right).
LeastWrong = Callable[[float], float]


def gaussian(mu: float) -> LeastWrong:
    """Return Phi(Phi^-1(right) - mu): the curve of a claim of mu-GDP."""
    ndtr, ndtri = special().ndtr, special().ndtri
    return lambda right: float(ndtr(ndtri(right) - mu))


def lines(points: list[tuple[float, float]]) -> LeastWrong:
    """Return the maximum of the lines that (epsilon, delta)-DP in both orders gives."""
    # right <= e^eps wrong + delta; complements: 1 - wrong <= e^eps (1 - right) + delta.
    growth = np.array([exp_up(epsilon) for epsilon, _ in points])
    mass = np.array([delta for _, delta in points])

    def least(right: float) -> float:
        first = float(np.max((right - mass) / growth))
        return max(0.0, first, float(np.max(1.0 - mass - growth * (1.0 - right))))

    return least


def supported(claim: Claim) -> LeastWrong:
    """Return lines of the claimed profile at many epsilons, which together are close to it."""
    if not claim.is_curve:
        return lines([(claim.epsilon, claim.delta_up)])
    epsilons, deltas = profile_points(claim.guarantee)
    return lines(list(zip(epsilons.tolist(), deltas.tolist(), strict=True)))


@functools.lru_cache(maxsize=64)
def profile_points(guarantee: Guarantee[Any]) -> tuple[Floats, Floats]:
    """Return epsilons from 0 to where little is left of the claim, and its deltas rounded up."""
    far = guarantee.epsilon(delta=_FAR).upper
    last = far if math.isfinite(far) else guarantee.epsilon(delta=0.01).upper
    epsilons = np.linspace(0.0, max(last, _FAR) if math.isfinite(last) else _MOST, _LINES)
    return epsilons, np.asarray(guarantee.deltas(epsilons=epsilons).upper)
