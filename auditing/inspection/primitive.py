"""A primitive that is asked in the open: what it is given, and what it answers, is recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.drawn import Drawn, Source
from dpproof.auditing.inspection.tape import Call, Protected, Tape, snapshot


@final
@dataclass(frozen=True, slots=True)
class Primitive:
    """How the calls of one primitive are read.

    Attributes:
        name: on the tape.
        value: the parameter that it protects, None when it has none.
        sensitivity: declared of that value, or of what its answer is added to.
        together: whether it is declared of all values of this name in one run, not of each.
        follows: whether a number that it answers is noise, followed to what it is added to.
    """

    name: str
    value: str | None = None
    sensitivity: Sensitivity | None = None
    together: bool = False
    follows: bool = False

    def ask(
        self, tape: Tape, call: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401  # whatever the primitive returns
        """Ask, record, and give the tape's answer."""
        if not tape.listening:
            return call(*args, **named)
        bound = _bound(call, args, named)
        target = bound.pop("out", None)
        parameters = {key: snapshot(item) for key, item in bound.items()}
        protected = None
        if self.value is not None and self.value in parameters:
            protected = Protected(parameters.pop(self.value), self.sensitivity, self.together)
        with tape:
            own = call(*args, **named)
        asked = Call(self.name, parameters, protected)
        if target is not None:
            target[...] = tape.answer(asked, np.array(target))
            return own
        answer = tape.answer(asked, own)
        if self.follows and isinstance(answer, float | int | np.ndarray | np.generic):
            return Drawn.of(answer, Source(tape, self.name, self.sensitivity, self.together))
        return answer


def _bound(
    call: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Bind arguments to parameter names, or to positions if the names are unknown."""
    try:
        return dict(inspect.signature(call).bind(*args, **named).arguments)
    except (TypeError, ValueError):
        return {**{f"argument {place}": item for place, item in enumerate(args)}, **named}
