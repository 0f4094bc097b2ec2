"""Pairs with finitely many outcomes, given by their exact masses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.elementary import log_of_sum
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Enclosure, Reals, log_exact
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.pairs.atomic import AtomicPair
from dpproof.accountant.pairs.pair import Exponentials, Lattice, Pair, Smoothness
from dpproof.accountant.pairs.smoothness import layers


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatticePair(AtomicPair):
    """A pair with finitely many outcomes, whose losses are ``offset + index * span``.

    Compared by identity, as it carries arrays.

    Attributes:
        table: masses and losses.
        index: shape (n,), integers, increasing.
        span: nats, a power of two if there is no offset.
        offset: nats.
    """

    table: Atoms
    index: Reals
    span: float
    offset: float = 0.0

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
    def infinite_mass(self) -> float:
        """Return the infinite mass that the pair was given."""
        return self.atoms.infinite_mass

    @property
    def max_loss(self) -> float:
        """Return the largest loss."""
        return float(self.atoms.loss[-1]) if self.atoms.loss.size else 0.0

    def work(self, s: complex) -> int:
        """Return one more than the number of terms in K(s)."""
        return int(self.index.size) + 1

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
    """(P, Q) on outcomes 0..n-1 with exact rational masses that each sum to 1.

    Attributes:
        p: masses under P.
        q: masses under Q, same length.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
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

    def work(self, s: complex) -> int:
        """Return the number of terms in K(s)."""
        return len(self.p)

    def lattice(self, c: float) -> Lattice | None:
        """Return the lattice of the losses, or None.

        Two losses form a lattice, and so do r, 1 and 1/r; other lattices are not looked for.
        """
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
    """Return a lower bound of the adjacency of at most three lattice points.

    Outcomes of equal loss are merged.
    """
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
    """Return the pair's atoms as logs of masses.

    Raises NotCertified if P and Q differ by less than floats can represent.
    """
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
