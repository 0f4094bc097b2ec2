"""``Recorder``: runs an implementation on neighbours and compares what it asked on each."""

from __future__ import annotations

import functools
import json
import math
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import ParameterError, Sensitivity, arguments
from dpproof.auditing.counts import ClaimRefuted
from dpproof.auditing.inspection.tape import (
    Call,
    Distance,
    Extra,
    Listening,
    Primitive,
    RecordingGenerator,
    Tape,
    distance,
    identical,
    snapshot,
)
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.sampler import Attempt, Sampler, told_apart


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

    ``where`` is the call, or the query. The observations show the form of a value, and not its
    contents. ``measured`` is the movement, rounded up to two digits; the comparison was exact.
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

    It was seen on one pair, and is rounded up to two digits. The norm is that of the declared
    sensitivity; "LInf" where none was declared.
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

    ``pairs`` counts them, and ``seed`` replays the runs; None where nothing is random.
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
        seed = "" if self.seed is None else f", seed {self.seed}"
        head = f"{_counted(len(self.facts), 'fact')} on {_counted(self.pairs, 'pair')}{seed}"
        lines = [head, *map(str, self.facts), *map(str, self.movements)]
        return "\n  ".join(lines)

    def require(self) -> Inspection:
        """Return the inspection itself, or raise ``ClaimRefuted`` with the page for a fact."""
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


_BITS: Final = 40  # Noise that has more bits is equal to other noise by no chance.
_DIGITS: Final = 6  # of the ratio of two outputs. Heuristic: it names a difference that is there.


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """One run: its calls, and the output or the error it ended with."""

    tape: Tape
    end: Attempt


@final
class Largest:
    """The largest movement of every primitive's value."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Distance, Sensitivity[Any] | None, str]] = {}

    def see(
        self, where: str, moved: Distance, declared: Sensitivity[Any] | None, pair: str
    ) -> None:
        """Add one movement."""
        before = self._found.get(where)
        if before is None or moved.nearest(declared) > before[0].nearest(declared):
            self._found[where] = moved, declared, pair

    def movements(self) -> tuple[Movement, ...]:
        """Return all movements, in the order in which their primitives were first seen."""
        return tuple(
            Movement(
                where,
                "LInf" if declared is None else type(declared).__name__,
                moved.nearest(declared),
                pair,
                nearest(declared),
            )
            for where, (moved, declared, pair) in self._found.items()
        )


def differences(pair: str, first: Run, again: Run, other: Run, largest: Largest) -> Iterator[Fact]:
    """Yield the differences between the run on D and the one on D'."""
    # A second run on D that is not the first again has randomness that is not recorded.
    hidden = next(_between(pair, first, again, Largest()), None)
    if hidden is not None and hidden.kind is not FactKind.RAISED:
        text = f"the same data, run again: {hidden.on_neighbour}"
        yield Fact(FactKind.UNRECORDED, pair, hidden.where, hidden.on_data, text)
        return
    yield from _of_noise(pair, first.tape.calls)
    yield from _between(pair, first, other, largest)


def _of_noise(pair: str, calls: Sequence[Call]) -> Iterator[Fact]:
    """Yield that noise was added twice, and that it is too small, once each."""
    seen: dict[float, int] = {}
    again = short = False
    for place, call in enumerate(calls, start=1):
        if call.protected is None:
            continue
        where = f"call {place}, {call.name}"
        if call.protected.short and not short:
            short = True
            yield Fact(FactKind.SCALE, pair, where, "a scale below the declared one", "not asked")
        noise = np.abs(_fine(call.protected.noise)).tolist()
        before = {seen[one] for one in noise if one in seen}
        if not again and (before or len(set(noise)) < len(noise)):
            again = True
            words = f"noise of call {min(before, default=place)} once more"
            yield Fact(FactKind.REUSED, pair, where, words, "not asked")
        seen.update(dict.fromkeys(noise, place))


def _fine(noise: NDArray[Any] | None) -> NDArray[Any]:
    """Return the numbers of more than 40 bits, which are not equal by chance."""
    if noise is None or noise.dtype.kind != "f":
        return np.empty(0)
    finite = noise[np.isfinite(noise)]
    bits = np.ldexp(np.frexp(finite)[0], _BITS)
    return np.asarray(finite[bits != np.rint(bits)])


