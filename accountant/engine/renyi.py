"""Compute Rényi divergences of one direction of a product, and the smallest zCDP parameter."""

from __future__ import annotations

import math

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.profile import has_infinite_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.product import Product

_SAME = 1e-12  # Relative width of a bracket from the tails that is not narrowed. Heuristic.
_CLOSE, _ROUGH = (
    1e-10,
    1e-5,
)  # Relative widths of rho at which it is known, and if by tables. Heuristic.
_APART = (1e-4, 1e-1)  # Orders between which K is asked apart. Heuristic.
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
                high = np.minimum(_beyond_tables(product, s), rho * s * order)
    slack, least = 1e-15, math.ulp(0.0) if product.factors else 0.0
    return Bound(
        max(float(low[0] / s[0]) * (1 - slack), 0.0),
        max(float(high[0] / s[0]) * (1 + slack), least),
    )


def smallest_rho(product: Product) -> Bound:
    """Bracket the smallest rho such that every order a > 1 has divergence at most rho a.

    With s = a - 1 this is the supremum over s > 0 of K(s) / (s (s+1)). K(s)/s increases
    (K is convex and K(0) = 0), so on [s_j, s_{j+1}] the ratio is at most
    (K(s_{j+1}) / s_{j+1}) / (s_j + 1). Left of the grid the same bound holds with s_j = 0;
    right of it each pair adds at most its own ``rho_beyond``.
    """
    above, below = product.above(), product.below()
    if has_infinite_loss(below):
        return Bound.exactly(math.inf)
    tail = product.added(lambda pair: pair.zcdp_bound) * (1 + 1e-14)
    best = 0.5 * gaussian_tails(product)
    if tail <= best * (1 + _SAME):
        return Bound(best, tail)
    grid = np.concatenate([[0.0], np.geomspace(1e-7, _largest(above), 160)])
    places, outside = grid[1:], _rho_beyond(product, grid[1:])
    infinite = has_infinite_loss(above)  # of a table, where the pair may have none
    close = 1 + (_ROUGH if infinite else _CLOSE)

    def ends(s: Reals) -> Reals:
        low, high = _cgf(below, s) if infinite else _cgf(above, s)
        if infinite:
            high = _beyond_tables(product, s)
        elif above != below:
            low = _cgf(below, s)[0]
        return np.stack([low, high])

    def apart(s: Reals) -> Reals:
        """Ask orders of like size together, as all have the error of the largest."""
        parts = np.split(s, np.searchsorted(s, _APART))
        return np.hstack([np.empty((2, 0)), *(ends(part) for part in parts if part.size)])

    bounds, upper = apart(grid[1:]), math.inf
    for _ in range(_ROUNDS):
        best = max(best, float((bounds[0] / (grid[1:] * (grid[1:] + 1.0))).max()))
        cells = bounds[1] / grid[1:] / (grid[:-1] + 1.0)
        if infinite:
            at = np.searchsorted(places, grid[1:-1], side="right") - 1
            cells[1:] = np.minimum(cells[1:], outside[at])
        upper = min(max(float(cells.max()), float(outside[-1])) * (1 + 1e-14), tail)
        enough = max(best * close, float(outside[-1]))
        loose = cells > enough
        if outside[-1] >= tail or not loose.any() or grid.size > _MOST:
            break
        new = _inside(grid, loose)
        order = np.argsort(np.concatenate([grid, new]))
        grid = np.concatenate([grid, new])[order]
        bounds = np.concatenate([bounds, apart(new)], axis=1)[:, order[1:] - 1]
    return Bound(best * (1 - 1e-14), max(upper, best))


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


def _beyond_tables(product: Product, s: Reals) -> Reals:
    """Bound K from above if sampled pairs bound what lies beyond their tables.

    Where K is beyond all floats the bound is infinity.
    """
    total = np.zeros(s.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for factor in product.factors:
            table = factor.pair.above(factor.count)
            total += factor.count * factor.pair.log_moment_above(s, table)
    total *= 1 + 1e-15 * (2 + len(product.factors))
    return np.where(np.isnan(total), np.inf, total)


def _largest(product: Product) -> float:
    """Return the largest s, up to 1e4, at which K can be computed."""
    for s in (1e4, 1e3, 1e2, 1e1):
        try:
            total_cgf(product, np.array([s + 0j]))
        except NotCertified:
            continue
        return s
    return 1.0


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
