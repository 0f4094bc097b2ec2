"""Answer a question about many pairs at once if that is as narrow as one by one."""

from __future__ import annotations

from collections.abc import Callable

from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Product

# Relative width of a bracket up to which the bundled answer is taken alone. Heuristic.
_WIDE = 1e-8


def answer_bundled(question: Callable[[Product], Bound], product: Product) -> Bound:
    """Return the answer about bundled pairs.

    If it is wide, the answer about single pairs is intersected with it.
    """
    product = product.summed()
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
