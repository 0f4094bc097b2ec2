"""Pairs with finitely many outcomes, given by exact masses, and one above Skellam noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, Self, TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic import enclosure
from dpproof.accountant.arithmetic.atoms import Atoms, cgfs
from dpproof.accountant.arithmetic.discrete_laws import SkellamMasses, skellam_masses
from dpproof.accountant.arithmetic.elementary import log_of_sum
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Enclosure, Reals, log_exact
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.pairs.gaussian import pure_mu
from dpproof.accountant.pairs.pair import ExactPair, Exponentials, Lattice, Pair, Smoothness, layers

_APART = 1e-3  # Least distance of two atoms, in largest losses. Error bounds depend on it.
PRECISE = 1e5  # Largest exponent that is known to 1e-10. Soundness depends on it.


class AtomicPair(ExactPair, ABC):
    """A pair whose K and profile are finite sums over the outcomes."""

    __slots__ = ()

    @property
    @abstractmethod
    def atoms(self) -> Atoms:
        """Return the outcomes with mass under both P and Q, and the mass outside them."""

    @final
    def cgf(self, s: enclosure.Complexes) -> Enclosure:
        """Enclose K(s), the log of a finite sum."""
        return self.atoms.cgf(s)

    @final
    @classmethod
    def cgfs(cls, pairs: Sequence[Self], s: enclosure.Complexes) -> list[Enclosure]:
        """Enclose K of many pairs, those with equally many outcomes together."""
        return cgfs([pair.atoms for pair in pairs], s)

    @final
    @classmethod
    def cgfs_along(
        cls, pairs: Sequence[Self], points: Reals, line: enclosure.Complexes
    ) -> Sequence[Enclosure]:
        """Enclose K at the points and on the line apart, as sums on a line share work."""
        both = zip(cls.cgfs(pairs, points + 0j), cls.cgfs(pairs, line), strict=True)
        return [enclosure.joined(list(parts)) for parts in both]

    @final
    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile, a finite sum."""
        return self.atoms.profile(epsilon)

    @final
    @property
    def zcdp_bound(self) -> float:
        """Return m^2 / 2 for losses in [-m, m].

        Source: Bun & Steinke, arXiv:1605.02658, Proposition 1.4.
        """
        return 0.5 * self._bounded_loss() ** 2 * (1 + 1e-15)

    @final
    @property
    def gdp_bound(self) -> float:
        """Return the mu of pure DP if the losses are bounded on both sides, else infinity."""
        return pure_mu(self._bounded_loss())

    @property
    def infinite_mass(self) -> float:
        """Return the infinite mass of the table."""
        return self.atoms.infinite_mass

    def work(self, s: complex) -> int:
        """Return one more than the number of terms in K(s)."""
        return int(self.atoms.loss.size) + 1

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return the heaviest of the tilted atoms, and the heaviest that is not next to it."""
        loss, exponent = self.atoms.loss, self.atoms.log_p + c * self.atoms.loss - moment.upper
        if not loss.size or c * np.abs(loss).max() > PRECISE:
            return Smoothness()
        first = int(exponent.argmax())
        apart = np.abs(loss - loss[first])
        apart[apart < _APART * np.abs(loss).max()] = 0.0  # too few digits of it are left
        second = int(np.where(apart > 0.0, exponent, -np.inf).argmax())
        if not apart[second]:
            return Smoothness()
        p, q = np.exp(np.minimum(exponent[[first, second]], 0.0)) * (1 - 1e-9)
        return Smoothness(atoms=(float(p), float(q), float(apart[second])))

    def _bounded_loss(self) -> float:
        """Return the largest absolute loss, rounded up; +inf if P and Q differ in outcomes."""
        if self.atoms.infinite_mass or self.atoms.missing_mass:
            return math.inf
        largest = float(np.abs(self.atoms.loss).max(initial=0.0))
        return largest * (1 + 8 * UNIT_ROUNDOFF * (1 + largest))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ListedPair(AtomicPair):
    """A pair with finitely many outcomes of any losses; arrays are compared by identity."""

    table: Atoms  # masses and losses

    @property
    def atoms(self) -> Atoms:
        """Return the table."""
        return self.table

    def swapped(self) -> ListedPair:
        """Return (Q, P): masses p e^{-l} at the losses -l."""
        return ListedPair(self.table.swapped())

    @property
    def max_loss(self) -> float:
        """Return the largest loss, rounded up."""
        return float(np.nextafter(self.atoms.loss.max(initial=0.0), np.inf))

    def exponentials(self) -> Exponentials | None:
        """Return the masses times e^{-l/2} at the losses, or None if there is no loss."""
        atoms = self.atoms
        if not atoms.loss.size:
            return None
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatticePair(AtomicPair):
    """A pair of finitely many losses ``offset + index * span``; arrays are compared by identity."""

    table: Atoms  # masses and losses
    index: Reals  # shape (n,), integers, increasing
    span: float  # nats, a power of two if there is no offset
    offset: float = 0.0  # nats

    @property
    def atoms(self) -> Atoms:
        """Return the table."""
        return self.table

    def cgf_on_period(self, c: float, half: int, span: float) -> Enclosure:
        """Enclose K(c + i k pi / (half span)) for k = 0..half by a fast Fourier transform.

        With masses w_j tilted by c and normalised, M(c+iy_k) / M(c) is the discrete Fourier
        transform of length 2 half of the masses placed at index_j modulo that length, turned by
        y_k times the offset. Its error is below 8 u log2(length) for masses of sum 1.
        """
        start = self.atoms.cgf(np.array([c + 0j]))
        exponent = self.atoms.log_p + c * self.atoms.loss - start.value.real[0]
        place = np.mod(np.rint(self.index * (self.span / span)).astype(int), 2 * half)
        folded = np.bincount(place, weights=np.exp(exponent), minlength=2 * half)
        ratio = np.fft.rfft(folded).conj()
        wobble = float(np.abs(exponent).max()) * 4.0 + 8.0 * math.log2(2 * half) + 64.0
        error = wobble * UNIT_ROUNDOFF + float(start.radius[0])
        logs = log_of_sum(ratio, error, float(start.value.real[0]), ulps=16.0)
        turned = self.offset * math.pi / (half * span) * np.arange(half + 1)
        radius = logs.radius + 8 * UNIT_ROUNDOFF * np.abs(turned)
        return Enclosure(logs.value + 1j * turned, radius)

    def swapped(self) -> LatticePair:
        """Return (Q, P): masses p e^{-l} at the losses -l, in increasing order."""
        return LatticePair(self.atoms.swapped(), -self.index[::-1], self.span, -self.offset)

    @property
    def max_loss(self) -> float:
        """Return the largest loss."""
        return float(self.atoms.loss[-1]) if self.atoms.loss.size else 0.0

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted masses over neighbouring lattice points."""
        weight = self._tilted(c)
        peak = int(np.argmax(weight))
        gaps = np.diff(self.index) != 1.0
        left = np.flatnonzero(gaps[:peak])
        right = np.flatnonzero(gaps[peak:])
        run = slice(
            int(left[-1]) + 1 if left.size else 0,
            peak + int(right[0]) + 1 if right.size else weight.size,
        )
        masses, steps = layers(weight[run], np.ones(weight[run].size))
        return Smoothness(span=self.span, step_masses=masses, steps=np.rint(steps))

    def lattice(self, c: float) -> Lattice:
        """Return the lattice of the offset and the span."""
        weight = self._tilted(c)
        next_to = np.diff(self.index) == 1.0
        adjacency = float(2.0 * (weight[:-1] * weight[1:])[next_to].sum()) * (1 - 1e-9)
        return Lattice(self.offset, self.span, adjacency)

    def _tilted(self, c: float) -> Reals:
        """Return the masses tilted by e^{cL}, normalised and rounded down."""
        exponent = self.atoms.log_p + c * self.atoms.loss
        weight = np.exp(exponent - exponent.max())
        return np.asarray(weight / weight.sum() * (1 - 1e-9))


