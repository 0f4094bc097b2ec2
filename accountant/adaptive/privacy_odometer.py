"""What every privacy odometer does: add up what is spent, and say what it comes to at any time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Generic, final

from accountant import arguments
from accountant.arguments import Number
from accountant.arithmetic.enclosure import float_down, log_exact
from accountant.errors import RelationMismatch
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.preconditions import require_single, required_guarantee
from accountant.relation import R

ROUNDING = 1 + 1e-12  # far above the rounding of a few sums and logs of numbers above 0


class PrivacyOdometer(ABC, Generic[R]):
    """A running total of mechanisms that are chosen one by one, without a budget.

    Spend a guarantee before its mechanism runs. For neighbours D and D' let L_t be the privacy
    loss of the first t outputs, log of their density given D over that given D'. For every delta
    fixed in advance, with probability at least 1 - delta over the run on D, at all times t at
    once, L_t is at most what ``spent`` says after t mechanisms. An odometer may be spent from one
    thread only.
    """

    __slots__ = ("_relation", "_total")

    _relation: R
    _total: Fraction

    @property
    @final
    def relation(self) -> R:
        """Which datasets are neighbours."""
        return self._relation

    @abstractmethod
    def _cost(self, guarantee: Guarantee[R]) -> Fraction:
        """Return an upper bound of what a guarantee adds to the total.

        Raises:
            NotImplied: the guarantee says nothing in the odometer's notion.
        """

    @abstractmethod
    def _loss(self, log_inverse: float) -> float:
        """Return the bound of the loss at log 1/delta, without its rounding."""

    @final
    def spend(self, guarantee: Guarantee[R]) -> None:
        """Add one mechanism, before it runs.

        Raises:
            NotImplied: the guarantee says nothing in the odometer's notion.
            RelationMismatch: it is about other neighbours.
        """
        required_guarantee(guarantee)
        require_single(guarantee, "an odometer")
        if guarantee.relation != self._relation:
            raise RelationMismatch(
                f"the odometer is about {self._relation} neighbours, the guarantee about "
                f"{guarantee.relation}; state every sensitivity under one relation"
            )
        self._total += self._cost(guarantee)

    @final
    def spent(self, *, delta: Number) -> float:
        """Return an upper bound of the privacy loss so far, in nats, at all times at once.

        Args:
            delta: above 0, below 1, fixed before the first output is seen.
        """
        exact = arguments.open_probability(delta=delta)
        if self._total == 0:
            return 0.0
        least = float_down(exact)
        log = math.log(least) if least > 0.0 else log_exact(exact)  # below what floats hold
        return self._loss(-log + 1e-15) * ROUNDING

    def _begin(self, relation: R) -> None:
        """Keep the relation, with nothing spent."""
        self._relation, self._total = relation, Fraction(0)
