"""The privacy profile of a product by a trapezoid sum along a vertical line.

Let F(s) = M(s) e^{-s eps} / (s(s+1)), M = exp K the product's moment generating function of
the finite losses, c > 0, R = 2 pi / step. Then (proofs/theory/contour.md)

    step/(2 pi) sum_k F(c + i k step) = sum_m delta(eps + m R) e^{c m R}  >=  delta(eps).

So the sum is an upper bound, and a lower bound after subtracting the other m: for m < 0 and
m > 0 Chernoff's delta(x) <= M(c') e^{-c' x}, c' < c and c' > c. Cutting at |y| > Y costs at
most M(c) e^{-c eps} D(Y) / (pi Y), D a decreasing bound of |M(c+iy)|/M(c).

Where the loss is not known to be smooth enough, an extra tau-GDP mechanism is composed: its
factor e^{tau^2 s(s+1)/2} makes the sum finite and can only increase delta. The gap it opens
is bounded from the values themselves (Lemma *tent*, ``_untilt``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Complexes,
    Enclosure,
    Reals,
    distinct,
    joined,
    rounded_short,
    unit_roundoff,
)
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.saddle_point import CHUNK, Saddle, smoothnesses, sum_cgf, total_cgf
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.pair import Tails
from dpproof.accountant.pairs.product import Product, cgfs, cgfs_along, steers

_LONGEST = 1e100  # Largest distance of aliases that is used. Larger ones raise.
# Relative and absolute error allowed in an estimate of K. Heuristic: ``build`` verifies the
# estimate.
_ROOM, _LEAST_ROOM = 1e-3, 1e-12


@final
@dataclass(frozen=True, slots=True)
class RealBounds:
    """Bounds of K on the real axis, where M is real.

    Attributes:
        points: shape (n,), increasing: 0, those of a saddle and its c.
        upper: shape (n,), upper bounds of K there (K(0) <= 0).
        moments: bounds of K(c) of each factor's pair.
    """

    points: Reals
    upper: Reals
    moments: tuple[Bound, ...]

    def at(self, c: float) -> float:
        """Return the upper bound of K at one of the points."""
        return float(self.upper[self.points == c][0])

    def moments_hold(self, other: RealBounds) -> bool:
        """Return whether the other's moments lie within these, which are bounds, too, then."""
        pairs = zip(self.moments, other.moments, strict=True)
        return all(one.lower <= true.lower and true.upper <= one.upper for one, true in pairs)


def real_bounds(product: Product, saddle: Saddle) -> RealBounds:
    """Bound K at the points of a saddle."""
    c = rounded_short(saddle.c)
    points = distinct(np.array([*saddle.points, c]))
    each = cgfs(product, points + 0j)
    total = sum_cgf(product, each, points.shape)
    at = int(np.searchsorted(points, c))
    return RealBounds(
        np.append(0.0, points),
        np.append(0.0, total.value.real + total.radius).astype(float),
        tuple(_real(one, at) for one in each),
    )


def along(product: Product, saddle: Saddle, s: Complexes) -> tuple[Enclosure, RealBounds]:
    """Enclose K on a line that starts at the saddle's c, and bound it at the saddle's points."""
    points, line = np.array(saddle.points), s[:CHUNK]
    each = cgfs_along(product, points, line)
    total, after = sum_cgf(product, each, (points.size + line.size,)), points.size
    places = np.concatenate([[0.0], points, s.real[:1]])
    upper = np.append(0.0, (total.value.real + total.radius)[: after + 1]).astype(float)
    order = np.argsort(places)
    on_axis = RealBounds(places[order], upper[order], tuple(_real(one, after) for one in each))
    enclosure = Enclosure(total.value[after:], total.radius[after:])
    if s.size > CHUNK:
        enclosure = joined([enclosure, total_cgf(product, s[CHUNK:])])
    return enclosure, on_axis