_FEWEST = 64  # Outcomes from which a lattice next to the losses is looked for. Heuristic.
_PLACES = 1 << 14  # Most places of such a lattice. Heuristic.
_NEAR = 32  # Units in the last place of the largest loss: what counts as next to it. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinitePair(AtomicPair):
    """(P, Q) on outcomes 0..n-1 with exact rational masses that each sum to 1."""

    p: tuple[Fraction, ...]  # masses under P
    q: tuple[Fraction, ...]  # masses under Q, same length
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse anything that is not a pair of distributions."""
        if len(self.p) != len(self.q) or not self.p:
            raise ParameterError("p, q", (len(self.p), len(self.q)), "of one length, at least 1")
        for name, masses in (("p", self.p), ("q", self.q)):
            if min(masses) < 0 or sum(masses) != 1:
                raise ParameterError(name, masses, "masses >= 0 that sum to exactly 1")
        object.__setattr__(self, "_hash", hash((self.p, self.q)))

    def __hash__(self) -> int:
        """Return the hash of the masses, which caches ask for again and again."""
        return self._hash

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _atoms(self)

    def swapped(self) -> Pair:
        """Return the pair (Q, P)."""
        return FinitePair(p=self.q, q=self.p)

    @property
    def infinite_mass(self) -> float:
        """Return P's mass on outcomes without mass under Q."""
        return self.atoms.infinite_mass

    @property
    def max_loss(self) -> float:
        """Return the largest finite log ratio, rounded up."""
        loss = self.atoms.loss
        return float(loss.max() + 1e-15 * (1 + np.abs(loss).max())) if loss.size else -math.inf

    def lattice(self, c: float) -> Lattice | None:
        """Return the lattice of two losses, or of r, 1 and 1/r; None, as others are not sought."""
        ratios = sorted({a / b for a, b in zip(self.p, self.q, strict=True) if a and b})
        atoms = self.atoms
        if len(ratios) == 2 or (len(ratios) == 3 and ratios[1] == 1 == ratios[0] * ratios[2]):
            span = log_exact(ratios[1] / ratios[0])
            offset = log_exact(ratios[0])
            return Lattice(offset, span, _merged_adjacency(atoms, span, offset, c))
        return None

    def near_lattice(self) -> tuple[Pair, float]:
        """Return the losses rounded to the lattice that they were chosen on, if they were."""
        return _rounded(self) or (self, 0.0)

    def exponentials(self) -> Exponentials | None:
        """Return the masses times e^{-l/2} at the losses, or None if no loss is finite."""
        atoms = self.atoms
        if not atoms.loss.size:
            return None
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])


