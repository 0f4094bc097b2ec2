"""What a dominating pair knows, symmetric and exact ones, and bounds of what contours cut off.

Everything is a statement about the privacy loss L = log dP/dQ and its cumulant generating
function K(s) = log E_P[e^{sL}; L < inf]. What a pair can add beyond K and its infinite mass
makes answers faster or narrower, never different.

Lemma (layers). Let the law of L be at least sum_j m_j U(I_j), U(I) uniform on an interval I of
length w_j, and let S(x) = sup over t >= x of |sin t / t|. Then for every real y
|E e^{iyL}| <= 1 - sum_j m_j (1 - S(|y| w_j / 2)).
Proof. The rest of the law has mass 1 - sum m_j and contributes at most that; the transform of
U(I) at y has modulus |sin(y w/2) / (y w/2)| <= S(|y| w/2). The bound decreases in |y|.

A density that lies above a step function with one peak is the sum of its horizontal layers,
each uniform on an interval: this is how a pair finds its layers. As the location of a layer
does not matter, only its mass and width are kept.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self, TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.elementary import sinc_deficit
from dpproof.accountant.arithmetic.enclosure import Complexes, Enclosure, Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.readable import Readable


@final
@dataclass(frozen=True, slots=True)
class Smoothness:
    """A bound of |E[e^{iyL}]| for large y, L drawn from the loss tilted by c.

    The tilted law is a Gaussian of the given variance convolved with some law that is at least
    a mixture of uniform distributions: ``masses[j]`` spread evenly over an interval of length
    ``widths[j]``, the rest unknown; and for y >= 0 the modulus is at most
    sum_j ``heights[j]`` e^{-``rates[j]`` y}. Proved in proofs/theory/contour.md, section 3.
    """

    gaussian_variance: float = 0.0  # at or below the true one, nats squared
    # shape (m,), each at or below the true mass, sum at most 1
    masses: Reals = field(default_factory=lambda: np.empty(0))
    widths: Reals = field(default_factory=lambda: np.empty(0))  # shape (m,), nats
    # shape (k,), upper bounds, or empty when no such bound is known
    heights: Reals = field(default_factory=lambda: np.empty(0))
    # shape (k,), lower bounds at or above 0
    rates: Reals = field(default_factory=lambda: np.empty(0))
    # for a law on a lattice, its span; what follows is then valid for y <= pi / span
    span: float = 0.0
    # shape (l,), masses spread evenly over neighbouring lattice points
    step_masses: Reals = field(default_factory=lambda: np.empty(0))
    steps: Reals = field(default_factory=lambda: np.empty(0))  # shape (l,), how many points
    # masses of two atoms, at or below the true ones, and their distance, within 5e-13 of itself; or
    # None
    atoms: tuple[float, float, float] | None = None


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """A lattice: all finite losses are ``offset + k * span``, k an integer."""

    offset: float  # one loss, nats; within two units in the last place
    span: float  # the spacing, nats; within two units in the last place
    # at or below twice the sum over k of w_k w_{k+1}, where w are the masses of the loss tilted by
    # c. Then |E e^{iyL}|^2 <= 1 - adjacency (1 - cos(y span)).
    adjacency: float


@final
@dataclass(frozen=True, slots=True)
class Exponentials:
    """M as a sum over t, j of weights[t, j] z^{-j} e^{z exponents[t]}, z = s + 1/2."""

    exponents: Reals  # shape (t,), nats, within two units in the last place
    weights: Reals  # shape (t, j), within a few units in the last place


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
        """Enclose K of many pairs of this class at the same arguments; overridden for speed."""
        return [pair.cgf(s) for pair in pairs]

    def cgf_along(self, points: Reals, line: Complexes) -> Enclosure:
        """Enclose K at real points, then on a line of equal steps; overridden for speed."""
        return self.cgf(np.concatenate([points, line]))

    @classmethod
    def cgfs_along(
        cls, pairs: Sequence[Self], points: Reals, line: Complexes
    ) -> Sequence[Enclosure]:
        """Enclose K of many pairs of this class, as ``cgf_along`` does for one."""
        if cls.cgf_along is Pair.cgf_along:
            return cls.cgfs(pairs, np.concatenate([points, line]))
        return [pair.cgf_along(points, line) for pair in pairs]

    def steer(self, c: Reals) -> tuple[Reals, Reals, Reals]:
        """Approximate K, K' and K'' at growing c > 0. Heuristic: it is in no error bound."""
        value, slope, bend = differences(c, lambda s: [self.cgf(s)])[:, 0]
        return value, slope, bend

    @abstractmethod
    def swapped(self) -> Pair:
        """Return the pair (Q, P)."""

    def refined(self) -> Pair:
        """Return the same pair with K computed to more digits if possible, else the pair itself."""
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
    def distance(self) -> float:
        """Return an upper bound of the total variation distance, 1 where none is quick."""
        ends = self.profile(np.zeros(1)) if self.is_quick else None
        return 1.0 if ends is None else float(ends[1][0])

    @property
    def variance(self) -> float | None:
        """Return the variance of small losses to a digit, or None. It is a heuristic."""
        return None

    @property
    def gaussian_tail(self) -> float:
        """Return at most the mu^2 of a Gaussian in the tail of the losses, 0 if there is none."""
        return 0.0

    def work(self, s: complex) -> int:
        """Return approximately how many terms the value K(s) takes, by default a few."""
        return 4

    def log_moment_above(self, s: Reals, table: Pair | None) -> Reals:
        """Return upper bounds of log E_P[e^{sL}] at real s > 0, infinite if L can be infinite.

        By the exact K of a ``table`` that dominates this pair, or by its own without one.
        """
        one = table or self
        cgf = one.cgf(s + 0j)
        return np.asarray(cgf.value.real + cgf.radius + (np.inf if one.infinite_mass else 0.0))

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
        """Return a minorant of P's loss law tilted by e^{cL}, c > 0; ``moment`` encloses K(c)."""
        return Smoothness()

    @classmethod
    def smoothnesses(
        cls, pairs: Sequence[Self], c: float, moments: Sequence[Bound]
    ) -> list[Smoothness]:
        """Return the smoothness of many pairs of this class; overridden for speed."""
        return [pair.smoothness(c, one) for pair, one in zip(pairs, moments, strict=True)]

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

        ``adapts`` says whether the other parts have one worst case, which may be looked at first.
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