def expected(product: Product, saddle: Saddle) -> RealBounds:
    """Estimate what ``real_bounds`` will return.

    Heuristic: used to choose a contour, and verified afterwards. The ends of the moments leave room
    for a few wrong digits.
    """
    c, factors = rounded_short(saddle.c), product.factors
    ladder = sorted(
        [(0.0, 0.0), *zip(saddle.points, saddle.values, strict=True), (c, saddle.value)]
    )
    points, upper = (np.array(one) for one in zip(*ladder, strict=True))
    if len(factors) == 1:
        moments = [saddle.value / factors[0].count]
    else:
        moments = steers(product, np.array([c]))[:, 0, 0].tolist()
    room = [_ROOM * abs(one) + _LEAST_ROOM for one in moments]
    around = (Bound(one - more, one + more) for one, more in zip(moments, room, strict=True))
    return RealBounds(points, upper, tuple(around))


def _real(enclosure: Enclosure, at: int) -> Bound:
    """Return the bracket of the real part of one value."""
    value, radius = enclosure.value.real[at], enclosure.radius[at]
    return Bound(float(value - radius), float(value + radius))


def chernoff(c: Reals, upper: Reals, epsilon: float | Reals) -> Reals:
    """Return Chernoff's bounds of log delta(epsilon) from upper bounds of K(c), rounded up."""
    entropy = np.log1p(c) + c * np.log1p(1 / c)
    size = np.abs(upper) + c * np.abs(epsilon) + entropy
    return np.asarray(upper - c * epsilon - entropy + 16 * UNIT_ROUNDOFF * size)


def alias_step(saddle: Saddle, on_axis: RealBounds) -> float:
    """Return the largest step whose aliases are negligible against the estimate of delta.

    Raises:
        NotCertified: it would vanish, next to the largest loss or where K is known no further.
    """
    c = rounded_short(saddle.c)
    with np.errstate(invalid="ignore"):  # infinities of losses beyond 1e60, refused below
        needed = on_axis.upper - on_axis.points * saddle.epsilon
        needed -= saddle.log_delta + saddle.log_tolerance
    if np.isnan(needed).any():
        raise NotCertified(
            f"the moment of order {1 + c:.6g} of the privacy loss, which this answer is computed "
            f"from, is not representable as a float; {EASIER}"
        )
    gap = np.abs(on_axis.points - c)
    period = 0.0
    for side in (on_axis.points < c, on_axis.points > c):
        each = np.maximum(needed[side], 4.0) / gap[side]
        period = max(period, float(each.min(initial=math.inf)))
    if not period < _LONGEST:
        raise NotCertified(
            "the answer lies so near the largest privacy loss that sums over losses are not "
            f"representable as floats (order {1 + c:.6g}); {EASIER}"
        )
    return rounded_short(2 * math.pi / period)


@final
@dataclass(frozen=True, slots=True)
class Aliases:
    """A bound of the sum over m != 0 of delta(eps + m R) e^{c m R}, at every eps.

    Chernoff: delta(x) <= M(c') e^{-c' x}; a point c' < c serves m < 0, c' > c serves m > 0,
    each a geometric series with ratio e^{-|c - c'| R}.

    Attributes:
        places: for each side, shape (m,), points c' other than c.
        heights: for each side, shape (m,), logs of the bounds at eps = 0.
    """

    places: tuple[Reals, Reals]
    heights: tuple[Reals, Reals]

    @staticmethod
    def of(on_axis: Reals, c: float, period: float) -> Aliases:
        """Return the bound from points c' and upper bounds of K there, shape (m, 2).

        The distance R is rounded down.
        """
        sides = on_axis[on_axis[:, 0] < c], on_axis[on_axis[:, 0] > c]
        gaps = [np.abs(side[:, 0] - c) * period for side in sides]
        lower, upper = (
            side[:, 1] + 1e-12 * np.abs(side[:, 1]) - gap - np.log(-np.expm1(-gap))
            for side, gap in zip(sides, gaps, strict=True)
        )
        return Aliases((sides[0][:, 0], sides[1][:, 0]), (lower, upper))

    def log_excess(self, epsilon: Reals) -> Reals:
        """Return the log of the bound at each epsilon, shape (n,)."""
        lower, upper = (
            (height - np.multiply.outer(epsilon, place)).min(axis=1, initial=np.inf)
            for place, height in zip(self.places, self.heights, strict=True)
        )
        return np.asarray(np.logaddexp(lower, upper))