def _merged_adjacency(atoms: Atoms, span: float, offset: float, c: float) -> float:
    """Return a lower bound of the adjacency of three lattice points or fewer, equal ones merged."""
    index = np.rint((atoms.loss - offset) / span)
    exponent = atoms.log_p + c * atoms.loss
    weight = np.exp(exponent - exponent.max())
    merged = np.bincount(index.astype(int), weights=weight / weight.sum())
    return float(2.0 * (merged[:-1] * merged[1:]).sum()) * (1 - 1e-9)


@lru_cache(maxsize=256)
def _rounded(pair: FinitePair) -> tuple[LatticePair, float] | None:
    """Return the outcomes with losses on a lattice next to them, and a bound of the distance.

    The lattice goes through the least and the largest loss, with a span of about the least gap. A
    loss is off by a few units in the last place of the largest one, and by what rounding adds.
    """
    atoms = pair.atoms
    order = np.argsort(atoms.loss)
    loss = atoms.loss[order]
    if loss.size < _FEWEST:
        return None
    gap, reach = float(np.diff(loss).min()), float(loss[-1] - loss[0])
    if not gap * _PLACES >= reach:
        return None
    places = round(reach / gap)
    span, offset = reach / places, float(loss[0])
    index = np.rint((loss - offset) / span)
    there = offset + span * index
    size, off = float(np.abs(loss).max()), float(np.abs(there - loss).max())
    if off > _NEAR * UNIT_ROUNDOFF * size or not (np.diff(index) > 0).all():
        return None
    table = Atoms(atoms.log_p[order], there, atoms.infinite_mass, atoms.missing_mass)
    return LatticePair(table, index, span, offset), 2 * off + 32 * UNIT_ROUNDOFF * size


def nearest_mass(mass: Fraction | Decimal) -> float:
    """Return the nearest float of a mass, but 0 and 1 only if it is that."""
    nearest = float(mass)
    if nearest == 0.0 and mass > 0:
        return math.ulp(0.0)
    return 1.0 - UNIT_ROUNDOFF if nearest == 1.0 and mass < 1 else nearest


