r"""The privacy profile of a few bounded pairs, exactly, as a finite sum.

With z = s + 1/2 the Laplace, logistic and randomised-response pairs have moment generating
functions that are finite sums of terms  weight * z^{-j} e^{z a}  (``Pair.exponentials``), and
so has any product of them. Inverting the transform of each term,

    delta(eps) = e^{eps/2} sum over terms with u = a - eps > 0 of weight * g_j(u),
    g_j(u) = (1/2 pi i) int e^{zu} / (z^j (z^2 - 1/4)) dz = sum_{i>=0} 2^{-2i} u^{2i+1+j}/(2i+1+j)!

(the transform of a term with u <= 0 closes on the right, where it is analytic, and is 0).
The terms are few while the counts are small or eps is near the largest loss: just where the
contour needs many nodes. Weights of both signs cancel as counts grow, and where nearly equal
exponents are merged; the error below is relative to the sum of the absolute terms before they
were merged, so a wide bracket says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.pairs.pair import Exponentials
from dpproof.accountant.pairs.product import Product

_MAX_TERMS = 3000  # Most exponents, to bound memory. Heuristic: more return None.
_MAX_COUNT = 60  # Largest count that is multiplied out. Heuristic.
_MAX_DEGREE = 150  # Largest power of 1/z. Heuristic.
# Largest exponent: beyond, weights underflow and kernels overflow. Soundness depends on it.
_MAX_SIZE = 600.0
_UNDERFLOW = 1e-295  # Above what underflow takes of a weight. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True)
class ExponentialSum:
    """M of a product as sum of weights[t, j] z^{-j} e^{z exponents[t]}, z = s + 1/2.

    Attributes:
        exponents: shape (t,), nats.
        weights: shape (t, j).
        sizes: shape (t, j), the sums of the absolute values that were merged into each weight.
        size: sum of counts times largest exponents: bounds what rounding moves an exponent by.
        moved: the largest move of an exponent by merging nearly equal ones.
        wobble: sum of counts times the largest relative errors of weights, in units of u.
    """

    exponents: Reals
    weights: Reals
    sizes: Reals
    size: float
    moved: float
    wobble: float

    def log_profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return logs of a lower (possibly -inf) and an upper bound of delta.

        The epsilons are at or above 0.
        """
        u = self.exponents - epsilon[:, None]
        blur = 8 * UNIT_ROUNDOFF * (self.size + np.abs(epsilon))[:, None] + self.moved
        inside = u > -blur
        u = np.where(inside, np.maximum(u, 0.0), 0.0)
        terms, slopes = _kernels(u, self.weights.shape[1])
        rounding = UNIT_ROUNDOFF * (
            64.0 + 4.0 * self.weights.shape[1] + 8.0 * self.weights.shape[0] + self.wobble
        )
        with np.errstate(over="ignore", invalid="ignore"):
            value = np.einsum("etj,tj->e", terms, self.weights)
            size = np.einsum("etj,tj->e", terms, self.sizes)
            moved = np.einsum(
                "etj,tj->e", (slopes + blur[..., None]) * inside[..., None], self.sizes
            )
            error = rounding * size + 4.0 * blur[:, 0] * moved
            error += _UNDERFLOW * terms.sum(axis=(1, 2))
        beyond = ~(np.isfinite(value) & np.isfinite(error))  # sums beyond floats say nothing
        value, error = np.where(beyond, 0.0, value), np.where(beyond, np.inf, error)
        with np.errstate(divide="ignore"):
            lower = np.log(np.maximum(value - error, 0.0))
            upper = np.log(np.maximum(value + error, 5e-324))
        shift = 0.5 * epsilon
        margin = 1e-14 * (1.0 + np.abs(shift))
        return lower + shift - margin, upper + shift + margin


def _kernels(u: Reals, degrees: int) -> tuple[Reals, Reals]:
    """Return g_j(u) and the bound (1 + u) cosh-like of its slope, shape (..., j).

    The last two are summed as series, the others by g_j = u^{j+1}/(j+1)! + g_{j+2}/4, where nothing
    cancels: of d degrees a value has d more roundings at most.
    """
    values = np.empty((*u.shape, degrees))
    slopes = np.empty((*u.shape, degrees))
    count = 24 + int(1.5 * float(u.max(initial=0.0)))
    power = np.ones(u.shape)
    for j in range(degrees):
        power = power * u / (1 + j)
        values[..., j] = power
    for j in range(degrees - 1, -1, -1):
        if j + 2 < degrees:
            values[..., j] += 0.25 * values[..., j + 2]
            continue
        term = values[..., j].copy()
        for i in range(1, count):
            term = term * (0.25 * u * u) / ((2 * i + j) * (2 * i + 1 + j))
            values[..., j] += term
    slopes[..., 0] = np.cosh(np.minimum(0.5 * u, 700.0))
    slopes[..., 1:] = values[..., :-1]
    return values, slopes


def exponential_sum(product: Product) -> ExponentialSum | None:
    """Return the finite sum of a product, or None.

    It exists if every pair has one, and is used if the terms are few.
    """
    exponents: Reals = np.zeros(1)
    both: Reals = np.ones((2, 1, 1))
    size = moved = wobble = 0.0
    for factor in product.factors:
        one = factor.pair.exponentials()
        if one is None or factor.count > _MAX_COUNT:
            return None
        if factor.count > 1 and factor.pair.near_lattice()[1]:  # sums merge there, which takes long
            return None
        for _ in range(factor.count):
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # asked below whether they are finite
                exponents, both, shift = _times(exponents, both, one)
            moved += shift
            if exponents.size > _MAX_TERMS or both.shape[2] > _MAX_DEGREE:
                return None
        size += factor.count * float(np.abs(one.exponents).max())
        sizes = np.abs(one.weights)
        logs = np.abs(np.log(np.where(sizes > 0, sizes, 1.0))).max(initial=0.0)
        largest = float(np.abs(one.exponents).max())
        if size > _MAX_SIZE:
            return None
        wobble += factor.count * (16.0 + 8.0 * (float(logs) + largest))
    if not np.isfinite(both).all():
        return None
    return ExponentialSum(exponents, both[0], both[1], size, moved, wobble)


def _times(exponents: Reals, both: Reals, one: Exponentials) -> tuple[Reals, Reals, float]:
    """Multiply by one pair's terms and merge equal exponents; return how far one moved at most.

    Weights and the sums of their absolute values, shape (2, t, j), are multiplied alike.
    """
    width = both.shape[2]
    degrees = width + one.weights.shape[1] - 1
    sums = (exponents[:, None] + one.exponents).ravel()
    others = np.stack([one.weights, np.abs(one.weights)])
    products = np.zeros((2, exponents.size, one.exponents.size, degrees))
    for j in range(one.weights.shape[1]):
        products[..., j : j + width] += both[:, :, None, :] * others[:, None, :, j, None]
    span = float(np.abs(sums).max(initial=0.0)) + 1e-300
    keys = np.rint(sums / span * 2.0**40)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    merged = np.zeros((2, first.size, degrees))
    for total, part in zip(merged, products, strict=True):
        np.add.at(total, inverse, part.reshape(-1, degrees))
    return sums[first], merged, float(np.abs(sums[first][inverse] - sums).max())
