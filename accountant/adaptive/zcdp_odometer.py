"""The privacy odometer of zero-concentrated differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, cast, final, overload

from accountant.adaptive.privacy_odometer import PrivacyOdometer
from accountant.arithmetic.enclosure import float_up
from accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import AddRemove, R, Relation
from accountant.theorems.conversion.convert import convert

_REACH: Final = 60  # orders 1 + 2^(j/2), |j| <= 60; soundness asks only that the weights sum to 1


@final
class ZCDPOdometer(PrivacyOdometer[R]):
    """A running total in rho-zCDP.

    Statement: if every mechanism is rho_i-zCDP given the outputs before it, rho_i chosen from
        those outputs alone, then with probability at least 1 - delta, for all t at once,
        L_t <= min_j (1 + x_j) rho + (log 1/delta + log 1/w_j) / x_j, rho the sum of rho_1, ...,
        rho_t, for any x_j > 0 and weights w_j of sum at most 1 that are fixed in advance. Here
        x_j = 2^{j/2} and w_j = 2 / (3 (|j| + 1) (|j| + 2)).
    Source: Ville's inequality for each j; cf. Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481).
        Proof: proofs/theory/filters.md.
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

    @overload
    def __init__(self: ZCDPOdometer[AddRemove]) -> None: ...
    @overload
    def __init__(self, *, relation: R) -> None: ...
    def __init__(self, *, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation))

    def _cost(self, guarantee: Guarantee[R]) -> Fraction:
        return convert(guarantee, to=ZCDP).rho

    def _loss(self, log_inverse: float) -> float:
        rho, bounds = float_up(self._total), []
        for j in range(-_REACH, _REACH + 1):
            x = math.sqrt(2.0) ** j
            weight = math.log(1.5 * (abs(j) + 1) * (abs(j) + 2))
            bounds.append((1.0 + x) * rho + (log_inverse + weight) / x)
        return min(bounds)
