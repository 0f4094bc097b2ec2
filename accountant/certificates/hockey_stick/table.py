"""Make witnesses for sampled pairs: a grid on which the checker bounds their profile.

Heuristic: the checker bounds the base's profile at every point itself, takes the convex polygon
through the bounds, and uses M of the finite pair that has it as its profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Reals
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, pair as pair_json
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import FinitePair, LatticePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Json, show_rational

Tabled: TypeAlias = SubsampledPair | CountedGaussiansPair | AllocatedGaussianPair
"""Pairs that a product of several is answered for through a table of each."""

TURN = 3  # The height, in units of 1/span, up to which the checker's ceiling falls.
_DIRECT = 1 << 20  # Losses times nodes up to which sums are computed directly. Heuristic.
_LEVELS = 48  # Levels of a ceiling that are tried. Heuristic.
_LARGEST = 700.0  # Largest log of a level. Exceeding it raises.


@final
@dataclass(frozen=True, slots=True)
class TableSide:
    """One side of a table.

    Attributes:
        grid: shape (n,), whole, increasing from 0.
        lines: bounds of the base's profile, in the certificate's JSON; none if closed.
        excess: how far these may be above the profile, absolute.
    """

    grid: Reals
    lines: tuple[Json, ...]
    excess: Reals | float = 0.0

    def witness(self) -> Json:
        """Return strides with counts, and the lines."""
        strides = np.diff(self.grid)
        ends = np.append(np.flatnonzero(np.diff(strides)), strides.size - 1)
        counts = np.diff(np.insert(ends, 0, -1))
        runs = zip(strides[ends].tolist(), counts.tolist(), strict=True)
        listed: list[Json] = [{"stride": int(a), "count": int(n)} for a, n in runs]
        return {"runs": listed, "lines": list(self.lines)}

    @property
    def fine(self) -> int:
        """Return the length of the part without gaps."""
        strides = np.diff(self.grid)
        return int(np.argmax(np.append(strides, 2.0) != 1.0))


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A finite pair above a sampled pair, and the grids from which the checker makes it.

    Attributes:
        finite_pair: the finite pair, to the engine's precision.
        forward: epsilon >= 0.
        backward: the same for the swapped pair.
    """

    finite_pair: LatticePair
    forward: TableSide
    backward: TableSide

    @property
    def top(self) -> float:
        """Return the height up to which the ceiling falls, 0 if it does not."""
        return TURN / self.finite_pair.span if min(self.forward.fine, self.backward.fine) else 0.0

    def work(self, nodes: int) -> int:
        """Return the checker's work for M at so many nodes."""
        turns = [np.diff(np.diff(side.grid)) for side in (self.forward, self.backward)]
        runs = 2 + sum(int(np.count_nonzero(one)) for one in turns)
        size = self.forward.grid.size + self.backward.grid.size - 1
        return limits.turn_work(size, runs, nodes)

    def witness(self, level: float) -> Json:
        """Return the table in the certificate's JSON."""
        return {
            "span": show_rational(Fraction(self.finite_pair.span)),
            "level": show_rational(Fraction(level)),
            "forward": self.forward.witness(),
            "backward": self.backward.witness(),
        }

    def decay(self, c: float) -> Callable[[float], tuple[float, float]]:
        """Return the log of the checker's bound of |M(c+iv)/M(c)| up to the top.

        The bound comes with its level.
        """
        exponent = self.finite_pair.atoms.log_p + c * self.finite_pair.atoms.loss
        log_moment = float(np.logaddexp.reduce(exponent))
        weight = np.exp(exponent - log_moment)
        inside = (self.finite_pair.index >= -self.backward.fine) & (
            self.finite_pair.index <= self.forward.fine
        )
        masses = np.zeros(self.forward.fine + self.backward.fine + 1)
        masses[self.finite_pair.index[inside].astype(int) + self.backward.fine] = weight[inside]
        levels = np.quantile(masses, np.append(1 - np.geomspace(1e-4, 0.5, _LEVELS), 1.0))
        clipped = np.minimum(masses, levels[:, None])
        apart = 1.0 - clipped.sum(axis=1)
        padded = np.pad(clipped, ((0, 0), (1, 1)))
        moves = np.abs(np.diff(padded, axis=1)).sum(axis=1)

        def bound(y: float) -> tuple[float, float]:
            turned = apart + moves / (2 * math.sin(0.5 * y * self.finite_pair.span))
            best = int(np.argmin(turned))
            log_level = math.log(max(float(levels[best]), 1e-300)) + log_moment
            if log_level > _LARGEST:
                raise NotCertified(f"the masses of a table are too far apart; {UNCERTIFIED}")
            level = math.exp(log_level)
            return min(math.log(float(turned[best])), 0.0), level * (1 + 1e-12)

        return bound


