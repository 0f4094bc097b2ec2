"""The subject of an audit: a callable that draws outputs."""

from __future__ import annotations

import copy
import inspect
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import Form, origin
from dpproof.auditing.trials.encoding import Features, encode
from dpproof.auditing.trials.trial_store import Labels


class Sampler(Protocol):
    """Any callable that draws independent outputs of an implementation.

    Assumed by every audit: the outputs of one call, and of different calls, are independent given
    the data. A mechanism whose outputs are not (a seed reset by each call, noise reused between
    two releases) has to be audited on transcripts: one output = everything one call releases.
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator, /) -> Any:  # noqa: ANN401
        """Return ``size`` outputs on ``data``, first axis = outputs; ``rng`` may be ignored."""
        ...


def require_sampler(sampler: object) -> None:
    """Refuse what cannot be called with a dataset, a size and a generator.

    Raises:
        ParameterError: it is no function, or a function of other arguments.
    """
    signature = type(sampler).__name__
    if callable(sampler):
        try:
            inspect.signature(sampler).bind(None, 1, None)
        except ValueError:  # a function that does not tell its arguments
            return
        except TypeError:
            signature += f" {inspect.signature(sampler)}"
        else:
            return
    raise ParameterError("sampler", signature, "a function (data, size, rng) -> outputs")


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


@final
@dataclass(frozen=True, slots=True)
class Timed:
    """A sampler with the running time of every call as its last number, in powers of 2 seconds.

    For a release whose time can be seen. Of one output a call, so ``audit`` needs ``chunk=1``: then
    a fresh coin chooses the dataset of every call, and a machine that grows slower, or what the
    call before left in its caches, is independent of the coin. Time that only the load of the
    machine decides is no evidence, whatever its law.

    Args:
        sampler: returns numbers.
    """

    sampler: Sampler

    def __call__(self, data: object, size: int, rng: np.random.Generator) -> list[list[float]]:
        """Return one output and its time; what else is there after each call is the same.

        Raises:
            ParameterError: more than one output is asked for.
        """
        if size != 1:
            raise ParameterError("size", size, "1, so that a call is one output", "give chunk=1")
        start = time.perf_counter_ns()
        outputs = self.sampler(data, 1, rng)
        taken = time.perf_counter_ns() - start
        return [[*encode(outputs, 1)[0].tolist(), math.log2(max(taken, 1) * 1e-9)]]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attempt:
    """The outcome of a call: its value, or the error it raised.

    Attributes:
        value: its return value; None after an error.
        error: the type of what it raised, and where, as its text may quote the data; None when it
            returned.
    """

    value: Any
    error: str | None = None

    @staticmethod
    def of(call: Callable[[Any], Any], data: object) -> Attempt:
        """Call it; the data stays as it is, warnings are not shown."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return Attempt(call(copy.deepcopy(data)))
            except Exception as error:  # noqa: BLE001  # whatever it raises is what it shows
                return Attempt(None, origin(error))

    def __str__(self) -> str:
        return str(Form.of(self.value)) if self.error is None else self.error


def told_apart(first: Attempt, other: Attempt) -> tuple[str, str]:
    """Return two outcomes in words, of values their forms and where they differ first."""
    if first.error is not None or other.error is not None:
        return str(first), str(other)
    one, two = Form.of_both(first.value, other.value)
    return str(one), str(two)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Trials to look at freely: they choose a test and are never tested.

    Attributes:
        features: shape (trials, coordinates).
        labels: shape (trials,), True where the trial was on D.
    """

    features: Features
    labels: Labels

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.labels)

    def halves(self) -> tuple[Training, Training]:
        """Return two disjoint halves, every second trial each."""
        return (
            Training(self.features[0::2], self.labels[0::2]),
            Training(self.features[1::2], self.labels[1::2]),
        )

    def joined(self, other: Training) -> Training:
        """Return both sets of trials together."""
        return Training(
            np.concatenate([self.features, other.features]),
            np.concatenate([self.labels, other.labels]),
        )
