"""Prove lower bounds of the divergence of batches of an epoch by cells of the largest noisy sum.

Heuristic: all constants; the checker computes the masses of the cells itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object, factors
from dpproof.accountant.engine.profile import delta as delta_at, epsilon as epsilon_at
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Json, Step, show_rational

_CELLS: Final = 2_000  # Of the pair with the most of them.
_SUMS: Final = limits.MAX_CELL_SUMS // 2  # Places of a sum of losses.
_NARROWEST: Final = 2.0**-12  # nats; narrower cells gain nothing.
_NEGLIGIBLE: Final = 1e-6  # Share of delta that outermost cells may have.
_IRREGULAR: Final = 0.005  # Share of cells, the outermost, whose losses may be far from the middle.
_BITS: Final = 30  # Of the ends of cells, behind the point.
_ROOM: Final = 1e-10  # Room for roundings here, relative and in nats.


@final
@dataclass(frozen=True, slots=True)
class _Cells:
    """One pair cut into cells.

    Attributes:
        ends: in units of 2^-30, increasing.
        offset: losses are at or above offset + k span.
        pair: the cells as a pair on that lattice.
    """

    ends: list[int]
    offset: Fraction
    pair: LatticePair


def needs_cells(product: Product) -> bool:
    """Return whether a product has shuffled batches in it."""
    return any(isinstance(factor.pair, ShuffledGaussianPair) for factor in product.factors)


def lower_fact_by_cells(product: Product, epsilon: float, delta: float, *, moves: bool) -> Step:
    """Return the fact that a product's divergence near epsilon is at least nearly delta.

    Args:
        product: shuffled batches, allocated rounds and Gaussian pairs.
        epsilon: at or above 0.
        delta: what the engine finds at epsilon, from below.
        moves: whether epsilon may be lowered; else delta may.
    Raises:
        NotCertified: other pairs are in the product, or no cells come near it.
    """
    if not delta:
        raise NotCertified(f"no lower end of delta was found near {epsilon:.6g}; {UNCERTIFIED}")
    pairs = [(_as_shuffled(one.pair), one.count) for one in product.factors]
    cells, span = _cut(pairs, epsilon, delta)
    used = Product(
        tuple(Factor(one.pair, count) for one, (_, count) in zip(cells, pairs, strict=True))
    )
    if moves:
        epsilon = min(epsilon, epsilon_at(used, delta).lower * (1 - _ROOM))
    else:
        delta = min(delta, delta_at(used, epsilon).lower * (1 - _ROOM))
    if not (delta > 0 and (epsilon > 0 or not moves)):
        raise NotCertified(
            f"no cells of the largest noisy sum prove a lower end near epsilon = {epsilon:.6g}; "
            f"{UNCERTIFIED}"
        )
    hints: list[Json] = [
        {
            "unit": show_rational(Fraction(1, 1 << _BITS)),
            "offset": show_rational(one.offset),
            "ends": list(one.ends),
        }
        for one in cells
    ]
    claim: Object = {
        "notion": "hockey-stick-at-least",
        "product": factors(product),
        "epsilon": show_rational(Fraction(epsilon)),
        "delta": show_rational(Fraction(delta)),
    }
    witness: Object = {"span": show_rational(Fraction(span)), "factors": hints}
    return Step(rule="at-least/cells", premises=(), witness=witness, conclusion=claim)


def _as_shuffled(pair: Pair) -> ShuffledGaussianPair:
    """Return a pair as shuffled batches, which it dominates; a Gaussian pair is one batch."""
    if isinstance(pair, AllocatedGaussianPair):
        return pair.largest
    if isinstance(pair, GaussianPair):
        return ShuffledGaussianPair(mu_squared=pair.mu_squared, batches=1, replaced=True)
    if not isinstance(pair, ShuffledGaussianPair):
        raise NotCertified(
            "lower ends of shuffled batches and of allocated rounds are certified alone and "
            "beside Gaussian noise; certify "
            f"those parts, or {UNCERTIFIED}"
        )
    return pair


def _cut(
    pairs: list[tuple[ShuffledGaussianPair, int]], epsilon: float, delta: float
) -> tuple[list[_Cells], float]:
    """Cut pairs where their losses are multiples of a span; one pair alone only at epsilon."""
    if sum(count for _, count in pairs) == 1:
        return [_cells(pairs[0][0], np.array([epsilon]), 1.0)], 1.0
    least = _NEGLIGIBLE * delta / sum(count for _, count in pairs)
    sides = [(pair.reach(least), pair.swapped().reach(least)) for pair, _ in pairs]
    sums = sum(count * sum(side) for side, (_, count) in zip(sides, pairs, strict=True))
    span = max(max(map(sum, sides)) / _CELLS, sums / _SUMS, _NARROWEST)
    return [
        _cells(pair, span * np.arange(-math.ceil(below / span), math.ceil(above / span)), span)
        for (pair, _), (above, below) in zip(pairs, sides, strict=True)
    ], span


def _cells(pair: ShuffledGaussianPair, losses: Reals, span: float) -> _Cells:
    """Cut one pair at some losses.

    The losses of cells are near the middles in between, and the offset is just below most of them:
    the few that are not are rounded down further.
    """
    ends = np.unique(np.rint(np.ldexp(pair.thresholds(losses), _BITS))).astype(np.int64)
    p, q = pair.cells(np.ldexp(ends.astype(float), -_BITS))
    positive = (p > 0) & (q > 0)
    loss = np.log(p[positive] / q[positive])
    share = loss / span - np.floor(loss / span)
    lowest = np.quantile(share, _IRREGULAR) if loss.size > 2 else share[-1]
    offset = float(lowest) * span - _ROOM
    index = np.floor((loss - offset) / span)
    places, where = np.unique(index, return_inverse=True)
    log_p = np.log(np.bincount(where, weights=p[positive]))
    atoms = Atoms(log_p, offset + span * places, 0.0, 0.0)
    return _Cells(ends.tolist(), Fraction(offset), LatticePair(atoms, places, span, offset))
