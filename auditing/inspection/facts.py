"""Facts seen without any statistics: facts about an implementation, each on one pair."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, final

from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.errors import ClaimRefuted


@final
class FactKind(Enum):
    """The kinds of facts. Recorded runs see the first ten, checks of queries the last seven."""

    SEQUENCE = "other calls, or another number of them"
    PARAMETER = "a parameter is not the same"
    OUTPUT = "the outputs differ although every call returned the same"
    UNRECORDED = "there is randomness that does not come from what is recorded"
    REUSED = "one noise was added twice"
    SCALE = "the noise is smaller than declared"
    DIVISOR = "the data decides what released numbers are multiplied or divided by"
    RAISED = "an error"
    SENSITIVITY = "the value moved by more than declared"
    SHAPE = "the value has another shape or type"
    ORDER = "the value depends on the order of the records"
    WRAPPED = "the value wrapped around the end of its integer type"
    NOT_FINITE = "the value is nan or infinite"
    SIGNED_ZERO = "the value is 0.0 on one side and -0.0 on the other"


@final
@dataclass(frozen=True, slots=True)
class Fact:
    """One difference that was seen, on one pair of datasets.

    Attributes:
        kind: the kind of fact.
        pair: the pair's name.
        where: the call, or the query.
        on_data: the observation on D: the form of a value, and not its contents.
        on_neighbour: the observation on D'.
        declared: the declared sensitivity, where it is one that is exceeded.
        measured: the movement of the value, rounded up to two digits; the comparison was exact.
    """

    kind: FactKind
    pair: str
    where: str
    on_data: str
    on_neighbour: str
    declared: float | None = None
    measured: float | None = None

    def __str__(self) -> str:
        moved = ""
        if self.measured is not None:
            moved = f" (by {self.measured!r}, declared {self.declared!r})"
        return (
            f"pair {self.pair!r}, {self.where}: {self.kind.value}{moved}\n"
            f"    on D:  {self.on_data}\n    on D': {self.on_neighbour}"
        )


@final
@dataclass(frozen=True, slots=True)
class Movement:
    """The largest movement of the value that one primitive acts on, over all pairs.

    Attributes:
        where: the primitive, or the query.
        norm: of the declared sensitivity; "LInf" where none was declared.
        measured: the largest movement, rounded up to two digits.
        pair: the pair it was seen on.
        declared: the declared sensitivity.
    """

    where: str
    norm: str
    measured: float
    pair: str
    declared: float | None = None

    def __str__(self) -> str:
        declared = "" if self.declared is None else f", declared {self.declared!r}"
        return f"{self.where}: moved by {self.measured!r} in {self.norm}{declared} ({self.pair!r})"


@final
@dataclass(frozen=True, slots=True)
class Inspection:
    """The facts seen on some pairs. No error probability: each fact is one, and can be replayed.

    Nothing seen says nothing about other pairs, and does not make anything private.

    Attributes:
        pairs: the number of pairs examined.
        facts: the differences, in the order they were seen.
        movements: the largest movements of values, for each primitive.
        seed: replays the runs; None where nothing is random.
    """

    pairs: int
    facts: tuple[Fact, ...]
    movements: tuple[Movement, ...]
    seed: int | None = None

    @property
    def kinds(self) -> frozenset[FactKind]:
        """Return the kinds of facts that were found."""
        return frozenset(fact.kind for fact in self.facts)

    def __str__(self) -> str:
        """Return the facts as text, one a line."""
        seed = "" if self.seed is None else f", seed {self.seed}"
        head = f"{_counted(len(self.facts), 'fact')} on {_counted(self.pairs, 'pair')}{seed}"
        lines = [head, *map(str, self.facts), *map(str, self.movements)]
        return "\n  ".join(lines)

    def require(self) -> Inspection:
        """Return the inspection itself, when there is no fact.

        Raises:
            ClaimRefuted: there is one; the message is the page.
        """
        if self.facts:
            raise ClaimRefuted(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; infinities as null."""
        plain = asdict(self)
        plain["facts"] = [{**asdict(fact), "kind": fact.kind.name.lower()} for fact in self.facts]
        for item in (*plain["facts"], *plain["movements"]):
            if item["measured"] is not None and not math.isfinite(item["measured"]):
                item["measured"] = None
        return plain

    def to_json(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count or 'no'} {noun}s"


def nearest(declared: Sensitivity[Any] | None) -> float | None:
    """Return a declared sensitivity as a float, for display."""
    return None if declared is None else float(declared.value)
