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

from dpproof.accountant.arithmetic.elementary import log1p_enclosure, log_of_sum, summation_ulps
from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
)
from dpproof.accountant.arithmetic.normal_distribution import ndtr

_STRIP: Final = 1.5  # Half width of the strip of phi's sum, and its largest angle: below pi/2.
_FALL: Final = 54.0  # Log of how little phi's sum loses by its step. Heuristic: it is bounded.
_REACH: Final = 10.0  # Standard deviations that phi's sum takes. Heuristic: the rest is bounded.
_LARGE: Final = 1e5  # |z| from which e^{-z} is 0 in every digit. Soundness depends on it.
_WIDEST: Final = math.pi / 8  # Largest angle b. Heuristic, below pi/4.
_DIGITS: Final = 39.0  # Log of what the sum over the hyperbola may lose. Heuristic.
_FINE: Final = 1.1  # Ratio of neighbouring places at which phi is bounded. Heuristic.
_EVERY: Final = 5  # Of these places is a p. Heuristic.
_DEEPEST: Final = -200.0  # Least log of phi^t that is computed. Heuristic.
_LEAST_TILT: Final = 1e-6  # Least p. Heuristic.
_LARGEST_TILT: Final = 1e9  # Largest p over t. Heuristic.
_LARGEST_C: Final = 1e6  # Heuristic: larger c have no digits.
_RESOLVED: Final = -38.0  # Least log phi that has digits. Heuristic.
_TWICE: Final = 2.0  # c from which E(M - c)_+ is summed by itself. Heuristic.
_MOST: Final = 1 << 13  # Terms of a sum. Heuristic.
_UPRIGHT: Final = 2.0 ** np.arange(4.0, 11.0)  # Terms over a vertical line. Heuristic.
_ANGLES: Final = 16  # Tried. Heuristic.
_LARGEST_VARIANCE: Final = 800.0  # Of log Y, for which phi is computed: its nodes overflow beyond.
_SLACK: Final = 1e-6  # Above what logs of bounds of the integrand err by. Soundness depends on it.
_MOMENTS: Final = 256  # Highest moment. Heuristic.
_CELLS: Final = 48  # Of the outer hyperbola, to bound the integrand there. Heuristic.
_TURNS: Final = np.concatenate([[0.0], 2.0 ** np.arange(-13.0, 1.0)])  # Tried. Heuristic.
# Roundings of a term of phi's sum, relative to its size, beside those that grow with g. Soundness
# depends on it.
_TERM: Final = 64.0 * ELEMENTARY_ULPS


def mean_shortfall(
    variance: float, count: int, c: Reals, *, excess: bool = False
) -> tuple[Reals, Reals]:
    """Bound E(c - M)_+ from both sides, or E(M - c)_+ = E(c - M)_+ - (c - 1).

    Args:
        variance: of log Y, above 0, exact.
        count: the number of variables, from 2.
        c: shape (n,), above 0; the ends hold for all numbers within 8 u of it.
        excess: whether of E(M - c)_+.
    Returns:
        Lower and upper ends; (c - 1)_+ and c, rounded, where nothing better is computed, or 0 and 1
        of the excess.
    """
    lower, upper = np.maximum((1.0 - c if excess else c - 1.0), 0.0), c.copy()
    if excess:
        upper[:] = 1.0
    tilts = _tilts(variance, count)
    place = np.where(c <= _LARGEST_C, np.searchsorted(-tilts.ends, -c), tilts.p.size)
    for one in np.unique(place[place < tilts.p.size]).tolist():
        some = place == one
        nodes = _hyperbola(variance, count, one)
        if nodes is None:
            continue
        integrals, error = nodes.excess(c[some]) if excess else nodes.integral(c[some])
        lower[some] = np.maximum(lower[some], integrals - error)
        upper[some] = np.minimum(upper[some], integrals + error)
    deep = c < 1.0
    if not excess:
        upper[deep] = np.minimum(upper[deep], _chernoff(variance, count, c[deep]))
    return lower, upper


