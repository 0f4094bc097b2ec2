"""A numpy Generator that is asked in the open."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.primitive import Primitive
from dpproof.auditing.inspection.tape import Call, Tape

# Methods whose parameter of this name is a value that noise is added to.
_VALUES = {
    "gumbel": "loc",
    "laplace": "loc",
    "logistic": "loc",
    "multivariate_normal": "mean",
    "normal": "loc",
}
# Methods whose answers are noise; others (coins, indices, orders) are used in other ways.
_NOISE = {
    *_VALUES,
    "exponential",
    "gamma",
    "geometric",
    "negative_binomial",
    "poisson",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
}
_NO_METHODS = {"bit_generator", "spawn"}


@final
@dataclass(frozen=True, slots=True)
class Listening:
    """What is recorded of a generator, and what is declared of the values it protects."""

    sensitivity: Sensitivity | Mapping[str, Sensitivity] | None
    together: bool
    ignore: Collection[str]

    def primitive(self, method: str) -> Primitive:
        """Wrap one method of the generator as a primitive."""
        declared = self.sensitivity
        if isinstance(declared, Mapping):
            declared = declared.get(method)
        follows = method in _NOISE
        return Primitive(method, _VALUES.get(method), declared, self.together, follows)


@final
class RecordingGenerator(np.random.Generator):
    """A numpy Generator to everyone who takes one; every call of a method is on the tape.

    What is drawn from its bit generator directly is not seen; asking for that is.
    """

    def __init__(self, plain: np.random.Generator, tape: Tape, listening: Listening) -> None:
        super().__init__(plain.bit_generator)
        self._tape, self._listening = tape, listening

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
        """Return a public method wrapped as a primitive, anything else as it is."""
        item = super().__getattribute__(name)
        if name.startswith("_"):
            return item
        tape, listening = self._tape, self._listening
        if name in listening.ignore or not tape.listening:
            return item
        if name in _NO_METHODS:
            tape.answer(Call(name), None)
            return self._spawned if name == "spawn" else item
        return _wrapped(listening.primitive(name), tape, item)

    def _spawned(self, children: int) -> list[RecordingGenerator]:
        tape, listening = self._tape, self._listening
        with tape:
            plain = np.random.Generator(self.bit_generator).spawn(children)
        return [RecordingGenerator(child, tape, listening) for child in plain]


def _wrapped(primitive: Primitive, tape: Tape, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        return primitive.ask(tape, method, args, named)

    return ask
