"""The curve of a finite pair as the checker uses it: its corners are exact."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals, float_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.selection.neyman_pearson import NeymanPearsonCurve


def exact_curve(pair: FinitePair) -> NeymanPearsonCurve:
    """Return the curve of a finite pair, from the outcomes with mass under P.

    Corners are rounded up: a float is at or beyond one of them exactly if it is at or beyond the
    corner itself, which the checker compares it with.
    """
    listed = sorted((b / a, a, b) for a, b in zip(pair.p, pair.q, strict=True) if a)
    ratio = np.array([float(one) for one, _, _ in listed])
    k, least = _sums(a for _, a, _ in listed), _sums(b for _, _, b in listed)
    return NeymanPearsonCurve(k, least, ratio)


def _sums(masses: Iterable[Fraction]) -> Reals:
    """Return the exact sums of the first masses, from 0 on, rounded up."""
    return np.array([float_up(one) for one in accumulate(masses, initial=Fraction(0))])