@lru_cache(maxsize=256)
def _atoms(pair: FinitePair) -> Atoms:
    """Return the atoms as logs of masses; refuse P and Q that differ by too little for floats."""
    both = [(a, b) for a, b in zip(pair.p, pair.q, strict=True) if a and b]
    only_p = sum((a for a, b in zip(pair.p, pair.q, strict=True) if not b), Fraction(0))
    only_q = sum((b for a, b in zip(pair.p, pair.q, strict=True) if not a), Fraction(0))
    loss = np.array([log_exact(a / b) for a, b in both])
    if not (loss.any() or only_p or only_q) and pair.p != pair.q:
        raise NotCertified(
            "P and Q differ by less than floats can tell; state a guarantee that is a little weaker"
        )
    return Atoms(
        log_p=np.array([log_exact(a) for a, _ in both]),
        loss=loss,
        infinite_mass=nearest_mass(only_p),
        missing_mass=nearest_mass(only_q),
    )


Law: TypeAlias = Sequence[Fraction]


def smallest_pair_above(pairs: Iterable[tuple[Law, Law]]) -> FinitePair:
    """Return the finite pair whose profile is the largest of the profiles of some pairs.

    Statement: H_t(P||Q) is the largest P(S) - tQ(S), and of each pair the events {P/Q > r} suffice.
        So the largest of several profiles is that of the concave hull of the points (Q(S), P(S))
        of all of them: a pair with an outcome for each edge. As profiles decide domination, it is
        dominated by every pair that dominates them all.
    Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.2, for curves as pairs.
    Rounds: nothing.

    Args:
        pairs: laws (P, Q) on the same outcomes, each of total mass 1.
    """
    points = {(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))}
    for p, q in pairs:
        order = sorted(range(len(p)), key=lambda k: (q[k] != 0, -p[k] / q[k] if q[k] else 0))
        x, y = Fraction(0), Fraction(0)
        for k in order:
            x, y = x + q[k], y + p[k]
            points.add((x, y))
    return pair_above_points(points)


def pair_above_points(points: Iterable[tuple[Fraction, Fraction]]) -> FinitePair:
    """Return the finite pair whose events reach the concave hull of some points (Q(S), P(S)).

    Statement: a pair one of whose best events has these masses, or less under P, or more under Q,
        at every corner of its trade-off, is dominated by it.
    Source: as above; the hull does not fall, so a point moved to smaller masses under Q raises it.
    Rounds: nothing.

    Args:
        points: masses from 0 to 1, among them (1, 1) and (0, y) for some y.
    """
    hull = [(x, -y) for x, y in lower_hull((x, -y) for x, y in points)]
    start = hull[0][1]
    edges = [((Fraction(0), start))] if start else []
    edges += [(right - left, high - low) for (left, low), (right, high) in pairwise(hull)]
    return FinitePair(p=tuple(rise for _, rise in edges), q=tuple(run for run, _ in edges))


_BITS: Final = 160  # Of the pair's masses.
_UNIT: Final = 1 << _BITS
_FAINT: Final = 1 << 70  # Units of the mass that may become a loss of infinity: 2^-90. Heuristic.
_LOWERED: Final = 1 << 50  # Units by which masses under Q are too small, so that 128 bits show it.
_OUTCOMES: Final = 1_900  # Pairs with more are split onto about so many losses. Heuristic.
_CENTRAL: Final = 6  # Standard deviations of the loss in which those are dense. Heuristic.
_TOO_MUCH: Final = 2.0**-64  # Infinite mass of the pair that is refused. Heuristic.
_LARGEST: Final = 640  # Loss whose exponential, in units of 2^-60, is a float. Heuristic.
_RATIO_BITS: Final = 60


