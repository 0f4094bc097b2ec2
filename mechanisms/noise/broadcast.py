"""Between a query's values and the exact samplers: broadcasting, and grid steps as numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.samplers.enclosure import nearest


def repeated_values(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Repeat each dataset's value ``count`` times: shape (datasets, count, ...)."""
    return np.repeat(values[:, np.newaxis], count, axis=1)


def on_grid(steps: NDArray[Any], granularity: Fraction) -> NDArray[np.float64]:
    """Return ``steps * granularity`` as the nearest float64: beyond 2^53 steps post-processing."""
    if steps.dtype == np.object_:
        numbers = [nearest(int(step) * granularity) for step in steps.flat]
        return np.array(numbers, dtype=np.float64).reshape(steps.shape)
    exponent = granularity.numerator.bit_length() - granularity.denominator.bit_length()
    return np.asarray(np.ldexp(steps.astype(np.float64), exponent))


def add_whole(values: NDArray[np.int64], noise: NDArray[Any]) -> NDArray[Any]:
    """Add integer noise to values without overflow; object dtype where int64 is too small."""
    shaped: NDArray[Any] = noise.reshape(values.shape)
    if noise.dtype == np.object_ or (noise.size and np.abs(noise).max() > 2**62):
        return np.asarray(values.astype(np.object_) + shaped.astype(np.object_))
    return np.asarray(values + shaped)
