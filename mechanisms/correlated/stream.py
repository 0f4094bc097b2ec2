"""Noisy rounds one after another, with a memory as long as the band."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.mechanisms.correlated.factors import Factor, Triangular
from dpproof.mechanisms.noise.broadcast import on_grid
from dpproof.mechanisms.queries import real_values
from dpproof.mechanisms.samplers import default_granularity
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import gaussian_rounded_rationals

Reals = NDArray[np.float64]
Exact = NDArray[Any]  # whole numbers of 2^-1074, the last place of a float
AddNoise = Callable[[Exact, int], Reals]

_PLACES: Final = 1074


@final
class NoisyRounds:
    """The stream of one run; ``MatrixMechanism.start`` begins it.

    Every row's sum of rounds is exact, gets fresh Gaussian noise, and is rounded to a grid
    that no data decides. What ``add`` returns is a function of these noisy sums alone.
    """

    __slots__ = ("_factor", "_place", "_rng", "_rows", "_shape", "_sigma")

    def __init__(self, factor: Factor, sigma: Fraction, rng: Rng) -> None:
        self._factor, self._sigma, self._rng = factor, sigma, rng
        self._rows: _TriangularRows | _TreeRows
        if isinstance(factor, Triangular):
            self._rows = _TriangularRows(factor)
        else:
            self._rows = _TreeRows()
        self._place = 0
        self._shape: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"NoisyRounds({self._place} of {self._factor.rounds} rounds)"

    def add(self, value: object) -> Reals:
        """Take the exact value of the next round, and return it with correlated noise.

        Args:
            value: a number or array, in data units, of one shape in all rounds.
        Returns:
            The value plus noise, of the same shape; running sums of these have little noise.
        """
        if self._place == self._factor.rounds:
            allowed = f"at most {self._place} values"
            raise ParameterError("rounds", self._place + 1, allowed, "start() begins another run")
        real = real_values(None, [value])[0]
        if self._shape is None:
            self._shape = real.shape
        if real.shape != self._shape:
            raise DataError("value", real, f"of one shape in all rounds, here {self._shape}")
        released = self._rows.next(_exact(real.ravel()), self._place, self._noisy_sum)
        self._place += 1
        return released.reshape(self._shape)

    def _noisy_sum(self, sums: Exact, below: int) -> Reals:
        """Return sums in units of 2^-1074 / below, with noise."""
        grid = default_granularity(self._sigma)
        exact = [Fraction(one, below << _PLACES) for one in sums]
        return on_grid(gaussian_rounded_rationals(exact, self._sigma, grid, self._rng), grid)


@final
class _TriangularRows:
    """Rows of a triangular factor: y_i = sum of c_j x_(i-j) + z_i, and x solved from y."""

    def __init__(self, factor: Triangular) -> None:
        self._factor = factor
        self._values: deque[Exact] = deque(maxlen=factor.bands)
        self._released: deque[Reals] = deque(maxlen=factor.bands)

    def next(self, value: Exact, place: int, add_noise: AddNoise) -> Reals:
        """Return the next round's value with noise."""
        self._values.appendleft(value)
        row = self._factor.newest_first(place)
        below = lcm(*(one.denominator for one in row))
        total = np.zeros_like(value)
        for one, earlier in zip(row, self._values, strict=False):  # beyond the band all are 0
            if one:
                total = total + one.numerator * (below // one.denominator) * earlier
        released = add_noise(total, below)
        for one, before in zip(row[1:], self._released, strict=False):
            released = released - float(one) * before
        released = released / float(row[0])
        self._released.appendleft(released)
        return released


@final
class _TreeRows:
    """Nodes of a binary tree: each complete one gets noise, and prefixes are sums of nodes."""

    def __init__(self) -> None:
        self._prefixes: list[Exact] = []  # exact, where each level's last node ended
        self._noisy: list[Reals] = []  # of the last complete node of each level
        self._total: Exact | int = 0
        self._prefix: Reals | float = 0.0

    def next(self, value: Exact, place: int, add_noise: AddNoise) -> Reals:
        """Return the next round's share of the noisy prefix."""
        rounds = place + 1
        self._total = self._total + value
        if rounds & place == 0:  # a power of two is the end of the first node of a new level
            self._prefixes.append(np.zeros_like(value))
            self._noisy.append(np.zeros(len(value)))
        for level in range(len(self._noisy)):
            if rounds % (1 << level) == 0:
                self._noisy[level] = add_noise(self._total - self._prefixes[level], 1)
                self._prefixes[level] = self._total
        parts = (one for level, one in enumerate(self._noisy) if rounds >> level & 1)
        before, self._prefix = self._prefix, sum(parts, np.zeros(len(value)))
        return self._prefix - before


def _exact(values: Reals) -> Exact:
    """Return floats as whole numbers of 2^-1074."""
    ratios = (value.as_integer_ratio() for value in values.tolist())
    whole = [above << (_PLACES + 1 - below.bit_length()) for above, below in ratios]
    return np.array([*whole, None], dtype=np.object_)[:-1]
