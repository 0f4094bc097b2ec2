"""The privacy odometer of Rényi differential privacy at one order."""

from __future__ import annotations

from fractions import Fraction
from typing import cast, final, overload

from dpproof.accountant.adaptive.divergence_cost import divergence_cost
from dpproof.accountant.adaptive.privacy_filter import Costs
from dpproof.accountant.adaptive.privacy_odometer import PrivacyOdometer, log_inverse_up
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_up
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, renyi_order
from dpproof.accountant.relation import AddRemove, R, Relation


@final
class RenyiOdometer(PrivacyOdometer[R]):
    """A running total of Rényi divergences at one order that is fixed in advance.

    Statement: if every mechanism has Rényi divergence at most r_i at order a, given the outputs
        before it, r_i chosen from those outputs alone, then with probability at least 1 - delta,
        for all t at once, L_t <= r_1 + ... + r_t + log(1/delta) / (a - 1).
    Source: Ville's inequality; cf. Feldman & Zrnic (arXiv:2008.11193). Proof:
        proofs/theory/filters.md.
    Rounds: up.

    Args:
        order: above 1.
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> from dpproof.accountant import ZCDP
        >>> odometer = RenyiOdometer(order=17)
        >>> odometer.spend(ZCDP(rho=0.01))
        >>> round(odometer.spent(delta=1e-6), 4)
        1.0335
    """

    __slots__ = ("_order",)
    _UNITS = ("divergence",)

    _order: Fraction

    @overload
    def __init__(self: RenyiOdometer[AddRemove], *, order: Number) -> None: ...
    @overload
    def __init__(self, *, order: Number, relation: R) -> None: ...
    def __init__(self, *, order: Number, relation: Relation = DEFAULT_RELATION) -> None:
        self._order = renyi_order(order=order)
        self._begin(cast("R", relation))

    def _costs(self, guarantee: Guarantee[R]) -> Costs:
        return (divergence_cost(guarantee, self._order),)

    def _bound(self, delta: Fraction) -> float:
        return float_up(self._total[0] + Fraction(log_inverse_up(delta)) / (self._order - 1))
