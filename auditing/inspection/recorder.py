"""``Recorder``: runs an implementation on neighbours and tells what it asked on each."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.compare import Largest, Run, differences
from dpproof.auditing.inspection.facts import Fact, Inspection
from dpproof.auditing.inspection.tape import (
    Extra,
    Listening,
    Primitive,
    RecordingGenerator,
    Tape,
    snapshot,
)
from dpproof.auditing.trials.pair import Pair
from dpproof.auditing.trials.sampler import Attempt, Sampler


@final
class Recorder:
    """Record what an implementation asks of its primitives on D and on D', and compare.

    The run on D is recorded. In the run on D' every call returns what it returned on D, as long as
    the calls agree; so what still differs depends on the data directly, and not through anything
    that was released:

    - the sequence of calls, its length included (a loop count from the data);
    - any parameter, bit by bit (a noise scale from the data);
    - the value that noise is added to, by more than its declared sensitivity;
    - the output (data that goes around the primitives), and whether it is another multiple of what
      was released (a divisor from the data, as the realised batch size).

    Of the run on D alone it tells noise that is added twice, and noise below its declared scale.

    Each is a fact about these two runs, and has no error probability; equal noise of 40 bits comes
    up by chance once in a billion runs of a hundred numbers. Coins that one call tosses for every
    record (``rng.random((steps, records))``) are answered record by record where one dataset has
    one record more, so that a Poisson sample is no fact. Name other legitimate differences in
    ``ignore``, or watch the primitive that they belong to.

    Values are seen where numpy's noise is drawn around them (``rng.laplace(loc=value)``), where
    noise is added to them (``value + rng.laplace()``), and in primitives given to ``watch``.

    Args:
        sensitivity: declared of every value that the generator's noise is added to, or by the name
            of the method: ``{"laplace": L1(1)}``.
        together: whether it is declared of all values of one method in a run together (a histogram
            that is answered cell by cell), not of each.
        ignore: methods of the generator that are not recorded.
        scale: the least scale that is claimed of noise, by the name of the method:
            ``{"normal": 2.0}`` (of ``standard_normal``: what it is multiplied with).
    Example:
        >>> from dpproof.accountant import L1
        >>> def mean(records, size, rng):
        ...     return np.mean(records) + rng.laplace(scale=1 / len(records), size=size)
        >>> seen = Recorder(sensitivity=L1(1)).inspect(mean, [([0.0, 1.0], [0.0])], seed=1)
        >>> print(seen.facts[0])
        pair 'pair', call 1, laplace, scale: a parameter is not the same
            on D:  a float
            on D': a float, another
    """

    def __init__(
        self,
        *,
        sensitivity: Sensitivity[Any] | Mapping[str, Sensitivity[Any]] | None = None,
        together: bool = False,
        ignore: Collection[str] = (),
        scale: Mapping[str, Number] | None = None,
    ) -> None:
        declared = sensitivity.values() if isinstance(sensitivity, Mapping) else [sensitivity]
        for item in declared:
            _required(item)
        scales = {name: float(arguments.positive(scale=s)) for name, s in (scale or {}).items()}
        self._listening = Listening(sensitivity, together, frozenset(ignore), scales)
        self._tape: Tape | None = None

    def watch(
        self,
        primitive: Callable[..., Any],
        *,
        name: str | None = None,
        value: str | None = None,
        sensitivity: Sensitivity[Any] | None = None,
        together: bool = False,
    ) -> Callable[..., Any]:
        """Return the primitive, recorded while this recorder runs something, else unchanged.

        Calls made inside the primitive are not recorded.

        Args:
            primitive: any callable: a noise function, a mechanism's ``release``.
            name: on the tape; by default its own.
            value: its parameter that it protects; None for a function that returns noise, which is
                followed to what it is added to.
            sensitivity: declared of that value.
            together: as for the recorder.
        """
        _required(sensitivity)
        label = getattr(primitive, "__qualname__", repr(primitive)) if name is None else name
        recorded = Primitive(label, value, sensitivity, together, follows=value is None)

        @functools.wraps(primitive)
        def ask(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            if self._tape is None:
                return primitive(*args, **named)
            return recorded.ask(self._tape, primitive, args, named)

        return ask

    def inspect(
        self,
        sampler: Sampler,
        pairs: Pair | Iterable[Pair | tuple[Any, Any]],
        *,
        seed: int | None = None,
    ) -> Inspection:
        """Run a sampler three times on each pair: on D, on D again, and on D', one output each.

        Args:
            sampler: ``(data, size, rng) -> outputs``; it is given a generator that records.
            pairs: D and D', one ``Pair`` or several; ``neighbours`` generates some.
            seed: of the generator; None draws a fresh one.
        """
        chosen = secrets.randbits(63) if seed is None else arguments.whole(seed=seed)
        facts: list[Fact] = []
        largest = Largest()
        looked = [Pair.of(given) for given in ([pairs] if isinstance(pairs, Pair) else pairs)]
        if not looked:
            raise ParameterError("pairs", pairs, "at least one pair")
        for pair in looked:
            first = self._run(sampler, pair.data, chosen, None)
            again = self._run(sampler, pair.data, chosen, first.tape)
            extra = Extra.of(pair.data, pair.neighbour)
            other = self._run(sampler, pair.neighbour, chosen, first.tape, extra)
            facts += differences(pair.name, first, again, other, largest)
        return Inspection(len(looked), tuple(facts), largest.movements(), chosen)

    def _run(
        self,
        sampler: Sampler,
        data: object,
        seed: int,
        before: Tape | None,
        extra: Extra | None = None,
    ) -> Run:
        """Run the implementation once and record it."""
        tape = Tape(before, extra)
        rng = RecordingGenerator(np.random.default_rng(seed), tape, self._listening)
        with self._on(tape):
            return Run(tape, Attempt.of(lambda records: snapshot(sampler(records, 1, rng)), data))

    @contextmanager
    def _on(self, tape: Tape) -> Iterator[None]:
        self._tape = tape
        try:
            yield
        finally:
            self._tape = None


def _required(sensitivity: object) -> None:
    if sensitivity is not None and not isinstance(sensitivity, Sensitivity):
        raise ParameterError("sensitivity", sensitivity, "L1(...), L2(...) or LInf(...)")
