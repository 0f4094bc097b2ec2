r"""Compute E(c - M)_+ for the mean M of independent log-normal variables of mean 1, with bounds.

Y = exp(a g - a^2/2), g standard normal, t of them, phi(w) = E e^{-wY}, which is entire in log w.
For p > 0 and the hyperbola u = p (1 + i sinh(x + i b)), 0 < b < pi/4,

    E(c - M)_+ = (1/2 pi) int e^{uc} phi(u/t)^t u^{-2} p cosh(x + i b) dx,

a trapezoid sum of which errs by the integrals over the two hyperbolas of angles 0 and 2b. phi is a
trapezoid sum as well, on a line of Im g on which the integrand hardly oscillates. The number of
terms depends on t hardly at all. Proofs: proofs/theory/allocation.md, section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

import numpy as np

from dpproof.accountant.arithmetic.elementary import log1p_enclosure, summation_ulps
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Reals,
)
from dpproof.accountant.arithmetic.normal_distribution import ndtr

_STRIP: Final = 1.5  # Half width of the strip of phi's sum, and its largest angle: below pi/2.
_FALL: Final = 54.0  # Log of how little phi's sum loses by its step. Heuristic: it is bounded.
_REACH: Final = 9.5  # Standard deviations that phi's sum takes. Heuristic: the rest is bounded.
_LARGE: Final = 1e5  # |z| from which e^{-z} is 0 in every digit. Soundness depends on it.
_WIDEST: Final = math.pi / 8  # Largest angle b. Heuristic, below pi/4.
_DIGITS: Final = 39.0  # Log of what the sum over the hyperbola may lose. Heuristic.
_FINE: Final = 1.05  # Ratio of neighbouring places at which phi is bounded. Heuristic.
_EVERY: Final = 10  # Of these places is a p. Heuristic.
_DEEPEST: Final = -200.0  # Least log of phi^t that is computed. Heuristic.
_LEAST_TILT: Final = 1e-6  # Least p. Heuristic.
_LARGEST_TILT: Final = 1e9  # Largest p over t. Heuristic.
_LARGEST_C: Final = 1e6  # Heuristic: larger c have no digits.
_RESOLVED: Final = -23.0  # Least log phi that has digits. Heuristic.
_MOST: Final = 1 << 13  # Terms of a sum. Heuristic.
_ANGLES: Final = 16  # Tried. Heuristic.
_LARGEST_VARIANCE: Final = 800.0  # Of log Y, for which phi is computed: its nodes overflow beyond.
_SLACK: Final = 1e-6  # Above what logs of bounds of the integrand err by. Soundness depends on it.
_MOMENTS: Final = 256  # Highest moment. Heuristic.
_CELLS: Final = 48  # Of the outer hyperbola, to bound the integrand there. Heuristic.
_TURNS: Final = np.concatenate([[0.0], 2.0 ** np.arange(-13.0, 1.0)])  # Tried. Heuristic.
# Roundings of a term of phi's sum, relative to its size, beside those that grow with g. Soundness
# depends on it.
_TERM: Final = 64.0 * ELEMENTARY_ULPS


def mean_shortfall(variance: float, count: int, c: Reals) -> tuple[Reals, Reals]:
    """Bound E(c - M)_+ from both sides.

    Args:
        variance: of log Y, above 0, exact.
        count: the number of variables, from 2.
        c: shape (n,), above 0; the ends hold for all numbers within 8 u of it.
    Returns:
        Lower and upper ends; (c - 1)_+ and c, rounded, where nothing better is computed.
    """
    lower, upper = np.maximum(c - 1.0, 0.0), c.copy()
    tilts = _tilts(variance, count)
    place = np.where(c <= _LARGEST_C, np.searchsorted(-tilts.ends, -c), tilts.p.size)
    for one in np.unique(place[place < tilts.p.size]).tolist():
        some = place == one
        nodes = _hyperbola(variance, count, one)
        if nodes is None:
            continue
        found, error = nodes.integral(c[some])
        lower[some] = np.maximum(lower[some], found - error)
        upper[some] = np.minimum(upper[some], found + error)
    deep = c < 1.0
    upper[deep] = np.minimum(upper[deep], _chernoff(variance, count, c[deep]))
    return lower, upper


def _chernoff(variance: float, count: int, c: Reals) -> Reals:
    """Bound E(c - M)_+ from above by e^{uc - 1} phi(u/t)^t / u, as (x)_+ <= e^{ux - 1} / u."""
    u, log_power = (one[::_EVERY] for one in log_transform(variance, count))
    if not u.size:
        return np.asarray(c.copy())  # as M > 0
    bound = np.multiply.outer(c, u) + log_power - np.log(u) - 1.0 + 16 * UNIT_ROUNDOFF * u
    return np.asarray(np.exp(np.minimum(bound.min(axis=1), 0.0) + _SLACK))


def resolved(variance: float, count: int) -> Reals:
    """Return c at which ``mean_shortfall`` has digits, decreasing."""
    return _tilts(variance, count).ends


def mean_excess_above(variance: float, count: int, log_c: Reals) -> Reals:
    """Bound E(M - c)_+ from above by moments of M, for c >= 1.

    (y - c)_+ <= y^m c^{1-m} (m - 1)^{m-1} / m^m for y > 0 and m >= 2, and E M^m / m! is the
    coefficient of h^m in the t-th power of the sum of E Y^j (h/t)^j / j!.
    """
    m, log_least = _log_moments(variance, count)
    least = (log_least - np.multiply.outer(log_c, m - 1)).min(axis=1)
    return np.asarray(np.exp(np.minimum(least * (1 - 1e-12 * np.sign(least)), 0.0) + _SLACK))


@lru_cache(maxsize=64)
def _log_moments(variance: float, count: int) -> tuple[Reals, Reals]:
    """Return m and logs of E M^m (m - 1)^{m-1} / m^m, by sums of positive terms."""
    j = np.arange(_MOMENTS + 1.0)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(j[1:]))])
    series = 0.5 * variance * j * (j - 1) - factorials - j * math.log(count)
    power = np.where(j > 0, -math.inf, 0.0)
    for digit in f"{count:b}":
        power = _log_convolved(power, power)
        power = _log_convolved(power, series) if digit == "1" else power
    m = j[2:]
    return m, power[2:] + factorials[2:] + (m - 1) * np.log(m - 1) - m * np.log(m)


def _log_convolved(first: Reals, second: Reals) -> Reals:
    """Return logs of the first coefficients of a product of series, from theirs."""
    found = [np.logaddexp.reduce(first[: k + 1] + second[k::-1]) for k in range(first.size)]
    return np.array(found)


def log_transform(variance: float, count: int) -> tuple[Reals, Reals]:
    """Return u above 0, increasing, and upper bounds of t log phi(u/t), where phi has digits."""
    places, heights = _excess(variance, count)
    return places[1:], heights[1:] - places[1:]


@lru_cache(maxsize=64)
def _excess(variance: float, count: int) -> tuple[Reals, Reals]:
    """Return u from 0 on and bounds of t log phi(u/t) + u from above, where phi has digits.

    That is convex and has slope 1 at most: chords are above it, and a line of slope 1 beyond.
    """
    if variance > _LARGEST_VARIANCE:
        return np.zeros(1), np.zeros(1)  # the line of slope 1 alone
    powers = math.ceil(math.log(_LARGEST_TILT * count / _LEAST_TILT, _FINE))
    u = _LEAST_TILT * _FINE ** np.arange(powers)
    value, error = _transform(math.sqrt(variance), u / count, np.zeros(u.shape))
    size = value.real + error  # log1p errs relatively, and negatively
    with np.errstate(invalid="ignore", divide="ignore"):
        log = count * np.log1p(np.minimum(size, 0.0)) * (1 - 16 * ELEMENTARY_ULPS * UNIT_ROUNDOFF)
    kept = np.exp(_RESOLVED) < 1.0 + size
    u, log = u[kept], log[kept]
    return np.append(0.0, u), np.append(0.0, log + u + 2 * UNIT_ROUNDOFF * u)


def _excess_above(variance: float, count: int, u: Reals) -> Reals:
    """Bound t log phi(u/t) + u from above, for u >= 0."""
    places, heights = _excess(variance, count)
    beyond = np.maximum(u - places[-1], 0.0)
    return np.asarray(np.interp(u, places, heights) + beyond)


def _transform(a: float, size: Reals, angle: Reals) -> tuple[Complexes, Reals]:
    """Return phi(w) - 1 at w = size e^{i angle}, and how much it errs by.

    It covers an error of 100 u in w, relative.

    Args:
        a: standard deviation of log Y.
        size: shape (n,), at or above 0.
        angle: shape (n,), from 0 to 3 pi/4.
    """
    strip = min(_STRIP, _STRIP / a)
    most = _STRIP - a * strip  # angle of w Y on the line
    turn = np.maximum(angle - most, 0.0) / a  # minus Im g of the line
    step = 2 * math.pi * strip / _FALL
    g = step * np.arange(-math.ceil(_REACH / step), math.ceil((_REACH + a) / step) + 1)
    log_y = a * g - 0.5 * a * a
    z = np.minimum(np.multiply.outer(size, np.exp(log_y)), _LARGE)
    real, imag = (z * part(angle - a * turn)[:, None] for part in (np.cos, np.sin))
    decay, half = np.exp(-real), np.sin(0.5 * imag)
    phase = np.multiply.outer(turn, g)
    weight = np.multiply.outer(np.exp(0.5 * turn * turn), np.exp(-0.5 * g * g))
    weight *= step / math.sqrt(2 * math.pi)
    # e^{-z} - 1, without cancellation
    down, across = np.expm1(-real) - 2.0 * decay * half * half, -decay * np.sin(imag)
    cosine, sine = np.cos(phase), np.sin(phase)
    value = (weight * (down * cosine - across * sine)).sum(axis=1) + 1j * (
        weight * (down * sine + across * cosine)
    ).sum(axis=1)
    bound = weight * np.minimum(z, 2.0)
    grown = _TERM + summation_ulps(g.size) + 300.0 + 8.0 * g * g + 16.0 * (a * np.abs(g) + a * a)
    rounding = UNIT_ROUNDOFF * ((bound @ grown) + 8.0 * bound.sum(axis=1) * turn * (1.0 + turn))
    outside = 2.0 * float(ndtr(np.array(0.0 - _REACH)))
    left_out = np.exp(0.5 * turn * turn) * outside * np.minimum(size, 2.0)
    alias = np.exp(0.5 * (turn + strip) ** 2) * 2.1 * math.exp(-_FALL) * np.minimum(size, 2.0)
    return value, np.asarray(1.01 * (rounding + left_out + alias))


@final
@dataclass(frozen=True, slots=True)
class _Tilts:
    """The p of hyperbolas, and the c for which each is best.

    Attributes:
        p: shape (n,), increasing.
        ends: shape (n,), decreasing: p[k] is for c from ends[k] to ends[k - 1].
    """

    p: Reals
    ends: Reals


@lru_cache(maxsize=64)
def _tilts(variance: float, count: int) -> _Tilts:
    """Return the p at which c p + t log phi(p/t) - 2 log p is about least, by c.

    Heuristic: every p is sound.
    """
    places, heights = _excess(variance, count)
    p = places[1::_EVERY]
    log = heights[1::_EVERY] - p
    ends = np.minimum.accumulate(-np.diff(log - 2.0 * np.log(p)) / np.diff(p))
    kept = int(np.sum(ends * p[:-1] + log[:-1] > _DEEPEST))
    return _Tilts(p[:kept], ends[:kept])


@final
@dataclass(frozen=True, slots=True)
class _Hyperbola:
    """A trapezoid sum over one hyperbola, and what bounds its error.

    Attributes:
        u: shape (n,), from the real axis upwards; the other half is conjugate.
        log_power: shape (n,), t log phi(u/t).
        radius: shape (n,), how much that errs by; where it is infinite the real part is a bound.
        factor: shape (n,), by what e^{uc} phi^t is multiplied.
        p: where the inner hyperbola, a vertical line, crosses the real axis.
        log_inner: log of the error by that line, over e^{pc}.
        rest: the error by the outer hyperbola and by the terms left out.
    """

    u: Complexes
    log_power: Complexes
    radius: Reals
    factor: Complexes
    p: float
    log_inner: float
    rest: float

    def integral(self, c: Reals) -> tuple[Reals, Reals]:
        """Return E(c - M)_+ and how much it errs by, for c of this hyperbola."""
        grown = np.multiply.outer(c, self.u)
        exponent = grown + self.log_power
        size = np.exp(exponent.real) * np.abs(self.factor)
        bounded = np.isinf(self.radius)
        ulps = 200.0 + 8.0 * np.abs(self.log_power) + 64.0 * np.abs(grown)
        error = np.where(bounded, 0.0, self.radius) + UNIT_ROUNDOFF * ulps
        terms = np.where(bounded, 0.0, (np.exp(exponent) * self.factor).real)
        lost = size * np.where(bounded, 1.0 + error, np.expm1(error))
        rounding = lost + UNIT_ROUNDOFF * summation_ulps(self.u.size) * size
        outside = np.exp(self.p * c + self.log_inner + _SLACK) + self.rest
        return terms.sum(axis=1), 1.001 * (rounding.sum(axis=1) + outside)


@lru_cache(maxsize=512)
def _hyperbola(variance: float, count: int, place: int) -> _Hyperbola | None:
    """Return the sum through one p, of the angle that takes about the fewest terms.

    None if these are too many.
    """
    tilts = _tilts(variance, count)
    p, low = float(tilts.p[place]), float(tilts.ends[place])
    log_real = float(_excess_above(variance, count, tilts.p[place : place + 1])[0]) - p
    line = _Line(variance, count, p, low, _highest(tilts, place), log_real)
    best = line.shape(line.widest)
    for k in range(1, _ANGLES):
        other = line.shape(line.widest * 2.0 ** (-0.5 * k))
        if other.terms > 2 * best.terms:
            break
        best = min(best, other, key=lambda one: one.terms)
    return line.nodes(best) if best.terms <= _MOST else None


def _highest(tilts: _Tilts, place: int) -> float:
    """Return the largest c of one p."""
    return float(tilts.ends[place - 1]) if place else _LARGEST_C


@final
@dataclass(frozen=True, slots=True)
class _Shape:
    """Angle, step and terms of the sum over a hyperbola, and the log of its outer bound."""

    angle: float
    step: float
    terms: int
    log_outer: float


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """The vertical line through p, and the hyperbolas that it may be bent to, for some c.

    Attributes:
        variance: of log Y.
        count: t.
        p: where the line crosses the real axis.
        low: the least c.
        high: the largest.
        log_real: an upper bound of t log phi(p/t).
    """

    variance: float
    count: int
    p: float
    low: float
    high: float
    log_real: float

    @property
    def a(self) -> float:
        """Return the standard deviation of log Y."""
        return math.sqrt(self.variance)

    @property
    def widest(self) -> float:
        """Return the largest angle."""
        return min(_WIDEST, self.a)

    @property
    def level(self) -> float:
        """Return the log of the integrand's size on the real axis, at the least c."""
        return self.p * self.low + self.log_real

    def shape(self, angle: float) -> _Shape:
        """Return step and terms for one angle."""
        outer = self.outer(2.0 * angle)
        step = 2 * math.pi * angle / (_DIGITS + max(outer - self.level, 0.0))
        return _Shape(angle, step, math.ceil(math.acosh(self.cut(angle)) / step) + 1, outer)

    def cut(self, angle: float) -> float:
        """Return cosh x from which on the integrand on a hyperbola of this angle is negligible."""
        bent = self.count * (angle / self.a) ** 2 / 2
        scale = self.p * self.low
        return (2.0 + (scale + bent + _DIGITS - self.level) / scale) / math.sin(angle)

    def outer(self, angle: float) -> float:
        """Bound the log of |e^{uc} phi(u/t)^t| on a hyperbola, for every c of the line.

        On a cell of x, for any turn for which Re(u e^{-i turn}) >= 0: proofs/theory/allocation.md.
        """
        x = np.linspace(0.0, math.acosh(self.cut(angle)), _CELLS + 1)
        real = self.p * (1.0 - np.cosh(x) * math.sin(angle))
        imag = self.p * np.sinh(x) * math.cos(angle)
        beyond = self.low * float(real[-1]) + self.count * (angle / self.a) ** 2 / 2
        least, most = real[1:, None], real[:-1, None]
        below, above = imag[:-1, None], imag[1:, None]
        turn = np.maximum(np.arctan2(-least, below), 0.0) + _TURNS
        cosine, sine = np.cos(turn), np.sin(turn)
        allowed = (least * cosine + below * sine >= 0.0) & (turn <= 0.5 * math.pi)
        ends = [(c - cosine) * one for c in (self.low, self.high) for one in (least, most)]
        reach = np.maximum(most * cosine + above * sine, 0.0)
        grown = _excess_above(self.variance, self.count, reach)
        bound = (
            np.max(ends, axis=0) - below * sine + grown + 0.5 * self.count * (turn / self.a) ** 2
        )
        found = np.where(allowed, bound, np.inf).min(axis=1)
        slack = _SLACK + 64 * UNIT_ROUNDOFF * (1.0 + self.high) * float(imag[-1] - real[-1])
        return max(float(found.max()), beyond) + slack

    def nodes(self, shape: _Shape) -> _Hyperbola:
        """Return the sum of one shape."""
        x = shape.step * np.arange(float(shape.terms))
        sine, cosine = math.sin(shape.angle), math.cos(shape.angle)
        flat, steep = np.cosh(x), np.sinh(x)
        u = self.p * ((1.0 - flat * sine) + 1j * steep * cosine)
        found, error = _transform(self.a, self.p * (flat - sine) / self.count, np.angle(u))
        log = log1p_enclosure(found, error)
        weight = np.where(x > 0, 2.0, 1.0) * shape.step / (2 * math.pi)
        log_lost = -2 * math.pi * shape.angle / shape.step + _SLACK  # 1 / (e^{2 pi b / step} - 1)
        wide = 1.0 - math.sin(2 * shape.angle)
        outer = math.exp(log_lost + shape.log_outer) * (math.pi + 4 * shape.angle) / wide
        return _Hyperbola(
            u=u,
            log_power=self.count * log.value,
            radius=self.count * log.radius,
            factor=weight * self.p * (flat * cosine + 1j * steep * sine) / (u * u),
            p=self.p,
            log_inner=log_lost - math.log(2 * self.p) + self.log_real,
            rest=(outer / (2 * math.pi * self.p) + self.left_out(shape, float(x[-1])))
            * (1 + _SLACK),
        )

    def left_out(self, shape: _Shape, end: float) -> float:
        """Bound the terms beyond the last one."""
        sine, flat, bent = math.sin(shape.angle), math.cosh(end), shape.angle / self.a
        scale = self.p * self.low
        size = scale * (1.0 - flat * sine) + self.count * bent**2 / 2
        shrunk = math.sqrt((1 + sine) / (1 - sine)) / (
            (flat - sine) * scale * sine * math.sinh(end)
        )
        return math.exp(size) * shrunk / (math.pi * self.p)
