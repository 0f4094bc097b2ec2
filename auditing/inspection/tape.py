"""The calls of one run, in order; and how a run is answered as an earlier one was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from dpproof.accountant.sensitivity import Sensitivity


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected:
    """What a primitive protects: the value that noise is added to, or that it chooses by.

    Attributes:
        value: as it was when the primitive was called.
        sensitivity: what is declared of it, None for nothing.
        together: whether that is of all values of this name in one run, not of each.
    """

    value: Any
    sensitivity: Sensitivity | None = None
    together: bool = False


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call:
    """One thing that an implementation asked for.

    Attributes:
        name: of the primitive.
        parameters: by name, as they were when it was called.
        protected: what it protects, None for a call that only draws.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protected: Protected | None = None


@final
class Tape:
    """The calls of one run; with an earlier tape, each call is answered as it was there.

    Whatever an implementation does then depends on the data directly and not through the answers:
    a loop that ends when a noisy value is high enough ends at the same turn on both datasets.

    Args:
        before: the earlier run, or None.
    Attributes:
        calls: in order.
        answers: what each returned.
        faithful: whether every call so far could be answered as before.
    """

    def __init__(self, before: Tape | None = None) -> None:
        self.calls: list[Call] = []
        self.faithful = True
        self.answers: list[Any] = []
        self._before = before
        self._depth = 0

    @property
    def listening(self) -> bool:
        """Whether a call made now is the implementation's, not one from inside a primitive."""
        return self._depth == 0

    def __enter__(self) -> None:
        """Enter a primitive: what it asks for itself is its own business."""
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """Leave the primitive."""
        self._depth -= 1

    def answer(self, call: Call, own: Any) -> Any:  # noqa: ANN401  # whatever the primitive returns
        """Record a call and say what it returns: the earlier answer where there is one.

        Args:
            call: what was asked.
            own: what the primitive answered this time.
        """
        given = own if self._before is None else self._earlier(call, own)
        self.calls.append(call)
        self.answers.append(snapshot(given))
        return given

    def _earlier(self, call: Call, own: object) -> object:
        before, place = self._before, len(self.calls)
        if before is not None and place < len(before.calls):
            answer = before.answers[place]
            if before.calls[place].name == call.name and _same_form(answer, own):
                return snapshot(answer)
        self.faithful = False
        return own


def snapshot(item: Any) -> Any:  # noqa: ANN401  # whatever a parameter may be
    """What an item is now: arrays and containers copied, generators by what they are only."""
    if isinstance(item, np.random.Generator):
        return "a generator"
    if isinstance(item, np.ndarray):
        return np.array(item)
    if type(item) in {list, tuple}:
        return type(item)(map(snapshot, item))
    if type(item) is dict:
        return {key: snapshot(part) for key, part in item.items()}
    return item


def _same_form(answer: object, own: object) -> bool:
    if isinstance(answer, np.ndarray | np.generic) and isinstance(own, np.ndarray | np.generic):
        return answer.shape == own.shape and answer.dtype == own.dtype
    return type(answer) is type(own)
