"""From a dominating pair to zero-concentrated differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R

CONVERT_PAIR_ZCDP: Final = Theorem(
    rule="convert/pair-zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Definition 1.1",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: pair_to_zcdp(premises[0]),
    lossless=False,
)


def pair_to_zcdp(guarantee: PairGuarantee[R]) -> ZCDP[R]:
    """Bound the Renyi curve of the dominating pair by a line.

    Statement: rho = sup over orders a > 1 of R_a/a, the larger of the two directions; the
        mechanism's Renyi divergences are at or below those of its dominating pair.
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Definition 1.1; Dong, Roth & Su,
        arXiv:1905.02383, Theorem 2.10 (Blackwell).
    Rounds: up.

    Args:
        guarantee: a notion with a dominating pair.

    Returns:
        ZCDP.

    Raises:
        NotImplied: no rho is enough.
    Laws: loses everything but the slope; for a product at most the sum of the parts' rho.

    Example:
        >>> from dpproof.accountant.guarantees.trade_off import TradeOff
        >>> pair_to_zcdp(TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))).rho < 1
        True
    """
    rho = guarantee.zcdp().upper
    if math.isinf(rho):
        raise NotImplied(
            f"{guarantee.describe()} implies rho-zCDP for no rho: some Renyi divergence is "
            "infinite or grows faster than its order; convert with to=RDP (at orders), "
            "to=PrivacyProfile (at epsilons) or to=ApproxDP (at a delta)"
        )
    derivation = applied(CONVERT_PAIR_ZCDP, f"{rho:.6g}-zCDP", guarantee)
    return ZCDP(rho=Fraction(rho), relation=guarantee.relation, derivation=derivation)
