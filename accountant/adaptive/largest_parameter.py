"""Find nearly the largest parameter of a notion for which it implies (epsilon, delta)-DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.guarantees.guarantee import Guarantee

MARGIN: Final = 1e-9  # Largest share of epsilon that is given away. Heuristic.
_STEPS: Final = 12  # Most steps of the secant method. Heuristic: the result is checked.
_HALVINGS: Final = 60  # of a bracket: how much of the budget is given away, not soundness


def implies(notion: Guarantee[Any], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether a guarantee is proved to imply (epsilon, delta)-DP.

    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> implies(GDP(mu=1), Fraction(6), Fraction(1, 10**6))
        True
    """
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

    Args:
        notion: the guarantee of a parameter that grows like rho.
        epsilon: above 0, nats.
        delta: above 0, below 1.
        start: a parameter beyond the largest.
    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> found = largest_parameter(
        ...     lambda square: GDP(mu_squared=square), Fraction(1), Fraction(1, 10**6), Fraction(9)
        ... )
        >>> 0.056 < found < 0.0561
        True
    """
    found = _by_secants(notion, epsilon, delta, start)
    if found is not None and implies(notion(found), epsilon, delta):
        return found

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
