"""The best of a random number of runs of a product of pairs, as one pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic import convex_profile
from dpproof.accountant.arithmetic.convex_profile import ProfileHalf
from dpproof.accountant.arithmetic.enclosure import LEAST_DELTA, Reals, down, from_swapped, up
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.contour import chernoff
from dpproof.accountant.engine.profile import delta, infinite_mass, max_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import LAW_ERROR, LOG_ERROR, RunLaw
from dpproof.accountant.selection.profile import Selection, selection
from dpproof.accountant.subsampling.tabulated import TabulatedPair, as_lattice_pair, stretched

# Delta at which a table ends: subsampling a selection evaluates it down to 1e-115. Heuristic.
_TINY = 1e-120
_SEEN = 1e-10  # delta up to which the table's grid is even
_FINE = 1 << 9  # Grid points per typical loss, and per doubling of the loss beyond. Heuristic.
_MOST = 1 << 18  # Grid points over the whole range of the loss. Heuristic.
_TESTS, _EDGE = 24, 1e-4  # Most orders whose power is asked, and where that ends. Heuristic.
_FARTHEST = 300.0  # Largest loss at the edge of a test. Heuristic.
_ROUNDING = 1e-11  # Above the relative rounding of lower ends and bounds. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedPair(TabulatedPair):
    """The pair whose profile is the largest over all scores; see proofs/theory/selection.md.

    At each epsilon it is a supremum over the orders of the base's outcomes, of profiles, hence one.
    """

    base: Product
    runs: RunLaw

    def swapped(self) -> SelectedPair:
        """Return the selection from the swapped base."""
        return SelectedPair(base=self.base.swapped(), runs=self.runs)

    @property
    def infinite_mass(self) -> float:
        """Return at least 1 - phi(1 - p), p the base's, by phi's tangent at 1 if p is small."""
        mass = infinite_mass(self.base.above()).upper
        missed = float(self.runs.pgf(np.array([max(down(1.0 - mass), 0.0)]))[0])
        return min(mass * self.runs.mean * (1 + 2 * LAW_ERROR), 1.0 - missed + 4 * LAW_ERROR)

    @property
    def max_loss(self) -> float:
        """Return the base's largest loss plus the largest log ratio of phi'.

        A mass that one dataset alone has makes two masses of one set differ by any factor.
        """
        top = max_loss(self.base)
        if not math.isfinite(top):
            return math.inf
        sides = (self.base, self.base.swapped())
        apart = any(infinite_mass(one.above()).upper > 0.0 for one in sides)
        bottom = math.inf if apart else max_loss(sides[1])
        excess = self.runs.log_ratio_up(max(top, bottom, 0.0))
        return (max(top, 0.0) + excess) * (1 + 1e-12)

    @property
    def zcdp_bound(self) -> float:
        """Return 2 rho + D + log(m + P(K = 0)), or rho times the largest number of runs.

        Proof: with h the profile of this pair, h* that of its swap, and s = a - 1 > 0,
            M(s) = 1 + integral over u >= 1 of s (s + 1) (u^{s-1} h(u) + u^{-s-2} h*(u)) du,
        and u^{-s-2} <= u^{s-1}. Theorem 2 bounds h(u), u >= 1, by a mixture of the base's profile
        at u times shifts of at least e^{-D}, D = log phi'(1)/phi'(0), whose weights sum to m, and
        h* by one of the swapped base's. So each integral is at most m e^{s D + rho s (s + 1)}, rho
        for both directions of the base, and divergences of order a are at most
        rho a + D + log(1 + 2 m)/(a - 1). They grow with a: for a <= 2 that at 2 is at least
        theirs, and for a >= 2 they are at most (rho + (D + log(1 + 2 m))/2) a. By releasing all
        runs: h is at most their profile at every u > 0, and M grows with h.
        """
        sides = (self.base, self.base.swapped())
        rho = max(one.added(lambda pair: pair.zcdp_bound) for one in sides)
        rho *= 1 + 1e-14
        size = math.log1p(2 * self.runs.mean)
        bounds = [2 * rho + self.runs.log_ratio_up(math.inf) + size]
        if self.runs.largest is not None:
            bounds.append(rho * self.runs.largest)
        return min(bounds) * (1 + 4 * LOG_ERROR)

    def rho_beyond(self, s: float) -> float:
        """Return the base's bound of rho, and what the largest log ratio of phi' adds to it."""
        return min(Pair.rho_beyond(self, s), rho_beyond(self.base, self.runs, s))

    @property
    def gaussian_tail(self) -> float:
        """Return that of the fewest runs together; proofs/theory/conversions.md, section 13."""
        return self.base.added(lambda pair: pair.gaussian_tail) * self.runs.smallest

    def tail(self, s: Reals, end: float) -> tuple[float, Reals]:
        """Bound what losses beyond an end add by the base's."""
        return end, log_tail(self.base, self.runs, s, end)

    def log_moment_above(self, s: Reals, table: Pair | None) -> Reals:
        """Bound log E_P[e^{sL}] by the table and what is beyond it, or by one run's moment."""
        bound = TabulatedPair.log_moment_above(self, s, table)
        return np.minimum(bound, log_moment(self.base, self.runs, s))

    @property
    def gdp_bound(self) -> float:
        """Return the mu of all the runs released together; +inf if their number has no bound."""
        if self.runs.largest is None:
            return math.inf
        squares = self.base.added(lambda pair: pair.gdp_bound**2)
        return math.sqrt(squares * self.runs.largest) * (1 + 1e-14)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile by the theorems; below 0 by the swapped pair's."""
        lower, upper = np.empty(epsilon.shape), np.empty(epsilon.shape)
        right = epsilon >= 0.0
        if right.any():
            lower[right], upper[right] = self._selection().profile(epsilon[right])
            upper[right & (epsilon >= self.max_loss)] = self.infinite_mass
            lower = np.where(right, np.minimum(lower, upper), lower)
        if not right.all():
            reverse = self.swapped().profile(-epsilon[~right])
            lower[~right], upper[~right] = from_swapped(*reverse, epsilon[~right])
        return lower, upper

    def upper(self, epsilon: Reals) -> Reals:
        """Return upper ends of the profile at many increasing epsilons at or above 0."""
        bound = self._selection().upper(epsilon)
        return np.where(epsilon >= self.max_loss, self.infinite_mass, bound)

    def coarse(self, epsilon: float) -> float:
        """Return an upper end of delta at one epsilon at or above 0, quickly."""
        return up(self._selection().coarse.delta(epsilon))

    def _selection(self) -> Selection:
        """Return the cached selection."""
        return selection(self.base, self.runs)

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon of one selection, for delta in [0, 1)."""
        level = Bound.of(delta)
        betrayed = infinite_mass(self.base.below()).lower
        untouched = np.array([max(down(1.0 - betrayed), 0.0)])
        missed = self.runs.derivative(untouched)[0]  # phi is above its tangents
        if level.upper < betrayed * missed * (1 - 4 * LAW_ERROR):
            return Bound.exactly(math.inf)
        top = self.max_loss if self.infinite_mass <= level.lower else math.inf
        ends = max(level.lower, LEAST_DELTA), max(level.upper, LEAST_DELTA)
        bracket = self._selection().epsilon(Bound(*ends), top)
        return bracket if level.lower >= LEAST_DELTA else Bound(min(bracket.lower, top), top)

    def power(self, rate: float) -> Bound:
        """Bracket the largest P(S) of tests with Q(S) <= rate, for a rate in (0, 1).

        It is at most delta(t) + t rate for every t, and at least the power of every order. That
        worst at the t of the least bound shares delta's tangent there, unless two are worst.
        """
        forward, backward = (selection(one.base, one.runs) for one in (self, self.swapped()))
        lower, x, low, high = rate * (1 - 1e-15), 0.0, -_FARTHEST, _FARTHEST
        for _ in range(_TESTS):
            power, edge = (forward if x >= 0.0 else backward).power(x, rate)
            lower = max(lower, power)
            if abs(edge - x) <= _EDGE * abs(x):
                break
            low, high = (x, high) if edge > x else (low, x)  # the bound falls while Q(L > x) > rate
            x = edge if low < edge < high else 0.5 * (low + high)
        power, _ = (forward if x >= 0.0 else backward).power(x, rate, closely=True)
        lower, upper = max(lower, power), self.delta(x).upper + math.exp(x) * rate
        return Bound(lower, min(max(up(upper * (1 + 1e-14)), lower), 1.0))

    @property
    def end(self) -> float:
        """Return a loss at which delta is negligible or only infinite losses are left."""
        end = min(self._selection().reach(_TINY), self.max_loss)
        if math.isfinite(end):
            return max(end, 1e-9)
        return 2.0 * self._selection().curve.end + 20.0

    def above(self, count: int) -> Pair:
        """Return a finite pair that dominates this one."""
        return _tables(self)[0]

    def below(self, count: int) -> Pair:
        """Return a finite pair that this one dominates."""
        return _tables(self)[1]


@lru_cache(maxsize=32)
def _tables(pair: SelectedPair) -> tuple[LatticePair, LatticePair]:
    """Return both finite pairs, on multiples of one span."""
    pairs = pair, pair.swapped()
    ends = [one.end for one in pairs]
    convex_profile.required_reach(max(ends))
    near = [min(selection(one.base, one.runs).reach(_SEEN), one.max_loss) for one in pairs]
    near = [one for one in near if 0.0 < one < math.inf] or ends
    span = 2.0 ** math.floor(math.log2(max(near) / (2 * _FINE)))
    span = max(span, 2.0 ** math.ceil(math.log2(sum(ends) / _MOST)))
    halves = [_half(one, end, span) for one, end in zip(pairs, ends, strict=True)]
    high, low, grids = (list(one) for one in zip(*halves, strict=True))
    return as_lattice_pair(convex_profile.above(*high), grids, span), as_lattice_pair(
        convex_profile.below(*low), grids, span
    )


@lru_cache(maxsize=64)
def _half(pair: SelectedPair, end: float, span: float) -> tuple[ProfileHalf, ProfileHalf, Reals]:
    """Return the profile from above and below on multiples of a span, and which."""
    places = stretched(end, span, _FINE)
    loss, none = places * span, np.zeros(places.size)
    # From below the largest of all orders' tests, a convex function of e^loss.
    forward, backward = (
        selection(one.base, one.runs).table_tests for one in (pair, pair.swapped())
    )
    with np.errstate(over="ignore"):
        behind = np.exp(loss) * backward.lower(-loss) - np.expm1(loss)
    lower = np.maximum(forward.lower(loss), np.maximum(behind, 0.0))
    high = ProfileHalf(loss, none, pair.upper(loss))
    return high, ProfileHalf(loss, lower * (1 - _ROUNDING), lower * (1 + _ROUNDING)), places


_FEW = 64  # Orders whose moments are bounded each by itself. Heuristic.
_ORDERS = np.geomspace(0.05, 3e4, 80)  # At which one run's moments are bounded. Heuristic.


def log_tail(base: Product, runs: RunLaw, s: Reals, end: float) -> Reals:
    """Bound log of s(s+1) times the integral of t^{s-1} H_t over t > T = e^end, over T^s.

    By Theorem 2 H_t is at most m times the base's at t e^{-D}, D ``_log_ratio``, and at most that
    of all runs released together; both by Chernoff at every order c > s.
    """
    c, moments = _moments(base)
    ratio, most = _log_ratio(base, runs), runs.largest
    heights = np.full(c.shape, math.inf)
    if math.isfinite(ratio):
        heights = moments + runs.log_mean_up + c * ratio
    if most is not None:
        heights = np.minimum(heights, moments * most)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = chernoff(c, heights, end) - np.log(c - s[:, None])
        bound += np.log(s * (s + 1.0))[:, None]
        bound += _ROUNDING * (1.0 + np.abs(heights) + c * (1.0 + end) + np.abs(bound))
    return np.asarray(np.where(np.isfinite(bound), bound, math.inf).min(axis=1))


def log_moment(base: Product, runs: RunLaw, s: Reals) -> Reals:
    """Bound K(s) by one run's: through the largest ratio of phi', or as if all runs were released.

    Statements (4), with ``_log_ratio``, and (3) of ``select_rdp``.
    """
    one = _upper_cgf(base, s) if s.size <= _FEW else _below_chords(base, s)
    every = [runs.log_moment_up(float(max(each, 0.0))) for each in one]
    through = one + s * _log_ratio(base, runs) + runs.log_mean_up
    return np.asarray(np.minimum(every, through * (1 + 4 * LOG_ERROR)))


def rho_beyond(base: Product, runs: RunLaw, s: float) -> float:
    """Bound K(t) / (t (t + 1)) of all t >= s by statement (4), whose last terms fall, or (3)."""
    rho = base.added(lambda pair: pair.rho_beyond(s))
    rest = _log_ratio(base, runs) + runs.log_mean_up / s
    bounds = [rho + rest / (1.0 + s)]
    if runs.largest is not None:
        bounds.append(rho * runs.largest)
    return min(bounds) * (1 + 4 * LOG_ERROR)


@lru_cache(maxsize=16)
def _log_ratio(base: Product, runs: RunLaw) -> float:
    """Bound log phi'(c)/phi'(tau), for masses apart by at most the base's total variation."""
    variation = min(delta(base, 0.0).upper, 1.0)
    return min(runs.log_ratio_up(math.inf), runs.log_ratio_within(variation))