@lru_cache(maxsize=64)
def skellam_pair(*, variance: Fraction, shift: int) -> FinitePair:
    """Return a finite pair above X + shift against X, X of the Skellam law of a variance.

    Statement: X is log-concave, so the best events are half-lines {x >= k}, and the pair's
        trade-off is the concave hull of their masses (Q, P); here with smaller Q and larger P, in
        units of 2^-160, and from where P is below 2^-90 with Q = 0. Where there are many outcomes,
        each is split into two, with the same masses together, of losses on a list: the pair before
        is a post-processing of that. X is symmetric, so that one pair serves both directions.
    Source: ``skellam_masses``, for the masses.
    Rounds: up.

    Args:
        variance: of X, above 0.
        shift: an integer, at least 1.

    Raises:
        NotCertified: the masses' units are too coarse for losses that matter.
    """
    masses = skellam_masses(variance, _BITS)
    last = len(masses.lower) - 1
    tails = _upper_tails(masses)
    points = {(0, 0), (_UNIT, _UNIT)}
    for k in range(-last, last + shift + 1):
        q = max(_half_line(tails, k)[0] - _LOWERED, 0)
        p = _half_line(tails, k - shift)[1]
        points.add((0 if p <= _FAINT else q, _UNIT if q >= _UNIT - _FAINT else p))
        if p <= _FAINT:
            break
    if len(points) > _OUTCOMES:
        points = _split(points, _losses(variance, shift))
    pair = pair_above_points((Fraction(q, _UNIT), Fraction(p, _UNIT)) for q, p in points)
    if pair.infinite_mass > _TOO_MUCH:
        raise NotCertified(
            f"a Skellam law of variance {float(variance):.6g} moved by {shift} has losses beyond "
            "those that are tabulated, up to about 60; use more noise"
        )
    return pair


def _upper_tails(masses: SkellamMasses) -> list[tuple[int, int]]:
    """Return brackets of P(X >= k), k = 0, 1, ..., one beyond the last included."""
    low = list(accumulate(masses.lower[::-1], initial=0))[::-1]
    high = list(accumulate(masses.upper[::-1], initial=masses.beyond))[::-1]
    return list(zip(low, high, strict=True))


def _half_line(tails: list[tuple[int, int]], k: int) -> tuple[int, int]:
    """Return a bracket of P(X >= k), for k < 0 that of 1 - P(X >= 1 - k)."""
    if k <= 0:
        low, high = _half_line(tails, 1 - k)
        return _UNIT - high, _UNIT - low
    return tails[k] if k < len(tails) else (0, tails[-1][1])


def _losses(variance: Fraction, shift: int) -> list[float]:
    """Return losses, dense where most of the mass of a composition is. Heuristic."""
    away = shift / math.sqrt(variance)
    dense, outer = min(_CENTRAL * away + away**2, _LARGEST / 2), _OUTCOMES // 16
    inner = _OUTCOMES // 2 - outer
    half = [dense * k / inner for k in range(inner)]
    half += [dense * (1 + k / outer) for k in range(outer + 1)]
    return [*half, *(-loss for loss in half)]


def _split(points: set[tuple[int, int]], losses: list[float]) -> set[tuple[int, int]]:
    """Return points above the trade-off through some, its outcomes split onto some losses.

    An outcome (p, q), the step from a point to the next, with p/q between ratios s < t becomes
    q' = (p - sq)/(t - s) at t and q - q' at s, with s = 0 below the first ratio; above the last
    what is left, p - tq, gets Q = 0. Outcomes between the same two ratios are split together.
    Masses of half-lines are sums of masses rounded down under Q and up under P.
    """
    unit = 1 << _RATIO_BITS
    ratios = sorted({0, *(round(math.exp(loss) * unit) for loss in losses)})
    below, above = [0] * len(ratios), [0] * len(ratios)
    for (start, low), (end, high) in pairwise(sorted(points)):
        p, q = high - low, end - start
        cell = bisect_right(ratios, p * unit // q) - 1 if q else len(ratios) - 1
        below[cell] += p
        above[cell] += q
    masses = [Fraction(0)] * len(ratios)
    for cell, (p, q) in enumerate(zip(below[:-1], above[:-1], strict=True)):
        moved = Fraction(p * unit - ratios[cell] * q, ratios[cell + 1] - ratios[cell])
        masses[cell] += q - moved
        masses[cell + 1] += moved
    masses[-1] += above[-1]
    infinite = below[-1] - Fraction(ratios[-1], unit) * above[-1]
    p, q = math.ceil(infinite), 0
    points = {(0, 0), (0, p), (_UNIT, _UNIT)}
    for ratio, mass in zip(ratios[::-1], masses[::-1], strict=True):
        q, p = q + math.floor(mass), min(p + math.ceil(mass * ratio / unit), _UNIT)
        points.add((q, p))
    return points
