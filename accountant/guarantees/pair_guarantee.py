"""Notions with a dominating pair, whose answers come from the engine."""

from __future__ import annotations

import contextlib
from abc import ABC
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine import renyi as divergence
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R


class PairGuarantee(Guarantee[R], ABC):
    """A guarantee whose privacy profile is that of the dominating pair of each direction."""

    __slots__ = ()

    def stated_points(self) -> Points:
        """Return exact points (epsilon, delta) at which the statement is (epsilon, delta)-DP.

        The engine encloses delta by floats; where the statement names a point, the answer at
        that point is the statement's. Most name none.
        """
        return ()

    @final
    def _epsilon_at(self, delta: Bound) -> Bound:
        pair = self.to_pair()
        answer = answers.larger_epsilon(pair.forward, pair.backward, delta)
        stated = [
            min((x for x, y in self.stated_points() if y <= Fraction(end)), default=None)
            for end in (delta.upper, delta.lower)
        ]
        return Bound(_at_most(answer, stated[0]).lower, _at_most(answer, stated[1]).upper)

    @final
    def _delta_at(self, epsilon: float) -> Bound:
        pair = self.to_pair()
        if epsilon == 0.0 and pair.backward == pair.forward.swapped():  # total variation distance
            answer = answers.delta(pair.forward, epsilon)
        elif epsilon < 0.0:
            ways = pair.forward, pair.backward
            answer = answers.of_orders(*ways, lambda product: answers.delta(product, epsilon))
        else:
            answer = answers.larger_delta(pair.forward, pair.backward, epsilon)
        exact = [y for x, y in self.stated_points() if floats_around(x)[1] <= epsilon]
        return _at_most(answer, min(exact, default=None))

    @final
    def _epsilons_at(self, delta: Reals) -> tuple[Reals, Reals]:
        return self._many(lambda pair: answers.larger_epsilons(*pair, delta), delta)

    @final
    def _deltas_at(self, epsilon: Reals) -> tuple[Reals, Reals]:
        low, high = self._many(
            lambda pair: answers.larger_deltas(*pair, np.maximum(epsilon, 0.0)), epsilon
        )
        return np.where(epsilon >= 0.0, low, np.nan), np.where(epsilon >= 0.0, high, np.nan)

    def _many(
        self, question: Callable[[tuple[Product, Product]], tuple[Reals, Reals]], asked: Reals
    ) -> tuple[Reals, Reals]:
        """Return the engine's answers at many points, nan where a statement names points."""
        if asked.size > 1 and not self.stated_points():
            pair = self.to_pair()
            failures = contextlib.suppress(NotCertified, FloatingPointError, OverflowError)
            with failures, np.errstate(over="raise", divide="raise", invalid="raise"):
                return question((pair.forward, pair.backward))
        return np.full(asked.shape, np.nan), np.full(asked.shape, np.nan)

    @final
    def _gdp_at(self, smallest_delta: float) -> Bound:
        pair = self.to_pair()
        return answers.larger_mu(pair.forward, pair.backward, smallest_delta)

    @final
    def _true_positive_rate_at(self, false_positive_rate: float) -> Bound:
        pair = self.to_pair()
        return answers.larger_power(pair.forward, pair.backward, false_positive_rate)

    @final
    def _worse(self, question: Callable[[Product], Bound]) -> Bound:
        """Return the larger answer of the two directions, computed once if they are equal."""
        pair = self.to_pair()
        forward = question(pair.forward)
        if pair.backward == pair.forward:
            return forward
        return forward.maximum(question(pair.backward))


class FaithfulPairGuarantee(PairGuarantee[R], ABC):
    """A guarantee equivalent to its pair, so that Renyi divergences are the pair's too."""

    __slots__ = ()

    @final
    def _zcdp(self) -> Bound:
        """Return the smallest rho such that the mechanism is rho-zCDP, +inf when there is none."""
        pair = self.to_pair()
        return answers.larger_rho(pair.forward, pair.backward)

    @final
    def _sampled_tail(self) -> float:
        pair = self.to_pair()
        return max(map(divergence.sampled_gaussian_tails, (pair.forward, pair.backward)))

    @final
    def _rdp_at(self, order: float) -> Bound:
        return self._worse(lambda product: answers.renyi(product, order))


def _at_most(answer: Bound, stated: Fraction | None) -> Bound:
    """Return the answer with its ends lowered to a stated value."""
    if stated is None:
        return answer
    below, above = floats_around(stated)
    upper = min(answer.upper, above)
    return Bound(min(answer.lower, max(below, 0.0), upper), upper)
