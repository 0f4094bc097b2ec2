"""One of several products of pairs, drawn by a public law, as one pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import deltas, epsilon, infinite_mass, max_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import EASIER, NotCertified
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.tabulated import TabulatedPair

_LEAST_LEVEL = 1e-100  # Least delta at which the profile is inverted. Smaller ones raise.
_TINY = 1e-115  # A part's delta at which a table ends. Heuristic: what is beyond is added.
_LOST = 2.0**-1073  # Soundness: above what a product of floats loses where it underflows.
_LONGEST = 60.0  # Where it ends if no loss is large enough, nats. Heuristic, likewise.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePair(TabulatedPair):
    """The pair of (i, x), i drawn by the same law under P and Q, x from the i-th part's P or Q.

    Its profile is the mean of the parts' profiles, and its M is the mean of their M.

    Attributes:
        weights: the probabilities of the parts, above 0, of sum 1.
        parts: products, in this direction.
    """

    weights: tuple[Fraction, ...]
    parts: tuple[Product, ...]
    is_quick: ClassVar[bool] = True  # It costs as much as those of the parts.

    def swapped(self) -> MixturePair:
        """Return the mixture of the swapped parts."""
        return MixturePair(weights=self.weights, parts=tuple(part.swapped() for part in self.parts))

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile, the mean of the parts' profiles at real epsilons."""
        low, high, lost = np.zeros((3, *epsilon.shape))
        for weight, part in zip(self.weights, self.parts, strict=True):
            lower, upper = deltas(part, epsilon)
            low += float(weight) * lower
            high += float(weight) * upper
            lost += upper > 0.0
        lower = np.maximum(low * (1 - self._slack) - len(self.parts) * _LOST, 0.0)
        return lower, np.minimum(high * (1 + self._slack) + lost * _LOST, 1.0)

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon by the profile; it is at most the largest epsilon of the parts.

        Raises:
            NotCertified: a part does not reach delta, or delta is too small for floats.
        """
        level = Bound.of(delta)
        top = max(epsilon(part, level).upper for part in self.parts)
        if top == 0.0:
            return Bound.exactly(0.0)
        if not (math.isfinite(top) and level.lower >= _LEAST_LEVEL):
            raise NotCertified(
                f"some part has no finite epsilon at delta = {level.lower:.3g}; {EASIER}"
            )
        return self.inverted(level, 0.9 * top, 0.1 * top, top)

    @property
    def max_loss(self) -> float:
        """Return the largest loss of the parts."""
        return max(max_loss(part) for part in self.parts)

    @property
    def end(self) -> float:
        """Return the largest loss beyond which a part's profile is below 1e-115 or constant."""
        return max(1e-300, *(_end(part) for part in self.parts))

    @property
    def rest(self) -> float:
        """Return the mean of the parts' infinite masses, rounded down."""
        masses = zip(self.weights, self.parts, strict=True)
        total = sum(float(one) * infinite_mass(part.below()).lower for one, part in masses)
        return total * (1 - self._slack)

    @property
    def zcdp_bound(self) -> float:
        """Return the largest rho of the parts: a mean of M is at most their maximum."""
        return max(part.added(lambda pair: pair.zcdp_bound) for part in self.parts) * (1 + 1e-14)

    @property
    def gdp_bound(self) -> float:
        """Return the largest mu of the parts: a mean of profiles is at most their maximum."""
        squares = [part.added(lambda pair: pair.gdp_bound**2) for part in self.parts]
        return math.sqrt(max(squares)) * (1 + 1e-14)

    def log_moment_above(self, s: Reals, table: Pair | None) -> Reals:
        """Return upper bounds of log M at real s > 0, from those of the parts without a table."""
        if any(infinite_mass(part.above()).upper > 0 for part in self.parts):
            return TabulatedPair.log_moment_above(self, s, table)
        logs = []
        for weight, part in zip(self.weights, self.parts, strict=True):
            cgf = total_cgf(part.above(), s + 0j)
            share = math.log(weight) * (1 - self._slack)  # Soundness: rounded up, below 0.
            logs.append(cgf.value.real + cgf.radius + share)
        total = np.logaddexp.reduce(np.array(logs), axis=0)
        return np.asarray(total + self._slack * (1.0 + np.abs(total)))

    @property
    def _slack(self) -> float:
        """Return a bound of the relative rounding of a mean."""
        return (len(self.weights) + 8) * 2.0**-52


def _end(part: Product) -> float:
    """Return a loss beyond which the profile of a part is below ``_TINY`` or constant."""
    top = max(max_loss(part), 0.0)
    epsilon_up = min(epsilon(part, _TINY).upper, top)
    return epsilon_up if math.isfinite(epsilon_up) else min(top, _LONGEST)


# Sums of squares that are told apart; whatever is beyond counts with delta = 1.
_CAP: Final = 400
# Soundness: the mass beyond is a difference from 1, whose rounding errors are far below this.
_OCCURRENCES_LOST: Final = 1e-12


def occurrences(records: int, draws: Sequence[int]) -> tuple[NDArray[np.float64], float]:
    """Return the law of sum C_p^2, up to 400, and the mass beyond, rounded up.

    Example:
        >>> masses, beyond = occurrences(10, [1, 1])
        >>> masses[:3].round(6).tolist(), beyond < 1e-6
        ([0.81, 0.18, 0.01], True)
    """
    total = np.zeros(_CAP + 1)
    total[0] = 1.0
    for number in draws:
        most = min(number, int(_CAP**0.5))
        times = np.arange(most + 1)
        law = np.zeros(_CAP + 1)
        law[times**2] = _binomial(number, times, records)
        total = np.convolve(total, law)[: _CAP + 1]
    return total, float(max(1.0 - total.sum(), 0.0)) + _OCCURRENCES_LOST


def _binomial(number: int, times: NDArray[np.int64], records: int) -> NDArray[np.float64]:
    """Return the binomial masses of ``times`` occurrences in ``number`` draws of 1/records."""
    if records == 1:
        return np.asarray(times == number, dtype=np.float64)
    masses = np.empty(len(times))
    masses[0] = math.exp(number * math.log1p(-1.0 / records))
    for k in range(len(times) - 1):
        masses[k + 1] = masses[k] * (number - k) / ((k + 1) * (records - 1))
    return masses
