"""The abstract dominating pair (P, Q): all that the engine uses of one.

Everything is a statement about the privacy loss L = log dP/dQ and its cumulant generating
function K(s) = log E_P[e^{sL}; L < inf]. What a pair can add beyond K and its infinite mass
makes answers faster or narrower, never different.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.readable import Readable


@final
@dataclass(frozen=True, slots=True)
class Smoothness:
    """A bound of |E[e^{iyL}]| for large y, L drawn from the loss tilted by c.

    The tilted law is a Gaussian of the given variance convolved with some law that is at least
    a mixture of uniform distributions: ``masses[j]`` spread evenly over an interval of length
    ``widths[j]``, the rest unknown; and for y >= 0 the modulus is at most
    sum_j ``heights[j]`` e^{-``rates[j]`` y}. Used and proved in pairs/smoothness.py.

    Attributes:
        gaussian_variance: at or below the true one, nats squared.
        masses: shape (m,), each at or below the true mass, sum at most 1.
        widths: shape (m,), nats.
        heights: shape (k,), upper bounds, or empty when no such bound is known.
        rates: shape (k,), lower bounds at or above 0.
        span: for a law on a lattice, its span; what follows is then valid for y <= pi / span.
        step_masses: shape (l,), masses spread evenly over neighbouring lattice points.
        steps: shape (l,), how many points.
    """

    gaussian_variance: float = 0.0
    masses: Reals = field(default_factory=lambda: np.empty(0))
    widths: Reals = field(default_factory=lambda: np.empty(0))
    heights: Reals = field(default_factory=lambda: np.empty(0))
    rates: Reals = field(default_factory=lambda: np.empty(0))
    span: float = 0.0
    step_masses: Reals = field(default_factory=lambda: np.empty(0))
    steps: Reals = field(default_factory=lambda: np.empty(0))


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """A lattice: all finite losses are ``offset + k * span``, k an integer.

    Attributes:
        offset: one loss, nats; within two units in the last place.
        span: the spacing, nats; within two units in the last place.
        adjacency: at or below twice the sum over k of w_k w_{k+1}, where w are the masses of
            the loss tilted by c. Then |E e^{iyL}|^2 <= 1 - adjacency (1 - cos(y span)).
    """

    offset: float
    span: float
    adjacency: float


@final
@dataclass(frozen=True, slots=True)
class Exponentials:
    """M as a sum over t, j of weights[t, j] z^{-j} e^{z exponents[t]}, z = s + 1/2.

    Attributes:
        exponents: shape (t,), nats, within two units in the last place.
        weights: shape (t, j), within a few units in the last place.
    """

    exponents: Reals
    weights: Reals


class Pair(Readable, ABC):
    """A pair of distributions (P, Q). Final subclasses are frozen, hashable dataclasses.

    What has a default here claims nothing, so that leaving it out makes answers weaker only.
    """

    __slots__ = ()

    @abstractmethod
    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K(s) for arguments of shape (n,) with real part > -1.

        K is defined up to a multiple of 2 pi i, which integer counts do not change.
        """

    @classmethod
    def cgfs(cls, pairs: Sequence[Self], s: Complexes) -> list[Enclosure]:
        """Enclose K of many pairs of this class at the same arguments.

        Subclasses override it if that is faster than one by one.
        """
        return [pair.cgf(s) for pair in pairs]

    def cgf_along(self, points: Reals, line: Complexes) -> Enclosure:
        """Enclose K at real points and then on a vertical line of equal steps.

        Subclasses override it if some order of evaluation is faster.
        """
        return self.cgf(np.concatenate([points, line]))

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' at increasing c > 0.

        Heuristic: used to place a contour, part of no error bound.
        """
        return differences(c, lambda s: [self.cgf(s)])[0]

    @abstractmethod
    def swapped(self) -> Pair:
        """Return the pair (Q, P)."""

    def refined(self) -> Pair:
        """Return the same pair with K computed to more digits if that is possible.

        Otherwise it returns the pair itself.
        """
        return self

    # Whether the profile, if there is one, costs less than sums over K.
    is_quick: ClassVar[bool] = True

    @property
    @abstractmethod
    def infinite_mass(self) -> float:
        """Return P(L = inf), within one unit in the last place; exactly 0.0 if it is 0."""

    @property
    def max_loss(self) -> float:
        """Return an upper bound of the finite losses in nats, +inf if there is none."""
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        """Return some rho with K(s) <= rho s (s + 1) for all s > 0, +inf if none is known.

        It is used only if s is too large to evaluate K, so it has to be valid at infinity.
        """
        return math.inf

    def rho_beyond(self, s: float) -> float:
        """Return a bound of K(t) / (t (t + 1)) for all t >= s."""
        most = math.inf if self.infinite_mass else max(self.max_loss, 0.0) / (1.0 + s)
        return min(self.zcdp_bound, most)

    @property
    def gaussian_tail(self) -> float:
        """Return at most the mu^2 of a Gaussian in the tail of the losses, 0 if there is none."""
        return 0.0

    @abstractmethod
    def work(self, s: complex) -> int:
        """Return approximately how many terms the value K(s) takes."""

    def log_moment_above(self, s: Reals, table: Pair) -> Reals:
        """Return upper bounds of log E_P[e^{sL}] at real s > 0, infinite if L can be infinite.

        Args:
            s: shape (n,).
            table: a pair with an exact K that dominates this one.
        """
        cgf = table.cgf(s + 0j)
        return np.asarray(cgf.value.real + cgf.radius + (np.inf if table.infinite_mass else 0.0))

    @property
    def gdp_bound(self) -> float:
        """Return some mu for which the pair is mu-GDP, +inf if none is known."""
        return math.inf

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals] | None:
        """Return rigorous lower and upper ends of the hockey-stick divergence at real epsilon.

        It returns None if there is no closed form; the engine then uses ``cgf``.
        """
        return None

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return a minorant of the loss law under P tilted by e^{cL}, c > 0.

        ``moment`` encloses K(c).
        """
        return Smoothness()

    def envelope(self, c: float, moment: Bound) -> tuple[Reals, Reals]:
        """Return heights and rates that bound the characteristic function of the tilted law.

        They help pairs composed a few times; both are empty if no bound is known.
        """
        return np.empty(0), np.empty(0)

    def lattice(self, c: float) -> Lattice | None:
        """Return the lattice that carries every finite loss, or None; c >= 0 is the tilt."""
        return None

    def near_lattice(self) -> tuple[Pair, float]:
        """Return what has losses on a lattice, and by how much some are moved there at most.

        Of the other pair only the law of the loss under P is used. By default nothing moves.
        """
        return self, 0.0

    def exponentials(self) -> Exponentials | None:
        """Return M as a finite sum of exponentials over powers of s + 1/2, or None."""
        return None

    @property
    def adapts(self) -> bool:
        """Return whether the pair's worst case depends on what other parts of a product showed."""
        return False

    def powers_above(self, count: int) -> list[Power]:
        """Return a product of pairs with an exact K that dominates this one, ``count`` times."""
        return [(self.above(count), count)]

    def powers_below(self, count: int, *, adapts: bool) -> list[Power]:
        """Return a product of pairs with an exact K that this one, ``count`` times, dominates.

        Args:
            count: how often.
            adapts: whether the other parts have one worst case, which may be looked at first.
        """
        return [(self.below(count), count)]

    @abstractmethod
    def above(self, count: int) -> Pair:
        """Return a pair with an exact K that dominates this one (itself if K is exact).

        ``count`` is how often it will be composed, so that a grid can suit it.
        """

    @abstractmethod
    def below(self, count: int) -> Pair:
        """Return a pair with an exact K that this one dominates (itself if K is exact)."""


Power: TypeAlias = tuple[Pair, int]
"""A pair and how often it is there."""


def differences(
    c: Reals, cgfs: Callable[[Complexes], list[Enclosure]]
) -> list[tuple[Reals, Reals, Reals]]:
    """Approximate K, K' and K'' at increasing c > 0 by differences, for each K of a list.

    Heuristic: used to place a contour, part of no error bound.
    """
    step = 1e-3 * c
    answers = []
    for one in cgfs(np.concatenate([c - step, c, c + step]) + 0j):
        left, value, right = one.value.real.reshape(3, c.size)
        bend = (right - 2 * value + left) / step**2
        answers.append((value, (right - left) / (2 * step), bend))
    return answers
