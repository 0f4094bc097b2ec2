"""What every privacy odometer does: add up what is spent, and say what it comes to at any time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Generic, final

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.privacy_filter import NO_COST, Costs
from dpproof.accountant.adaptive.undivided import Undivided
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_down, log_exact
from dpproof.accountant.errors import NotImplied, RelationMismatch
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import require_single, required_guarantee
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R, require_relation


class PrivacyOdometer(Undivided, ABC, Generic[R]):
    """A running total of mechanisms that are chosen one by one, without a budget.

    Spend a guarantee before its mechanism runs. Let delta be fixed in advance, and spent_t what
    ``spent`` says after t mechanisms. Then for neighbours D and D' (laws P and Q of the outputs),
    every rule that stops at some time T after looking at outputs, and every set S of outputs up to
    then on which spent_T is finite, P(S) <= E_Q[e^{spent_T}; S] + delta: whatever stops the run
    below epsilon has cost (epsilon, delta)-DP. Unless parts have a delta of their own, still more
    holds: with probability at least 1 - delta over the run on D, at all times t at once, the
    privacy loss L_t, the log of the outputs' density given D over that given D', is at most
    spent_t. Threads may spend from one odometer; it is not copied, pickled or spent in a forked
    process.
    """

    __slots__ = ("_relation", "_total")

    _UNITS: ClassVar[tuple[str, ...]]  # of the first parts of the total, which a repr shows

    _relation: R
    _total: Costs

    @final
    def __repr__(self) -> str:
        """Return the class, what is spent, and the relation, on one line."""
        told = " and ".join(
            f"{unit} = {show(part)}" for unit, part in zip(self._UNITS, self._total, strict=False)
        )
        return f"<{type(self).__name__}: {told} spent, {self._relation}>"

    @property
    @final
    def relation(self) -> R:
        """Which datasets are neighbours."""
        return self._relation

    @abstractmethod
    def _costs(self, guarantee: Guarantee[R]) -> Costs:
        """Return upper bounds of what a guarantee adds to each part of the total.

        Raises:
            NotImplied: the guarantee says nothing in the odometer's notion.
        """

    @abstractmethod
    def _bound(self, delta: Fraction) -> float:
        """Return the bound at a delta, if something was spent."""

    @final
    def spend(self, guarantee: Guarantee[R]) -> None:
        """Add one mechanism, before it runs.

        Raises:
            NotImplied: the guarantee says nothing in the odometer's notion.
            RelationMismatch: it is about other neighbours.
            NotShared: the odometer was made by another process.
        """
        required_guarantee(guarantee)
        require_single(guarantee, "an odometer")
        if guarantee.relation != self._relation:
            raise RelationMismatch(
                f"the odometer is about {self._relation} neighbours, the guarantee about "
                f"{guarantee.relation}; state every sensitivity under one relation"
            )
        try:
            costs = self._costs(guarantee)
        except NotImplied as refusal:
            raise NotImplied(f"{guarantee.describe()} {NO_COST}") from refusal
        with self._alone():
            self._total = tuple(one + cost for one, cost in zip(self._total, costs, strict=True))

    @final
    def spent(self, *, delta: Number) -> float:
        """Return an upper bound of the privacy loss so far, in nats, at all times at once.

        Args:
            delta: above 0, below 1, fixed before the first output is seen.
        """
        exact = arguments.open_probability(delta=delta)
        return self._bound(exact) if any(self._total) else 0.0

    def _begin(self, relation: R, parts: int = 1) -> None:
        """Keep the relation, with nothing spent."""
        require_relation(relation)
        self._own()
        self._relation, self._total = relation, (Fraction(0),) * parts


def log_inverse_up(delta: Fraction) -> float:
    """Return a float at or above log(1/delta), also for a delta below all floats."""
    least = float_down(delta)
    log = math.log(least) if least > 0.0 else log_exact(delta)
    return -log * (1.0 + 2.0**-48) + 1e-300
