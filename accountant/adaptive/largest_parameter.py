"""Find nearly the largest parameter of a notion for which it implies (epsilon, delta)-DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.arithmetic.enclosure import float_up
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RenyiGuarantee

MARGIN: Final = 1e-9  # Largest share of epsilon that is given away. Heuristic.
_STEPS: Final = 12  # Most steps of the secant method. Heuristic: the result is checked.
_HALVINGS: Final = 60  # of a bracket: how much of the budget is given away, not soundness


def implies(notion: Guarantee[Any], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether a guarantee is proved to imply (epsilon, delta)-DP."""
    return Fraction(notion.epsilon(delta=delta).upper) <= epsilon


def largest_parameter(
    notion: Callable[[Fraction], Guarantee[Any]],
    epsilon: Fraction,
    delta: Fraction,
    start: Fraction,
) -> Fraction:
    """Return a parameter, near the largest below a start, whose notion implies (epsilon, delta)-DP.

    Epsilon of rho-zCDP and of mu-GDP is nearly linear in the root of rho and in mu, so that a few
    steps find where it is epsilon less half of the margin; halving does if they do not. The margin
    leaves room for other roundings to prove the same parameter.
    """
    value = _by_secants(notion, epsilon, delta, start)
    if value is not None and implies(notion(value), epsilon, delta):
        return value

    def fits(parameter: Fraction) -> bool:
        return implies(notion(parameter), epsilon, delta)

    return bisect(fits, Fraction(0), start, rounds=_HALVINGS)[0]


def _by_secants(
    notion: Callable[[Fraction], Guarantee[Any]],
    epsilon: Fraction,
    delta: Fraction,
    start: Fraction,
) -> Fraction | None:
    """Estimate the parameter at which epsilon falls short by half of the margin, None if lost."""
    if not (1e-100 < epsilon < 1e100 and delta > 1e-100):
        return None
    size, log = float(epsilon), -math.log(float(delta))
    wanted = size * (1 - MARGIN / 2)

    def excess(root: float) -> float:
        return notion(Fraction(root) ** 2).epsilon(delta=delta).upper - wanted

    last = size / (math.sqrt(size + log) + math.sqrt(log))  # as if Chernoff's bound were exact
    root, before = last * 1.05, excess(last)
    for _ in range(_STEPS):
        if not (root > 0.0 and Fraction(root) ** 2 < start):
            return None
        value = excess(root)
        if abs(value) <= 0.4 * MARGIN * size:
            return Fraction(root) ** 2
        if value == before or not math.isfinite(value):
            return None
        last, root, before = root, root - value * (root - last) / (value - before), value
    return None


def divergence_cost(guarantee: Guarantee[Any], order: Fraction) -> Fraction:
    """Return an upper bound of the Rényi divergence at an order, exact where it is stated."""
    if isinstance(guarantee, RenyiGuarantee):
        stated = guarantee.divergence_up(order)
        if stated is not None:
            return stated
    else:
        upper = guarantee.rdp(order=order).upper
        if upper < math.inf:
            return Fraction(upper)
    raise NotImplied(
        f"{guarantee.describe()} has no finite Rényi divergence at order {float(order):g}; spend "
        "at another order, or in another notion"
    )


_REACH: Final = 60  # orders 1 + 2^(j/2), |j| <= 60; soundness asks only that the weights sum to 1
_J: Final = np.arange(-_REACH, _REACH + 1)
_X: Final = math.sqrt(2.0) ** _J
_LOG_INVERSE_WEIGHTS: Final = np.log(1.5 * (np.abs(_J) + 1) * (np.abs(_J) + 2))
_MIXTURE_BOUND_HALVINGS: Final = (
    50  # of the bracket of the bound: how much is given away, not soundness
)
_ROUNDING: Final = 2.0**-48  # relative; far above the rounding of three products and sums
_LARGEST: Final = 1e250  # above it the products of the mixture may overflow


def mixture_bound(rho: Fraction, log_inverse: float) -> float:
    """Return the loss at which a mixture of supermartingales reaches 1/delta.

    Let V(l, rho) = sum_j w_j exp(x_j l - x_j (1 + x_j) rho), x_j = 2^{j/2} and
    w_j = 2 / (3 (|j| + 1) (|j| + 2)). If every mechanism is rho_i-zCDP given the outputs before it,
    V(L_t, rho_1 + ... + rho_t) is a supermartingale from at most 1, so that with probability at
    least 1 - delta it stays below 1/delta (proofs/theory/filters.md, 5).
    """
    size = float_up(rho)
    # One term alone reaches 1/delta there; the sum does so before. Infinite terms are no minimum.
    with np.errstate(over="ignore"):
        high = float(np.min((1.0 + _X) * size + (log_inverse + _LOG_INVERSE_WEIGHTS) / _X))
    high *= 1.0 + _ROUNDING
    if high > _LARGEST:
        return high

    def below(loss: float) -> bool:
        return not _log_down(loss, size) >= log_inverse

    return bisect(below, 0.0, high, rounds=_MIXTURE_BOUND_HALVINGS)[1]


def _log_down(loss: float, rho: float) -> float:
    """Return a number at or below the log of the mixture."""
    gains, costs = _X * loss, _X * (1.0 + _X) * rho + _LOG_INVERSE_WEIGHTS
    exponents = gains - costs - _ROUNDING * (gains + costs)
    top = float(np.max(exponents))
    return top + math.log(float(np.sum(np.exp(exponents - top)))) - _ROUNDING * (abs(top) + 200.0)
