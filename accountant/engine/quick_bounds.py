"""Prove quickly that delta(epsilon) is at most a given delta, if that is possible."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, log_down, rounded_short
from dpproof.accountant.engine.contour import chernoff, on_line
from dpproof.accountant.engine.profile import closed_form, infinite_mass, max_loss
from dpproof.accountant.engine.saddle_point import around, gaussian_tilt, suited, total_cgf
from dpproof.accountant.engine.shared_contours import contour_at
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.pair import Tails
from dpproof.accountant.pairs.product import Product

# How far below the stated log delta its estimate may be, on a lattice for example. Heuristic.
_ROUGH = -0.5
_LEAST_ROOM = 0.02  # Least share of delta that may be cut and aliased. Heuristic.
# Log of what is cut and aliased, if two deltas only have to be told apart. Heuristic.
_SEPARATE = -5.0
# Most factors of a line with noise, the noise times sqrt(c (c + 1)), the distance of nodes times
# the standard deviation, the last node times the noise, and most nodes. Heuristic.
_FEW, _NOISE, _TURN, _REACH, _SHORT = 4, 0.3, 1.4, 3.2, 128


def certainly_below(product: Product, epsilon: float, delta: float) -> bool:
    """Return whether a quick proof shows delta(epsilon) <= delta.

    The proofs are a closed profile, a sum of few pairs with noise, Chernoff's delta(eps) <=
    M(c) e^{-c eps} c^c / (1+c)^{1+c}, and a short sum, as it need only separate delta from the one
    given.
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
        if _below_with_noise(above, rounded_short(guess), epsilon, log_delta):
            return True
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


def _below_with_noise(product: Product, c: float, epsilon: float, log_delta: float) -> bool:
    """Return whether delta is that small even with an extra Gaussian mechanism, which raises it.

    With it a line needs to know nothing of the product but K, and no lower end. The line suits a
    Gaussian with a saddle at c.
    """
    few = 0 < len(product.factors) <= _FEW
    if not few or all(one.pair.lattice(c) for one in product.factors):
        return False
    variance = (epsilon + 1 / c + 1 / (1 + c)) / (c + 0.5)
    step = rounded_short(_TURN / math.sqrt(variance + c**-2.0 + (1 + c) ** -2.0))
    tau = rounded_short(_NOISE / math.sqrt(c * (c + 1.0)))
    nodes = math.ceil(_REACH / (tau * step)) + 1
    if nodes > _SHORT:
        return False
    s = c + 1j * step * np.arange(nodes)
    cgf = total_cgf(product, s)
    cut = cgf.value[0].real + cgf.radius[0] + Tails([]).log_tail(s.imag[-1:], tau)
    contour = on_line(s, cgf, (step, tau), float(cut[0]), np.empty((0, 2)))
    return float(contour.log_brackets(np.array([epsilon]))[1][0]) <= log_delta


def epsilon_is_zero(product: Product, delta: float) -> bool:
    """Return whether the sum of the pairs' total variation distances is at most delta.

    Statement: delta(0) of a product is at most the sum of counts times delta_i(0).
    Proof: couple each (X_i, Y_i), X_i ~ P_i and Y_i ~ Q_i, independently of the others such that
        they differ with probability delta_i(0); any of them differs with at most the sum.
    """
    total = product.added(lambda pair: pair.distance)
    return total * (1 + 4 * UNIT_ROUNDOFF * (len(product.factors) + 1)) <= delta
