"""The privacy odometer of zero-concentrated differential privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import cast, final, overload

from dpproof.accountant.adaptive.mixture_bound import mixture_bound
from dpproof.accountant.adaptive.privacy_filter import Costs
from dpproof.accountant.adaptive.privacy_odometer import PrivacyOdometer, log_inverse_up
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.theorems.conversion.convert import convert


@final
class ZCDPOdometer(PrivacyOdometer[R]):
    """A running total in rho-zCDP.

    Statement: if every mechanism is rho_i-zCDP given the outputs before it, rho_i chosen from
        those outputs alone, then with probability at least 1 - delta, for all t at once,
        L_t <= l, where l solves sum_j w_j exp(x_j l - x_j (1 + x_j) rho) = 1/delta, rho the sum of
        rho_1, ..., rho_t, x_j = 2^{j/2} and w_j = 2 / (3 (|j| + 1) (|j| + 2)).
    Source: Ville's inequality for a mixture; cf. Whitehouse, Ramdas, Rogers & Wu
        (arXiv:2203.05481). Proof: proofs/theory/filters.md.
    Rounds: up.

    Args:
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> odometer = ZCDPOdometer()
        >>> odometer.spend(ZCDP(rho=0.01))
        >>> odometer.spent(delta=1e-6) < 1
        True
    """

    __slots__ = ()
    _UNITS = ("ρ",)

    @overload
    def __init__(self: ZCDPOdometer[AddRemove]) -> None: ...
    @overload
    def __init__(self, *, relation: R) -> None: ...
    def __init__(self, *, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation))

    def _costs(self, guarantee: Guarantee[R]) -> Costs:
        return (convert(guarantee, to=ZCDP).rho,)

    def _bound(self, delta: Fraction) -> float:
        return mixture_bound(self._total[0], log_inverse_up(delta))
