"""Bound moments of the best of several runs, beyond the table of its profile and without one.

proofs/theory/selection.md, Section 5.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from accountant.arithmetic.enclosure import Reals
from accountant.engine.aliases import chernoff
from accountant.engine.profile import delta, infinite_mass
from accountant.engine.saddle_point import total_cgf
from accountant.errors import NotCertified
from accountant.pairs.product import Product
from accountant.run_counts.law import LOG_ERROR, RunLaw

_ROUNDING = 1e-11  # Above the relative rounding of a bound. Soundness depends on it.
_FEW = 16  # Orders whose moments are bounded each by itself. Heuristic.
_ORDERS = np.geomspace(0.05, 3e4, 160)  # At which one run's moments are bounded. Heuristic.


def log_tail(base: Product, runs: RunLaw, s: Reals, end: float) -> Reals:
    """Bound log of s(s+1) times the integral of t^{s-1} H_t over t > T = e^end, over T^s.

    By Theorem 2 H_t is at most m times the base's at t e^{-D}, D ``_log_ratio``, and at most that
    of all runs released together; both by Chernoff at every order c > s.
    """
    c, known = _moments(base)
    ratio, most = _log_ratio(base, runs), runs.largest
    heights = np.full(c.shape, math.inf)
    if math.isfinite(ratio):
        heights = known + runs.log_mean_up + c * ratio
    if most is not None:
        heights = np.minimum(heights, known * most)
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
    """Bound K(t) / (t (t + 1)) of all t >= s: statement (4), whose last terms fall."""
    rho = base.added(lambda pair: pair.rho_beyond(s))
    rest = _log_ratio(base, runs) + runs.log_mean_up / s
    return (rho + rest / (1.0 + s)) * (1 + 4 * LOG_ERROR)


@lru_cache(maxsize=16)
def _log_ratio(base: Product, runs: RunLaw) -> float:
    """Bound log phi'(c)/phi'(tau) of the masses c and tau of one set under P and Q.

    They differ by at most the base's total variation distance.
    """
    variation = min(delta(base, 0.0).upper, 1.0)
    return min(runs.log_ratio_up(math.inf), runs.log_ratio_within(variation))


def _below_chords(base: Product, s: Reals) -> Reals:
    """Return upper ends of K at many s, below chords between orders, as it is convex and 0 at 0.

    Beyond the last order within reach they are infinite.
    """
    c, known = _moments(base)
    reach = np.isfinite(known)
    places, heights = (np.append(0.0, one[reach]) for one in (c, known))
    return np.asarray(np.interp(s, places, heights, right=math.inf) * (1 + _ROUNDING))


@lru_cache(maxsize=16)
def _moments(base: Product) -> tuple[Reals, Reals]:
    """Return orders c and upper ends of K(c) of the base, infinite where it is out of reach."""
    return _ORDERS, _upper_cgf(base, _ORDERS)


def _upper_cgf(base: Product, s: Reals) -> Reals:
    """Return upper ends of K, infinite where it is out of reach or a loss may be infinite.

    The arguments increase: beyond one that is out of reach all others are taken to be.
    """
    above = base.above()
    if infinite_mass(above).upper > 0.0:
        return np.full(s.shape, math.inf)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite says nothing
            found = total_cgf(above, s + 0j)
            upper = (found.value.real + found.radius).astype(float)
    except NotCertified:
        if s.size == 1:
            return np.array([math.inf])
        near, far = np.array_split(s, 2)
        known = _upper_cgf(base, near)
        rest = np.full(far.shape, math.inf) if math.isinf(known[-1]) else _upper_cgf(base, far)
        return np.concatenate([known, rest])
    return np.where(np.isnan(upper), math.inf, upper)
