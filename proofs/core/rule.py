"""The type of a rule: a function that refuses a step, or returns what it assumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, final

from .errors import RefusedError
from .fields import Fields
from .frozen import frozen
from .limits import MAX_STEPS, MAX_WORK, PRECISIONS, at_precision
from .statements import C, Claim, Statement

FRESH: Final = (
    "every run uses fresh randomness: its draws are independent of each other, of the data and of "
    "everything else"
)
FIXED: Final = "what runs is fixed before any output is seen, and is the same for all datasets"
ALONE: Final = (
    "only the results are used afterwards, by functions that are the same for all datasets: "
    "nothing else of the data, the samples or the randomness is released"
)
SHARED: Final = (FRESH, FIXED, ALONE)
"""Conditions of many mechanisms, which a verdict says once."""


@final
class Budget:
    """The work that the steps of one certificate may still cause; see limits.py."""

    __slots__ = ("_left", "precision")

    def __init__(self, amount: int = MAX_WORK) -> None:
        """Allow so many units, to begin with at the lowest precision."""
        self._left = amount
        self.precision = PRECISIONS[0]

    def spend(self, amount: int) -> None:
        """Spend some of it, priced at 64 bits; at the present precision it counts for more."""
        self._left -= at_precision(amount, self.precision)
        if self._left < 0:
            raise RefusedError("checking this certificate is more work than the checker accepts")


@frozen
class Application:
    """One step as its rule sees it; the mechanisms are the verdict's names of the premises'."""

    conclusion: Statement
    premises: tuple[Statement, ...]
    witness: Fields
    mechanisms: tuple[str, ...]
    budget: Budget

    def concludes(self, kind: type[C]) -> C:
        """Return the conclusion's claim; refuse another notion."""
        return _of(kind, self.conclusion, "conclusion")

    def axiom(self) -> None:
        """Refuse premises, and anything but neighbours one step apart."""
        if self.premises:
            raise RefusedError("the rule takes no premise")
        if self.conclusion.steps > 1:
            raise RefusedError("the rule concludes about neighbours, one step apart")

    def only(self, kind: type[C]) -> C:
        """Return the one premise, of this notion and about the same datasets as the conclusion."""
        (premise,) = self.every(kind, most=1)
        return premise

    def every(self, kind: type[C], *, least: int = 1, most: int = MAX_STEPS) -> tuple[C, ...]:
        """Return the premises, all of this notion and about the conclusion's datasets."""
        if not least <= len(self.premises) <= most:
            raise RefusedError(f"the rule takes {least} to {most} premises")
        if any(premise.steps != self.conclusion.steps for premise in self.premises):
            raise RefusedError("premises and conclusion compare datasets of different distance")
        return tuple(_of(kind, premise, "premise") for premise in self.premises)

    def expect(self, claim: Claim) -> None:
        """Refuse any conclusion but this one."""
        if self.conclusion.claim != claim:
            raise RefusedError("the conclusion is not the one that follows")


Rule: TypeAlias = Callable[[Application], tuple[str, ...]]
"""Refuses, or returns what is assumed of a new mechanism, beginning with what it does.

An empty tuple means: the conclusion is about the mechanism of the first premise.
"""


def _of(kind: type[C], statement: Statement, what: str) -> C:
    if not isinstance(statement.claim, kind):
        kind_given, wanted = type(statement.claim).__name__, kind.__name__
        raise RefusedError(f"the {what} is {kind_given}, the rule wants {wanted}")
    return statement.claim
