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

from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.elementary import log1p_minus_linear, log_of_sum, summation_ulps
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Complexes, Numbers, Reals, joined
from dpproof.accountant.arithmetic.normal_distribution import ndtr

_STRIP: Final = 1.5  # Half width of the strip of phi's sum, and its largest angle: below pi/2.
_FALL: Final = 54.0  # Log of how little phi's sum loses by its step. Heuristic: it is bounded.
# Standard deviations that phi's sum takes, and those where phi is small, at |w| above some.
# Heuristic: the rest is bounded.
_REACH: Final = 10.0
_FAR_REACH: Final = 14.0
_FAR: Final = 4.0
_LARGE: Final = 1e5  # |z| from which e^{-z} is 0 in every digit. Soundness depends on it.
_WIDEST: Final = math.pi / 8  # Largest angle b. Heuristic, below pi/4.
_DIGITS: Final = 39.0  # Log of what the sum over the hyperbola may lose. Heuristic.
_MORE: Final = 3.0  # Digits, likewise, of which the excess by itself loses log p. Heuristic.
_MORE_DIGITS: Final = 8.0  # Likewise, where a normal variable's sum is left out. Heuristic.
_FINE: Final = 1.1  # Ratio of neighbouring places at which phi is bounded. Heuristic.
_EVERY: Final = 5  # Of these places is a p. Heuristic.
_DEEPEST: Final = -200.0  # Least log of phi^t that is computed. Heuristic.
_LEAST_TILT: Final = 1e-6  # Least p. Heuristic.
_LARGEST_TILT: Final = 1e9  # Largest p over t. Heuristic.
_LARGEST_C: Final = 1e6  # Heuristic: larger c have no digits.
_RESOLVED: Final = -60.0  # Least log phi that has digits. Heuristic.
_BY_ITSELF: Final = 1.2  # c from which E(M - c)_+ is summed by itself. Heuristic.
_MOST: Final = 1 << 15  # Terms of a sum. Heuristic.
_ROWS: Final = 1 << 12  # Of phi at once. Heuristic: what fits memory.
_AT_ONCE: Final = 1 << 20  # Terms of sums for many c at once, likewise.
_FEW: Final = 64  # Numbers c of which sums may be so long; a quarter for more. Heuristic.
_UPRIGHT: Final = np.ceil(2.0 ** np.arange(4.0, 10.1, 0.25))  # Terms over a line. Heuristic.
_SHORT: Final = 128  # Terms over it below which nothing else is tried. Heuristic.
_CENTRED: Final = 0.5  # c above which exponents are taken by c - 1. Heuristic.
_ANGLES: Final = 16  # Tried. Heuristic.
_LARGEST_VARIANCE: Final = 800.0  # Of log Y, for which phi is computed: its nodes overflow beyond.
_SLACK: Final = 1e-6  # Above what logs of bounds of the integrand err by. Soundness depends on it.
_MOMENTS: Final = 256  # Highest moment. Heuristic.
_CELLS: Final = 48  # Of the outer hyperbola, to bound the integrand there. Heuristic.
_TURNS: Final = np.concatenate([[0.0], 2.0 ** np.arange(-13.0, 1.0)])  # Tried. Heuristic.
# The series of e^{-z} - 1 + z: largest |z|, and terms, beyond which there is less than u of it.
_NEAR: Final = 1.0
_NEAR_TERMS: Final = 20
# Above the roundings of a term of phi's sum, beside those that grow with g. Proof: allocation.md,
# section 3. Soundness depends on it, and on what places on a line and on a hyperbola err by, u.
_TERM: Final = 32.0 * enclosure.ELEMENTARY_ULPS
_LINE_ULPS: Final = 16.0
_BENT_ULPS: Final = 100.0
_COLUMNS: Final = 16  # Terms of phi that are added up first. Heuristic: rounding is bounded.


