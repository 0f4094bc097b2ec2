"""Bound from above how much two laws have in common, where delta and power are next to 1.

Sums over K to the right of 0 give delta with an absolute error near its size; that is the wrong
thing to know where what is left to 1 is asked for.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.pairs.product import Product

# The orders a that are tried; at 1/2 some K divide by 0. Heuristic: each is valid.
_ORDERS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.48, 0.52, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98])
_ROUNDING = 32 * UNIT_ROUNDOFF  # Above that of a few elementary functions. Soundness depends on it.


def delta_below(product: Product, epsilon: Reals) -> Reals:
    """Bound delta from below at real epsilons, for a product whose K is exact.

    Statement: delta(eps) >= 1 - e^{a eps + K(-a)} for 0 < a < 1.
    Proof: with t = e^eps, 1 - delta is the sum of min(p, t q) over the outcomes that Q does not
        miss, and min(p, t q) <= p^{1-a} (t q)^a = t^a p e^{-a L}.
    """
    cgf, size = _cgf(product)
    exponent = _ORDERS * epsilon[:, None] + cgf
    exponent += _ROUNDING * (np.abs(_ORDERS * epsilon[:, None]) + size + 1.0)
    spared = -np.expm1(np.minimum(exponent.min(axis=1), 0.0))
    return np.asarray(np.maximum(spared * (1 - _ROUNDING), 0.0))


def power_below(product: Product, rate: float) -> float:
    """Bound the power of the best test at a rate above 0 from below.

    Statement: it is at least 1 - (1-a) (a / rate)^{a/(1-a)} M(-a)^{1/(1-a)} for 0 < a < 1.
    Proof: it is the least delta(t) + t rate over t > 0, with 1 - delta(t) <= t^a M(-a) as above;
        the bound is least at t^{1-a} = a M(-a) / rate.
    """
    cgf, size = _cgf(product)
    turn = _ORDERS * (np.log(_ORDERS) - math.log(rate))
    log_miss = np.log1p(-_ORDERS) + (turn + cgf) / (1.0 - _ORDERS)
    log_miss += _ROUNDING * (np.abs(turn) + size + 4.0) / (1.0 - _ORDERS)
    return max(-math.expm1(min(float(log_miss.min()), 0.0)) * (1 - _ROUNDING), 0.0)


@lru_cache(maxsize=16)
def _cgf(product: Product) -> tuple[Reals, Reals]:
    """Return K(-a) rounded up at every order, infinite if it is out of reach, and its size.

    For a > 1/2 it is K(a - 1) of the swapped pair: both are the log of the sum of p^{1-a} q^a.
    """
    near = _ORDERS < 0.5
    with np.errstate(all="ignore"):  # what is not finite says nothing
        left = total_cgf(product, -_ORDERS[near] + 0j)
        right = total_cgf(product.swapped(), _ORDERS[~near] - 1.0 + 0j)
        upper = np.concatenate([one.value.real + one.radius for one in (left, right)])
    known = np.isfinite(upper)
    return np.where(known, upper, np.inf), np.where(known, np.abs(upper), 0.0)
