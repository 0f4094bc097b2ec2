"""Compute the growth of log(sinh(y)/y), to full relative precision also if it is next to 0."""

from __future__ import annotations

import math

# Relative error of approximately forty roundings of positive terms. Soundness depends on it.
GROWTH_ERROR = 1e-13
# Largest d for which sinh(d)/d - 1 is summed as a series. The error bound depends on it.
_SERIES = 1.0
_TERMS = 12  # Terms of 1 + d^2/(4*5) + ...; the next is below 2^-80. The error bound depends on it.
# Levels of the continued fraction; the rest is below 2^-60 for y up to 2. The error bound depends
# on it.
_FRACTIONS = 24
_NEAR = 2.0  # Largest y for which the continued fraction is used. The error bound depends on it.
_FAR = 300.0  # A step from which sinh might overflow; another expression is used. Heuristic.


def log_sinh_growth(start: float, step: float) -> float:
    """Return g(start + step) - g(start), g(y) = log(sinh(y)/y), for start and step above 0.

    Statement: with y = start and d = step it is log(1 + N/(1 + d/y)),
        N = 2 sinh(d/2)^2 + (coth(y) - 1/y) sinh(d) + (sinh(d) - d)/y,
        as sinh(y + d)/sinh(y) = cosh(d) + coth(y) sinh(d). All terms are positive.
    Returns:
        A number within ``GROWTH_ERROR`` of it, relative, or within 1e-315.
    Example:
        >>> round(log_sinh_growth(1.0, 1.0), 12)  # log(sinh(2) / (2 sinh(1)))
        0.433780830483
    """
    if step > _FAR:
        decay = math.log(-math.expm1(-2.0 * (start + step)) / -math.expm1(-2.0 * start))
        return step + decay - math.log1p(step / start)
    grown = 2.0 * math.sinh(0.5 * step) ** 2
    grown += langevin(start) * math.sinh(step) + _sinh_excess(step) * (step / start)
    return math.log1p(grown / (1.0 + step / start))


def langevin(y: float) -> float:
    """Return coth(y) - 1/y for y > 0, next to 0 by the continued fraction y/(3 + y^2/(5 + ...))."""
    if y > _NEAR:
        return 1.0 / math.tanh(y) - 1.0 / y
    below = 2.0 * _FRACTIONS + 3.0
    for k in range(_FRACTIONS, 0, -1):
        below = 2.0 * k + 1.0 + y * y / below
    return y / below


def _sinh_excess(d: float) -> float:
    """Return sinh(d)/d - 1 for d > 0."""
    if d > _SERIES:
        return math.sinh(d) / d - 1.0
    total = 1.0
    for k in range(_TERMS, 0, -1):
        total = 1.0 + total * d * d / ((2.0 * k + 2.0) * (2.0 * k + 3.0))
    return d * d / 6.0 * total
