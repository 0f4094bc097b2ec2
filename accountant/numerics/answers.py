"""Every question one direction of a product can be asked, in one place.

A handful of subsampled Gaussian steps leave a near-atom in the loss, which the contour resolves
slowly; then a table of the pair's profile gives a second bracket, and both hold.
"""

from __future__ import annotations

import contextlib

from accountant.bound import Bound
from accountant.errors import NotCertified
from accountant.numerics import profile
from accountant.numerics.profile import deltas
from accountant.numerics.renyi import renyi, smallest_rho
from accountant.numerics.testing import smallest_mu, true_positive_rate
from accountant.pairs.product import Factor, Product
from accountant.pairs.selected import SelectedPair
from accountant.pairs.subsampled import tabulated

__all__ = [
    "delta",
    "deltas",
    "epsilon",
    "larger_epsilon",
    "renyi",
    "smallest_mu",
    "smallest_rho",
    "true_positive_rate",
]

_WIDE = 1e-6


def delta(product: Product, epsilon: float) -> Bound:
    """Hockey-stick divergence of one direction at a real epsilon."""
    selected = _selected(product)
    if selected is not None:
        return selected.delta(epsilon)
    found = profile.delta(product, epsilon)
    table = _tabulated(product)
    if found.relative_width <= _WIDE or table == product:
        return found
    with contextlib.suppress(NotCertified):
        return _both(found, profile.delta(table, epsilon))
    return found


def epsilon(product: Product, delta: float) -> Bound:
    """The smallest epsilon >= 0 at which one direction's profile is at most delta."""
    selected = _selected(product)
    if selected is not None:
        return selected.epsilon(delta)
    found = profile.epsilon(product, delta)
    table = _tabulated(product)
    if found.relative_width <= _WIDE or table == product:
        return found
    with contextlib.suppress(NotCertified):
        return _both(found, profile.epsilon(table, delta))
    return found


def larger_epsilon(forward: Product, backward: Product, delta: float) -> Bound:
    """The larger epsilon of two directions.

    The second is left out where a look at the first one's lower end shows that it is no larger.
    """
    first = epsilon(forward, delta)
    selected = _selected(backward)
    if selected is not None and backward != forward and selected.delta(first.upper).upper <= delta:
        return Bound(first.lower, first.upper)
    if backward == forward or profile.certainly_below(backward, first.lower, delta):
        return first
    return first.maximum(epsilon(backward, delta))


def _selected(product: Product) -> SelectedPair | None:
    """One selection by itself, which answers without a table."""
    alone = product.factors[0] if len(product.factors) == 1 else None
    if alone is not None and alone.count == 1 and isinstance(alone.pair, SelectedPair):
        return alone.pair
    return None


def _tabulated(product: Product) -> Product:
    return Product.merge([Factor(tabulated(f.pair), f.count) for f in product.factors])


def _both(one: Bound, other: Bound) -> Bound:
    """Two brackets of one number."""
    return Bound(max(one.lower, other.lower), min(one.upper, other.upper))