def _between(pair: str, first: Run, other: Run, largest: Largest) -> Iterator[Fact]:
    together: dict[str, tuple[Distance, Sensitivity[Any] | None]] = {}
    position = 0
    for place, (a, b) in enumerate(zip(first.tape.calls, other.tape.calls, strict=False), start=1):
        where = f"call {place}, {a.name}"
        if a.name != b.name:
            yield Fact(FactKind.SEQUENCE, pair, f"call {place}", a.name, b.name)
            return
        for fact in (*_parameters(pair, where, a, b), *_value(pair, where, a, b, largest)):
            position += 1
            yield fact
        _gather(together, a, b)
    for name, (moved, declared) in together.items():
        largest.see(name, moved, declared, pair)
        if declared is not None and moved.exceeds(declared):
            position += 1
            yield _excess(pair, name, ("all its values", "all its values"), moved, declared)
    yield from _ends(pair, first, other, quiet=not position)


def _parameters(pair: str, where: str, a: Call, b: Call) -> Iterator[Fact]:
    for name in dict.fromkeys([*a.parameters, *b.parameters]):
        where_read = f"{where}, {name}"
        if not (name in a.parameters and name in b.parameters):
            mine, theirs = ("there" if name in c.parameters else "absent" for c in (a, b))
            yield Fact(FactKind.PARAMETER, pair, where_read, mine, theirs)
        elif b.aligned and name == "size":
            continue
        elif not identical(a.parameters[name], b.parameters[name]):
            texts = told_apart(Attempt(a.parameters[name]), Attempt(b.parameters[name]))
            yield Fact(FactKind.PARAMETER, pair, where_read, *texts)


def _value(pair: str, where: str, a: Call, b: Call, largest: Largest) -> Iterator[Fact]:
    if a.protected is None or b.protected is None:
        return
    one, other, declared = a.protected.value, b.protected.value, a.protected.sensitivity
    moved = distance(one, other)
    if moved is None:
        if not identical(one, other):
            yield Fact(FactKind.SHAPE, pair, where, *told_apart(Attempt(one), Attempt(other)))
    elif not a.protected.together:
        largest.see(a.name, moved, declared, pair)
        if declared is not None and moved.exceeds(declared):
            yield _excess(pair, where, told_apart(Attempt(one), Attempt(other)), moved, declared)


def _gather(
    together: dict[str, tuple[Distance, Sensitivity[Any] | None]], a: Call, b: Call
) -> None:
    """Add a movement to those of the same primitive, where they are declared together."""
    if a.protected is None or b.protected is None or not a.protected.together:
        return
    moved = distance(a.protected.value, b.protected.value)
    if moved is not None:
        before = together.get(a.name)
        total = moved if before is None else before[0].plus(moved)
        together[a.name] = total, a.protected.sensitivity


def _excess(
    pair: str, where: str, texts: tuple[str, str], moved: Distance, declared: Sensitivity[Any]
) -> Fact:
    measured = moved.nearest(declared)
    return Fact(FactKind.SENSITIVITY, pair, where, *texts, nearest(declared), measured)


def _ends(pair: str, first: Run, other: Run, *, quiet: bool) -> Iterator[Fact]:
    """Yield the differences in the ends of two runs: an error, the number of calls, the output."""
    if first.end.error is not None or other.end.error is not None:
        mine, theirs = (run.end.error or "no error" for run in (first, other))
        yield Fact(FactKind.RAISED, pair, "the run", mine, theirs)
        return
    place = min(len(run.tape.calls) for run in (first, other))
    if any(len(run.tape.calls) > place for run in (first, other)):
        mine, theirs = (
            f"{calls[place].name}, {len(calls)} calls" if place < len(calls) else "nothing more"
            for calls in (first.tape.calls, other.tape.calls)
        )
        yield Fact(FactKind.SEQUENCE, pair, f"call {place + 1}", mine, theirs)
    elif quiet and other.tape.faithful and not identical(first.end.value, other.end.value):
        one, two = first.end, other.end
        kind = FactKind.DIVISOR if _multiples(one.value, two.value) else FactKind.OUTPUT
        yield Fact(kind, pair, "the output", *told_apart(one, two))


def _multiples(first: object, second: object) -> bool:
    """Return whether blocks of numbers of one output are multiples of those of another."""
    try:
        one, two = (np.asarray(value, dtype=np.float64).ravel() for value in (first, second))
    except (TypeError, ValueError):
        return False
    if one.shape != two.shape:
        return False
    there = (one != 0) | (two != 0)
    with np.errstate(all="ignore"):
        ratios = np.round(one[there] / two[there], _DIGITS)
    few = 2 * len(np.unique(ratios)) <= len(ratios) and (ratios != 1).any()
    return bool(few and np.isfinite(ratios).all() and (ratios != 0).all())


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
        scale: Mapping[str, arguments.Number] | None = None,
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

        It is any callable: a noise function, a mechanism's ``release``. ``value`` names its
        parameter that it protects, of the sensitivity declared; None is for a function that
        returns noise.
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

        The sampler is given a generator that records. ``neighbours`` generates some pairs.
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
