"""Choose the contour by real-axis values of K and the tilt that suits a question.

Heuristic: any c > 0 gives a valid contour, a good one gives a narrow bracket. ``total_cgf``,
``sum_cgf`` and ``smoothnesses`` are rigorous: a contour relies on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    Complexes,
    Enclosure,
    Reals,
    distinct,
    joined,
    weighted_sum,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.pair import Pair, Smoothness
from dpproof.accountant.pairs.product import Product, by_class, cgfs, steers

CHUNK = 1 << 12  # Nodes evaluated at once, as they share work. Heuristic.
# Log of what may be cut and aliased, relative to delta. Heuristic: it is bounded.
_LOG_TOLERANCE = -28.0
# Range of tilts tried, the largest where losses are of size 1 or more. Heuristic.
_SMALLEST, _LARGEST = 1e-9, 1e9
_FURTHEST = 1e18  # Largest tilt tried where losses are tiny. Heuristic.
_ALL = np.geomspace(_SMALLEST, _LARGEST, 200)  # Tilts for a Gaussian guess. Heuristic.
_NEAR = 1e-3  # Tilt at which a variance is looked up. Heuristic.
_START = np.exp(0.2 * np.arange(-8.0, 6.0))  # Tilts around a guess, relative to it. Heuristic.
_CLOSE = 1.25  # Ratio of two neighbouring c around a crossing at which the search ends. Heuristic.
_LEAST_STRIDE = 0.05  # Log of the last extension tried where K is out of reach. Heuristic.
_MOST_STEPS = 8  # Most extensions of a ridge. Heuristic.
# Error of a term, relative to its size, in units of what is allowed for the sum. Heuristic.
_NOISE = 1e-3
_QUIET = 0.2  # Noise below which a ridge is not made finer. Heuristic.
_FINE = 1.004  # Ratio of neighbouring c at which a ridge is fine. Heuristic.
_GAIN = 0.9  # Factor of the cost that a finer ridge has to gain. Heuristic.
_PLENTY = 300.0  # Nats by which layers may lower a transform, enough for any delta. Heuristic.


def total_cgf(product: Product, s: Complexes) -> Enclosure:
    """Enclose K of the product, the counts times K of each pair, errors added up."""
    if s.size > CHUNK:
        return joined([total_cgf(product, s[i : i + CHUNK]) for i in range(0, s.size, CHUNK)])
    return sum_cgf(product, cgfs(product, s), s.shape)


def sum_cgf(product: Product, each: list[Enclosure], shape: tuple[int, ...]) -> Enclosure:
    """Enclose K of the product from K of each pair, in order."""
    if not each:
        return Enclosure(np.zeros(shape, dtype=complex), np.zeros(shape))
    if len(each) == 1:
        every = Enclosure(each[0].value[None], each[0].radius[None])
        return weighted_sum(every, np.array([float(product.factors[0].count)]))
    every = Enclosure(np.stack([one.value for one in each]), np.stack([one.radius for one in each]))
    return weighted_sum(every, np.array([float(factor.count) for factor in product.factors]))


@final
@dataclass(frozen=True, slots=True)
class Ridge:
    """K and its first two derivatives at increasing real c > 0, to a few digits.

    Attributes:
        c: shape (n,), increasing.
        value: shape (n,), K(c).
        slope: shape (n,), K'(c).
        bend: shape (n,), K''(c).
    """

    c: Reals
    value: Reals
    slope: Reals
    bend: Reals

    @property
    def epsilon(self) -> Reals:
        """Return the epsilon whose saddle is c, K'(c) - 1/c - 1/(1 + c)."""
        return np.asarray(self.slope - 1 / self.c - 1 / (1 + self.c))

    @property
    def spread(self) -> Reals:
        """Return the second derivative of the exponent, K''(c) + 1/c^2 + 1/(1+c)^2."""
        return np.asarray(self.bend + self.c**-2.0 + (1 + self.c) ** -2.0)

    @property
    def log_delta(self) -> Reals:
        """Return the saddle-point estimate of log delta(epsilon)."""
        return self.log_height(self.epsilon)

    def log_height(self, epsilon: float | Reals) -> Reals:
        """Return the estimate as if each c were the saddle of epsilon.

        It is the log size of the sum's terms.
        """
        exponent = self.value - self.c * epsilon - np.log(self.c) - np.log1p(self.c)
        return np.asarray(exponent - 0.5 * np.log(2 * math.pi * self.spread))

    def joined(self, other: Ridge) -> Ridge:
        """Return the points of both ridges, in order."""
        c = np.concatenate([self.c, other.c])
        order = np.argsort(c, kind="stable")
        order = order[np.append(True, np.diff(c[order]) > 0.0)]
        return Ridge(
            c[order],
            np.concatenate([self.value, other.value])[order],
            np.concatenate([self.slope, other.slope])[order],
            np.concatenate([self.bend, other.bend])[order],
        )


