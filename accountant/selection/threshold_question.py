"""Answer one question about a selection with a threshold, without tables of its profile.

A line p - t q, t = e^epsilon, is at most delta from t = (p - delta)/q on. So the lines above every
rule (``threshold_lines.py``) bound the epsilon at delta from above, each by its own t, and those
below some rules (``threshold.py``) from below; and where rectangles are too large is seen from the
same numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, down, up
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.finite_base import MERGED, curve
from dpproof.accountant.selection.threshold import Rules, split_below
from dpproof.accountant.selection.threshold_lines import Rectangles

# Above the rounding of a line's value, relative to its terms. Soundness depends on it.
_ROUNDED = 1e-15
_TINY = 1e-300  # Costs that are taken for 0, or replace it in quotients. Heuristic.
_FARTHER = 4.0  # Multiple of a reached t up to which one is answered. Exceeding it raises.
_REACHED = 1e-6  # Share above what is reached at which no rectangle is split. Heuristic.


def epsilon_at(base: Product, runs: RunLaw, delta: Bound) -> Bound:
    """Bracket the smallest epsilon >= 0 at which the divergence is at most delta.

    Raises:
        NotCertified: the lines have no such epsilon, or a large one; tables may have.
    """

    def least(p: Reals, q: Reals) -> Reals:
        over = p - delta.upper
        value = (over - q) / np.maximum(q, _TINY) - _ROUNDED * (1.0 + p / np.maximum(q, _TINY))
        return np.where((q > 0.0) & (over > 0.0), value, -1.0)

    low = max(_rules(base, runs).best(least), 0.0)
    far = _FARTHER * (1.0 + low)

    def most(p: Reals, q: Reals) -> Reals:
        over = p - delta.lower
        value = (over - q) / np.maximum(q, _TINY) + _ROUNDED * (1.0 + p / np.maximum(q, _TINY))
        grown = over + far * np.maximum(-q, 0.0) * (1 + _ROUNDED)
        return np.where(q > _TINY, value, np.where(grown > 0.0, np.inf, -1.0))

    high = _rectangles(base, runs).worst(most, low * (1.0 + _REACHED))
    if not high < far - 1.0:
        raise NotCertified("lines do not resolve so small a delta; ask for a larger one")
    upper = up(math.log1p(high) * (1 + _ROUNDED))
    return Bound(min(max(down(math.log1p(low) * (1 - _ROUNDED)), 0.0), upper), upper)


def delta_at(base: Product, runs: RunLaw, epsilon: float) -> Bound:
    """Bracket the divergence at an epsilon from 0 to 600."""
    t = math.exp(epsilon)
    near, far = t * (1 - _ROUNDED), t * (1 + _ROUNDED)

    def least(p: Reals, q: Reals) -> Reals:
        return p - far * q - _ROUNDED * (p + t * np.abs(q))

    def most(p: Reals, q: Reals) -> Reals:
        return p - np.where(q > 0.0, near, far) * q + _ROUNDED * (p + t * np.abs(q))

    low = max(_rules(base, runs).best(least), 0.0)
    high = min(_rectangles(base, runs).worst(most, low * (1.0 + _REACHED)), 1.0)
    return Bound(min(low, high), high)


@lru_cache(maxsize=8)
def _rules(base: Product, runs: RunLaw) -> Rules:
    """Return the rules for a base, cached."""
    return Rules.of(split_below(base), runs)


@lru_cache(maxsize=8)
def _rectangles(base: Product, runs: RunLaw) -> Rectangles:
    """Return rectangles for a base, cached."""
    found = curve(base)
    return Rectangles.cover(found.above(*found.size, every=MERGED), runs)
