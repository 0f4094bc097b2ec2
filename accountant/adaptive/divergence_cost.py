"""What a guarantee costs at one Rényi order."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee


def divergence_cost(guarantee: Guarantee[Any], order: Fraction) -> Fraction:
    """Return an upper bound of the Rényi divergence at an order, exact where it is stated.

    Raises:
        NotImplied: the guarantee leaves it infinite.
    """
    if isinstance(guarantee, RenyiGuarantee):
        stated = guarantee.divergence_up(order)
        if stated is not None:
            return stated
    else:
        upper = guarantee.rdp(order=order).upper
        if upper < math.inf:
            return Fraction(upper)
    raise NotImplied(
        f"{guarantee.describe()} has no finite Rényi divergence at order {float(order):g}; spend "
        "at another order, or in another notion"
    )