@final
@dataclass(frozen=True, slots=True)
class Saddle:
    """A tilt and the question that it is to answer.

    Attributes:
        c: the tilt, above 0.
        value: K(c), to a few digits.
        spread: the second derivative of the exponent there.
        epsilon: where delta is asked for, or expected.
        log_delta: an estimate of log delta(epsilon).
        points: where else K is to be bounded, to bound the aliases.
        values: K there, to a few digits.
        log_tolerance: log of what may be cut and aliased, relative to delta.
    """

    c: float
    value: float
    spread: float
    epsilon: float
    log_delta: float
    points: tuple[float, ...]
    values: tuple[float, ...]
    log_tolerance: float = _LOG_TOLERANCE


def survey(product: Product, c: Reals) -> Ridge:
    """Evaluate K of the product at increasing c, as far up as it can be computed.

    Raises:
        NotCertified: it cannot be computed at the first.
    """
    counts = np.array([float(factor.count) for factor in product.factors])
    while True:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                each = steers(product, c)
                np.maximum(each[:, 2], 0.0, out=each[:, 2])
                value, slope, bend = (counts @ each.reshape(counts.size, -1)).reshape(3, -1)
        except NotCertified:
            last = c.size // 2
        else:
            finite = np.isfinite(value + slope + bend)
            if finite.all():
                return Ridge(c, value, slope, bend)
            last = int(np.argmin(finite))
        if not last:
            raise NotCertified(
                f"the moment of order {1 + c[0]:.6g} of the privacy loss is not representable as a "
                "float; use more noise, or sampling rates and losses that are not next to 0"
            )
        c = c[:last]


def saddle_at(product: Product, c: float) -> Saddle:
    """Return the saddle at a real point, which suits the epsilons around its own."""
    ridge = survey(product, np.array([c]))
    spread = float(ridge.spread[0])
    offsets = np.geomspace(0.02, 8.0, 6) / math.sqrt(spread)
    points = distinct(np.concatenate([c - offsets, c + np.minimum(offsets, c)]))
    beside = survey(product, points[points > 0])
    estimates = float(ridge.epsilon[0]), float(ridge.log_delta[0])
    ladder = tuple(beside.c.tolist()), tuple(beside.value.tolist())
    return Saddle(c, float(ridge.value[0]), spread, *estimates, *ladder)


def find_saddle(
    product: Product,
    excess: Callable[[Ridge], Reals],
    aim: tuple[float, float] | None = None,
    log_tolerance: float = _LOG_TOLERANCE,
) -> Saddle:
    """Return a tilt for the question at which a function that increases in c crosses 0.

    Args:
        product: what is asked about.
        excess: of every point of a ridge, below 0 to the left of the crossing.
        aim: epsilon and log delta of the question, better than the saddle-point estimates.
        log_tolerance: log of what may be cut and aliased, relative to delta.
    """
    ridge, epsilon, log_delta = around(product, excess)
    return suited(product, ridge, *(aim or (epsilon, log_delta)), log_tolerance)


def suited(
    product: Product, ridge: Ridge, epsilon: float, log_delta: float, log_tolerance: float
) -> Saddle:
    """Return a tilt for delta(epsilon), from K around its saddle point.

    It is near that point, but at a place where the terms of the sum are few and not much larger
    than their sum. The ridge is made finer as long as that gains something.
    """
    last = math.inf
    while True:
        best, cost, noise, points, values = _cheapest_tilt(ridge, epsilon, log_delta, log_tolerance)
        near = ridge.c[max(best - 1, 0) : best + 2]
        coarse = not set(points).isdisjoint(near.tolist())  # other points may be better
        if near[-1] in points:
            near = ridge.c[max(best - 1, 0) : best + 3]
        if not (coarse or noise > _QUIET) or cost > _GAIN * last or near[-1] < _FINE * near[0]:
            break
        last = cost
        ridge = ridge.joined(survey(product, np.geomspace(near[0], near[-1], 8)))
    at = float(ridge.c[best]), float(ridge.value[best]), float(ridge.spread[best])
    return Saddle(*at, epsilon, log_delta, points, values, log_tolerance)


def around(
    product: Product, excess: Callable[[Ridge], Reals], guess: float | None = None
) -> tuple[Ridge, float, float]:
    """Return points on both sides of the crossing, and epsilon and log delta there, interpolated.

    The search starts from a guess, or from the Gaussian with the loss variance of the product. If K
    is out of reach the crossing is taken to be below.
    """
    ridge = _start(product, guess or _gaussian_guess(product, excess))
    stride = 1.6
    for _ in range(_MOST_STEPS):
        gap = excess(ridge)
        low, high = float(ridge.c[0]), float(ridge.c[-1])
        if gap[0] >= 0 and low > _SMALLEST:
            more = np.geomspace(low * math.exp(-stride), low, 9)[:-1]
        elif gap[-1] < 0 and high < _largest(ridge):
            more = np.geomspace(high, high * math.exp(stride), 9)[1:]
        else:
            break
        try:
            ridge = ridge.joined(survey(product, more))
        except NotCertified:
            if gap[0] >= 0 or stride < _LEAST_STRIDE:
                break
            stride *= 0.25  # K is out of reach a little further up
            continue
        stride *= 2
    while True:
        gap = excess(ridge)
        right = int(np.argmax(gap >= 0)) if (gap >= 0).any() else gap.size - 1
        left = max(right - 1, 0)
        ends = ridge.c[left], ridge.c[right]
        if ends[1] <= _CLOSE * ends[0] or not gap[left] < 0 <= gap[right]:
            break
        ridge = ridge.joined(survey(product, np.geomspace(*ends, 6)[1:-1]))
    share = float(-gap[left] / (gap[right] - gap[left])) if gap[left] < 0 <= gap[right] else 1.0
    epsilon, log_delta = (
        float(one[left] + share * (one[right] - one[left]))
        for one in (ridge.epsilon, ridge.log_delta)
    )
    return ridge, epsilon, log_delta


