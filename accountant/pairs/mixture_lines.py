"""K of many Gaussian mixtures on a vertical line each, all in arrays of rows times nodes.

A row is one mixture with its own line. Derivation, with what rounding adds: proofs/theory/sweep.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.elementary import log1p_enclosure
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Enclosure, Numbers, Reals
from dpproof.accountant.pairs.gaussian_mixtures import GaussianMixtures, TrapezoidRules

_COLUMNS = 64  # Size of products of matrices, for which no library starts threads. Heuristic.
_TAYLOR = 0.5  # Largest |x| for which e^x - 1 - x is summed by Taylor. Error bounds depend on it.
_TERMS = 16  # 2 * 0.5**16 / 18! is below 2**-65. Error bounds depend on it.
# How many u a few operations err by, and those whose size is linear in t. Error bounds depend on
# both.
_OPERATIONS, _FIRST_ORDER = 160.0, 32.0


@final
@dataclass(frozen=True, slots=True)
class _Terms:
    """What the sums of rows have in common, with g = log(1 + u) at m nodes."""

    growth: Numbers  # shape (p, m), g
    grown: Reals  # shape (p, m), |g|
    moved: Reals  # shape (p, m), how many u the g err by
    blur: Reals  # shape (p, m), |log w|
    bent: Numbers  # shape (p, m), w (g - u)
    flat: Reals  # shape (p,), how many u the sum of ``bent`` errs by
    exponents: Numbers  # shape (p, k, m), x = a g for k real powers a of 1 + u
    second: Numbers  # shape (p, k, m), w (e^x - 1 - x)
    heavy: Reals  # shape (p, k, m), |w| max(e^{Re x}, 1)
    rounded: Reals  # shape (p, m), how many u a term of the second order errs by

    @staticmethod
    def of(mixtures: GaussianMixtures, powers: Reals, rule: TrapezoidRules) -> _Terms:
        """Return the terms at real powers of 1 + u, shape (p, k)."""
        growth = mixtures.log_ratio(rule.z, rule.shift)
        bent, digits = mixtures.curvature(rule, growth)
        blur, nodes = np.abs(rule.log_weights), growth.shape[1]
        x, log_weights = powers[:, :, None] * growth[:, None, :], rule.log_weights[:, None, :]
        return _Terms(
            growth,
            np.abs(growth),
            mixtures.slip(rule, growth),
            blur,
            bent,
            (np.abs(bent) * (digits + nodes + 8.0)).sum(axis=1),
            x,
            _weighted_second(x, log_weights),
            np.exp(np.maximum(x.real, 0.0) + log_weights.real),
            112.0 * blur + _OPERATIONS + 3 * nodes + 18.0 * rule.shift[:, None] ** 2,
        )


def moments(
    mixtures: GaussianMixtures,
    powers: Reals,
    step: Reals,
    rule: TrapezoidRules,
    shape: tuple[int, int],
) -> tuple[Enclosure, Enclosure]:
    """Enclose K at some real points of each row, and on the line through the last of them.

    M - 1 is the sum over the nodes of w ((1 + u)^alpha - 1 - alpha u). At alpha = a + i t it is
    A + i t B + the sum of W E(t g), with W = w e^{a g}, E(x) = e^{ix} - 1 - ix, A the sum at t = 0
    and B that of w ((e^{ag} - 1) g + g - u).

    Args:
        mixtures: p rows.
        powers: shape (p, k), exponents a of 1 + u; the line goes through the last.
        step: shape (p,), distance of the nodes on the line.
        rule: the quadratures, for all of these powers.
        shape: the nodes on the line are 0 up to the product of these two, exclusive.
    Returns:
        K at the powers, shape (p, k), and on the line, shape (p, n). Where the powers are those of
        addition, it is K at the conjugates.
    """
    terms, truncation = _Terms.of(mixtures, powers, rule), np.exp(rule.log_truncation)[:, None]
    size, high = np.abs(terms.exponents), np.abs(powers)[:, :, None]
    own = terms.rounded[:, None, :] * np.minimum(size * size, size)
    slid = 4.0 * high * terms.moved[:, None, :]
    slid *= np.minimum((high + 1.0) * terms.grown[:, None, :], 2.0)
    error = (terms.heavy * (own + slid)).sum(axis=2) + np.abs(powers) * terms.flat[:, None]
    excess = terms.second.sum(axis=2) + powers * terms.bent.sum(axis=1)[:, None]
    real = log1p_enclosure(excess, UNIT_ROUNDOFF * error + truncation)

    a, last = np.abs(powers[:, -1, None]), terms.exponents[:, -1]
    weights = np.exp(rule.log_weights)
    lean = (terms.second[:, -1] + weights * last) * terms.growth + terms.bent
    lean_error = a * terms.grown * terms.rounded + 4.0 * (2.0 * a + 1.0) * terms.moved
    lean_error = (terms.heavy[:, -1] * terms.grown * lean_error).sum(axis=1) + terms.flat

    tilted = np.exp(rule.log_weights + last)
    t = step[:, None] * np.arange(shape[0] * shape[1])
    level, leaning = excess[:, -1, None], lean.sum(axis=1)[:, None]
    sums = _turned_sums(tilted, terms.growth, step, shape) + level + 1j * t * leaning
    off = _turned_error(tilted, terms, a, t) + error[:, -1, None] + t * lean_error[:, None]
    off += 8.0 * (np.abs(level) + t * np.abs(leaning))
    return real, log1p_enclosure(sums, UNIT_ROUNDOFF * off * (1 + 1e-9) + truncation)


def _turned_sums(
    tilted: Numbers, growth: Numbers, step: Reals, shape: tuple[int, int]
) -> enclosure.Complexes:
    """Return the sums of W E(t g), t = k step, shape (p, n).

    With D(x) = e^{ix} - 1, E(x + y) = D(x) D(y) + E(x) + E(y), so that of k = j width + r the
    products are those of matrices.
    """
    rows, width = shape
    (inner, bent), (outer, lifted) = (
        _turned((step[:, None] * times)[:, :, None] * growth[:, None, :])
        for times in (np.arange(1.0 * width), width * np.arange(1.0 * rows))
    )
    first, second = _weighted(tilted, outer), inner.swapaxes(1, 2)
    total = np.zeros((step.size, 2 * rows, 2 * width))
    for start in range(0, growth.shape[1], _COLUMNS):
        part = slice(start, start + _COLUMNS)
        for top, side in itertools.product(
            range(0, 2 * rows, _COLUMNS), range(0, 2 * width, _COLUMNS)
        ):
            above, aside = slice(top, top + _COLUMNS), slice(side, side + _COLUMNS)
            total[:, above, aside] += first[:, above, part] @ second[:, part, aside]
    across, down = (_weighted(tilted, one).sum(axis=2) for one in (bent, lifted))
    sums = np.empty((step.size, rows, width), dtype=complex)
    sums.real = total[:, :rows, :width] - total[:, rows:, width:]
    sums.imag = total[:, rows:, :width] + total[:, :rows, width:]
    sums += (across[:, :width] + 1j * across[:, width:])[:, None, :]
    sums += (down[:, :rows] + 1j * down[:, rows:])[:, :, None]
    return sums.reshape(step.size, -1)


def _turned_error(tilted: Numbers, terms: _Terms, a: Reals, t: Reals) -> Reals:
    """Bound how many u those sums err by, shape (p, n): |E(x)| is at most |x|^2 / 2 and 2 |x|."""
    weights, grown = np.abs(tilted), terms.grown
    relative, slid = terms.rounded + 8.0 * a * grown, terms.moved
    first = (weights * grown).sum(axis=1)[:, None]
    far = weights * (2.0 * relative * grown + 2.0 * slid * (1.0 + a * grown))
    near = weights * grown * (0.5 * relative * grown + slid * (1.0 + 0.5 * a * grown))
    second = np.minimum(t * far.sum(axis=1)[:, None], t * t * near.sum(axis=1)[:, None])
    return np.asarray(_FIRST_ORDER * t * first + second)


def _turned(x: Numbers) -> tuple[Reals, Reals]:
    """Return e^{ix} - 1 and e^{ix} - 1 - ix for Im x >= 0, real parts above imaginary ones."""
    times = x.shape[1]
    turned = np.empty((x.shape[0], 2 * times, x.shape[2]))
    first, second = turned[:, :times], turned[:, times:]
    half = np.sin(0.5 * x.real)
    np.multiply(half, -2.0 * half, out=first)
    np.sin(x.real, out=second)
    if np.iscomplexobj(x):
        fallen = np.expm1(-x.imag)
        first += fallen * np.cos(x.real)
        second *= 1.0 + fallen
    bent = turned.copy()
    bent[:, times:] -= x.real
    if np.iscomplexobj(x):
        bent[:, :times] += x.imag
    return turned, bent


def _weighted(weights: Numbers, sums: Reals) -> Reals:
    """Return the products with complex weights, real parts above imaginary ones."""
    scaled = weights.real[:, None, :] * sums
    if np.iscomplexobj(weights):
        times = sums.shape[1] // 2
        scaled[:, :times] -= weights.imag[:, None, :] * sums[:, times:]
        scaled[:, times:] += weights.imag[:, None, :] * sums[:, :times]
    return scaled


def _weighted_second(x: Numbers, log_weights: Numbers) -> Numbers:
    """Return w (e^x - 1 - x), w = e^log_weights, the weight in the exponent where x is large."""
    near, weights = np.abs(x) <= _TAYLOR, np.exp(log_weights)
    small = np.where(near, x, 0.0)
    total = np.full(x.shape, 1.0 / math.factorial(_TERMS + 1), dtype=x.dtype)
    for order in range(_TERMS, 1, -1):
        total = total * small + 1.0 / math.factorial(order)
    far = np.exp(np.where(near, 0.0, x) + log_weights) - weights * (1.0 + x)
    return np.where(near, weights * total * small * small, far)