# Most nodes of a line, to bound memory. Heuristic: a larger tau takes their place.
MAX_NODES = 1 << 20
_MAX_WORK = 1 << 28  # Most nodes times terms in K at the last node. Heuristic.
# Nodes and work if tau is needed all the same. Heuristic.
_EASY_NODES, _EASY_WORK = 1 << 14, 1 << 24
# What tau^2 c (c + 1) is multiplied by in the width that a small tau costs: 1/2 above, 9/4 below.
_TENT_COST = 2.75
_LOG_SHARE = (
    -25.0
)  # Log of a cut, relative to delta, that a shortened line need not beat. Heuristic.
_FEW_NODES = 1 << 8  # Nodes times pairs for which the work is not estimated. Heuristic.
_QUERIED = 16  # Of many pairs, approximately so many are queried for their work. Heuristic.
_NEAR = 1.15 ** np.arange(-3.0, 7.0)  # Lengths tried first, relative to a guess. Heuristic.
_FEWEST = 16  # Fewest nodes to which a line is shortened. Heuristic.
# Epsilons times nodes evaluated at once: libraries start threads from there. Heuristic.
_BLOCK = 1 << 18
_SUMMED = 64  # Terms in a row of ``_turned_back``. Error bounds depend on it.
# Error of a log from which only the size of a term is used. Error bounds depend on it.
_VAGUE = 0.25
TENT = 6  # Half width of the tent, in units of tau. Soundness depends on its use in Lemma *tent*.
# Largest tau for which E[T] of Lemma *tent* has digits. Beyond, the lower end is -inf.
LARGEST_TAU = 4.0