def differences(c: Reals, cgfs: Callable[[Complexes], list[Enclosure]]) -> Reals:
    """Approximate K, K', K'' at growing c > 0, (3, pairs, n). Heuristic: in no error bound."""
    step = 1e-3 * c
    each = cgfs(np.concatenate([c - step, c, c + step]) + 0j)
    left, value, right = np.split(np.stack([one.value.real for one in each]).astype(float), 3, 1)
    return np.stack([value, (right - left) / (2 * step), (right - 2 * value + left) / step**2])


class CommonSupport(Pair, ABC):
    """A pair whose P and Q have the same support, so that no loss is infinite."""

    __slots__ = ()

    @property
    def infinite_mass(self) -> float:
        """Return 0: both laws have the same support."""
        return 0.0


class Reflected(Pair, ABC):
    """A pair whose P and Q are exchanged by a reflection of the outcomes."""

    __slots__ = ()

    def swapped(self) -> Pair:
        """Return the pair itself, which is symmetric."""
        return self


class ExactPair(Pair, ABC):
    """A pair that dominates itself and is dominated by itself, with an exact K."""

    __slots__ = ()

    @final
    def above(self, count: int) -> Pair:
        """Return the pair itself: K is exact."""
        return self

    @final
    def below(self, count: int) -> Pair:
        """Return the pair itself: K is exact."""
        return self


_SHARED = 4  # Neighbouring layers that are counted as one. Heuristic: the narrowest width is kept.
_SAFETY = 1.0 - 1e-9  # Far above the rounding in heights and widths. Soundness depends on it.


