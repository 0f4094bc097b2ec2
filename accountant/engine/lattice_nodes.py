r"""The sums over the nodes of one period, at every place between two lattice points.

With h the span, l the first lattice point above eps and g = l - eps, the generating function of
the sum over j >= 0 of (1 - e^{-g - jh}) e^{-s(l + jh)} is e^{-s l} times the kernel

    (A + B e^{-sh}) U,    U = 1 / ((1 - e^{-sh}) (1 - e^{-(s+1)h})),
    A = 1 - e^{-g},       B = e^{-g} (1 - e^{g - h}),       A + B = 1 - e^{-h}:

nothing cancels, however small the span. At Re s = c it is at most (1 - e^{-h}) U(c).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import ELEMENTARY_ULPS, UNIT_ROUNDOFF, Complexes, Reals
from dpproof.accountant.engine.common_lattice import CommonLattice, too_fine
from dpproof.accountant.errors import NotCertified

_FEW = 1 << 11  # Nodes up to which the sums are computed node by node. Heuristic.
_BLOCK = 1 << 19  # Epsilons times nodes evaluated at once, to bound memory. Heuristic.
# Most nodes on a period that is transformed, to bound memory. Heuristic.
_MAX_TRANSFORMED = 1 << 24
# Most nodes times epsilons that are summed, to bound time. Exceeding it raises.
_MAX_TERMS = 1 << 24
_KNOWN = 0.5  # Error of K below which a value is used; else its size. Error bounds depend on it.
_GROWN = 1.3  # Above (e^x - 1)/x up to x = ``_KNOWN``. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True, eq=False)
class LatticeNodes:
    """M at the nodes of one period. Compared by identity, as its transform is kept for it.

    Attributes:
        s: shape (n,), nodes with imaginary part 0, step, 2 step, ...
        cgf: shape (n,), K(s).
        radius: shape (n,), its error.
        weights: shape (n,), 1/N or 2/N (conjugate pairs), 1/N at the end of the period.
        lattice: what the losses lie on.
        period: N * span.
    """

    s: Complexes
    cgf: Complexes
    radius: Reals
    weights: Reals
    lattice: CommonLattice
    period: float

    @property
    def c(self) -> float:
        """Return the real part of all nodes."""
        return float(self.s[0].real)

    @property
    def log_moment(self) -> float:
        """Return K(c)."""
        return float(self.cgf[0].real)

    @property
    def count(self) -> int:
        """Return the number of nodes on a period, those with imaginary part below 0 included."""
        return round(self.period / self.lattice.span)

    def first(self, epsilon: Reals) -> Reals:
        """Return the first lattice point above each epsilon."""
        h, offset = self.lattice.span, self.lattice.offset
        above = offset + h * (np.floor((epsilon - offset) / h) + 1.0)
        return np.asarray(np.maximum(above, epsilon))

    def blur(self, epsilon: Reals) -> Reals:
        """Bound the distance of a total loss to its lattice point."""
        reach = 2 * self.lattice.size + np.abs(epsilon) + self.period
        return np.asarray(16.0 * UNIT_ROUNDOFF * reach + self.lattice.moved)

    def sums(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the sum over the nodes at each epsilon and its error, over M(c) e^{-c l}.

        Raises:
            NotCertified: too many terms, and too long a period to be transformed.
        """
        terms, few = self.s.size * epsilon.size, max(_BLOCK // self.s.size, 1)
        if self.s.size > _FEW and self.count <= _MAX_TRANSFORMED and terms > _BLOCK:
            return self._transformed(epsilon)
        if terms > _MAX_TERMS and epsilon.size > 1:
            raise NotCertified(
                f"{too_fine(self.lattice)} at {epsilon.size} epsilons at once: ask at fewer"
            )
        parts = [self._summed(epsilon[i : i + few]) for i in range(0, epsilon.size, few)]
        total, error = (np.concatenate(one) for one in zip(*parts, strict=True))
        return total, error

    def largest(self, few: int | None = None) -> Reals:
        """Bound the moduli of the kernel at the first few nodes, or at all."""
        h = self.lattice.span
        return np.asarray(-math.expm1(-h) * (1 + 1e-9) * np.abs(_kernel(self.s[:few], h)))

    def pull(self, blur: float) -> Reals:
        """Bound how much each weighted M(s) over M(c) changes, per nat that losses are moved by.

        By x = |s| b e^{c b} at most if they move by b. One pair's |M(s)|/M(c) is at least
        r = e^{-g/n}, n the smallest count, if the product's is e^{-g}; so by e^{-g} (e^{x/r} - 1)
        at most, as M is a product of n and more terms that change by x together. That is convex in
        b, so up to ``blur`` at most in proportion.
        """
        fallen = self.log_moment - self.cgf.real
        spread = self.radius + self.radius[0]
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(self.s) * np.exp(self.c * np.float64(blur))
            ratio = np.exp((fallen + spread) / self.lattice.fewest)
            change = np.exp(spread - fallen) * np.expm1(size * blur * ratio) / blur
        return np.asarray(self.weights * np.where(change < size, change, size))

    def _shares(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return A and B."""
        gap = self.first(epsilon) - epsilon
        return -np.expm1(-gap), -np.exp(-gap) * np.expm1(np.minimum(gap - self.lattice.span, 0.0))

    def _ragged(self) -> float:
        """Bound the relative error of U, e^{-sh} U and their shares.

        With z = s h a rounding of z moves 1 - e^{-z} by |z e^{-z}/(1 - e^{-z})| <= 4 (1 + Re z)
        roundings, as |Im z| <= pi; one of h moves B U e^{-z} by less than A U + B U e^{-z} times
        (1 + h).
        """
        return 32 * ELEMENTARY_ULPS * UNIT_ROUNDOFF * (1 + (self.c + 1.0) * self.lattice.span)

    def _summed(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return the sum over the nodes and its error, node by node."""
        first = self.first(epsilon)[:, None]
        shift = self.log_moment - self.c * first
        near, (a, b) = _kernel(self.s, self.lattice.span), self._shares(epsilon)
        far = np.exp(-self.s * self.lattice.span) * near
        kernel = a[:, None] * near + b[:, None] * far
        largest = a[:, None] * np.abs(near) + b[:, None] * np.abs(far)
        phase = self.s * first
        scale = np.exp(self.cgf - phase - shift) * self.weights
        size = np.exp(self.cgf.real - phase.real - shift) * self.weights
        wobble = self.radius + 4 * UNIT_ROUNDOFF * (
            np.abs(phase) + np.abs(shift) + np.abs(self.cgf) + 8.0
        )
        known = wobble < _KNOWN
        growth = np.where(known, 0.0, np.where(np.isinf(wobble), 1.0, wobble))
        with np.errstate(over="ignore"):
            slip = np.where(known, np.expm1(np.where(known, wobble, 0.0)), 1.0 + np.exp(growth))
        loose = self._ragged() * largest
        with np.errstate(over="ignore", invalid="ignore"):
            error = (size * (np.abs(kernel) * slip + loose * (1 + slip))).sum(axis=1)
            blur = self.blur(epsilon)
            error += blur * ((np.abs(kernel) + loose) @ self.pull(float(blur.max())))
        error = np.where(np.isnan(error), np.inf, error)  # 0 times infinity: nothing is known
        total = (np.where(known, scale, 0.0) * kernel).real.sum(axis=1)
        return total, error + 64 * UNIT_ROUNDOFF * (size * np.abs(kernel)).sum(axis=1)

    def _transformed(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return that sum and its error by the transforms."""
        first = self.first(epsilon)
        furthest = max(float(np.abs(first).max()), float(np.abs(epsilon).max()), self.period)
        found = _transform(self, math.ldexp(1.0, math.frexp(furthest)[1]))
        place = np.rint((first - self.lattice.offset) / self.lattice.span)
        place = np.mod(place, self.count).astype(int)
        a, b = self._shares(epsilon)
        turned = 4 * UNIT_ROUNDOFF * np.abs(first) * found.turn
        turned += 4 * UNIT_ROUNDOFF * np.abs(self.log_moment - self.c * first) * found.size
        error = (a + b) * (found.error + _GROWN * turned + self.blur(epsilon) * found.pull)
        return a * found.near[place] + b * found.far[place], error

    def transform(self, furthest: float) -> Transform:
        """Compute the sums at all lattice points of a period, for epsilons up to ``furthest``.

        With first = offset + m h a node turns by offset y_k and by 2 pi k m / N. An error of a
        transform of length N is at most 8 u log2 N times the sum of the moduli.
        """
        whole = _kernel(self.s, self.lattice.span)
        size = np.exp(self.cgf.real - self.log_moment) * self.weights * np.abs(whole)
        radius = self.radius + 4 * UNIT_ROUNDOFF * (np.abs(self.cgf) + 8.0)
        turn = np.abs(self.s)
        flat = np.abs(self.log_moment) + self.c * furthest
        most = radius + 4 * UNIT_ROUNDOFF * (turn * furthest + flat)
        known = most < _KNOWN
        kept, lost = size[known], np.where(np.isinf(most), 1.0, most)[~known]
        blur = float(self.blur(np.array([furthest]))[0])
        turned = np.where(known, np.exp(self.cgf - self.log_moment), 0.0) * self.weights
        turned = turned * np.exp(-1j * self.s.imag * self.lattice.offset)
        with np.errstate(over="ignore", invalid="ignore"):
            error = float(size[~known] @ (2.0 + np.exp(lost)))
            pull = 1.1 * float(np.abs(whole) @ self.pull(blur))
        error = math.inf if math.isnan(error) else 1.1 * error
        rounding = (64 + 8 * math.log2(self.count) + 16) * UNIT_ROUNDOFF + 2.0 * self._ragged()
        return Transform(
            near=self._along(turned * whole),
            far=self._along(turned * np.exp(-self.s * self.lattice.span) * whole),
            size=float(kept.sum()),
            turn=float(kept @ turn[known]),
            error=error + rounding * float(size.sum()) + _GROWN * float(kept @ radius[known]),
            pull=pull,
        )

    def _along(self, terms: Complexes) -> Reals:
        """Return the real part of the sum over k of terms e^{-2 pi i k m / N}.

        The m are 0, ..., N - 1.
        """
        count = self.count
        place = np.rint(self.s.imag * (self.period / (2 * math.pi))).astype(int)
        spread = np.zeros(count // 2 + 1, dtype=complex)
        spread[place] = np.where((place == 0) | (place == count // 2), 1.0, 0.5) * terms
        return np.asarray(np.fft.hfft(spread, count))


def _kernel(s: Complexes, h: float) -> Complexes:
    """Return U."""
    return np.asarray(1.0 / (np.expm1(-s * h) * np.expm1(-(s + 1.0) * h)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """The sums over the nodes at every lattice point of one period, and what bounds their errors.

    All are for A + B = 1, of which A and B are shares.

    Attributes:
        near: shape (N,), with U as the kernel.
        far: shape (N,), with e^{-sh} U.
        size: sum of the known terms' sizes.
        turn: sum of these times |s|.
        error: bounds the error that does not depend on epsilon.
        pull: bounds what moving losses changes, per nat.
    """

    near: Reals
    far: Reals
    size: float
    turn: float
    error: float
    pull: float


@lru_cache(maxsize=1)
def _transform(nodes: LatticeNodes, furthest: float) -> Transform:
    """Return the transform of the nodes that were asked last."""
    return nodes.transform(furthest)
