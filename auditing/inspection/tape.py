"""The calls of one run, how a run is answered as an earlier one was, and exact distances."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import L1, L2, LInf, ParameterError, Sensitivity


@final
@dataclass(frozen=True, slots=True)
class Distance:
    """The L1, squared L2 and LInf distance of two values, exact; inf where one is not finite."""

    total: Fraction | float  # sum of the absolute changes
    squares: Fraction | float  # sum of the squared changes
    largest: Fraction | float  # the largest absolute change

    def plus(self, other: Distance) -> Distance:
        """Return the joint distance of two parts of one value."""
        largest = max(self.largest, other.largest)
        return Distance(self.total + other.total, self.squares + other.squares, largest)

    def exceeds(self, declared: Sensitivity[Any]) -> bool:
        """Return whether the distance is above a declared sensitivity, without any rounding."""
        match declared:
            case L1():
                return self.total > declared.value
            case L2():
                return self.squares > declared.value**2
            case LInf():
                return self.largest > declared.value
        raise ParameterError("sensitivity", declared, "L1(...), L2(...) or LInf(...)")

    def nearest(self, declared: Sensitivity[Any] | None) -> float:
        """Return the distance in a declared sensitivity's norm, by default LInf, to two digits."""
        match declared:
            case L1():
                return _rounded(_nearest(self.total))
            case L2():
                return _rounded(math.sqrt(_nearest(self.squares)))
        return _rounded(_nearest(self.largest))


NOWHERE = Distance(Fraction(0), Fraction(0), Fraction(0))
APART = Distance(math.inf, math.inf, math.inf)


def distance(first: object, second: object) -> Distance | None:
    """Return the distance of two numbers or arrays of one shape; None where there is none."""
    # Bitwise equal entries are at distance 0, nan too; else infinities and nan are far away.
    one, other = _array(first), _array(second)
    if one is None or other is None or one.shape != other.shape:
        return None
    if one.dtype == other.dtype and one.dtype != object:
        same = _bits(one) == _bits(other)
        one, other = one.ravel()[~same], other.ravel()[~same]
    result = NOWHERE
    for x, y in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True):
        a, b = _exact(x), _exact(y)
        if a is None or b is None:
            result = result if repr(x) == repr(y) else APART
        else:
            moved = abs(a - b)
            result = result.plus(Distance(moved, moved * moved, moved))
    return result


def identical(first: object, second: object) -> bool:
    """Return whether two values are the same in every bit: -0.0 is not 0.0, and nan is nan."""
    # Containers are compared item by item, mappings in order, others by type, and ``==`` if theirs.
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return identical(list(first.items()), list(second.items()))
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(identical, first, second))
    if isinstance(first, AbstractSet) and isinstance(second, AbstractSet):
        return identical(sorted(map(repr, first)), sorted(map(repr, second)))
    if not _numeric(first) or not _numeric(second):
        if type(first) is not type(second):
            return False
        return type(first).__eq__ is object.__eq__ or bool(first == second)
    one, other = np.asarray(first), np.asarray(second)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.hasobject:
        return all(map(identical, one.ravel().tolist(), other.ravel().tolist()))
    return one.tobytes() == other.tobytes()


def _numeric(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic | float | complex | bool) or (
        isinstance(value, int) and abs(value) < 2**63
    )


def _array(value: object) -> NDArray[Any] | None:
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        return None
    if array.dtype.kind in "biuf":
        return array
    exact = array.dtype == object and all(isinstance(x, numbers.Real) for x in array.flat)
    return array if exact else None


def _bits(array: NDArray[Any]) -> NDArray[np.bool_] | NDArray[np.void]:
    return np.ascontiguousarray(array).ravel().view(np.dtype((np.void, array.dtype.itemsize)))


def _exact(number: Any) -> Fraction | None:  # noqa: ANN401  # any real number of Python's or numpy's
    if isinstance(number, numbers.Rational):
        return Fraction(number)
    return Fraction(*number.as_integer_ratio()) if math.isfinite(number) else None


