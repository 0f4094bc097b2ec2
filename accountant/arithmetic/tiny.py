"""Deltas that floats hardly hold: what is rounded away from 0, and which way."""

from __future__ import annotations

import numpy as np

from accountant.arithmetic.enclosure import Reals
from accountant.bound import Bound

LEAST_DELTA = 1e-300  # below, the upper end of epsilon is the largest loss


def with_mass(mass: Bound, log_delta: Reals) -> Reals:
    """The infinite mass and that of finite losses, rounded up: never 0, however small it is."""
    total = mass.upper + np.exp(np.minimum(log_delta, 1.0)) * (1 + 1e-14)
    return np.asarray(np.minimum(np.nextafter(total, np.inf), 1.0))
