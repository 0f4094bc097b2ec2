"""From bounded range to zero-concentrated differential privacy."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import epsilon_tanh_up
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R

CONVERT_BOUNDED_RANGE_ZCDP: Final = Theorem(
    rule="convert/bounded-range-zcdp",
    source="Cesar & Rogers, arXiv:2004.07223, Lemma 3.4; proved in bounded_range_to_zcdp",
    attained=Attained.NO,  # loses information
    again=lambda premises, _: bounded_range_to_zcdp(premises[0]),
    lossless=False,
)


def bounded_range_to_zcdp(guarantee: BoundedRange[R]) -> ZCDP[R]:
    """Bound the Renyi curve of a bounded-range mechanism by a line.

    Statement: epsilon-bounded-range implies rho-zCDP with rho = epsilon^2/8, and, being
        epsilon-DP, with rho = epsilon tanh(epsilon/2); the smaller is returned.
    Assumes: nothing.
    Source: Cesar & Rogers, arXiv:2004.07223, Lemma 3.4.
    Proof: k(s) = log E_P e^{sL} is 0 at s = 0 and at s = -1, and k'' is the variance of a law on
        an interval of length epsilon, at most epsilon^2/4. So k(s) - s(s+1) epsilon^2/8 is
        concave and 0 at -1 and 0: it is at most 0 for s > 0. Divide by s = order - 1.
    Rounds: the first nothing, the second up by at most 1e-15 relative.

    Args:
        guarantee: epsilon-bounded-range.

    Returns:
        ZCDP.
    Laws: loses information; at most a quarter of what epsilon-DP alone gives, for small epsilon.

    Example:
        >>> bounded_range_to_zcdp(BoundedRange(epsilon=1)).rho
        Fraction(1, 8)
    """
    epsilon = guarantee.stated_epsilon
    derivation = applied(
        CONVERT_BOUNDED_RANGE_ZCDP, f"rho = epsilon^2/8 of {guarantee.describe()}", guarantee
    )
    rho = min(epsilon * epsilon / 8, epsilon_tanh_up(epsilon))
    return ZCDP(rho=rho, relation=guarantee.relation, derivation=derivation)
