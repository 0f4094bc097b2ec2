"""Round a tiny delta up, so that it is never 0 by rounding."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound

# For a smaller delta the upper end of epsilon is the largest loss. Heuristic: that end is always
# valid.
LEAST_DELTA = 1e-300


def total_delta_up(mass: Bound, log_delta: Reals) -> Reals:
    """Return an upper bound of the infinite mass plus delta of the finite losses; never 0."""
    total = mass.upper + np.exp(np.minimum(log_delta, 1.0)) * (1 + 1e-14)
    return np.asarray(np.minimum(np.nextafter(total, np.inf), 1.0))
