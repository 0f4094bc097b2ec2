"""Compute Rényi divergences of one direction of a product, and the smallest zCDP parameter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import has_infinite_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.product import Product

_SAME = 1e-12  # Relative width of a bracket from the tails that is not narrowed. Heuristic.
_CLOSE, _ROUGH = 1e-10, 1e-5  # Widths at which rho is known, and if by tables. Heuristic.
_FIRST, _PLACES = 56, 160  # Orders of the first grid, and of bounds beyond. Heuristic.
_APART = (1e-4, 1e-1)  # Orders between which K is asked apart. Heuristic.
_FIRST_QUICKLY = 0.05  # First order, less 1, without tables. Heuristic.
_ENOUGH = 5e-5  # Relative width of rho at which none are made. Heuristic.
_LEAST = 1e-7  # First order, less 1. Soundness depends on it.
_ROUNDS, _MOST = 14, 3000  # Most refinements, and orders to refine further. Heuristic.


def renyi(product: Product, order: float) -> Bound:
    """Bracket the Rényi divergence of a real order > 1, K(order - 1) / (order - 1)."""
    s = np.array([order - 1.0])
    above, below = product.above(), product.below()
    if has_infinite_loss(below):
        return Bound.exactly(math.inf)
    low, high = _cgf(above, s)
    if above != below:
        low = _cgf(below, s)[0]
        if has_infinite_loss(above):  # of a table, where the pair may have none
            rho = product.added(lambda pair: pair.zcdp_bound) * (1 + 1e-14)
            with np.errstate(over="ignore"):
                high = np.minimum(_upper_moments(product, s), rho * s * order)
    slack, least = 1e-15, math.ulp(0.0) if product.factors else 0.0
    return Bound(
        max(float(low[0] / s[0]) * (1 - slack), 0.0),
        max(float(high[0] / s[0]) * (1 + slack), least),
    )


def smallest_rho(product: Product, least: float = 0.0) -> Bound:
    """Bracket the smallest rho such that every order a > 1 has divergence at most rho a.

    With s = a - 1 this is the supremum over s > 0 of K(s) / (s (s+1)). K is convex: on a cell it is
    below its chord. Left of the grid the ratio is at most each K(s_j) / s_j, as K(s)/s increases;
    right of it each pair adds at most its own ``rho_beyond``.

    Args:
        product: what is asked about.
        least: a smaller rho counts as this one.
    """
    tail = product.added(lambda pair: pair.zcdp_bound) * (1 + 1e-14)
    best = max(0.5 * gaussian_tails(product), least)
    if tail <= best * (1 + _SAME):
        return Bound(best, max(tail, best))
    quick = Product(tuple(factor for factor in product.factors if factor.pair.is_quick))
    if best > 0.0 and quick != product:
        grid = np.geomspace(_FIRST_QUICKLY, _largest(quick, 1e7), _FIRST)

        def untabulated(s: Reals) -> Reals:
            return np.stack([np.zeros(s.shape), _upper_moments(product, s, tables=False)])

        rho = _largest_ratio(product, untabulated, grid, (best, tail), 1 + _ROUGH)
        if rho.upper <= best * (1 + _ENOUGH):
            return rho
    above, below = product.above(), product.below()
    if has_infinite_loss(below):
        return Bound.exactly(math.inf)
    infinite = has_infinite_loss(above)  # of a table, where the pair may have none

    def ends(s: Reals) -> Reals:
        low, high = _cgf(below, s) if infinite else _cgf(above, s)
        if infinite:
            high = _upper_moments(product, s)
        elif above != below:
            low = _cgf(below, s)[0]
        return np.stack([low, high])

    def apart(s: Reals) -> Reals:
        """Ask orders of like size together, as all have the error of the largest."""
        parts = np.split(s, np.searchsorted(s, _APART))
        return np.hstack([np.empty((2, 0)), *(ends(part) for part in parts if part.size)])

    grid = np.geomspace(_LEAST, _largest(above), _FIRST)
    close = 1 + (_ROUGH if infinite else _CLOSE)
    return _largest_ratio(product, apart, grid, (best, tail), close)


def _largest_ratio(
    product: Product,
    ends: Callable[[Reals], Reals],
    grid: Reals,
    known: tuple[float, float],
    close: float,
) -> Bound:
    """Bracket the largest K(s) / (s (s + 1)).

    Args:
        product: knows bounds beyond the grid.
        ends: of K, shape (2, n).
        grid: the first orders, from 1e-7 on or later.
        known: ends of the result.
        close: a ratio of its ends that is small enough.
    """
    places = np.geomspace(grid[0], grid[-1], _PLACES)
    outside = _rho_beyond(product, places)
    bounds, (best, tail), upper = ends(grid), known, math.inf
    for _ in range(_ROUNDS):
        low, high = bounds / (grid * (grid + 1.0))
        beyond = outside[np.searchsorted(places, grid, side="right") - 1]
        best = max(best, float(low.max()))
        cells = np.minimum(_below_chords(grid, bounds[1]), beyond[:-1])
        start = float((bounds[1] / grid).min())
        upper = min(max(start, float(cells.max()), float(outside[-1])) * (1 + 1e-14), tail)
        reached = float(np.minimum(high, beyond).max())  # by every grid that goes on from this one
        loose = cells > max(max(best, reached) * close, start, float(outside[-1]))
        if outside[-1] >= tail or not loose.any() or grid.size > _MOST:
            break
        new = _inside(grid, loose)
        order = np.argsort(np.concatenate([grid, new]))
        grid = np.concatenate([grid, new])[order]
        bounds = np.concatenate([bounds, ends(new)], axis=1)[:, order]
    return Bound(best * (1 - 1e-14), max(upper, best))


def _below_chords(s: Reals, high: Reals) -> Reals:
    """Return the largest chord over s (s + 1) on each cell, relatively 1e-14 too small at most.

    On a chord -q b + b s the ratio's only turn is the largest, at q + sqrt(q^2 + q). From s = 1e-7
    on rounding moves it by a relative 1e-8 at most, which the ratio's log, whose second derivative
    in log s is at most 2.3 there, feels by a square.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        slope = np.diff(high) / np.diff(s)
        q = np.maximum(s[:-1] - high[:-1] / slope, 0.0)
        turn = np.where(slope > 0.0, np.clip(q + np.sqrt(q * q + q), s[:-1], s[1:]), s[:-1])
        ratio = (high[:-1] + slope * (turn - s[:-1])) / (turn * (turn + 1.0))
    finite = np.isfinite(high)
    return np.where(finite[:-1] & finite[1:] & np.isfinite(ratio), ratio, math.inf)


