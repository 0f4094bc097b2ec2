"""What is audited: a callable that draws outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from dpproof.accountant.errors import ParameterError


class Sampler(Protocol):
    """Any callable that draws independent outputs of an implementation.

    Assumed by every audit: the outputs of one call, and of different calls, are independent given
    the data. A mechanism whose outputs are not (a seed reset by each call, noise reused between
    two releases) has to be audited on transcripts: one output = everything one call releases.
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator, /) -> Any:  # noqa: ANN401
        """``size`` outputs on ``data``, first axis = outputs; ``rng`` may be ignored."""
        ...


def require_sampler(sampler: object) -> None:
    """Refuse what cannot be called with a dataset, a size and a generator.

    Raises:
        ParameterError: it is no function, or a function of other arguments.
    """
    given = type(sampler).__name__
    if callable(sampler):
        try:
            inspect.signature(sampler).bind(None, 1, None)
        except ValueError:  # a function that does not tell its arguments
            return
        except TypeError:
            given += f" {inspect.signature(sampler)}"
        else:
            return
    raise ParameterError("sampler", given, "a function (data, size, rng) -> outputs")


@final
@dataclass(frozen=True, slots=True)
class OneAtATime:
    """A sampler from a function that draws one output.

    Args:
        draw: ``(data, rng) -> output``, or ``data -> output`` with its own randomness.
        takes_rng: whether ``draw`` takes the generator.
        errors_are_outputs: what a release raises is visible to whoever asked for it, so the type
            of an exception is an output like any other; False lets it propagate.
    Example:
        >>> sampler = OneAtATime(lambda data, rng: data + rng.normal())
        >>> len(sampler(3.0, 5, np.random.default_rng(1)))
        5
    """

    draw: Callable[..., object]
    takes_rng: bool = True
    errors_are_outputs: bool = True

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[object]:
        """Return ``size`` outputs, one call each."""
        return [self._one(data, rng) for _ in range(size)]

    def _one(self, data: object, rng: np.random.Generator) -> object:
        try:
            return self.draw(data, rng) if self.takes_rng else self.draw(data)
        except Exception as error:
            if not self.errors_are_outputs:
                raise
            return f"raised {type(error).__name__}"
