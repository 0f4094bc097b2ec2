"""Prove quickly that delta(epsilon) is at most a given delta, if that is possible."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, log_down
from dpproof.accountant.engine.contour import chernoff
from dpproof.accountant.engine.profile import closed_form, infinite_mass, max_loss
from dpproof.accountant.engine.saddle_point import around, gaussian_tilt, suited, total_cgf
from dpproof.accountant.engine.shared_contours import contour_at
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Product

# How far below the stated log delta its estimate may be, on a lattice for example. Heuristic.
_ROUGH = -0.5
_LEAST_ROOM = 0.02  # Least share of delta that may be cut and aliased. Heuristic.
# Log of what is cut and aliased, if two deltas only have to be told apart. Heuristic.
_SEPARATE = -5.0


def certainly_below(product: Product, epsilon: float, delta: float) -> bool:
    """Return whether a quick proof shows delta(epsilon) <= delta.

    The proofs are a closed profile, Chernoff's delta(eps) <= M(c) e^{-c eps} c^c / (1+c)^{1+c}, and
    a short sum, as it need only separate delta from the one given.
    """
    above = product.above().bundled()
    if not 0 < epsilon < math.inf or infinite_mass(above).upper > 0 or not delta > 0:
        return False
    if epsilon >= max_loss(above):
        return True
    closed = closed_form(above)
    ends = closed.profile(np.array([epsilon])) if closed is not None else None
    if ends is not None:
        return float(ends[1][0]) <= delta
    log_delta = log_down(np.array(delta)).item()
    try:
        guess = gaussian_tilt(epsilon, log_delta)
        ridge, _, estimate = around(above, lambda one: one.epsilon - epsilon, guess)
        gap = log_delta - estimate
        if gap < _ROUGH:
            return False
        bounds = chernoff(ridge.c, ridge.value, epsilon)
        best = int(np.argmin(bounds))
        if bounds[best] < log_delta:  # as it seems
            c = ridge.c[best : best + 1]
            found_cgf = total_cgf(above, c + 0j)
            upper = found_cgf.value.real + found_cgf.radius
            if chernoff(c, upper, epsilon)[0] <= log_delta:
                return True
        saddle = suited(above, ridge, epsilon, estimate, _SEPARATE)
        room = log_delta + math.log(max(-math.expm1(-gap), _LEAST_ROOM))
        short = replace(saddle, log_delta=room)
        high = contour_at(above, short).log_profile(np.array([epsilon]))[1]
    except NotCertified:
        return False
    return float(high[0]) <= log_delta


def epsilon_is_zero(product: Product, delta: float) -> bool:
    """Return whether the sum of the pairs' total variation distances is at most delta.

    Statement: delta(0) of a product is at most the sum of counts times delta_i(0).
    Proof: couple each (X_i, Y_i), X_i ~ P_i and Y_i ~ Q_i, independently of the others such that
        they differ with probability delta_i(0); any of them differs with at most the sum.
    """
    total = 0.0
    for factor in product.factors:
        pair = factor.pair
        ends = pair.profile(np.zeros(1)) if pair.is_quick else None
        if ends is None:
            return False
        total += factor.count * float(ends[1][0])
    return total * (1 + 4 * UNIT_ROUNDOFF * (len(product.factors) + 1)) <= delta
