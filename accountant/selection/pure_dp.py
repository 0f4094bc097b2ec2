"""Selection from pure differential privacy: what the largest loss can grow by."""

from __future__ import annotations

import math

import numpy as np

from accountant.run_counts.law import LAW_ERROR, RunLaw

_CELLS = 4096
_FAR = 700.0  # above it e^-epsilon is no longer a float


def pure_excess(law: RunLaw, epsilon: float) -> float:
    """Upper end of the largest log phi'(c)/phi'(tau) that epsilon-DP allows, nats.

    Statement: c and tau are the masses of one set under two neighbours, so tau >= e^-eps c and
        1 - tau <= e^eps (1 - c). Of the curve that these bound, the part tau = e^-eps c has its
        largest ratio at its end, the corner c = 1 - tau = e^eps/(1 + e^eps): z phi''(z)/phi'(z)
        is the mean of K - 1 under weights k p_k z^(k-1), which grows with z. On the other part,
        a = 1 - c and 1 - tau = e^eps a, cut into cells of a; phi' grows, so on a cell the ratio
        is at most phi' at c's largest over phi' at tau's least value.
        Where a phi''(1-a)/phi'(1-a) grows with a (``law.corner_is_worst``) the corner is worst
        altogether, and no cells are needed. For at most n runs phi'(tau) >= (tau/c)^(n-1) phi'(c),
        so n - 1 times epsilon is enough; and phi' is between its ends.
    Rounds: up.
    """
    most = math.inf
    if law.largest is not None:
        most = math.nextafter(max(law.largest - 1, 0) * epsilon, math.inf)
    if epsilon > _FAR:
        return min(_log_ratio(law, np.array([1.0]), np.array([0.0])), most)
    return min(_within(law, epsilon), most)


def _within(law: RunLaw, epsilon: float) -> float:
    """At the corner, and in the cells where it need not be the worst."""
    low, high = 1.0 / (1.0 + math.exp(epsilon)), 1.0 / (1.0 + math.exp(-epsilon))
    corner = _log_ratio(law, np.array([high]), np.array([low]))
    if law.corner_is_worst:
        return corner
    a = np.concatenate([[0.0], np.geomspace(low * 1e-9, low * (1 + 1e-12), _CELLS)])
    least = np.clip(1.0 - math.exp(epsilon) * a[1:] * (1 + 1e-12), low * (1 - 1e-12), 1.0)
    return max(corner, _log_ratio(law, 1.0 - a[:-1], least))


def _log_ratio(law: RunLaw, c: np.ndarray, tau: np.ndarray) -> float:
    values = law.derivative(c * (1 + 1e-15)), law.derivative(tau * (1 - 1e-14))
    with np.errstate(divide="ignore"):
        ratio = np.log(np.minimum(values[0], 1e300)) - np.log(values[1])
    return float(ratio.max()) + 4 * LAW_ERROR