def table_cgf(finite_pair: LatticePair, c: float, step: float, count: int) -> Complexes:
    """Approximate K(c + i k step), k = 0, ..., count - 1, to the accuracy of a witness.

    Many nodes use a fast Fourier transform: with e(x) = e^{i x^2 turn / 2} the sum of w_j e^{i j k
    turn} is e(k) times that of w_j e(j) / e(k - j) (Bluestein).
    """
    if finite_pair.index.size * count < _DIRECT:
        return np.asarray(finite_pair.cgf(c + 1j * step * np.arange(count)).value)
    exponent = finite_pair.atoms.log_p + c * finite_pair.atoms.loss
    log_moment = float(np.logaddexp.reduce(exponent))
    first, turn = float(finite_pair.index[0]), step * finite_pair.span
    place = (finite_pair.index - first).astype(int)
    length = int(place[-1]) + 1
    k = np.arange(max(length, count), dtype=float)
    chirp = np.exp(0.5j * np.mod(k * k * turn, 4 * math.pi))
    weights = np.zeros(length, dtype=complex)
    weights[place] = np.exp(exponent - log_moment)
    size = 1 << (length + count).bit_length()
    kernel = np.zeros(size, dtype=complex)
    kernel[:count] = chirp[:count].conj()
    kernel[size - length + 1 :] = chirp[1:length][::-1].conj()
    sums = np.fft.ifft(np.fft.fft(weights * chirp[:length], size) * np.fft.fft(kernel))[:count]
    phase = np.exp(1j * np.mod(first * turn * k[:count], 2 * math.pi))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums * chirp[:count] * phase) + log_moment)


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """A product as a certificate names it, and as its proof computes it.

    Attributes:
        named: the product.
        tables: one for each sampled pair, in order of the factors; None for others.
        computed: the product, with a finite pair for every sample whose losses are added up.
    """

    named: Product
    tables: tuple[Table | None, ...]
    computed: Product

    @staticmethod
    def plain(product: Product) -> Subject:
        """Return a product without sampled pairs."""
        return Subject(product, (None,) * len(product.factors), product)

    @property
    def used(self) -> Product:
        """Return the product with every sampled pair replaced by its table."""
        if not any(self.tables):
            return self.computed
        both = zip(self.computed.factors, self.tables, strict=True)
        return Product(
            tuple(
                factor if table is None else Factor(table.finite_pair, factor.count)
                for factor, table in both
            )
        )

    @property
    def plain_part(self) -> Product:
        """Return the pairs without a table."""
        both = zip(self.computed.factors, self.tables, strict=True)
        return Product(tuple(factor for factor, table in both if table is None))

    def work(self, nodes: int) -> int:
        """Return the checker's work for M at so many nodes, without subsampled Gaussians."""
        both = zip(self.computed.factors, self.tables, strict=True)
        each = (_work(one, nodes) if table is None else table.work(nodes) for one, table in both)
        return limits.NODE * nodes + sum(each)


def _work(factor: Factor, nodes: int) -> int:
    """Return the checker's work for a power of M of one pair without a table."""
    if isinstance(factor.pair, FinitePair):
        return limits.sum_work(len(factor.pair.p), nodes) + limits.power_work(factor.count, nodes)
    said = pair_json(factor.pair)
    kind, shift = str(said["kind"]), said.get("shift", 1)
    if kind in limits.FORMULAS:
        return limits.formula_work(kind, factor.count, nodes, int(str(shift)))
    return limits.power_work(factor.count, nodes)
