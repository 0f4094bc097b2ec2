"""Binomial tails and the limits that invert them, rounded outwards.

Assumed: scipy's incomplete beta function and its inverse are right to a relative 1e-9, of the
smaller of the value and its complement's distance to an end; the tests compare with 50 digits.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    """Return the p with Pr(Bin(n, p) >= k) = significance, rounded down; 0 where k <= 0.

    Source: Clopper & Pearson, Biometrika 26 (1934): Pr(p < limit) <= significance.
    """
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
    """Return 1 - limit, rounded up.

    Next to 1 a limit's own margin is less than a float's width.
    """
    return np.asarray(np.where(limit > 0.0, np.minimum(np.nextafter(1.0 - limit, 2.0), 1.0), 1.0))


def masses_up(n: int, p: Floats) -> Floats:
    """Return upper bounds of Pr(Bin(n, p) = k) for k = 0, ..., n, a row for each p.

    n is at most 4096.

    Assumed: scipy's gammaln is right to a relative 1e-15, which is 1e-10 of a mass here.
    """
    k = np.arange(n + 1.0)
    # At the ends of [0, 1] a mass that is 0 is a little more.
    hit, miss = np.log(np.maximum(p, 1e-300)), np.log1p(-np.minimum(p, 1 - 2.0**-53))
    return np.asarray(np.exp(_choices(n) + np.outer(hit, k) + np.outer(miss, n - k)) * (1 + MARGIN))


@functools.lru_cache(maxsize=64)
def _choices(n: int) -> Floats:
    """Return the logs of the binomial coefficients."""
    k, gammaln = np.arange(n + 1.0), special().gammaln
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1))


def logistic_up(epsilon: float) -> float:
    """Return e^epsilon / (1 + e^epsilon), rounded up; at most 1."""
    return min(1.0, (1.0 + 4e-16) / (1.0 + math.exp(-epsilon)))


def exp_up(epsilon: float) -> float:
    """Return e^epsilon, rounded up."""
    return math.exp(epsilon) * (1.0 + 1e-15)


def quantile(probability: float, n: int, p: float) -> int:
    """Return the smallest k with Pr(Bin(n, p) <= k) >= probability.

    It is for planning, not for bounds.
    """
    if p >= 1.0:
        return n
    if float(special().bdtr(0, n, p)) >= probability:
        return 0
    return int(np.clip(np.ceil(special().bdtrik(probability, n, p)), 0, n))