def _chernoff(variance: float, count: int, c: Reals) -> Reals:
    """Bound E(c - M)_+ from above by e^{uc - 1} phi(u/t)^t / u, as (x)_+ <= e^{ux - 1} / u."""
    u, log_power = (one[::_EVERY] for one in log_transform(variance, count))
    if not u.size:
        return np.asarray(c.copy())  # as M > 0
    bound = np.multiply.outer(c, u) + log_power - np.log(u) - 1.0 + 16 * UNIT_ROUNDOFF * u
    return np.asarray(np.exp(np.minimum(bound.min(axis=1), 0.0) + _SLACK))


def log_shortfall(variance: float, count: int, c: Reals) -> Reals:
    """Return about log E(c - M)_+ by its saddle point. Heuristic."""
    u, log_power = log_transform(variance, count)
    if not u.size:
        return np.zeros(c.shape)
    exponent = np.multiply.outer(c, u) + log_power
    best = np.argmin(exponent, axis=1)
    least = np.minimum(exponent[np.arange(c.size), best], -1e-12)
    deviations = np.sqrt(-2.0 * least)  # of a normal variable, of which this is the shortfall
    return np.asarray(least - 0.9 - np.log(u[best] * (1.4 + 1 / deviations + 0.6 * deviations)))


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
    sums = [np.logaddexp.reduce(first[: k + 1] + second[k::-1]) for k in range(first.size)]
    return np.array(sums)


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
    found = _log_transform(math.sqrt(variance), u / count, np.zeros(u.shape))
    one = np.minimum(found.value.real + found.radius, 0.0)
    log = count * one * (1 - 4 * UNIT_ROUNDOFF)
    resolved = np.isfinite(found.radius) & (found.value.real > _RESOLVED)
    u, log = u[resolved], log[resolved]
    return np.append(0.0, u), np.append(0.0, log + u + 2 * UNIT_ROUNDOFF * u)


def _excess_above(variance: float, count: int, u: Reals) -> Reals:
    """Bound t log phi(u/t) + u from above, for u >= 0."""
    places, heights = _excess(variance, count)
    beyond = np.maximum(u - places[-1], 0.0)
    return np.asarray(np.interp(u, places, heights) + beyond)


