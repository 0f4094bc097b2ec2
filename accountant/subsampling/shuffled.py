"""An epoch of Gaussian sums over shuffled batches, bracketed between two pairs.

Nobody knows the pair of the worst case. From above a Gaussian pair is one, as the order of the
records may be revealed. From below two datasets are enough: there the largest of the batches'
noisy sums has a law in closed form. Proofs: proofs/theory/shuffled.md.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, cast, final

import numpy as np

from dpproof.accountant.arithmetic.crossing import bisect, invert
from dpproof.accountant.arithmetic.enclosure import (
    LEAST_DELTA,
    UNIT_ROUNDOFF,
    Reals,
    log_down,
    log_up,
)
from dpproof.accountant.arithmetic.normal_distribution import log_ndtr
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import epsilon
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair, gaussian_profile
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.bracketed import expanded
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.accountant.subsampling.tabulated import TabulatedPair

_LEAST: Final = 1e-60  # Mass of P at which the table ends. Heuristic: what is beyond is left out.
_WIDEST: Final = 690.0  # Largest loss of a table, as e^700 is the largest float. Heuristic.
_FARTHEST: Final = 38.0  # Standard deviations beyond which normal tails are 0. Heuristic.
_LIKELY: Final = 0.99  # Mass under P of an event where losses are too large for a table. Heuristic.
_HALVINGS: Final = 60  # Of a threshold. Heuristic: every threshold gives a lower end.
# Least mass with all its digits. Soundness depends on it.
_SMALLEST: Final = 1e-290
# Relative rounding of log Phi(x - a) is at most this times 1 + x^2 + a^2, that of x - a included.
# Soundness depends on it.
_LOG_TAIL: Final = 512 * UNIT_ROUNDOFF


class BelowGaussian(TabulatedPair, ABC):
    """A pair that a Gaussian pair dominates, and that is one in its tail if P has the record.

    Attributes:
        mu_squared: that of the Gaussian pair, exact.
        removal: whether P is the law with the record; else it is Q.
    """

    __slots__ = ()

    mu_squared: Fraction
    removal: bool

    @property
    def plain(self) -> GaussianPair:
        """Return the Gaussian pair: where the record is may be revealed."""
        return GaussianPair(mu_squared=self.mu_squared)

    @property
    def zcdp_bound(self) -> float:
        """Return that of the Gaussian pair."""
        return self.plain.zcdp_bound

    @property
    def gdp_bound(self) -> float:
        """Return that of the Gaussian pair."""
        return self.plain.gdp_bound

    @property
    def gaussian_tail(self) -> float:
        """Return mu^2 with the record, whose law is at least a share of one Gaussian's."""
        return self.plain.gaussian_tail if self.removal else 0.0

    def swapped(self) -> Self:
        """Return the pair of the other direction."""
        other: Self = replace(cast("Any", self), removal=not self.removal)
        return other

    @property
    def leads(self) -> bool:
        """Return whether P is the law with the record."""
        return self.removal


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledGaussianPair(BelowGaussian):
    """An epoch of shuffled batches: a Gaussian pair above, the largest of its noisy sums below.

    Below, P and Q are the laws of the maximum of independent N(., 1), one for each batch, of which
    one has mean 2 mu under P and mu under Q (0 if the record is replaced) and the others have
    mean 0.

    Attributes:
        mu_squared: that of the Gaussian pair above, exact.
        batches: the number of batches of an epoch, from 1.
        replaced: whether the record is replaced, not zeroed out.
        removal: whether P is the law with the record; else it is Q.
    """

    mu_squared: Fraction
    batches: int
    replaced: bool
    removal: bool = True
    lower_is_convex: ClassVar[bool] = True  # The largest of lines, one for each threshold.

    def above(self, count: int) -> Pair:
        """Return the Gaussian pair."""
        return self.plain

    @property
    def end(self) -> float:
        """Return the loss at the threshold where 1e-60 is left of P."""
        return min(max(self.reach(_LEAST), 1e-300), _WIDEST)

    def reach(self, mass: float) -> float:
        """Return about the loss at the threshold where so much is left of P."""
        loss = float(self._loss(_at(self._place(mass)))[0])
        return loss if self.removal else -loss

    def _place(self, mass: float) -> float:
        """Return about the threshold where so much is left of P."""
        left, right = self._ends
        if self.removal:
            return bisect(lambda x: self._masses(_at(x))[0][0] > mass, left, right)[1]
        return bisect(lambda x: self._masses(_at(x))[0][0] < mass, left, right)[0]

    def below(self, count: int) -> Pair:
        """Return a table of the largest sum, or where losses are too large one event of it."""
        if self.end < _WIDEST:
            return TabulatedPair.below(self, count)
        p, q = (Fraction(float(one[0])) for one in self._rounded(_at(self._place(_LIKELY))))
        return FinitePair(p=(p, 1 - p), q=(q, 1 - q))

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Bound the profile by the best threshold from below, by the Gaussian's from above."""
        first, second = self._rounded(self.thresholds(epsilon))
        with np.errstate(over="ignore"):
            lower = first - np.exp(epsilon) * second
        return np.maximum(lower, 0.0), gaussian_profile(math.sqrt(self.mu_squared), epsilon)[1]

    def _rounded(self, x: Reals) -> tuple[Reals, Reals]:
        """Return both laws' masses of an event, the first rounded down and the second up.

        Rounds: logs of Phi by their own slack, so that 1 - F has as much, and F as much times its
            log; twice that covers a product with e^epsilon. Below the least mass with all its
            digits the first is 0, and the second that mass.
        """
        first, second = self._masses(x)
        slack = 2.0 * _LOG_TAIL * (1.0 + x * x + self._shifts[0] ** 2)
        if not self.removal:
            slack = slack * (1.0 - np.log(np.maximum(np.minimum(first, second), _SMALLEST)))
        low = np.where(first > _SMALLEST, first * (1.0 - slack), 0.0)
        return np.maximum(low, 0.0), np.maximum(second, _SMALLEST) * (1.0 + slack)

    def cells(self, ends: Reals) -> tuple[Reals, Reals]:
        """Approximate both laws' masses of the cells between thresholds, by increasing losses."""
        ordered = ends if self.removal else ends[::-1]
        first, second = (np.concatenate([[1.0], one, [0.0]]) for one in self._masses(ordered))
        return np.asarray(-np.diff(first)), np.asarray(-np.diff(second))

    def epsilon(self, delta: float | Bound) -> Bound:
        """Bracket epsilon of one epoch."""
        upper = epsilon(Product.of(self.plain), delta).upper
        level = log_up(np.array(max(Bound.of(delta).upper, LEAST_DELTA))).item()

        def lower_ends(at: Reals) -> tuple[Reals, Reals]:
            log = log_down(self.profile(at)[0])
            return log, log

        end = self.end
        least = invert(lower_ends, (level, level), 0.1 * end, 0.1 * end, end).lower
        return Bound(least, upper)

    def thresholds(self, epsilon: Reals) -> Reals:
        """Return about the places beyond which (up to which, if swapped) losses exceed epsilon."""
        wanted = epsilon if self.removal else -epsilon
        low, high = (np.full(epsilon.shape, end) for end in self._ends)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            short = self._loss(middle) < wanted
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.asarray(0.5 * (low + high))

    @property
    def _shifts(self) -> tuple[float, float]:
        """Return the mean of the shifted coordinate with the record, and without it."""
        mu = math.sqrt(self.mu_squared)
        return (mu, 0.0) if self.replaced else (2.0 * mu, mu)

    @property
    def _ends(self) -> tuple[float, float]:
        """Return thresholds beyond all normal tails."""
        return -_FARTHEST, self._shifts[0] + _FARTHEST

    def _masses(self, x: Reals) -> tuple[Reals, Reals]:
        """Return both laws' masses of an event: beyond x with the record first, else up to x."""
        rest = (self.batches - 1) * log_ndtr(x)
        ahead, behind = (rest + log_ndtr(x - shift) for shift in self._shifts)
        if self.removal:
            return np.asarray(-np.expm1(ahead)), np.asarray(-np.expm1(behind))
        return np.asarray(np.exp(behind)), np.asarray(np.exp(ahead))

    def _loss(self, x: Reals) -> Reals:
        """Return the log of the ratio of both densities at x, with the record over without."""
        others = math.log(self.batches - 1) if self.batches > 1 else -math.inf
        rest = others + _log_hazard(x)
        ahead, behind = (
            log_ndtr(x - shift) + np.logaddexp(rest, _log_hazard(x - shift))
            for shift in self._shifts
        )
        return np.asarray(ahead - behind)


def as_gaussian(product: Product) -> Product:
    """Return what dominates a product: Gaussian pairs in the place of shuffled batches."""
    return expanded(product, high=True).mapped(_plain)


def _plain(pair: Pair) -> Pair:
    """Return a pair with the Gaussian pair in the place of shuffled batches."""
    if isinstance(pair, SubsampledPair):
        return replace(pair, base=as_gaussian(pair.base))
    return pair.plain if isinstance(pair, ShuffledGaussianPair) else pair


def _log_hazard(y: Reals) -> Reals:
    """Return the log of phi/Phi."""
    return np.asarray(-0.5 * y * y - 0.5 * math.log(2 * math.pi) - log_ndtr(y))


def _at(x: float) -> Reals:
    """Return one place as an array."""
    return np.array([x])
