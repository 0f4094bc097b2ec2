"""Bound from above how much two laws have in common, where delta and power are next to 1.

Sums over K to the right of 0 give delta with an absolute error near its size; that is the wrong
thing to know where what is left to 1 is asked for.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpproof.accountant.arithmetic.enclosure import (
    ELEMENTARY_ULPS,
    UNIT_ROUNDOFF,
    Reals,
    rounded_short,
    unit_roundoff,
)
from dpproof.accountant.engine.contour import LARGEST_TAU, TENT, Contour, hats
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
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
    finite = np.isfinite(upper)
    return np.where(finite, upper, np.inf), np.where(finite, np.abs(upper), 0.0)


# Places of the lines. Not -1/2, where some K divide by 0. Heuristic: each is valid.
_PLACES = np.array([rounded_short(-k / 65) for k in range(64, 0, -1)])
_EXTRA = 3e-3  # tau, in standard deviations of the tilted loss. Heuristic: it moves mu by 5e-6.
_NEGLIGIBLE = 32.0  # Log of a sum over what may be cut and aliased. Heuristic: it is bounded.
_MOST = 1 << 15  # Most nodes, to bound time. Beyond, nothing is returned.


def log_overlap(product: Product, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose log(1 - delta) at real epsilons, for a product whose K is exact.

    The ends are -inf and 0 where K is out of reach.
    """
    low, high = np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)
    cgf = _ridge(product)[0]
    if not np.isfinite(cgf).all():
        return low, high
    best = np.argmin(cgf - np.multiply.outer(epsilon, _PLACES), axis=1)
    for place in np.unique(best).tolist():
        line, here = _line(product, place), best == place
        if line is not None:
            low[here], high[here] = _ends(line, epsilon[here])
    return low, high


def _ends(line: Contour, epsilon: Reals) -> tuple[Reals, Reals]:
    """Enclose log(1 - delta) by bounds of the same with the extra mechanism.

    Lemma (tent, from below). o = 1 - delta is concave in t = e^eps, g(t) = E o(tX) with X as in
    ``Contour``'s lemma, and g <= o. With u, v and the hat functions there, o is at least its chords
    on [ut, vt], so that g(t) >= o(t) E[T] + g(ut) E[T_u] + g(vt) E[T_v]. Solve for o(t).
    """
    width = TENT * line.tau
    points = np.concatenate([epsilon - width, epsilon, epsilon + width])
    low, high = (np.split(one, 3) for one in line.log_brackets(points))
    hat, hat_left, hat_right = (one * (1 - 4e-13) for one in hats(line.tau))
    with np.errstate(all="ignore"):  # what is not finite says nothing
        rest = hat_left * np.exp(low[0] - high[1]) + hat_right * np.exp(low[2] - high[1])
        value = np.log((1.0 - rest * (1 - 1e-13)) / hat) + high[1] + 1e-12
    proved = np.isfinite(value) & (rest < 1.0) & (line.tau <= LARGEST_TAU)
    return low[1], np.where(proved, np.minimum(value, 0.0), 0.0)


@lru_cache(maxsize=16)
def _ridge(product: Product) -> tuple[Reals, Reals]:
    """Return K at the places rounded up, not finite where it is out of reach, and K' nearly."""
    try:
        with np.errstate(all="ignore"):  # what is not finite says nothing
            cgf = total_cgf(product, _PLACES + 0j)
            upper = (cgf.value.real + cgf.radius).astype(float)
            return upper, np.gradient(upper, _PLACES)
    except NotCertified:
        return np.full(_PLACES.shape, np.inf), _PLACES


@lru_cache(maxsize=64)
def _line(product: Product, place: int) -> Contour | None:
    """Return the sum at one place, or None if it is too long or K is out of reach."""
    (cgf, slope), c = _ridge(product), float(_PLACES[place])
    points, upper = np.concatenate([[-1.0], _PLACES, [0.0]]), np.concatenate([[0.0], cgf, [0.0]])
    spread = max(float(np.gradient(slope, _PLACES)[place]), 1e-300)
    excess = upper - cgf[place] - (points - c) * slope[place]
    excess += _NEGLIGIBLE + max(0.5 * math.log(spread), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        periods = excess / np.abs(points - c)
    period = max(float(periods[points < c].min()), float(periods[points > c].min()), 1e-300)
    step, tau = rounded_short(2 * math.pi / period), rounded_short(_EXTRA * math.sqrt(spread))
    if not (0.0 < step < math.inf and 0.0 < tau < math.inf):
        return None
    reach = math.sqrt(2 * (_NEGLIGIBLE + max(0.5 * math.log(spread), 0.0))) / tau
    if not reach / step < _MOST:
        return None
    nodes = max(math.ceil(reach / step), 1) + 1
    s = c + 1j * step * np.arange(nodes)
    try:
        enclosure = total_cgf(product, s)
    except NotCertified:
        return None
    precise = s.astype(enclosure.value.dtype)
    extra = 0.5 * tau * tau * precise * (precise + 1.0)
    logs = np.log(-precise), np.log(precise + 1.0)
    unit = unit_roundoff(enclosure.value.dtype)
    parts = np.abs(logs[0]) + np.abs(logs[1]) + np.abs(extra)
    radius = enclosure.radius + 4 * (ELEMENTARY_ULPS + 1) * unit * (parts + np.abs(enclosure.value))
    last = step * (nodes - 1)
    moment = float(enclosure.value[0].real + enclosure.radius[0])
    return Contour(
        s=s,
        log_kernel=enclosure.value + extra - logs[0] - logs[1],
        radius=radius,
        step=step,
        log_cut=moment - 0.5 * (tau * last) ** 2 * (1 - 1e-12) - math.log(math.pi * last) + 1e-9,
        known=np.column_stack([points, upper]),
        tau=tau,
    )
