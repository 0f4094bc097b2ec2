"""Notions that state only an upper bound of the Renyi curve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import Reals, from_swapped, up
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees import renyi_bounds
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R

if TYPE_CHECKING:
    from dpproof.accountant.guarantees.dominating_pair import DominatingPair

# Range of rho for which a Gaussian pair is computed. Soundness does not depend on it: lower ends
# get weaker.
_LEAST_WITNESS, _LARGEST_WITNESS = Fraction(1, 10**200), Fraction(10**199)
_REFINEMENTS = 4  # Rounds of refinement of the orders. Heuristic: every order is valid.
_POINTS_PER_REFINEMENT = 41  # Orders in a round of refinement. Heuristic.


class RenyiGuarantee(Guarantee[R], ABC):
    """A guarantee on Renyi divergences, for both orders of every two neighbours.

    Upper ends come from the best conversion at the best order. Lower ends come from a
    Gaussian mechanism that meets the statement: rho-zCDP for the largest rho under the whole
    curve, whose divergence at every order a is exactly rho a.
    """

    __slots__ = ()

    @abstractmethod
    def divergence_up(self, order: Fraction) -> Fraction | None:
        """Return an exact upper bound of the divergence at an order above 1, or None."""

    @abstractmethod
    def _curve_up(self, orders: Reals) -> Reals:
        """Return upper bounds of the divergence at orders above 1, +inf if none is known."""

    @abstractmethod
    def _trial_orders(self) -> Reals:
        """Return orders to start a search for the best order, increasing, each above 1."""

    @abstractmethod
    def _gaussian_rho(self) -> Fraction:
        """Return the largest rho such that rho a is at most the stated curve at every order a."""

    @final
    def to_pair(self) -> DominatingPair[R]:
        """Raise NotImplied: a Renyi curve has no single worst pair."""
        raise NotImplied(
            f"no dominating pair follows from {self.describe()}: a Renyi curve does not single "
            "one out; convert it with to=ApproxDP (at a delta) or to=PrivacyProfile (at epsilons)"
        )

    @final
    def _epsilon_at(self, delta: Bound) -> Bound:
        lower = self._witness(lambda product: answers.epsilon(product, delta), 0.0)
        if delta.lower >= self._total_variation():
            return Bound(min(lower, 0.0), 0.0)
        if delta.lower == 0.0:
            return Bound(lower, math.inf)
        upper = self._least(
            lambda orders, values: renyi_bounds.epsilon_terms(orders, values, delta.lower)
        )
        return Bound(lower, max(0.0, upper))

    @final
    def _delta_at(self, epsilon: float) -> Bound:
        if math.isinf(epsilon):
            return Bound.exactly(0.0 if epsilon > 0 else 1.0)
        lower = self._witness(lambda product: answers.delta(product, epsilon), 0.0)
        log_delta = self._least(
            lambda orders, values: renyi_bounds.log_delta_terms(orders, values, abs(epsilon))
        )
        upper = min(self._total_variation(), up(math.exp(min(log_delta, 0.0)) * (1 + 1e-14)))
        if epsilon < 0:  # H_eps(P || Q) = 1 - e^eps + e^eps H_{-eps}(Q || P)
            upper = float(from_swapped(np.zeros(1), np.array([upper]), np.array([epsilon]))[1][0])
        return Bound(min(lower, upper), upper)

    @final
    def _rdp_at(self, order: float) -> Bound:
        if math.isinf(order):  # the float above an order beyond floats
            return Bound(0.0, math.inf)
        exact = self.divergence_up(Fraction(order))
        upper = math.inf if exact is None else floats_around(exact)[1]
        return Bound(floats_around(self._gaussian_rho() * Fraction(order))[0], upper)

    @final
    def _zcdp(self) -> Bound:
        """Return the smallest rho such that the mechanism is rho-zCDP.

        Finitely many orders do not bound larger ones, so that the upper end of a list of points is
        +inf.
        """
        below, above = floats_around(self._gaussian_rho())
        return Bound(below, above if self._holds_at_every_order() else math.inf)

    @abstractmethod
    def _holds_at_every_order(self) -> bool:
        """Return whether the stated curve is rho a at every order a."""

    @final
    def _gdp_at(self, smallest_delta: float) -> Bound:
        """Return an infinite upper end: no theorem bounds mu by a Renyi curve."""
        lower = self._witness(lambda product: answers.smallest_mu(product, smallest_delta), 0.0)
        return Bound(lower, math.inf)

    @final
    def _true_positive_rate_at(self, false_positive_rate: float) -> Bound:
        rate = false_positive_rate
        lower = self._witness(lambda product: answers.true_positive_rate(product, rate), rate)
        variation = self._total_variation()
        by_variation = rate if variation == 0.0 else up(rate + variation)
        orders = self._trial_orders()
        by_orders = renyi_bounds.power(orders, self._curve_up(orders), rate)
        upper = min(1.0, by_variation, by_orders)
        return Bound(min(lower, upper), upper)

    def _total_variation(self) -> float:
        """Return an upper bound of the total variation."""
        return renyi_bounds.total_variation(float(np.min(self._curve_up(self._trial_orders()))))

    def _witness(self, question: Callable[[Product], Bound], nothing: float) -> float:
        """Return the lower end of the answer for a Gaussian that meets the statement.

        A Gaussian of a smaller rho meets it as well. It returns ``nothing`` below the least rho
        whose pair is computed.
        """
        rho = min(self._gaussian_rho(), _LARGEST_WITNESS)
        if rho < _LEAST_WITNESS:
            return nothing
        return question(Product.of(GaussianPair(mu_squared=2 * rho))).lower

    def _least(self, terms: Callable[[Reals, Reals], Reals]) -> float:
        """Return the smallest term over the orders, refined around the best.

        Every order is valid.
        """
        orders = self._trial_orders()
        least = math.inf
        for _ in range(_REFINEMENTS):
            values = self._curve_up(orders)
            with np.errstate(invalid="ignore", over="ignore"):
                bounds = terms(orders, values)
            bounds = np.where(np.isfinite(values) & ~np.isnan(bounds), bounds, math.inf)
            best = int(np.argmin(bounds))
            least = min(least, float(bounds[best]))
            low, high = orders[max(best - 1, 0)], orders[min(best + 1, orders.size - 1)]
            if not low < high:
                break
            orders = 1.0 + np.geomspace(low - 1.0, min(high - 1.0, 1e300), _POINTS_PER_REFINEMENT)
            orders = orders[orders > 1.0]
        return least