def _log_transform(a: float, size: Reals, angle: Reals) -> Enclosure:
    """Enclose log phi(w), up to turns, at w = size e^{i angle}; the radius is infinite near 0.

    It covers an error of 100 u in w, relative, and is taken by phi - 1 where that is small.

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
    turned = weight * np.exp(1j * phase)
    value = (turned * (down + 1j * across)).sum(axis=1)
    whole = (turned * (decay * np.exp(-1j * imag))).sum(axis=1)
    bound = weight * np.minimum(z, 2.0)
    grown = _TERM + summation_ulps(g.size) + 300.0 + 8.0 * g * g + 16.0 * (a * np.abs(g) + a * a)
    rounding = UNIT_ROUNDOFF * ((bound @ grown) + 8.0 * bound.sum(axis=1) * turn * (1.0 + turn))
    outside = 2.0 * float(ndtr(np.array(0.0 - _REACH)))
    left_out = np.exp(0.5 * turn * turn) * outside * np.minimum(size, 2.0)
    alias = np.exp(0.5 * (turn + strip) ** 2) * 2.1 * math.exp(-_FALL) * np.minimum(size, 2.0)
    small = log1p_enclosure(value, np.asarray(1.01 * (rounding + left_out + alias)))
    shrunk = weight * decay * (1.0 + z)
    blur = UNIT_ROUNDOFF * ((shrunk @ grown) + 8.0 * shrunk.sum(axis=1) * turn * (1.0 + turn))
    large = log_of_sum(whole, np.asarray(1.01 * (blur + left_out + alias)), 0.0)
    near = np.abs(value) < 0.5
    return Enclosure(
        np.where(near, small.value, large.value), np.where(near, small.radius, large.radius)
    )


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
        constant: the error for the constant 1 in the place of M, over e^{p(c - 1)}, and the rest of
            it; None if the terms do not end.
    """

    u: Complexes
    log_power: Complexes
    radius: Reals
    factor: Complexes
    p: float
    log_inner: float
    rest: float
    constant: tuple[float, float] | None

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
        return terms.sum(axis=1), 1.001 * (rounding.sum(axis=1) + self._outside(c))

    def excess(self, c: Reals) -> tuple[Reals, Reals]:
        """Return E(M - c)_+ and how much it errs by, without cancellation from c = 2 on.

        It is the sum for M less that for the constant 1, which is c - 1.
        """
        if self.constant is None:
            found, error = self.integral(c)
            return found - (c - 1.0), error + 16 * UNIT_ROUNDOFF * c
        grown = np.multiply.outer(c, self.u)
        beside, moved = np.exp(grown - self.u) * self.factor, self.log_power + self.u
        bounded = np.isinf(self.radius)
        more, away = np.exp(moved.real), np.expm1(moved)
        terms = np.where(bounded, 0.0, (beside * away).real)
        blur = 8.0 * (np.abs(self.log_power) + np.abs(self.u)) * more
        blur += 64.0 * np.abs(moved) * np.maximum(more, 1.0)
        blur = UNIT_ROUNDOFF * blur + more * np.expm1(np.where(bounded, 0.0, self.radius))
        ulps = 200.0 + 64.0 * np.abs(grown) + summation_ulps(self.u.size)
        lost = np.where(bounded, 2.0 + 2.0 * more, blur + UNIT_ROUNDOFF * ulps * np.abs(away))
        rounding = (np.abs(beside) * lost).sum(axis=1)
        share, rest = self.constant
        outside = self._outside(c) + np.exp(self.p * (c - 1.0) + _SLACK) * share + rest
        return terms.sum(axis=1), 1.001 * (rounding + outside)

    def _outside(self, c: Reals) -> Reals:
        """Return what the sum for M errs by in exact arithmetic."""
        return np.asarray(np.exp(self.p * c + self.log_inner + _SLACK) + self.rest)