@final
@dataclass(frozen=True, slots=True)
class Contour:
    """The values of M on a vertical line, which bracket delta at every epsilon near the saddle.

    Attributes:
        s: shape (n,), the nodes with imaginary part k * step, k = 0..n-1.
        log_kernel: shape (n,), K(s) + tau^2 s(s+1)/2 - log s - log(s+1).
        radius: shape (n,), its error apart from epsilon's.
        step: distance of the nodes.
        log_cut: log of the cut tail, without the factor e^{-c eps}.
        known: shape (m, 2), points c' and upper bounds of K(c').
        tau: of the extra mechanism, 0 when there is none.
    """

    s: Complexes
    log_kernel: Complexes
    radius: Reals
    step: float
    log_cut: float
    known: Reals
    tau: float
    terms: _Terms = field(init=False, repr=False)
    aliases: Aliases = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the terms and aliases that all epsilons share."""
        terms = _terms(self.s, self.log_kernel, self.radius, self.step)
        object.__setattr__(self, "terms", terms)
        period = 2 * math.pi / self.step * (1 - 1e-12)
        at, upper = self.known.T
        lift = np.maximum(0.5 * self.tau * self.tau * at * (at + 1.0) * (1 + 1e-12), 0.0)
        lifted = np.column_stack([at, upper + lift])
        object.__setattr__(self, "aliases", Aliases.of(lifted, float(self.s[0].real), period))

    def log_brackets(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return logs of a lower (possibly -inf) and an upper bound of delta at each epsilon.

        They hold for the product composed with the extra mechanism, if there is one.
        """
        most = max(_BLOCK // self.terms.known.size, 1)
        if epsilon.size > most:
            parts = [self.log_brackets(epsilon[i : i + most]) for i in range(0, epsilon.size, most)]
            return np.concatenate([one[0] for one in parts]), np.concatenate(
                [one[1] for one in parts]
            )
        c = float(self.s[0].real)
        floor = float(self.log_kernel[0].real)
        shift = floor - c * epsilon
        error = self.terms.error(float(np.abs(epsilon).max(initial=0.0)))
        total = _turned_back(self.terms.known, self.step, epsilon)
        excess = self.aliases.log_excess(epsilon)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            cut = np.exp(self.log_cut - floor)  # beyond all floats it says nothing
            upper = total + error + cut
            lower = total - error - cut - np.exp(excess - shift)
            log_lower = np.where(lower > 1e-300, np.log(np.maximum(lower, 1e-300)), -np.inf)
            log_upper = np.where(upper > 0, np.log(upper), np.inf)  # also where it is nan
            rounding = 8 * UNIT_ROUNDOFF * (np.abs(shift) + abs(floor) + 4.0)
            ends = (
                log_lower + shift - rounding - 8 * UNIT_ROUNDOFF * np.abs(log_lower),
                log_upper + shift + rounding + 8 * UNIT_ROUNDOFF * np.abs(log_upper),
            )
        return ends[0].astype(float), ends[1].astype(float)

    def log_profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return log bounds of delta of the product itself."""
        if self.tau == 0.0:
            return self.log_brackets(epsilon)
        width = TENT * self.tau
        low, high = self.log_brackets(np.concatenate([epsilon - width, epsilon, epsilon + width]))
        parts = np.split(high, 3)
        at, upper = self.known[self.known[:, 0] > 0.0].T[:, :, None]
        high = np.minimum(parts[1], chernoff(at, upper, epsilon).min(axis=0, initial=np.inf))
        return self._untilt(epsilon, np.split(low, 3)[1], parts[0], parts[2]), high

    def _untilt(self, epsilon: Reals, center: Reals, left: Reals, right: Reals) -> Reals:
        """Bound log delta from below by bounds of the profile g with the extra mechanism.

        Lemma (tent). delta is convex in t = e^eps, and g(t) = E delta(tX), X = e^{tau N},
        N ~ N(-tau/2, 1), E X = 1; so delta <= g. Let u = e^{-w}, v = e^w, w = 6 tau, and let
        I be linear on [ut, t] and [t, vt] through (ut, g(ut)), (t, delta(t)), (vt, g(vt)).
        By convexity delta <= I there; outside, delta(x) <= M(c) x^{-c}. Hence
        g(t) <= delta(t) E[T] + g(ut) E[T_u] + g(vt) E[T_v] + E[M(c) (tX)^{-c}; |N| > 6],
        with T, T_u, T_v the hat functions of the three points. Solve for delta(t). The last
        term is at most M(c) e^{-c eps + tau^2 c(c+1)/2} erfc((6 - (c + 1) tau) / sqrt 2).
        """
        if self.tau > LARGEST_TAU:
            return np.full(epsilon.shape, -np.inf)
        c = float(self.s[0].real)
        hat, hat_left, hat_right = hats(self.tau)
        reach = (TENT - (c + 1.0) * self.tau) / math.sqrt(2)
        chernoff = self.log_kernel[0].real + self.radius[0] + math.log(c) + math.log1p(c)
        outside = chernoff - c * epsilon + math.log(math.erfc(reach))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rest = hat_left * np.exp(left - center) + hat_right * np.exp(right - center)
            rest = (rest + np.exp(outside - center)) * (1 + 1e-14)
            value = np.maximum((1.0 - rest) / hat, 0.0)
            return np.asarray(np.log(value) + center - 1e-14)


@final
@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of the sum without e^{-s eps}, relative to e^{log_kernel} of the first.

    Attributes:
        known: shape (m,), the first of those known to some digits, 0 for the others.
        size: sum of the sizes of all of them.
        moment: sum of the first ones' sizes times their imaginary parts.
        reach: the largest imaginary part of the first ones.
        base: bound of the error of the sum, epsilon's part left out; the others are part of it.
    """

    known: Complexes
    size: float
    moment: float
    reach: float
    base: float

    def error(self, epsilon: float) -> float:
        """Bound the error of the sum, up to |epsilon|.

        Turning back by y epsilon, rounded twice in each of two parts, moves the exponent of a term
        by v <= 2 u y |epsilon| (1 + u). A term whose exponent is off by w + v, w and v <= 1/4, is
        off by at most (w + v)(1 + w + v) <= w (1 + w) + 2 v times its size; any other by twice
        that.
        """
        slip = 2.1 * unit_roundoff(self.known.dtype) * epsilon
        if slip * self.reach > _VAGUE or not math.isfinite(self.moment):
            return self.base + 2.1 * self.size
        return self.base + 2.0 * slip * self.moment


def _terms(s: Complexes, log_kernel: Complexes, radius: Reals, step: float) -> _Terms:
    """Return the terms at nodes s, from the logs without weights and their radius."""
    unit = unit_roundoff(log_kernel.dtype)
    weight = np.where(np.arange(s.size) == 0, 1.0, 2.0) * (step / (2 * math.pi))
    wobble = (radius + 4 * unit * (np.abs(log_kernel) + 8.0)).astype(float)
    precise = wobble < _VAGUE  # beyond, a term is only known by its size
    growth = np.where(precise, 0.0, np.where(np.isinf(radius), 1.0, radius))
    with np.errstate(over="ignore"):
        size = np.exp(log_kernel.real - log_kernel[0].real + growth) * weight
    slight = np.minimum(wobble, _VAGUE)
    off = np.where(precise, slight * (1.0 + slight), 1.0) + 8 * ELEMENTARY_ULPS * unit
    turn = log_kernel.imag
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(size.sum())  # of infinite size the sum says nothing
        rest = np.cumsum(size[::-1])[::-1] * (1 + 1e-9)
        last = max(int((rest > unit * total).sum()), 1)  # what follows is less than a rounding
        moment = float((size * s.imag)[:last].sum())  # whoever uses it asks whether it is finite
        base = float((size * off)[:last].sum()) + 2 * _SUMMED * unit * total
        base += 2.0 * float(rest[last:].max(initial=0.0))  # a term is at most twice its size
    turn = turn[:last]
    return _Terms(
        known=np.where(precise, size, 0.0)[:last] * (np.cos(turn) + 1j * np.sin(turn)),
        size=total,
        moment=moment,
        reach=float(s[last - 1].imag),
        base=base,
    )


def _turned_back(terms: Complexes, step: float, epsilon: Reals) -> Reals:
    """Return for each epsilon the real part of the sum over k of term_k e^{-i k step eps}.

    In rows of w terms, w at most ``_SUMMED``, by real products of matrices; with k = w p + r as
    e^{-i w p step eps} times e^{-i r step eps}. Sums err by at most 2 ``_SUMMED`` u of their
    size: within rows by any order, over rows in pairs.
    """
    width = min(terms.size, _SUMMED)
    rows = -(-terms.size // width)
    table = np.zeros((rows, width), dtype=terms.dtype)
    table.ravel()[: terms.size] = terms
    epsilon = epsilon.astype(terms.real.dtype)
    inner = step * np.multiply.outer(np.arange(width), epsilon)
    cosine, sine = np.cos(inner), np.sin(inner)
    real = table.real @ cosine + table.imag @ sine
    imaginary = table.imag @ cosine - table.real @ sine
    outer = width * step * np.multiply.outer(np.arange(rows), epsilon)
    each = (real * np.cos(outer) + imaginary * np.sin(outer)).T
    return np.asarray(np.ascontiguousarray(each).sum(axis=1))  # along memory: in pairs


def hats(tau: float) -> tuple[float, float, float]:
    """Return upper bounds of E[T], E[T_u], E[T_v] of Lemma *tent*, by Gauss-Legendre quadrature.

    The integrands are entire and tame on intervals of length 6: 64 nodes leave an error far
    below the 1e-13 added.
    """
    x, w = _gauss_legendre()
    n = 0.5 * TENT * (x + 1.0)
    w = 0.5 * TENT * w / math.sqrt(2 * math.pi)
    right = w * np.exp(-0.5 * (n + 0.5 * tau) ** 2)
    left = w * np.exp(-0.5 * (n - 0.5 * tau) ** 2)
    up, down = (np.expm1(x * n) / math.expm1(x * TENT) for x in (tau, -tau))
    hat_right, hat_left = float(right @ up), float(left @ down)
    hat = float(right @ (1.0 - up) + left @ (1.0 - down))
    return hat * (1 + 1e-13), hat_left * (1 + 1e-13), hat_right * (1 + 1e-13)


@cache
def _gauss_legendre() -> tuple[Reals, Reals]:
    """Return nodes and weights on [-1, 1], computed at the first call."""
    return np.polynomial.legendre.leggauss(64)


def build(product: Product, saddle: Saddle, most: int = MAX_NODES) -> Contour:
    """Choose spacing, length and tau for the question that a saddle suits.

    Raises:
        NotCertified: the line would need more nodes than allowed even with a large tau.
    """
    c = rounded_short(saddle.c)
    guess = expected(product, saddle)
    step = alias_step(saddle, guess)
    tails = Tails(smoothnesses(product, c, guess.moments))
    needed = guess.at(c) - c * saddle.epsilon - saddle.log_delta - saddle.log_tolerance
    near = math.sqrt(2.0 * max(needed, 0.0) / saddle.spread) / step  # if losses are about Gaussian
    wanted = _length(tails, step, needed, 0.0, near)
    limit = min(_node_limit(product, c, step, wanted), most)
    if wanted > limit:
        tails = Tails.of(tails.parts, step * _EASY_NODES)
    while True:
        nodes, tau = wanted, 0.0
        if nodes > limit:
            height = needed + saddle.log_tolerance
            nodes, tau = _shortened(tails, step, c, height, max(limit, int(tails.end / step)))
            if nodes > limit:
                nodes, tau = _shortened(tails, step, c, height, limit)
        s = c + 1j * step * np.arange(nodes)
        try:
            cgf, on_axis = along(product, saddle, s)
        except NotCertified:  # too far up: a shorter line and a larger tau
            if nodes <= _FEWEST:
                raise
            limit = nodes // 2
            continue
        break
    if not guess.moments_hold(on_axis):  # else what is known of the guessed moments is true
        parts = smoothnesses(product, c, on_axis.moments)
        tails = Tails.of(parts, tails.end) if tails.end else Tails(parts)
    known = np.column_stack([on_axis.points, on_axis.upper])
    log_tail = float(tails.log_tail(np.array([step * (nodes - 1)]), tau)[0])
    return on_line(s, cgf, (step, tau), on_axis.at(c) + log_tail, known)


def on_line(
    s: Complexes, cgf: Enclosure, spaced: tuple[float, float], log_cut: float, known: Reals
) -> Contour:
    """Return the contour of K at the nodes, with a step and a tau.

    Args:
        s: the nodes.
        cgf: K there.
        spaced: their distance, and tau.
        log_cut: log of a bound of M(c) and of what is lost beyond the last, without tau.
        known: points c' and upper bounds of K(c').
    """
    (step, tau), c = spaced, float(s[0].real)
    unit, precise = unit_roundoff(cgf.value.dtype), s.astype(cgf.value.dtype)
    extra = 0.5 * tau * tau * precise * (precise + 1.0)
    log_s, log_s1 = np.log(precise), np.log(precise + 1.0)
    size = np.abs(cgf.value) + np.abs(extra) + np.abs(log_s) + np.abs(log_s1)
    radius = (
        cgf.radius
        + 4 * ELEMENTARY_ULPS * unit * (np.abs(log_s) + np.abs(log_s1) + np.abs(extra))
        + 4 * unit * size
    )
    lift = 0.5 * tau * tau * c * (c + 1.0) * (1 + 1e-12)
    return Contour(
        s=s,
        log_kernel=cgf.value + extra - log_s - log_s1,
        radius=radius,
        step=step,
        log_cut=log_cut + lift + 1e-9,
        known=known,
        tau=tau,
    )


def _shortened(tails: Tails, step: float, c: float, height: float, limit: int) -> tuple[int, float]:
    """Return a number of nodes, at most the limit, and the tau that suits them.

    Heuristic. Relative to delta, the cut is A e^{-(tau Y)^2 / 2} at Y, and the extra mechanism
    costs B tau^2, as t^2 delta''(t) is approximately c (c + 1) delta; their sum is least if the cut
    is 2 B / Y^2. Atoms of little mass need no tau: their cut falls to that mass.

    Args:
        tails: what is lost beyond a node.
        step: distance of the nodes.
        c: the tilt.
        height: log of M(c) e^{-c eps} relative to delta.
        limit: most nodes.
    """
    reach = step * (limit - 1)
    log_cut = height + float(tails.log_tail(np.array([reach]))[0])
    log_least = math.log(2.0 * _TENT_COST) + math.log(c) + math.log1p(c) - 2.0 * math.log(reach)
    tau = rounded_short(math.sqrt(2.0 * max(log_cut - log_least, 0.0)) / reach)
    log_left = max(min(log_cut, log_least), _LOG_SHARE) + math.log(2.0)
    return min(limit, _length(tails, step, height - log_left, tau)), tau


def _length(tails: Tails, step: float, needed: float, tau: float, near: float = 0.0) -> int:
    """Return the number of nodes until the cut tail is negligible, or the cap if it never is.

    Those near a guess are tried first.
    """
    few, many = 8, 4 * MAX_NODES
    if few < near < many:
        counts = (near * _NEAR).astype(int) + 1
        enough = needed + tails.log_tail(step * (counts - 1), tau) < 0.0
        first = int(enough.argmax())
        if enough[first] and (first or counts[0] <= few):
            return int(counts[first])
    for size in (8, 7):  # coarsely, then between two neighbours
        counts = (few * (many / few) ** (np.arange(size + 1) / size)).astype(int)
        reach = step * (counts - 1)
        enough = needed + tails.log_tail(reach, tau) < 0.0
        if not enough.any():
            break
        first = int(enough.argmax())
        few, many = int(counts[max(first - 1, 0)]), int(counts[first])
    return many


def _node_limit(product: Product, c: float, step: float, wanted: int) -> int:
    """Return as many nodes as wanted, or fewer if they and their values of K are too many.

    Heuristic: fewer nodes take a tau, and then more nodes gain little. The work is estimated at the
    last node.
    """

    def work(nodes: int) -> int:
        s = complex(c, step * nodes)
        return every * sum(factor.pair.work(s) for factor in product.factors[::every])

    every = math.ceil(len(product.factors) / _QUERIED)  # of many pairs, some are queried
    if wanted * len(product.factors) <= _FEW_NODES:
        return wanted
    if wanted <= MAX_NODES and wanted * work(wanted) <= _MAX_WORK:
        return wanted
    nodes = min(wanted, _EASY_NODES)
    for _ in range(12):
        each = work(nodes)
        if nodes * each <= _EASY_WORK:
            break
        nodes = max(min(_EASY_WORK // each, nodes // 2), nodes // 8, _FEWEST)
    return nodes
