"""Many pairs are asked together where that is as good as one by one."""

from __future__ import annotations

from collections.abc import Callable

from accountant.bound import Bound
from accountant.errors import NotCertified
from accountant.pairs.product import Product

_WIDE = 1e-8


def together(question: Callable[[Product], Bound], product: Product) -> Bound:
    """The answer about bundled pairs; where it is wide, what both ways of asking agree on."""
    bundled = product.bundled()
    if len(bundled.factors) == len(product.factors):
        return question(product)
    try:
        found = question(bundled)
    except NotCertified:
        return question(product)
    if found.relative_width <= _WIDE:
        return found
    return found.meet(question(product))