def _largest(ridge: Ridge) -> float:
    """Return how far up tilts are tried: the further the smaller the losses there are."""
    return min(_LARGEST / min(max(abs(float(ridge.slope[-1])), 1e-300), 1.0), _FURTHEST)


def _start(product: Product, guess: float) -> Ridge:
    """Return points around a guess, or as near as K can be computed."""
    while True:
        try:
            return survey(product, guess * _START)
        except NotCertified:
            if guess < _SMALLEST:
                raise
            guess *= _START[0]


def _gaussian_guess(product: Product, excess: Callable[[Ridge], Reals]) -> float:
    """Return the crossing for a Gaussian product of the same loss variance."""
    each = [factor.pair.variance for factor in product.factors]
    if None in each:
        value = float(survey(product, np.array([_NEAR])).value[0])
        total = 2.0 * value / (_NEAR * (1.0 + _NEAR))
    else:
        total = sum(one.count * it for one, it in zip(product.factors, each, strict=True) if it)
    variance = np.full(_ALL.shape, max(total, 1e-300))
    beyond = excess(_gaussian(variance)) >= 0
    return float(_ALL[np.argmax(beyond)] if beyond.any() else _ALL[-1])


def gaussian_tilt(epsilon: float, log_delta: float) -> float:
    """Estimate the saddle of epsilon for the Gaussian with that delta at epsilon."""
    variance = (epsilon + 1 / _ALL + 1 / (1 + _ALL)) / (_ALL + 0.5)
    below = _gaussian(variance).log_delta <= log_delta
    return float(_ALL[np.argmax(below)] if below.any() else _ALL[-1])


def _gaussian(variance: Reals) -> Ridge:
    """Return Gaussian losses of a variance at every c from the smallest to the largest."""
    return Ridge(_ALL, 0.5 * variance * _ALL * (_ALL + 1), variance * (_ALL + 0.5), variance)


def _cheapest_tilt(
    ridge: Ridge, epsilon: float, log_delta: float, log_tolerance: float
) -> tuple[int, float, float, tuple[float, ...], tuple[float, ...]]:
    """Pick the tilt c that minimises (number of terms) x (1 + rounding noise).

    It returns its index, that cost, the noise, the neighbouring points used for alias bounds, and K
    there. A period R leaves aliases of e^{K(c') - c' eps - |c - c'| R}, for the best c' on either
    side. The error is relative to delta, in units of what is allowed.
    """
    c = np.append(0.0, ridge.c)
    needed = np.append(0.0, ridge.value) - c * epsilon - log_delta - log_tolerance
    gap = ridge.c[:, None] - c
    with np.errstate(divide="ignore"):
        period = np.maximum(needed, 4.0) / np.abs(gap)
    left = np.where(gap > 0, period, math.inf)
    right = np.where(gap < 0, period, math.inf)
    longest = np.maximum(left.min(axis=1), right.min(axis=1))
    size = 1.0 + np.abs(ridge.value) + ridge.c * abs(epsilon)
    with np.errstate(over="ignore"):  # what costs so much is not chosen
        noise = _NOISE * size * np.exp(np.minimum(ridge.log_height(epsilon) - log_delta, 300.0))
        cost = longest * (1.0 + noise)
    best = int(np.argmin(cost))
    beside = [at - 1 for at in (left[best].argmin(), right[best].argmin()) if at > 0]
    points, values = (tuple(one[beside].tolist()) for one in (ridge.c, ridge.value))
    return best, float(cost[best]), float(noise[best]), points, values


def smoothnesses(
    product: Product, c: float, moments: tuple[Bound, ...]
) -> list[tuple[Smoothness, int]]:
    """Return the smoothness of each factor's tilted loss law, and its count.

    The law is tilted by c; ``moments`` enclose K(c) of the pairs.
    """
    each = by_class(
        product,
        lambda kind, pairs, places: kind.smoothnesses(pairs, c, [moments[at] for at in places]),
    )
    listed = []
    for factor, moment, part in zip(product.factors, moments, each, strict=True):
        kind = type(factor.pair)
        if kind.envelope is not Pair.envelope and factor.count * part.masses.sum() < _PLENTY:
            heights, rates = factor.pair.envelope(c, moment)  # more than layers can give
            listed.append((replace(part, heights=heights, rates=rates), factor.count))
        else:
            listed.append((part, factor.count))
    return listed