def _nearest(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _rounded(size: float) -> float:
    if size == 0 or not math.isfinite(size):
        return size
    nearest = float(f"{size:.1e}")
    step = 10.0 ** (math.floor(math.log10(size)) - 1)
    return nearest if nearest >= size else float(f"{nearest + step:.1e}")


_ROUNDING = 1e-9  # Scales that differ by so little are taken for equal.


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected:
    """The value that a primitive protects: noise is added to it, or a choice is made by it."""

    value: Any  # as it was when the primitive was called
    sensitivity: Sensitivity[Any] | None = None  # as it is declared
    together: bool = False  # whether that is of all values of this name in one run, not of each
    noise: NDArray[Any] | None = None  # of the shape of the sum; None where it is not seen
    short: bool = False  # whether its scale is known and below the declared one


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call:
    """One thing that an implementation asked for."""

    name: str  # of the primitive
    parameters: Mapping[str, Any] = field(default_factory=dict)  # as they were
    protected: Protected | None = None  # None for a call that only draws
    aligned: bool = False  # whether its answer was that of another number of records, aligned


_COINS = {"binomial", "random", "uniform"}


@final
@dataclass(frozen=True, slots=True)
class Extra:
    """The record that one of two datasets has more than the other: they are aligned without it."""

    place: int  # of the record
    records: int  # their number on D
    others: int  # their number on D'

    @staticmethod
    def of(data: object, neighbour: object) -> Extra | None:
        """Return it, None where the datasets differ in another way or have no order."""
        if not all(isinstance(one, list | tuple | np.ndarray) for one in (data, neighbour)):
            return None
        both: list[Any] = [data, neighbour]
        try:
            longer, shorter = sorted(both, key=len, reverse=True)
            same = (identical(x, y) for x, y in zip(longer, shorter, strict=False))
            place = sum(1 for _ in itertools.takewhile(bool, same))
            rest = identical(longer[place + 1 :], shorter[place:])
        except Exception:  # noqa: BLE001  # whatever records raise when they are compared
            return None
        apart = len(longer) - len(shorter) == 1
        return Extra(place, len(both[0]), len(both[1])) if apart and rest else None

    def aligned(self, coins: Any, own: Any) -> NDArray[Any] | None:  # noqa: ANN401
        """Return the coins of D for the records of D', with an own one for a new record."""
        if not (isinstance(coins, np.ndarray) and isinstance(own, np.ndarray)):
            return None
        axes = [k for k, (n, m) in enumerate(zip(coins.shape, own.shape, strict=False)) if n != m]
        if coins.ndim != own.ndim or len(axes) != 1 or coins.dtype != own.dtype:
            return None
        (axis,) = axes
        if (coins.shape[axis], own.shape[axis]) != (self.records, self.others):
            return None
        if self.records > self.others:
            return np.delete(coins, self.place, axis)
        return np.insert(coins, self.place, np.take(own, self.place, axis), axis)


@final
class Tape:
    """The calls of one run; with an earlier tape, each call is answered as it was there."""

    # Whatever an implementation does then depends on the data directly and not through the answers:
    # a loop that ends when a noisy value is high enough ends at the same turn on both datasets.
    # Coins that one call tosses for every record are answered record by record, but for the
    # ``extra`` one that one run has more. It is ``faithful`` as long as every call could be
    # answered as before.

    def __init__(self, before: Tape | None = None, extra: Extra | None = None) -> None:
        self.calls: list[Call] = []
        self.faithful = True
        self.answers: list[Any] = []
        self._before, self._extra = before, extra
        self._depth = 0

    @property
    def listening(self) -> bool:
        """Return whether a call made now is the implementation's, not a primitive's own."""
        return self._depth == 0

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1

    def answer(self, call: Call, own: Any) -> Any:  # noqa: ANN401  # whatever the primitive returns
        """Record a call and say what it returns: the earlier answer where there is one."""
        value, aligned = self._earlier(call, own)
        self.calls.append(replace(call, aligned=aligned))
        self.answers.append(snapshot(value))
        return value

    def _earlier(self, call: Call, own: object) -> tuple[object, bool]:
        """Return the answer, and whether it is one of another number of records."""
        before, place = self._before, len(self.calls)
        if before is None:
            return own, False
        if place < len(before.calls) and before.calls[place].name == call.name:
            answer = before.answers[place]
            if _same_form(answer, own):
                return snapshot(answer), False
            if self._extra is not None and call.name in _COINS:
                coins = self._extra.aligned(answer, own)
                if coins is not None:
                    return coins, True
        self.faithful = False
        return own, False


def snapshot(item: Any) -> Any:  # noqa: ANN401  # whatever a parameter may be
    """Return a snapshot of an item: arrays and containers copied, a generator by its name only."""
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A source of noise and its scale, if known; declared are the least scale and a sensitivity."""

    tape: Tape
    name: str
    sensitivity: Sensitivity[Any] | None
    together: bool
    scale: float | None = None
    declared: float | None = None

    def protected(self, value: Any, noise: NDArray[Any] | None = None) -> Protected:  # noqa: ANN401
        """Return a value as protected by noise from here."""
        declares = self.scale is not None and self.declared is not None
        short = declares and abs(self.scale or 0.0) < (self.declared or 0.0) * (1 - _ROUNDING)
        return Protected(value, self.sensitivity, self.together, noise, short)

    def after(self, ufunc: np.ufunc | None, other: object) -> Source:
        """Return the source of noise that was multiplied, divided or otherwise changed."""
        scale, number = self.scale, _number(other)
        if scale is None or number is None or ufunc not in {np.multiply, np.divide}:
            return replace(self, scale=None)
        return replace(self, scale=float(ufunc(scale, number)))


@final
class Drawn(np.ndarray[Any, np.dtype[Any]]):
    """Noise as an array, of dimension 0 for one number, that tells a tape what is done with it."""

    # It protects what it is added to; what scales or cuts it is a parameter, and it stays noise.
    # Turned into a Python number (``float(noise)``) or compared, it is no longer followed.

    source: Source | None = None

    @staticmethod
    def of(values: Any, source: Source) -> Drawn:  # noqa: ANN401  # a number or an array
        """Return numbers or an array as noise from a source."""
        drawn = np.asarray(values).view(Drawn)
        drawn.source = source
        return drawn

    def __array_finalize__(self, parent: object) -> None:
        """Give a view, a copy or a reshaped array the same source."""
        self.source = getattr(parent, "source", None)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401
        part = super().__getitem__(key)
        return part if self.source is None else Drawn.of(part, self.source)

    def __round__(self, digits: int | None = None) -> Any:  # noqa: ANN401
        rounded = np.round(np.asarray(self), digits or 0)
        whole = rounded.astype(np.int64) if digits is None else rounded
        return whole if self.source is None else Drawn.of(whole, self.source)

    def __array_ufunc__(
        self,
        ufunc: np.ufunc,
        method: str,
        *inputs: Any,  # noqa: ANN401  # whatever noise meets
        out: tuple[NDArray[Any], ...] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Compute on plain arrays; tell the tape when noise meets something else."""
        sources = [x.source for x in inputs if isinstance(x, Drawn) and x.source is not None]
        others = [snapshot(x) for x in inputs if not isinstance(x, Drawn)]
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        numeric = isinstance(result, np.ndarray | np.generic) and result.dtype.kind in "iufc"
        if not sources or not numeric:
            return result
        source = sources[0]
        if not others or not source.tape.listening:
            return Drawn.of(result, source.after(None, None))
        if ufunc in {np.add, np.subtract} and method in {"__call__", "outer"}:
            noise = next(_plain(x) for x in inputs if isinstance(x, Drawn))
            if method == "__call__":
                noise = np.array(np.broadcast_to(noise, np.shape(result)))
            if out is not None and isinstance(out[0], Drawn):
                noise = None  # overwritten by the sum
            protected = source.protected(others[0], noise)
            return _added(source, ufunc.__name__, protected, result, out is not None)
        parameters = {f"operand {place}": other for place, other in enumerate(others)}
        call = Call(f"{source.name}, then {ufunc.__name__}", parameters)
        scaled = ufunc if ufunc is np.multiply or isinstance(inputs[0], Drawn) else None
        return Drawn.of(source.tape.answer(call, result), source.after(scaled, others[0]))


def _number(item: object) -> float | None:
    """Return one number that is not 0 as a float, None for anything else."""
    real = isinstance(item, int | float | np.integer | np.floating)
    return float(item) if real and item else None  # type: ignore[arg-type]


def _added(source: Source, verb: str, protected: Protected, result: Any, in_place: bool) -> Any:  # noqa: ANN401, FBT001
    """Tell the tape about the sum; in place, the answer is written where the sum is."""
    answer = source.tape.answer(Call(f"{source.name}, then {verb}", {}, protected), result)
    if not in_place:
        return answer
    result[...] = answer
    return result


def _plain(item: Any) -> Any:  # noqa: ANN401
    return np.asarray(item) if isinstance(item, Drawn) else item


@final
@dataclass(frozen=True, slots=True)
class Primitive:
    """The rules for reading the calls of one primitive."""

    name: str  # on the tape
    value: str | None = None  # the parameter that it protects
    sensitivity: Sensitivity[Any] | None = None  # of that value, or of what its answer is added to
    together: bool = False  # whether it is declared of all values of this name in one run
    follows: bool = False  # whether a number that it answers is noise, followed further
    scale: float | None = None  # declared of its noise

    def ask(
        self, tape: Tape, call: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401  # whatever the primitive returns
        """Ask, record, and give the tape's answer."""
        if not tape.listening:
            return call(*args, **named)
        bound = _bound(call, args, named)
        target = bound.pop("out", None)
        parameters = {key: snapshot(item) for key, item in bound.items()}
        scale = _number(parameters.get("scale", 1.0)) if self.name in _SCALED else None
        source = Source(tape, self.name, self.sensitivity, self.together, scale, self.scale)
        protected = None
        if self.value is not None and self.value in parameters:
            protected = source.protected(parameters.pop(self.value))
        with tape:
            own = call(*args, **named)
        asked = Call(self.name, parameters, protected)
        if target is not None:
            target[...] = tape.answer(asked, np.array(target))
            return own
        answer = tape.answer(asked, own)
        if self.follows and isinstance(answer, float | int | np.ndarray | np.generic):
            return Drawn.of(answer, source)
        return answer


def _bound(
    call: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Bind arguments to parameter names, or to positions if the names are unknown."""
    try:
        return dict(inspect.signature(call).bind(*args, **named).arguments)
    except (TypeError, ValueError):
        return {**{f"argument {place}": item for place, item in enumerate(args)}, **named}


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
_SCALED = {"gumbel", "laplace", "logistic", "normal", "standard_normal"}
_NO_METHODS = {"bit_generator", "spawn"}


@final
@dataclass(frozen=True, slots=True)
class Listening:
    """The calls recorded of a generator, and the declared sensitivity of the values it protects."""

    sensitivity: Sensitivity[Any] | Mapping[str, Sensitivity[Any]] | None
    together: bool
    ignore: Collection[str]
    scale: Mapping[str, float]

    def primitive(self, method: str) -> Primitive:
        """Wrap one method of the generator as a primitive."""
        declared = self.sensitivity
        if isinstance(declared, Mapping):
            declared = declared.get(method)
        follows = method in _NOISE
        value, scale = _VALUES.get(method), self.scale.get(method)
        return Primitive(method, value, declared, self.together, follows, scale)


@final
class RecordingGenerator(np.random.Generator):
    """A numpy Generator to everyone who takes one; every call of a method is on the tape."""

    # What is drawn from its bit generator directly is not seen; asking for that is.

    def __init__(self, plain: np.random.Generator, tape: Tape, listening: Listening) -> None:
        super().__init__(plain.bit_generator)
        self._tape, self._listening = tape, listening

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
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