@lru_cache(maxsize=512)
def _hyperbola(variance: float, count: int, place: int) -> _Hyperbola | None:
    """Return the sum through one p, of the angle that takes about the fewest terms.

    None if these are too many.
    """
    tilts = _tilts(variance, count)
    p, low = float(tilts.p[place]), float(tilts.ends[place])
    log_real = float(_excess_above(variance, count, tilts.p[place : place + 1])[0]) - p
    line = _Line(variance, count, p, low, _highest(tilts, place), log_real)
    upright = line.upright()
    if upright is not None:
        return upright
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

    @property
    def cancels(self) -> bool:
        """Return whether c - 1 is most of E(c - M)_+, so that the sum for M = 1 has to end, too."""
        return self.low >= _TWICE

    def upright(self) -> _Hyperbola | None:
        """Return a sum over the vertical line itself, or None if it takes more terms than few.

        phi falls fast there if there are many rounds: proofs/theory/allocation.md, section 5.
        """
        if self.cancels:
            return None
        depth = _DIGITS - self.level
        period, before = self.period(depth)
        step = 2 * math.pi / period
        end = step * _UPRIGHT
        turn = _TURNS[1:, None]
        reach = (self.p * np.cos(turn) + end * np.sin(turn)) * (1 - _SLACK)
        log_size = _excess_above(self.variance, self.count, reach) - reach
        log_size += 0.5 * self.count * (turn / self.a) ** 2
        log_inner = log_size.min(axis=0) - np.log(math.pi * end) + _SLACK
        short = np.flatnonzero(self.p * self.low + log_inner < -depth)
        if not short.size:
            return None
        u = self.p + 1j * step * np.arange(_UPRIGHT[short[0]] + 1.0)
        log = _log_transform(self.a, np.abs(u) / self.count, np.angle(u))
        lost = math.exp(-self.p * period)
        return _Hyperbola(
            u=u,
            log_power=self.count * log.value,
            radius=self.count * log.radius,
            factor=np.where(u.imag > 0, 2.0, 1.0) * step / (2 * math.pi) / (u * u),
            p=self.p,
            log_inner=float(log_inner[short[0]]),
            rest=lost / (1 - lost) * (self.high + period / (1 - lost)) * (1 + _SLACK) + before,
            constant=None,
        )

    def period(self, depth: float) -> tuple[float, float]:
        """Return a period of the sum over the line, and what is added by periods before c."""
        after = (depth + math.log(2.0 + self.high)) / self.p
        places, log_power = log_transform(self.variance, self.count)
        beyond = places > 1.1 * self.p
        q = places[beyond]
        log_size = q * self.high + log_power[beyond] - np.log(q)
        log_size += _SLACK + 64 * UNIT_ROUNDOFF * q * (1.0 + self.high)
        shorter = (depth + log_size) / (q - self.p)
        best = int(np.argmin(shorter)) if q.size else 0
        if not q.size or max(after, shorter[best]) >= self.high:
            return max(after, self.high) * (1 + _SLACK), 0.0
        period = float(max(after, shorter[best])) * (1 + _SLACK)
        log_ratio = -float(q[best] - self.p) * period
        return period, math.exp(float(log_size[best]) - 1.0 + log_ratio) / -math.expm1(log_ratio)

    def shape(self, angle: float) -> _Shape:
        """Return step and terms for one angle."""
        outer = self.outer(2.0 * angle)
        step = 2 * math.pi * angle / (_DIGITS + max(outer - self.level, 0.0))
        return _Shape(angle, step, math.ceil(math.acosh(self.cut(angle)) / step) + 1, outer)

    def cut(self, angle: float) -> float:
        """Return cosh x from which on the integrand on a hyperbola of this angle is negligible."""
        bent = self.count * (angle / self.a) ** 2 / 2
        scale = self.p * (self.low - self.cancels)
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
        bounds = np.where(allowed, bound, np.inf).min(axis=1)
        slack = _SLACK + 64 * UNIT_ROUNDOFF * (1.0 + self.high) * float(imag[-1] - real[-1])
        return max(float(bounds.max()), beyond) + slack

    def nodes(self, shape: _Shape) -> _Hyperbola:
        """Return the sum of one shape."""
        x = shape.step * np.arange(float(shape.terms))
        sine, cosine = math.sin(shape.angle), math.cos(shape.angle)
        flat, steep = np.cosh(x), np.sinh(x)
        u = self.p * ((1.0 - flat * sine) + 1j * steep * cosine)
        log = _log_transform(self.a, self.p * (flat - sine) / self.count, np.angle(u))
        weight = np.where(x > 0, 2.0, 1.0) * shape.step / (2 * math.pi)
        log_lost = -2 * math.pi * shape.angle / shape.step + _SLACK  # 1 / (e^{2 pi b / step} - 1)
        wide = 2 * math.pi * self.p * (1.0 - math.sin(2 * shape.angle))
        share = (math.pi + 4 * shape.angle) / wide
        end = float(x[-1])
        return _Hyperbola(
            u=u,
            log_power=self.count * log.value,
            radius=self.count * log.radius,
            factor=weight * self.p * (flat * cosine + 1j * steep * sine) / (u * u),
            p=self.p,
            log_inner=log_lost - math.log(2 * self.p) + self.log_real,
            rest=(share * math.exp(log_lost + shape.log_outer) + self.left_out(shape, end))
            * (1 + _SLACK),
            constant=(
                (math.exp(log_lost) * (share + 0.5 / self.p), self.left_out(shape, end, 1.0))
                if self.cancels
                else None
            ),
        )

    def left_out(self, shape: _Shape, end: float, constant: float = 0.0) -> float:
        """Bound the terms beyond the last one, for M or a constant in its place."""
        sine, flat, bent = math.sin(shape.angle), math.cosh(end), shape.angle / self.a
        scale = self.p * (self.low - constant)
        size = scale * (1.0 - flat * sine) + (0.0 if constant else self.count * bent**2 / 2)
        shrunk = math.sqrt((1 + sine) / (1 - sine)) / (
            (flat - sine) * scale * sine * math.sinh(end)
        )
        return math.exp(size) * shrunk / (math.pi * self.p)
