"""Two recorded runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.sensitivity import Sensitivity
from dpproof.auditing.inspection.distance import Distance, distance, identical
from dpproof.auditing.inspection.facts import Fact, FactKind, Movement, nearest
from dpproof.auditing.inspection.tape import Call, Tape
from dpproof.auditing.trials.sampler import Attempt, told_apart

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
    """Yield the differences between the run on D and the one on D'.

    A second run on D, answered as the first, has to be the first again; when it is not, there is
    randomness that is not recorded, and nothing else can be said.
    """
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
        mine, theirs = (_rest(run.tape.calls, place) for run in (first, other))
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


def _rest(calls: Sequence[Call], place: int) -> str:
    return f"{calls[place].name}, {len(calls)} calls" if place < len(calls) else "nothing more"
