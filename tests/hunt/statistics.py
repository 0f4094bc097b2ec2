"""The truth of sampling schemes: exact mixtures of shifts, and tests of one statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from tests.hunt.truth import MP, DeltaAlone, Real, real

_HALVINGS = 400
Masses = tuple[Real, ...]


@final
@dataclass(frozen=True)
class Shifts(DeltaAlone):
    """A mixture of N(r_j, 1) against N(0, 1), exactly: the likelihood ratio increases.

    Attributes:
        weights: of the shifts, their sum 1.
        shifts: at or above 0.
    """

    weights: Masses
    shifts: Masses

    def delta(self, epsilon: Real) -> Real:
        """The larger of both directions."""
        t = MP.exp(epsilon)
        return max(self.removal(t), self.addition(t))

    def removal(self, t: Real) -> Real:
        """The half-line above the place where the ratio is t; all if it is larger everywhere."""
        c = self._place(t)
        return self._above(c) - t * MP.ncdf(-c) if c is not None else 1 - t

    def addition(self, t: Real) -> Real:
        """The half-line below the place where the ratio is 1/t; nothing if it is larger."""
        c = self._place(1 / t)
        return MP.mpf(0) if c is None else MP.ncdf(c) - t * (1 - self._above(c))

    def _above(self, c: Real) -> Real:
        terms = zip(self.weights, self.shifts, strict=True)
        return sum(weight * MP.ncdf(shift - c) for weight, shift in terms)

    def _place(self, t: Real) -> Real | None:
        still = sum(w for w, r in zip(self.weights, self.shifts, strict=True) if not r)
        if t <= still:
            return None
        low, high = MP.mpf(-1), MP.mpf(1)
        while self._ratio(low) > t:
            low *= 2
        while self._ratio(high) < t:
            high *= 2
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._ratio(middle) < t else (low, middle)
        return low

    def _ratio(self, c: Real) -> Real:
        terms = zip(self.weights, self.shifts, strict=True)
        return sum(weight * MP.exp(shift * c - shift**2 / 2) for weight, shift in terms)


@final
@dataclass(frozen=True)
class Revealed(DeltaAlone):
    """What is revealed with some probability has one profile, else another; the worst of several.

    Attributes:
        parts: for each number of records, tau, the profile without it, and with it.
    """

    parts: tuple[tuple[Real, Shifts, Shifts], ...]

    def delta(self, epsilon: Real) -> Real:
        """The largest over directions and numbers of records."""
        t = MP.exp(epsilon)
        return max(
            (1 - tau) * getattr(one, way)(t) + tau * getattr(other, way)(t)
            for tau, one, other in self.parts
            for way in ("removal", "addition")
        )


@final
@dataclass(frozen=True)
class Largest(DeltaAlone):
    """From below: the largest of several normal variables, of which one is shifted.

    SAMPLING 4.2: P has one of T coordinates shifted by the first number, Q by the second; what the
    maximum shows holds of every scheme that draws the coordinate.

    Attributes:
        rounds: T.
        shifts: of P and of Q.
    """

    rounds: int
    shifts: tuple[Real, Real]

    def delta(self, epsilon: Real) -> Real:
        """The best of many half-lines, in both directions, found in floats."""
        t = float(MP.exp(min(epsilon, MP.mpf(600))))
        ends = np.linspace(-9, 9 + float(max(self.shifts)), 2000)
        p, q = (self._below(ends, float(shift)) for shift in self.shifts)
        above = int(np.argmax(-np.expm1(p) + t * np.expm1(q)))
        below = int(np.argmax(np.exp(q) - t * np.exp(p)))
        exact = MP.exp(epsilon)
        up, down = (self._exact(real(float(ends[place]))) for place in (above, below))
        found = max(
            exact * MP.expm1(up[1]) - MP.expm1(up[0]), MP.exp(down[1]) - exact * MP.exp(down[0])
        )
        return max(found, MP.mpf(0), 1 - exact)

    def _below(self, c: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (self.rounds - 1) * log_ndtr(c) + log_ndtr(c - shift)
        return found

    def _exact(self, c: Real) -> tuple[Real, Real]:
        """Logs of P and Q of values up to c, without cancellation."""
        others = (self.rounds - 1) * _log_below(c)
        return others + _log_below(c - self.shifts[0]), others + _log_below(c - self.shifts[1])


def _log_below(x: Real) -> Real:
    return MP.log(MP.ncdf(x)) if x < 0 else MP.log1p(-MP.ncdf(-x))


@final
@dataclass(frozen=True)
class Reports(DeltaAlone):
    """Histograms of reports by randomised response, for all data of few persons.

    Attributes:
        records: n.
        epsilon: of a report.
        categories: k.
    """

    records: int
    epsilon: Real
    categories: int

    def delta(self, epsilon: Real) -> Real:
        """The largest sum over histograms, one person's category replaced by another."""
        t = MP.exp(epsilon)
        best = MP.mpf(0)
        for others in _multisets(self.records - 1, self.categories):
            rest = self._law([place for place, times in enumerate(others) for _ in range(times)])
            p, q = (self._added(rest, own) for own in (0, 1))
            best = max(best, sum(max(p[one] - t * q[one], 0) for one in p))
        return best

    def _law(self, data: Sequence[int]) -> dict[tuple[int, ...], Real]:
        law = {(0,) * self.categories: MP.mpf(1)}
        for own in data:
            law = self._added(law, own)
        return law

    def _added(self, law: dict[tuple[int, ...], Real], own: int) -> dict[tuple[int, ...], Real]:
        found: dict[tuple[int, ...], Real] = {}
        total = MP.exp(self.epsilon) + self.categories - 1
        for counts, mass in law.items():
            for said in range(self.categories):
                chance = (MP.exp(self.epsilon) if said == own else 1) / total
                after = tuple(c + (place == said) for place, c in enumerate(counts))
                found[after] = found.get(after, MP.mpf(0)) + mass * chance
        return found


def _multisets(size: int, kinds: int) -> list[tuple[int, ...]]:
    return [one for one in product(range(size + 1), repeat=kinds) if sum(one) == size]


def binomial(trials: int, rate: Fraction) -> Masses:
    """The law of a binomial number."""
    return tuple(
        real(comb(trials, j) * rate**j * (1 - rate) ** (trials - j)) for j in range(trials + 1)
    )