def gaussian_tails(product: Product) -> float:
    """Return at most the mu^2 of the Gaussians that a product has in its tail, 0 if there are none.

    The smallest mu^2 over all deltas is at least that, the smallest rho half of it, as to remove a
    record from a sample costs as much as without sampling where delta is tiny enough
    (proofs/theory/conversions.md, section 13).
    """
    return product.added(lambda pair: pair.gaussian_tail) * (1 - 1e-14)


def sampled_gaussian_tails(product: Product) -> float:
    """Return the same mu^2 if some of that noise is sampled, else 0."""
    noise = (one.pair for one in product.factors if one.pair.gaussian_tail)
    plain = all(isinstance(one, GaussianPair | DiscreteGaussianPair) for one in noise)
    return 0.0 if plain else gaussian_tails(product)


def _rho_beyond(product: Product, s: Reals) -> Reals:
    """Bound K(t) / (t (t + 1)) of all t at or above each s."""
    rhos = [product.added(lambda pair, at=at: pair.rho_beyond(at)) for at in s.tolist()]  # type: ignore[misc]
    return np.array(rhos) * (1 + 1e-14)


def _upper_moments(product: Product, s: Reals, *, tables: bool = True) -> Reals:
    """Bound K from above where sampled pairs bound what lies beyond their tables, or by no tables.

    Where K is beyond all floats the bound is infinity.
    """
    total = np.zeros(s.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for factor in product.factors:
            table = factor.pair.above(factor.count) if tables else None
            total += factor.count * factor.pair.log_moment_above(s, table)
    total *= 1 + 1e-15 * (2 + len(product.factors))
    return np.where(np.isnan(total), np.inf, total)


def _largest(product: Product, most: float = 1e4) -> float:
    """Return the largest s, a power of ten up to ``most``, at which K can be computed."""
    while most > 1.0:
        try:
            total_cgf(product, np.array([most + 0j]))
        except NotCertified:
            most *= 0.1
            continue
        break
    return most


def _inside(grid: Reals, loose: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Reals:
    """Return the points that cut each loose cell into eight, if floats tell them apart."""
    left, right = grid[:-1][loose], grid[1:][loose]
    new = np.concatenate([left + (right - left) * k / 8 for k in range(1, 8)])
    return np.setdiff1d(new, grid)


def _cgf(product: Product, s: Reals) -> tuple[Reals, Reals]:
    """Return both bounds of K at real arguments, where M is real.

    Raises:
        NotCertified: K is beyond all floats.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        cgf = total_cgf(product, s + 0j)
        low, high = cgf.value.real - cgf.radius, cgf.value.real + cgf.radius
    if np.isnan(low).any() or np.isnan(high).any():
        raise NotCertified(
            f"the Renyi divergence of order {1 + s.max():.6g} is not representable as a float; ask "
            "for a smaller order"
        )
    return low, high