def layers(heights: Reals, widths: Reals) -> tuple[Reals, Reals]:
    """Cut a histogram below a density into uniform layers: masses and widths, shape (..., m).

    ``heights`` are lower bounds of the density, per nat, on n adjacent cells of these lengths. The
    widths increase downwards, and some masses may be 0.
    """
    if not heights.size:
        return heights, widths
    cells = heights.shape[-1]
    place, peak = np.arange(cells), heights.argmax(axis=-1)[..., None]
    after = np.minimum.accumulate(np.where(place < peak, np.inf, heights), axis=-1)
    before = np.where(place > peak, np.inf, heights)[..., ::-1]
    single = np.minimum(after, np.minimum.accumulate(before, axis=-1)[..., ::-1])
    order = np.argsort(-single, axis=-1)
    if heights.ndim > 1:
        order = order + cells * np.arange(heights.size // cells).reshape(*heights.shape[:-1], 1)
    levels, reach = single.ravel()[order], widths.ravel()[order].cumsum(axis=-1)
    masses = reach * levels
    masses[..., :-1] = reach[..., :-1] * (levels[..., :-1] - levels[..., 1:])
    first = np.arange(0, cells, _SHARED)  # the narrowest of some stands for them
    return np.add.reduceat(masses, first, axis=-1) * _SAFETY, reach[..., first] * _SAFETY


def log_decay(
    parts: list[tuple[Smoothness, int]], y: Reals, tau: float = 0.0, end: float = math.inf
) -> Reals:
    """Bound log |e^{-tau^2 t^2/2} product of phi_i(t)^{n_i}| from above, for all t in [y, end].

    ``parts`` are what is known of each tilted loss law, with its count; y has shape (n,). The bound
    of a lattice law ends at its pi/span: between two such horizons those of smaller spans are left.
    As each decreases, it is enough to evaluate them at y and at the horizons beyond.
    """
    best = np.full(y.shape, -np.inf)
    horizons = sorted({math.pi / part.span * (1 - 1e-12) for part, _ in parts if part.span})
    for first, last in itertools.pairwise([0.0, *horizons, math.inf]):
        if first < end:
            bound = _log_bound(parts, np.maximum(y, first), tau, min(last, end))
            best = np.where(y < last, np.maximum(best, bound), best)
    return best


def _log_bound(parts: list[tuple[Smoothness, int]], y: Reals, tau: float, end: float) -> Reals:
    """Return the bound at y, for each part the best of its bounds that are valid up to some end."""
    total = -0.5 * tau * tau * y * y
    for part, count in parts:
        best = np.zeros(y.shape)
        if part.masses.size:
            best = -_SAFETY * (sinc_deficit(0.5 * y[:, None] * part.widths) @ part.masses)
        if part.heights.size:
            with np.errstate(divide="ignore"):
                envelope = np.exp(-np.multiply.outer(y, part.rates)) @ part.heights
                best = np.minimum(best, np.log(envelope * (1 + 1e-9)))
        if part.span and end <= math.pi / part.span:
            lost = dirichlet_deficit(0.5 * y[:, None] * part.span, part.steps) @ part.step_masses
            best = np.minimum(best, -_SAFETY * lost)
        total = total + count * (best - 0.5 * part.gaussian_variance * y * y)
    return np.asarray(total)


_MOST_ATOMIC = 256  # Factors whose atoms are looked at, of many. Heuristic.
_TURN = 0.2  # Half of the angle by which the furthest atoms turn in a cell. Heuristic.
# Most cells. Soundness depends on it: up to the last one, angles are known to 1e-9.
_MOST_CELLS = 1 << 12
_FEW_ATOMIC = 16  # Counts of atomic factors from which their product gains. Heuristic.


@final
@dataclass(frozen=True, slots=True)
class Tails:
    """Bounds of what a line loses beyond y, by the atoms of many different pairs.

    Lemma (atoms). A law with atoms of masses p, q at a distance d, whose other mass counts fully,
    has |phi(t)| <= 1 - p - q + |p + q e^{itd}|, and |p + q e^{itd}|^2 = (p+q)^2 - 4pq sin^2(td/2).
    On a cell of width h, |sin(td/2)| is at least that at its middle minus hd/4. Atoms at different
    distances are hardly ever all aligned: the product is small up to the end of the cells, where
    a bound of each for all t is 1.
    """

    parts: list[tuple[Smoothness, int]]  # what is known of each tilted loss law, and its count
    width: float = 0.0  # of a cell, 0 if there are none
    # shape (n,), the largest log of the bound of the atomic product from each cell on
    largest: Reals = field(default_factory=lambda: np.empty(0))
    others: list[tuple[Smoothness, int]] = field(default_factory=list)  # the parts without atoms

    @property
    def end(self) -> float:
        """Return the end of the last cell."""
        return self.width * self.largest.size

    @staticmethod
    def of(parts: list[tuple[Smoothness, int]], end: float) -> Tails:
        """Return the bounds by atoms up to some end, if there are many of different distances.

        Rounds: an angle, at most 2 _TURN _MOST_CELLS, is off by less than 1e-9, the sine is lowered
        by that; the squared modulus is raised by more than its rounding, and so is the sum of logs.
        """
        atomic = [(*part.atoms, count) for part, count in parts if part.atoms]
        if sum(one[3] for one in atomic) < _FEW_ATOMIC or len({one[2] for one in atomic}) == 1:
            return Tails(parts)
        p, q, apart, count = np.array(atomic[:: math.ceil(len(atomic) / _MOST_ATOMIC)]).T
        width = 4.0 * _TURN / float(apart.max())
        middle = width * (np.arange(min(math.ceil(end / width), _MOST_CELLS)) + 0.5)
        sine = np.abs(np.sin(0.5 * np.multiply.outer(middle, apart)))
        sine = np.maximum(sine - (0.25 * width * apart + 1e-9), 0.0)
        square = np.maximum((p + q) ** 2 - 4.0 * p * q * sine * sine, 0.0)
        logs = np.log(1.0 - (p + q) + 1e-15 + np.sqrt(square + 1e-15)) @ count
        logs = np.minimum(logs * (1 - 1e-9), 0.0)  # the other factors are at most 1
        largest = np.maximum.accumulate(logs[::-1])[::-1]
        return Tails(parts, width, largest, [one for one in parts if not one[0].atoms])

    def log_tail(self, y: Reals, tau: float = 0.0) -> Reals:
        """Bound the log of the integral from y on of |e^{-tau^2 t^2/2} prod phi_i^n_i| / (pi t^2).

        It is at most D(y) / (pi y), or the sum of that of the cells and of that beyond their end.
        """
        tail: Reals = log_decay(self.parts, y, tau) - np.log(math.pi * y)
        near = y < self.end
        if near.any():
            end = np.array([self.end])
            beyond = log_decay(self.parts, end, tau) - np.log(math.pi * end)
            some, cell = y[near], (y[near] / self.width).astype(int)
            within = self.largest[np.minimum(cell, self.largest.size - 1)]
            within = within + log_decay(self.others, some, tau) - np.log(math.pi * some)
            tail[near] = np.minimum(tail[near], np.logaddexp(within, beyond) + 1e-12)
        return np.asarray(tail)


def dirichlet_deficit(angle: Reals, steps: Reals) -> Reals:
    """Bound from below 1 - sup over t in [angle, pi/2] of |sin(k t) / (k sin t)|.

    For k t < pi the logarithm is -sum_m a_m (k^{2m} - 1) t^{2m} with a_1 = 1/6 and all
    a_m > 0, so the ratio is at most e^{-(k^2-1) t^2/6}; from k t = pi on, as sin t >= 2t/pi,
    at most pi / (2 k t) <= 1/2.
    """
    turned = steps * angle
    near = np.minimum(-np.expm1(-(steps * steps - 1.0) * angle * angle / 6.0), 0.5)
    far = np.maximum(1.0 - 0.5 * math.pi / np.maximum(turned, 1e-300), 0.5)
    return np.where(turned < math.pi, near, far) * (1 - 1e-12)


def exponential_layers(
    rate: float, half: float | Reals, log_scale: float | Reals
) -> tuple[Reals, Reals]:
    """Return layers of e^{log_scale + rate l} on [-half, half], rate > 0; a row for each half."""
    edges = np.linspace(-half, half, 65, axis=-1)
    with np.errstate(under="ignore", over="ignore"):
        heights = np.exp(
            np.minimum(np.asarray(log_scale)[..., None] + rate * edges[..., :-1], 600.0)
        )
    return layers(heights * (1 - 1e-9), np.diff(edges))


# Range of losses whose squares are normal floats. Error bounds depend on it.
_LEAST, _LARGEST = Fraction(1, 10**100), Fraction(10**100)
_SQUARES = _LEAST**2, _LARGEST**2  # Range of squared distances. Error bounds depend on it.


def required_loss(**argument: Fraction) -> None:
    """Refuse a loss in nats, by its name, below 1e-100 or above 1e100: its square is 0 or infinite.

    Example:
        >>> required_loss(epsilon=Fraction(1, 10))
    """
    _required(argument, _LEAST, _LARGEST, "from 1e-100 to 1e+100")


def required_square(**argument: Fraction) -> None:
    """Refuse a dimensionless distance's square below 1e-200 or above 1e200, as no float shows it.

    Example:
        >>> required_square(mu_squared=Fraction(1, 10))
    """
    _required(argument, *_SQUARES, "from 1e-200 to 1e+200")


def required_rate(**argument: Fraction) -> None:
    """Refuse a rate q within 1e-100 of 0 or 1: log q or log(1 - q) would lose digits.

    Example:
        >>> required_rate(sampling_rate=Fraction(1, 100))
    """
    ((name, value),) = argument.items()
    part, whole = value.numerator, value.denominator
    if not (part * _LEAST.denominator >= whole and (whole - part) * _LEAST.denominator >= whole):
        hint = "round it up" if value < _LEAST else "sample with rate 1, which is no more private"
        said = "from 1e-100 to 1 - 1e-100, or 1, for its pair to be computed"
        raise ParameterError(name, value, said, hint)


def _required(argument: dict[str, Fraction], least: Fraction, largest: Fraction, said: str) -> None:
    """Refuse a value outside [least, largest]."""
    ((name, value),) = argument.items()
    if not least <= value <= largest:
        hint = "round it up" if value < least else "add noise: it hides nothing"
        raise ParameterError(name, value, f"{said} for its pair to be computed", hint)