def _below_chords(base: Product, s: Reals) -> Reals:
    """Return upper ends of K at many s, below chords between orders, as it is convex and 0 at 0."""
    c, moments = _moments(base)
    reach = np.isfinite(moments)
    places, heights = (np.append(0.0, one[reach]) for one in (c, moments))
    return np.asarray(np.interp(s, places, heights, right=math.inf) * (1 + _ROUNDING))


@lru_cache(maxsize=16)
def _moments(base: Product) -> tuple[Reals, Reals]:
    """Return orders c and upper ends of K(c) of the base, infinite where it is out of reach."""
    return _ORDERS, _upper_cgf(base, _ORDERS)


def _upper_cgf(base: Product, s: Reals) -> Reals:
    """Return upper ends of K at growing s, infinite from where it is out of reach, or a loss is."""
    above = base.above()
    if infinite_mass(above).upper > 0.0:
        return np.full(s.shape, math.inf)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite says nothing
            enclosure = total_cgf(above, s + 0j)
            upper = (enclosure.value.real + enclosure.radius).astype(float)
    except NotCertified:
        if s.size == 1:
            return np.array([math.inf])
        near, far = np.array_split(s, 2)
        nearby = _upper_cgf(base, near)
        rest = np.full(far.shape, math.inf) if math.isinf(nearby[-1]) else _upper_cgf(base, far)
        return np.concatenate([nearby, rest])
    return np.where(np.isnan(upper), math.inf, upper)