def mean_shortfall(variance: float, count: int, log_c: Reals) -> tuple[Reals, Reals]:
    """Bound E(c - M)_+ for c < 1, and E(M - c)_+ = E(c - M)_+ - (c - 1) from c = 1 on.

    ``variance``, exact and above 0, is that of log Y, ``count`` the number of variables, from 2,
    and ``log_c`` of shape (n,). The ends are 0, and c or 1, where nothing better is computed.
    """
    c, beyond = np.exp(log_c), np.expm1(log_c)
    lower, upper = np.zeros(c.shape), np.minimum(c, 1.0)
    tilts = _tilts(variance, count)
    place = np.where(c <= _LARGEST_C, np.searchsorted(-tilts.ends, -c), tilts.p.size)
    for one in np.unique(place[place < tilts.p.size]).tolist():
        some = np.flatnonzero(place == one)
        nodes = _nodes(variance, count, one, _MOST if some.size <= _FEW else _MOST // 4)
        if nodes is None:
            continue
        for part in np.array_split(some, -(-some.size * nodes.u.size // _AT_ONCE)):
            found, error = nodes.shortfall(c[part], beyond[part])
            lower[part] = np.maximum(lower[part], found - error)
            upper[part] = np.minimum(upper[part], found + error)
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
    w = u / count
    found = _log_transform(math.sqrt(variance), w, np.zeros(u.shape), _LINE_ULPS, centred=True)
    resolved = np.isfinite(found.radius) & (found.value.real - w > _RESOLVED)
    heights = count * (found.value.real + found.radius)[resolved] * (1 + 4 * UNIT_ROUNDOFF)
    return np.append(0.0, u[resolved]), np.append(0.0, np.minimum(heights, u[resolved]))


def _excess_above(variance: float, count: int, u: Reals) -> Reals:
    """Bound t log phi(u/t) + u from above, for u >= 0."""
    places, heights = _excess(variance, count)
    beyond = np.maximum(u - places[-1], 0.0)
    return np.asarray(np.interp(u, places, heights) + beyond)


def _log_transform(
    a: float, size: Reals, angle: Reals, ulps: float, *, centred: bool
) -> enclosure.Enclosure:
    """Enclose log phi(w), up to turns, or log phi(w) + w, at w = size e^{i angle}.

    ``a`` is the standard deviation of log Y, sizes are at or above 0, angles from 0 to 3 pi/4, and
    ``centred`` whether w is added. The radius covers an error of ``ulps`` u in w, relative, up to
    100, and is infinite near zeros. Where phi is near 1, phi - 1 + w is summed, so that little of
    log phi + w is lost. Proof: proofs/theory/allocation.md, section 3.
    """
    strip = min(_STRIP, _STRIP / a)
    most = _STRIP - a * strip  # angle of w Y on the line
    turn = np.maximum(angle - most, 0.0) / a  # minus Im g of the line
    step = 2 * math.pi * strip / _FALL
    far = bool(size.max() > _FAR)
    reach = _FAR_REACH if far else _REACH
    first = -math.ceil(reach / step)
    blocks = -(-(math.ceil((reach + a) / step) + 1 - first) // _COLUMNS)
    g = step * (first + np.arange(blocks * _COLUMNS))
    length = np.multiply.outer(size, np.exp(a * g - 0.5 * a * a))
    weight = np.multiply.outer(np.exp(0.5 * turn * turn), np.exp(-0.5 * g * g))
    weight *= step / math.sqrt(2 * math.pi)
    if angle.any():
        z = length * np.exp(1j * (angle - a * turn))[:, None]
        turned = weight * np.exp(1j * np.multiply.outer(turn, g))
        w: Numbers = size * np.exp(1j * angle)
    else:  # all real, in half of the time
        z, turned, w = length, weight, size
    cut = np.minimum(1.0, _LARGE / np.maximum(length, _LARGE)) * z
    decay = np.exp(-cut)
    value, whole = (
        (turned * terms).reshape(-1, blocks, _COLUMNS).sum(axis=2).sum(axis=1)
        for terms in (_without_line(z, cut), decay)
    )
    grown = _TERM + ulps + _COLUMNS + blocks + 2.0 * g * g + 4.0 * (a * np.abs(g) + a * a)
    outside = 2.0 * float(ndtr(np.array(0.0 - reach))) * np.exp(0.5 * turn * turn)
    between = 2.1 * math.exp(-_FALL) * np.exp(0.5 * (turn + strip) ** 2)
    lost = missed = outside + between
    if far:
        widest = np.minimum(angle, most) + a * strip  # angle of w Y on the lines beside it
        missed = outside + between * _transform_above(a, g, step, size * np.cos(widest))

    def rounding(bound: Reals) -> Reals:
        turns = 8.0 * bound.sum(axis=1) * turn * (1.0 + turn)
        return np.asarray(UNIT_ROUNDOFF * ((bound @ grown) + turns))

    bent = 1.01 * (rounding(weight * length * np.minimum(length, 2.0)) + 2.0 * lost * size)
    blur = rounding(weight * np.abs(decay) * (1.0 + length))
    large = log_of_sum(whole, np.asarray(1.01 * (blur + missed)), 0.0)
    x = value - w
    near = np.abs(x) + bent < 0.5
    x = np.where(near, x, 0.0)
    small = value + log1p_minus_linear(x) + (0.0 if centred else -w)
    both = np.abs(value) + size
    relative = (2.0 * ulps + 200.0) * np.abs(x) + 200.0 * (not centred)
    radius = bent * (1.0 + 2.0 * (np.abs(x) + bent)) + UNIT_ROUNDOFF * relative * both
    return enclosure.Enclosure(
        np.where(near, small, large.value + (w if centred else 0.0)) + 0j,
        np.where(near, radius, large.radius + 200.0 * UNIT_ROUNDOFF * size * centred),
    )


def _transform_above(a: float, g: Reals, step: float, w: Reals) -> Reals:
    """Bound phi(w) from above for w >= 0: e^{-wY} falls in g, whose density is unimodal."""
    density = np.exp(-0.5 * g * g)
    cells = step / math.sqrt(2 * math.pi) * np.append(np.maximum(density[1:], density[:-1]), 0.0)
    cells[-1] = float(ndtr(np.array(0.0 - g[-1])))
    values = np.exp(-np.multiply.outer(w, np.exp(a * g - 0.5 * a * a)))
    return np.asarray(1.01 * (values @ cells + float(ndtr(g[:1])[0])))


def _without_line(z: Numbers, cut: Numbers) -> Numbers:
    """Return e^{-z} - 1 + z, by its series for small z; cut is z, or large where z is larger."""
    value = np.expm1(-cut) + z
    small = np.abs(z) < _NEAR
    near = z[small]
    total = np.full(near.shape, 1.0 / math.factorial(_NEAR_TERMS), dtype=near.dtype)
    for order in range(_NEAR_TERMS - 1, 1, -1):
        total = 1.0 / math.factorial(order) - near * total
    value[small] = near * near * total
    return value


@final
@dataclass(frozen=True, slots=True)
class _Tilts:
    """The p of hyperbolas, and the c for which each is best."""

    p: Reals  # shape (n,), increasing
    ends: Reals  # shape (n,), decreasing: p[k] is for c from ends[k] to ends[k - 1]


@lru_cache(maxsize=64)
def _tilts(variance: float, count: int) -> _Tilts:
    """Return p's, all sound, by the c at which c p + t log phi(p/t) - 2 log p is about least."""
    places, heights = _excess(variance, count)
    p = places[1::_EVERY]
    log = heights[1::_EVERY] - p
    ends = np.minimum.accumulate(-np.diff(log - 2.0 * np.log(p)) / np.diff(p))
    kept = int(np.sum(ends * p[:-1] + log[:-1] > _DEEPEST))
    return _Tilts(p[:kept], ends[:kept])


@final
@dataclass(frozen=True, slots=True)
class _Nodes:
    """A trapezoid sum over a line or a hyperbola, and what bounds its error, for some c."""

    u: Complexes  # shape (n,), from the real axis upwards; the other half is conjugate
    factor: Complexes  # shape (n,), of e^{ux - least}, x being c - shift
    lost: Reals  # shape (n,), what a term errs by, over |e^{ux - least}|, but for e^{ux} itself
    size: Reals  # shape (n,), of the factor and what it errs by
    shift: float  # 1 where exponents are taken by c - 1, which keeps digits, else 0
    least: Reals  # shape (n,), Re u times x at the least c
    p: float  # where the inner line crosses the real axis
    log_inner: float  # log of the error by that line, over e^{pc}
    rest: float  # the error by the outer hyperbola and by the terms left out
    # of a sum for M less that for 1, the error of the latter over e^{p(c - 1)}; or 0
    constant: float
    variance: float  # of a normal variable of mean 1, whose sum is left out; or 0

    def shortfall(self, c: Reals, beyond: Reals) -> tuple[Reals, Reals]:
        """Return E(c - M)_+, or E(M - c)_+ from 1 on, and how much it errs; ``beyond`` is c - 1.

        Rounds: e^{ux} errs by e^s - 1 at most, relative, s = 64 u |ux|, which is convex in |x|.
        """
        x = beyond if self.shift else c
        turn, reach = np.multiply.outer(x, self.u.imag), float(np.abs(x).max()) + 1e-300
        size = np.exp(np.multiply.outer(x, self.u.real) - self.least)
        both = np.cos(turn) * self.factor.real - np.sin(turn) * self.factor.imag
        terms = (size * both).sum(axis=1)  # in pairs
        blur = np.expm1(64.0 * UNIT_ROUNDOFF * reach * np.abs(self.u)) * self.size
        error = size @ self.lost + (size @ blur) * np.abs(x) / reach
        error += np.exp(self.p * c + self.log_inner + _SLACK) + self.rest
        if self.variance:
            more, blurred = _normal_excess(self.variance, beyond)
            return terms + more, 1.001 * (error + blurred)
        if self.constant:
            return terms, 1.001 * (error + np.exp(self.p * beyond + _SLACK) * self.constant)
        more = np.maximum(beyond, 0.0)
        return terms - more, 1.001 * (error + 16 * UNIT_ROUNDOFF * more)


def _normal_excess(variance: float, beyond: Reals) -> tuple[Reals, Reals]:
    """Return E(N - beyond)_+ for a normal N of mean 0, at beyond >= 0, and what it errs by."""
    deviation = math.sqrt(variance)
    d = beyond / deviation
    density = deviation * np.exp(-0.5 * d * d) / math.sqrt(2 * math.pi)
    error = UNIT_ROUNDOFF * (100.0 + 60.0 * d * d) * density
    return density - beyond * ndtr(0.0 - d), error


@lru_cache(maxsize=512)
def _nodes(variance: float, count: int, place: int, most: int) -> _Nodes | None:
    """Return the sum through one p that takes about the fewest terms, or None if too many."""
    tilts = _tilts(variance, count)
    p, low = float(tilts.p[place]), float(tilts.ends[place])
    log_real = float(_excess_above(variance, count, tilts.p[place : place + 1])[0]) - p
    high = float(tilts.ends[place - 1]) if place else _LARGEST_C  # the largest c of this p
    line = _Line(variance, count, p, low, high, log_real)
    upright = line.upright()
    if upright is not None and upright.terms <= _SHORT:
        return line.nodes(upright)
    best = line.shape(line.widest)
    for k in range(1, _ANGLES):
        other = line.shape(line.widest * 2.0 ** (-0.5 * k))
        if other.terms > 2 * best.terms:
            break
        best = min(best, other, key=lambda one: one.terms)
    if upright is not None and upright.terms <= best.terms:
        return line.nodes(upright)
    return line.nodes(best) if best.terms <= most else None


@final
@dataclass(frozen=True, slots=True)
class _Shape:
    """A sum over a hyperbola, or over the vertical line."""

    angle: float  # 0 of the line
    step: float  # of the trapezoid sum
    terms: int  # how many
    # log of a bound on the outer hyperbola; of the line, of what is cut, over e^{pc}
    log_outer: float
    before: float = 0.0  # of the line, what periods before c add
    variance: float = 0.0  # of a normal variable of mean 1 whose sum is left out; or 0


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """The vertical line through p, and the hyperbolas that it may be bent to, for some c."""

    variance: float  # of log Y
    count: int  # t
    p: float  # where the line crosses the real axis
    low: float  # the least c
    high: float  # the largest
    log_real: float  # an upper bound of t log phi(p/t)

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
        return self.low >= _BY_ITSELF

    @property
    def digits(self) -> float:
        """Return the log of what the sum may lose; the excess by itself is small. Heuristic."""
        return _DIGITS + (max(_MORE - math.log(self.p), 0.0) if self.cancels else 0.0)

    @property
    def normal(self) -> float:
        """Return the variance of a normal variable whose sum is left out over the line, or 0.

        From c = 1 on it is that of M, if that is small. Heuristic, at most 1.
        """
        variance = math.expm1(min(self.variance, 1.0)) / self.count
        return variance if self.low >= 1.0 and self.variance <= 1.0 else 0.0

    def upright(self) -> _Shape | None:
        """Return the sum over the vertical line itself, or None if it takes more terms than few.

        phi falls fast there if there are many rounds: proofs/theory/allocation.md, section 3.
        """
        normal = self.normal
        if self.cancels and not normal:
            return None
        depth = _DIGITS + (_MORE_DIGITS if normal else 0.0) - self.level
        period, before = self.period(depth, normal)
        end = 2 * math.pi / period * _UPRIGHT
        turn = _TURNS[1:, None]
        reach = (self.p * np.cos(turn) + end * np.sin(turn)) * (1 - _SLACK)
        log_size = _excess_above(self.variance, self.count, reach) - reach
        log_size += 0.5 * self.count * (turn / self.a) ** 2
        log_end = log_size.min(axis=0)
        if normal:
            log_end = np.logaddexp(log_end, 0.5 * normal * (self.p**2 - end**2) - self.p)
        log_end += _SLACK - np.log(math.pi * end)
        short = np.flatnonzero(self.p * self.low + log_end < -depth)
        if not short.size:
            return None
        terms = int(_UPRIGHT[short[0]])
        return _Shape(0.0, 2 * math.pi / period, terms, float(log_end[short[0]]), before, normal)

    def period(self, depth: float, normal: float) -> tuple[float, float]:
        """Return a period of the sum over the line, and what is added by periods before c."""
        after = (depth + math.log(2.0 + self.high)) / self.p
        places, log_power = log_transform(self.variance, self.count)
        beyond = places > 1.1 * self.p
        q = places[beyond]
        log_size = log_power[beyond]
        if normal:
            log_size = np.logaddexp(log_size, 0.5 * normal * q * q - q)
        log_size += q * self.high - np.log(q)
        log_size += _SLACK + 64 * UNIT_ROUNDOFF * q * (1.0 + self.high)
        shorter = (depth + log_size) / (q - self.p)
        best = int(np.argmin(shorter)) if q.size else 0
        if not normal and (not q.size or max(after, shorter[best]) >= self.high):
            return max(after, self.high) * (1 + _SLACK), 0.0
        period = float(max(after, shorter[best])) * (1 + _SLACK)
        log_ratio = -float(q[best] - self.p) * period
        return period, math.exp(float(log_size[best]) - 1.0 + log_ratio) / -math.expm1(log_ratio)

    def shape(self, angle: float) -> _Shape:
        """Return step and terms for one angle."""
        outer = self.outer(2.0 * angle)
        step = 2 * math.pi * angle / (self.digits + max(outer - self.level, 0.0))
        return _Shape(angle, step, math.ceil(math.acosh(self.cut(angle)) / step) + 1, outer)

    def cut(self, angle: float) -> float:
        """Return cosh x from which on the integrand on a hyperbola of this angle is negligible."""
        bent = self.count * (angle / self.a) ** 2 / 2
        scale = self.p * (self.low - self.cancels)
        return (2.0 + (scale + bent + self.digits - self.level) / scale) / math.sin(angle)

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

    def nodes(self, shape: _Shape) -> _Nodes:
        """Return the sum of one shape."""
        if shape.angle == 0.0:
            u = self.p + 1j * shape.step * np.arange(shape.terms + 1.0)
            period = 2 * math.pi / shape.step
            lost = math.exp(-self.p * period)
            after = lost / (1 - lost) * (self.high + period / (1 - lost)) * (1 + _SLACK)
            rest = (2.0 if shape.variance else 1.0) * after + shape.before
            factor: Complexes = np.asarray(shape.step / (u * u))
            errors = shape.log_outer, rest, 0.0, shape.variance
            return self.summed(u, np.abs(u), factor, errors, _LINE_ULPS)
        x = shape.step * np.arange(float(shape.terms))
        sine, cosine = math.sin(shape.angle), math.cos(shape.angle)
        flat, steep = np.cosh(x), np.sinh(x)
        u = self.p * ((1.0 - flat * sine) + 1j * steep * cosine)
        log_lost = -2 * math.pi * shape.angle / shape.step + _SLACK  # 1 / (e^{2 pi b / step} - 1)
        wide = 2 * math.pi * self.p * (1.0 - math.sin(2 * shape.angle))
        share = (math.pi + 4 * shape.angle) / wide
        end = float(x[-1])
        rest = share * math.exp(log_lost + shape.log_outer) + self.left_out(shape, end)
        constant = 0.0
        if self.cancels:
            rest += self.left_out(shape, end, 1.0)
            constant = math.exp(log_lost) * (share + 0.5 / self.p)
        log_inner = log_lost - math.log(2 * self.p) + self.log_real
        factor = shape.step * self.p * (flat * cosine + 1j * steep * sine) / (u * u)
        length = self.p * (flat - sine)
        errors = log_inner, rest * (1 + _SLACK), constant, 0.0
        return self.summed(u, length, factor, errors, _BENT_ULPS)

    def summed(
        self,
        u: Complexes,
        length: Reals,
        factor: Complexes,
        errors: tuple[float, float, float, float],
        place_ulps: float,
    ) -> _Nodes:
        """Return the sum of factors over pi, the first one halved; ``length`` is |u|."""
        # c - 1 below 0 times Re u, which falls on a hyperbola, would overflow.
        shift = float(self.low >= 1.0 or (self.low > _CENTRED and u[-1].real > 0.0))
        least = u.real * (self.low - shift)
        size, angle, centred = length / self.count, np.angle(u), shift > 0
        parts = [slice(k, k + _ROWS) for k in range(0, u.size, _ROWS)]
        log = joined(
            [_log_transform(self.a, size[k], angle[k], place_ulps, centred=centred) for k in parts]
        )
        power, radius = self.count * log.value, self.count * log.radius
        bounded = np.isinf(radius)
        ulps = 64.0 + 1.5 * place_ulps + summation_ulps(u.size)
        ulps += 8.0 * (np.abs(power) + np.abs(least))
        blur = np.where(bounded, 0.0, radius)
        *_, variance = errors
        if variance:  # both terms together, as powers are close
            other = 0.5 * variance * (u * u)
            value = np.exp(other + least) * np.expm1(power - other)
            size = np.exp(np.maximum(power.real + blur, other.real) + least)
            close = blur + 64.0 * UNIT_ROUNDOFF * (np.abs(power) + np.abs(other))
            error = size * np.expm1(close)
            error += UNIT_ROUNDOFF * (ulps + 8.0 * np.abs(other)) * np.abs(value)
            error = np.where(bounded, 4.0 * size, error)
        elif self.cancels:
            size, value = np.exp(power.real), np.expm1(power)
            error = 72.0 * np.abs(power) * np.maximum(size, 1.0) + ulps * np.abs(value)
            error = size * np.expm1(blur) + UNIT_ROUNDOFF * error
            error = np.where(bounded, 2.0 + 2.0 * size, error)
            factor = factor * np.exp(least)
        else:
            value = np.exp(power + least)
            error = np.where(bounded, 2.0, np.expm1(blur + UNIT_ROUNDOFF * ulps)) * np.abs(value)
        factor = factor / math.pi
        factor[0] *= 0.5
        lost = np.abs(factor) * error
        factor = np.asarray(factor * np.where(bounded, 0.0, value))
        return _Nodes(u, factor, lost, np.abs(factor) + lost, shift, least, self.p, *errors)

    def left_out(self, shape: _Shape, end: float, constant: float = 0.0) -> float:
        """Bound the terms beyond the last one, for M or a constant in its place."""
        sine, flat, bent = math.sin(shape.angle), math.cosh(end), shape.angle / self.a
        scale = self.p * (self.low - constant)
        size = scale * (1.0 - flat * sine) + (0.0 if constant else self.count * bent**2 / 2)
        shrunk = math.sqrt((1 + sine) / (1 - sine)) / (
            (flat - sine) * scale * sine * math.sinh(end)
        )
        return math.exp(size) * shrunk / (math.pi * self.p)
