"""Pairs of bounded loss: Laplace, logistic, randomised response."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

import numpy as np

from dpproof.accountant.arithmetic import elementary, enclosure
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Complexes, Enclosure, Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs import pair as pair_parts
from dpproof.accountant.pairs.finite import PRECISE, AtomicPair, nearest_mass
from dpproof.accountant.pairs.gaussian import pure_mu
from dpproof.accountant.pairs.pair import ExactPair, Exponentials, Lattice, Reflected, Smoothness

# Decimal digits of masses before they are rounded to floats. Soundness depends on it: with as many
# categories as e^epsilon, epsilon cancels, and floats would lose its digits.
_DIGITS = 60


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponsePair(Reflected, AtomicPair):
    """Keep the true category with probability e^eps/(e^eps + k - 1), else a uniform other one.

    The losses are epsilon, 0 and -epsilon. For k = 2 this pair dominates every pure epsilon-DP
    mechanism (Kairouz, Oh & Viswanath, arXiv:1311.0776, Theorem 3.4 and its proof). With
    ``infinite`` > 0 every mass is scaled by 1 - infinite and that much mass is added where the
    other distribution has none: for k = 2 the pair of all (epsilon, infinite)-DP mechanisms.
    """

    epsilon: Fraction  # exact, above 0, nats
    categories: int = 2  # k, at least 2
    infinite: Fraction = Fraction(0)  # exact, in [0, 1)

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        pair_parts.required_loss(epsilon=self.epsilon)

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _response_atoms(self)

    @property
    def infinite_mass(self) -> float:
        """Return the infinite mass that the pair was given."""
        return nearest_mass(self.infinite)

    @property
    def max_loss(self) -> float:
        """Return epsilon, rounded up."""
        return float(self.epsilon) * (1 + 2e-16)

    def lattice(self, c: float) -> Lattice:
        """Return the lattice of span 2 epsilon for two categories, epsilon for more."""
        atoms, epsilon = self.atoms, float(self.epsilon)
        span = 2.0 * epsilon if self.categories == 2 else epsilon
        index = np.rint((atoms.loss + epsilon) / span)
        return Lattice(-epsilon, span, atoms.adjacency(index, c))

    def exponentials(self) -> Exponentials | None:
        """Return the masses times e^{-l/2} at the losses."""
        atoms = self.atoms
        return Exponentials(atoms.loss, np.exp(atoms.log_p - 0.5 * atoms.loss)[:, None])


@lru_cache(maxsize=256)
def _response_atoms(pair: RandomizedResponsePair) -> Atoms:
    """Return the pair's atoms as logs of masses."""
    epsilon, others = float(pair.epsilon), pair.categories - 1
    with localcontext(Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        exact = as_decimal(pair.epsilon)
        kept = -(1 + others * (-exact).exp()).ln()
        log_p = [float(kept), float(kept - exact)]
        if others > 1:
            log_p.append(float(Decimal(others - 1).ln() + kept - exact))
    loss = [epsilon, -epsilon, 0.0][: len(log_p)]
    finite = enclosure.log_exact(1 - pair.infinite)
    mass = nearest_mass(pair.infinite)
    return Atoms(np.array(log_p) + finite, np.array(loss), mass, mass)


def as_decimal(value: Fraction) -> Decimal:
    """Return a rational as a decimal of the context's precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


class PureLoss(ExactPair, ABC):
    """A pair whose losses are those of pure epsilon-DP: at most epsilon, and at least -epsilon."""

    __slots__ = ()

    epsilon: Fraction  # exact, above 0, nats

    def __post_init__(self) -> None:
        """Refuse a parameter whose powers are not representable as floats."""
        pair_parts.required_loss(epsilon=self.epsilon)

    @property
    def max_loss(self) -> float:
        """Return epsilon, rounded up."""
        return float(self.epsilon) * (1 + 2e-16)

    @property
    def zcdp_bound(self) -> float:
        """Return epsilon^2 / 2, rounded up.

        Source: Bun & Steinke, arXiv:1605.02658, Proposition 1.4, for pure DP.
        """
        return 0.5 * float(self.epsilon) ** 2 * (1 + 1e-15)

    @property
    def gdp_bound(self) -> float:
        """Return the mu of pure DP at the largest loss."""
        return pure_mu(float(self.epsilon))


_FLAT = np.zeros(1)  # The log of the weight 1.
_LARGE = 600.0  # Exponents beyond which e^z could overflow. Heuristic.
# Products of s and a below which their rounding is not certainly relative. Soundness depends on it.
_LEAST = 1e-290
_FAR = 1.0  # Least product of s and a from which e^z is taken without e^z - 1 - z. Heuristic.
_SMALLEST = 1e-300  # Size below which only that of a moment is known. Soundness depends on it.
_AT_ONCE = 1 << 13  # Values evaluated at once, to bound memory. Heuristic.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplacePair(Reflected, pair_parts.CommonSupport, PureLoss):
    """The pair (Lap(a), Lap(0)) of scale 1, a = sensitivity / scale.

    M(s) = ((s+1) e^{sa} + s e^{-(s+1)a}) / (2s+1): under P the loss is a with mass 1/2, -a
    with mass e^{-a}/2, and has density e^{(l-a)/2}/4 between.
    Source: Zhu, Dong & Wang (arXiv:2106.08567), Table 1; the integral is elementary.
    """

    epsilon: Fraction

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K; next to 0 through e^z - 1 - z, whose linear terms cancel exactly."""
        a = float(self.epsilon)
        if float(np.abs(s.real).max()) * a + a > _LARGE:
            return self._large(s, a)
        both = elementary.exp_minus_linear(np.concatenate([s, -(s + 1.0)]), np.array([a]), _FLAT)
        return _from_excess(s, s * a, both[: s.size], -(s + 1.0) * a, both[s.size :])

    @classmethod
    def cgfs(cls, pairs: Sequence[Self], s: Complexes) -> list[Enclosure]:
        """Enclose K of many pairs, with the products of s and a for arguments of e^z - 1 - z.

        Rounds: a product off by u |z| moves e^z - 1 - z by at most u |z|^2 e^{max(Re z, 0)}.
        """
        enclosures: list[Enclosure] = []
        at_once = max(_AT_ONCE // s.size, 1)
        for start in range(0, len(pairs), at_once):
            some = pairs[start : start + at_once]
            a = np.array([[float(pair.epsilon)] for pair in some])
            smallest, largest = float(np.abs(s).min()), float(np.abs(s.real).max())
            if (a * largest + a).max() > _LARGE or a.min() * smallest < _LEAST:
                enclosures.extend(pair.cgf(s) for pair in some)
                continue
            far = np.abs(s) * a.min() >= _FAR
            if far.all():
                rows = _far_from_zero(s, a)
            else:
                rows = Enclosure(np.empty((a.size, s.size), complex), np.empty((a.size, s.size)))
                for columns, enclose in ((~far, _near_zero), (far, _far_from_zero)):
                    if columns.any():
                        part = enclose(s[columns], a)
                        rows.value[:, columns], rows.radius[:, columns] = part.value, part.radius
            enclosures.extend(map(Enclosure, rows.value, rows.radius))
        return enclosures

    def _large(self, s: Complexes, a: float) -> Enclosure:
        """Enclose K as s a + log of (s + 1 + s e^{-(2s+1)a}) / (2s + 1), for Re s > 0."""
        inner = (s + 1.0 + s * np.exp(-(2.0 * s + 1.0) * a)) / (2.0 * s + 1.0)
        value = s * a + np.log(inner)
        return Enclosure(
            value, 32 * enclosure.ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1.0 + np.abs(s) * a)
        )

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose the profile: 1 - e^{(eps-a)/2} on [-a, a], 0 above, 1 - e^eps below."""
        a = float(self.epsilon)
        value = -np.expm1(np.where(epsilon < -a, epsilon, np.minimum(0.5 * (epsilon - a), 0.0)))
        margin = 16 * UNIT_ROUNDOFF * (value + a + np.abs(epsilon))
        inside = epsilon < self.max_loss  # between a rounded and the exact end some delta is left
        return np.maximum(value - margin, 0.0), value + np.where(inside, margin, 0.0)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the continuous part, and both atoms."""
        return self.smoothnesses([self], c, [moment])[0]

    @classmethod
    def smoothnesses(
        cls, pairs: Sequence[Self], c: float, moments: Sequence[Bound]
    ) -> list[Smoothness]:
        """Return layers of the tilted density, which is exponential on (-a, a), and both atoms."""
        a = np.array([float(pair.epsilon) for pair in pairs])
        upper = np.array([moment.upper for moment in moments])
        layers = zip(
            *pair_parts.exponential_layers(c + 0.5, a, -math.log(4.0) - 0.5 * a - upper),
            strict=True,
        )
        logs = np.minimum([c * a - upper, -(c + 1.0) * a - upper], 0.0)
        p, q = (0.5 * (1 - 1e-9) * np.exp(logs)).tolist()
        atoms = zip(p, q, (2.0 * a).tolist(), (c * a < PRECISE).tolist(), strict=True)
        return [
            Smoothness(0.0, *one, atoms=(first, second, apart) if known else None)
            for one, (first, second, apart, known) in zip(layers, atoms, strict=True)
        ]

    def exponentials(self) -> Exponentials | None:
        """Return M as e^{-a/2}/2 (2 cosh(za) + sinh(za)/z)."""
        a = float(self.epsilon)
        scale = 0.5 * math.exp(-0.5 * a)
        weights = scale * np.array([[1.0, 0.5], [1.0, -0.5]])
        return Exponentials(np.array([a, -a]), weights)


def _near_zero(s: Complexes, a: Reals) -> Enclosure:
    """Enclose K at each s for each a of a column, through e^z - 1 - z."""
    first, second = s * a, -(s + 1.0) * a
    arguments = np.concatenate([first.ravel(), second.ravel()])
    both = elementary.exp_minus_linear(arguments, np.ones(1), _FLAT).reshape(2, *first.shape)
    return _from_excess(s, first, both[0], second, both[1])


def _far_from_zero(s: Complexes, a: Reals) -> Enclosure:
    """Enclose K at each s for each a of a column, the log of p e^z + q e^w, z = sa, w = -(s+1)a.

    Rounds: an exponent is off by at most 3 u (|z| + |w|), its exponential by that and 2 c u, a
    product with p or q, their quotients included, by 24 u; all relative to |p e^z| + |q e^w|.
    """
    p, q = (s + 1.0) / (2.0 * s + 1.0), s / (2.0 * s + 1.0)
    up, down = np.exp(s.real * a), np.exp(-(s.real + 1.0) * a)
    cosine, sine = np.cos(s.imag * a), np.sin(s.imag * a)
    real = cosine * (up * p.real + down * q.real) - sine * (up * p.imag - down * q.imag)
    imag = cosine * (up * p.imag + down * q.imag) + sine * (up * p.real - down * q.real)
    size = np.maximum(np.hypot(real, imag), _SMALLEST)
    units = 4.0 * (np.abs(s) + np.abs(s + 1.0)) * a + (2 * enclosure.ELEMENTARY_ULPS + 48)
    error = units * UNIT_ROUNDOFF * (up * np.abs(p) + down * np.abs(q))
    value = np.empty(size.shape, complex)
    value.real, value.imag = np.log(size), np.arctan2(imag, real)
    return elementary.log_enclosure(
        value, error / size, 2 * enclosure.ELEMENTARY_ULPS * (1.0 + np.abs(value))
    )


def _from_excess(
    s: Complexes, first: Complexes, up: Complexes, second: Complexes, down: Complexes
) -> Enclosure:
    """Enclose log of ((s+1) e^z + s e^w) / (2s+1), z = s a and w = -(s+1) a, from e^z - 1 - z."""
    size = np.abs(s + 1.0) * np.abs(first) ** 2 * np.exp(np.maximum(first.real, 0.0))
    size += np.abs(s) * np.abs(second) ** 2 * np.exp(np.maximum(second.real, 0.0))
    scale = np.abs(2.0 * s + 1.0)
    error = (
        (13 * enclosure.ELEMENTARY_ULPS + 164 + 4 * np.abs(first)) * UNIT_ROUNDOFF * size / scale
    )
    return elementary.log1p_enclosure(((s + 1.0) * up + s * down) / (2.0 * s + 1.0), error)


_MAX_SHIFT = 100_000  # Largest shift that is tabulated, to bound memory. Exceeding it raises.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplacePair(Reflected, pair_parts.CommonSupport, AtomicPair):
    """P(x) ~ e^{-|x - shift|/scale} over Q(x) ~ e^{-|x|/scale} on the integers.

    With r = e^{-1/scale}, under P the loss is shift/scale with mass 1/(1+r), -shift/scale
    with mass r^shift/(1+r), and (2x - shift)/scale with mass (1-r)/(1+r) r^{shift-x} for
    0 < x < shift. Source: geometric sums.
    """

    scale: Fraction  # exact, above 0
    shift: int  # an integer, at least 1

    def __post_init__(self) -> None:
        """Refuse shifts whose table of masses would be large."""
        if not 1 <= self.shift <= _MAX_SHIFT:
            raise NotCertified(
                f"the discrete Laplace pair is tabulated for whole shifts from 1 to {_MAX_SHIFT}, "
                f"got {self.shift}; state the sensitivity in larger units"
            )

    @property
    def atoms(self) -> Atoms:
        """Return the atoms, computed once and cached."""
        return _atoms(self)

    @property
    def max_loss(self) -> float:
        """Return shift / scale, rounded up."""
        return float(self.shift / self.scale) * (1 + 2e-16)

    def lattice(self, c: float) -> Lattice:
        """Return the lattice from -shift/scale by 2/scale: two losses alone for a shift of 1."""
        atoms = self.atoms
        offset, span = -float(self.shift / self.scale), float(2 / self.scale)
        return Lattice(offset, span, atoms.adjacency(np.rint((atoms.loss - offset) / span), c))


@lru_cache(maxsize=256)
def _atoms(pair: DiscreteLaplacePair) -> Atoms:
    """Return the loss law's atoms as logs of masses."""
    step = float(1 / pair.scale)
    between = np.arange(1, pair.shift, dtype=float)
    norm = math.log1p(math.exp(-step))
    log_p = np.concatenate(
        [
            [-norm - pair.shift * step],
            math.log(-math.expm1(-step)) - norm - (pair.shift - between) * step,
            [-norm],
        ]
    )
    loss = np.concatenate([[-pair.shift], 2.0 * between - pair.shift, [pair.shift]]) * step
    return Atoms(log_p, loss, 0.0, 0.0)


# Largest |z| for which K is summed as a series, next to 0. Error bounds depend on it.
_SMALL = 0.25
_TERMS = 8  # Terms of that series; the next is below 2^-80 of the first. Error bounds depend on it.


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticShift(Reflected, pair_parts.CommonSupport, PureLoss, ABC):
    """A pair of logistic distributions of scale 1 at distance epsilon.

    With a = e^epsilon and V uniform on [0, 1] under Q, dP/dQ = a / (1 + (a-1)V)^2. So under
    P the loss has density e^{l/2} / (4 sinh(epsilon/2)) on [-epsilon, epsilon], and

        M(s) = sinh((s + 1/2) epsilon) / ((2s + 1) sinh(epsilon/2)).

    Source: proofs/theory/bounded_range.md: an epsilon-bounded-range mechanism
        changes the odds of every event by at most e^epsilon, which is this pair's trade-off.
    """

    epsilon: Fraction

    def cgf(self, s: Complexes) -> Enclosure:
        """Enclose K, the log of sinh(z)/z at z = (s + 1/2) epsilon over that at epsilon/2."""
        e = float(self.epsilon)
        z = (s + 0.5) * e
        if float(np.abs(z).max()) <= _SMALL:
            return self._small(z, 0.5 * e)
        # log(sinh z / z) - log(sinh h / h) with sinh z = e^z (1 - e^{-2z}) / 2, Re z >= 0
        flip = np.where(z.real < 0, -z, z)
        top = flip + np.log((1.0 - np.exp(-2.0 * flip)) / flip)
        bottom = 0.5 * e + math.log(-math.expm1(-e) / (0.5 * e))
        size = 4.0 + np.abs(flip) + np.abs(top) + e + 1.0 / np.abs(-np.expm1(-2.0 * flip))
        return Enclosure(top - bottom + 0j, 4 * enclosure.ELEMENTARY_ULPS * UNIT_ROUNDOFF * size)

    def _small(self, z: Complexes, half: float) -> Enclosure:
        """Enclose K next to 0 as log1p of the ratio less 1, by sinh(z)/z - 1 = z^2/6 (1 + ...)."""
        square = z * z
        difference = square - half * half  # = epsilon^2 s (s + 1)
        total, base = np.zeros(z.shape, dtype=complex), 0.0
        power_sum = np.zeros(z.shape, dtype=complex)
        factor = 1.0
        for k in range(1, _TERMS + 1):
            # (z^{2k} - h^{2k}) / (z^2 - h^2) = z^2 * previous + h^{2(k-1)}
            power_sum = square * power_sum + half ** (2 * k - 2)
            factor /= (2 * k) * (2 * k + 1)
            total = total + factor * power_sum
            base += factor * half ** (2 * k)
        excess = difference * total / (1.0 + base)
        size = np.abs(square) + half * half
        return elementary.log1p_enclosure(excess, 16 * UNIT_ROUNDOFF * size)

    def profile(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Enclose (sqrt(a) - sqrt(t))^2 / (a - 1) on [1/a, a], t = e^eps; 0 above, 1 - t below."""
        e = float(self.epsilon)
        inside = np.clip(epsilon, -e, e)
        # (1 - e^{(eps-e)/2})^2 / (1 - e^{-e})
        root, scale = -np.expm1(0.5 * (inside - e)), -math.expm1(-e)
        value = root * root / scale
        value = np.where(
            epsilon < -e, -np.expm1(np.minimum(epsilon, 0.0)), np.where(epsilon >= e, 0.0, value)
        )
        slip = 8 * UNIT_ROUNDOFF * (np.abs(inside) + e)
        margin = 16 * enclosure.ELEMENTARY_ULPS * UNIT_ROUNDOFF * value
        margin += slip * (root * (1.0 - root) + slip) / scale
        left = epsilon < self.max_loss  # between a rounded and the exact end some delta is left
        return np.maximum(value - margin, 0.0), value + np.where(left, margin, 0.0)

    def smoothness(self, c: float, moment: Bound) -> Smoothness:
        """Return layers of the tilted density, which is exponential on [-epsilon, epsilon]."""
        e = float(self.epsilon)
        log_sinh = 0.5 * e + math.log(-0.5 * math.expm1(-e))
        scale = -math.log(4.0) - log_sinh - moment.upper
        masses, widths = pair_parts.exponential_layers(c + 0.5, e, scale)
        return Smoothness(masses=masses, widths=widths)

    def exponentials(self) -> Exponentials | None:
        """Return M as sinh(z e) / (2 z sinh(e/2))."""
        e = float(self.epsilon)
        scale = 0.5 * math.exp(-0.5 * e) / -math.expm1(-e)
        return Exponentials(np.array([e, -e]), scale * np.array([[0.0, 1.0], [0.0, -1.0]]))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticPair(LogisticShift):
    """The pair by itself: its powers are products."""
