"""The instance that refutes Gaussian noise on separators: one record, whose loss is a parity.

All candidates are sign vectors; the record's loss is 1 where an odd number of signs is positive,
its neighbour's where it is even. Without losses the signs of the noise win; the loss is avoided by
flipping the cheapest sign, if that costs less than 1. Signs are independent of absolute values and
uniform, so the parity of the output is a sufficient statistic and the true epsilon is exact:
log((1 - q/2 - delta) / (q/2)), q the probability that no flip costs less than 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import special


@final
@dataclass(frozen=True, slots=True)
class ParityInstance:
    """Independent Gaussian flip costs.

    Attributes:
        places: the number of signs.
        deviation: of a flip's cost, in losses, before the absolute value.
    """

    places: int
    deviation: float

    def stuck(self) -> float:
        """Return the probability q that no flip costs less than one loss."""
        cheap = special.erf(1 / (self.deviation * math.sqrt(2)))
        return float(math.exp(self.places * math.log1p(-cheap)))

    def epsilon(self, delta: float) -> float:
        """Return the true epsilon at delta, between a record and its neighbour."""
        half = self.stuck() / 2
        return math.log((1 - half - delta) / half)

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Run the mechanism: 1 if the released vector has an odd number of positive signs.

        Args:
            data: which parity has the loss, 1 for odd.
            size: how many runs.
            rng: source of the noise.
        """
        noise = rng.normal(scale=self.deviation, size=(size, self.places))
        odd = (noise > 0).sum(axis=1) % 2
        flipped = (odd == data) & (np.abs(noise).min(axis=1) < 1)
        return np.asarray((odd ^ flipped).astype(np.float64))


def opdisc(dimension: int, epsilon: float, delta: float) -> ParityInstance:
    """Return OPDisc on the cube at its printed sigma, 7 G D^2 sqrt(log 1/delta) / (tau epsilon).

    There tau = 2, D = sqrt(d), G = 1/2, and flipping sign j costs 2 |eta_j| / sqrt(d).
    """
    sigma = 7 * dimension * math.sqrt(math.log(1 / delta)) / (4 * epsilon)
    return ParityInstance(dimension, 2 * sigma / math.sqrt(dimension))


def rspm(places: int, epsilon: float, delta: float) -> ParityInstance:
    """Return Gaussian RSPM at its printed sigma, 7 sqrt(m log 1/delta) / epsilon.

    Flips cost |eta_j|.
    """
    return ParityInstance(places, 7 * math.sqrt(places * math.log(1 / delta)) / epsilon)
