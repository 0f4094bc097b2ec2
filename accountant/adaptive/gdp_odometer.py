"""The privacy odometer of Gaussian differential privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import cast, final, overload

from dpproof.accountant.adaptive.mixture_bound import mixture_bound
from dpproof.accountant.adaptive.privacy_filter import Costs
from dpproof.accountant.adaptive.privacy_odometer import PrivacyOdometer, log_inverse_up
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.theorems.conversion.convert import convert


@final
class GDPOdometer(PrivacyOdometer[R]):
    """A running total in mu-GDP.

    Statement: if every mechanism is mu_i-GDP given the outputs before it, mu_i chosen from those
        outputs alone, then with probability at least 1 - delta, for all t at once, L_t <= l, where
        l solves sum_j w_j exp(x_j l - x_j (1 + x_j) m / 2) = 1/delta, m the sum of mu_1^2, ...,
        mu_t^2, x_j = 2^{j/2} and w_j = 2 / (3 (|j| + 1) (|j| + 2)).
    Source: Ville's inequality for a mixture; Robbins (1970) for Brownian motion. Proof:
        proofs/theory/filters.md.
    Rounds: up.
    Laws: sharp: Gaussian releases of small mu_i exceed it with a probability that tends to 0.98
        delta, so that no bound is lower at every sum.

    Args:
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> odometer = GDPOdometer()
        >>> odometer.spend(GDP(mu=0.1))
        >>> odometer.spent(delta=1e-6) < 1
        True
    """

    __slots__ = ()
    _UNITS = ("μ²",)

    @overload
    def __init__(self: GDPOdometer[AddRemove]) -> None: ...
    @overload
    def __init__(self, *, relation: R) -> None: ...
    def __init__(self, *, relation: Relation = DEFAULT_RELATION) -> None:
        self._begin(cast("R", relation))

    def _costs(self, guarantee: Guarantee[R]) -> Costs:
        return (convert(guarantee, to=GDP).mu_squared,)

    def _bound(self, delta: Fraction) -> float:
        return mixture_bound(self._total[0] / 2, log_inverse_up(delta))
