"""Parameters of mechanisms: each is declared once, with its check and its default.

A mechanism is a class of attrs, and a parameter is one line of it::

    @final
    @frozen(kw_only=True, repr=False, field_transformer=parameters.named)
    class Laplace(NoiseMechanism[R]):
        scale: Fraction = field(converter=parameters.scale)
        sensitivity: L1[R] = field(validator=parameters.norms(L1))

A converter takes a value and the parameter's name, and returns what is kept; its first annotation
is the type that the constructor takes. A validator looks at what is kept.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeAlias

import attrs

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import require_relation
from dpproof.accountant.sensitivity import L1, L2, Change, Sensitivity
from dpproof.accountant.side_conditions import ONE_SHAPE, OUTPUT_ALONE, RANDOM_BITS, SENSITIVITY
from dpproof.mechanisms.queries import Query, require_query
from dpproof.mechanisms.samplers import arrays

Field: TypeAlias = "attrs.Attribute[Any]"
Validator: TypeAlias = Callable[[Any, Field, Any], None]

_SLACK: Final = Fraction(1, 2**40)


def named(_kind: type, fields: list[Field]) -> list[Field]:
    """Hand every converter the name of its parameter, for its refusals."""
    return [
        one.evolve(converter=_of(one.converter, one.name))
        if one.converter is not None and not getattr(one, "inherited", False)
        else one
        for one in fields
    ]


def _of(convert: Callable[..., Any], name: str) -> Callable[[Any], Any]:
    """Return a converter as a function of the value alone."""

    @functools.wraps(convert)
    def converted(value: object) -> object:
        return convert(value, name)

    return converted


def real(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a finite number exactly."""
    return arguments.real(**{name: value})


def positive(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a finite number above 0 exactly."""
    return arguments.positive(**{name: value})


def non_negative(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a finite number at or above 0 exactly."""
    return arguments.non_negative(**{name: value})


def probability(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a number in [0, 1] exactly."""
    return arguments.probability(**{name: value})


def open_probability(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a number in (0, 1) exactly."""
    return arguments.open_probability(**{name: value})


def rate(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a number in (0, 1] exactly."""
    return arguments.rate(**{name: value})


def scale(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a number in [2^-300, 2^300], in data units, exactly."""
    return arrays.scale(**{name: value})


def optional_scale(value: arguments.Number | None, name: str = "value") -> Fraction | None:
    """Keep a number in [2^-300, 2^300], in data units, exactly, or None."""
    return None if value is None else arrays.scale(**{name: value})


def half(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a number in (0, 1/2] exactly."""
    exact = arguments.probability(**{name: value})
    if not 0 < exact <= Fraction(1, 2):
        raise ParameterError(name, float(exact), "in (0, 1/2]")
    return exact


def granularity(value: arguments.Number, name: str = "value") -> Fraction:
    """Keep a power of two, in data units."""
    return arrays.granularity(**{name: value})[0]


def count(value: int, name: str = "value") -> int:
    """Keep a whole number from 1 to 10^12."""
    return arguments.count(**{name: value})


def optional_count(value: int | None, name: str = "value") -> int | None:
    """Keep a whole number from 1 to 10^12, or None."""
    return None if value is None else arguments.count(**{name: value})


def whole(value: int, name: str = "value") -> int:
    """Keep a whole number at or above 0."""
    return arguments.whole(**{name: value})


def flag(value: bool, name: str = "value") -> bool:  # noqa: FBT001  # a parameter's value
    """Keep True or False."""
    if not isinstance(value, bool):
        raise ParameterError(name, value, "True or False")
    return value


def query(value: Query | None, _name: str = "value") -> Query | None:
    """Keep a function of the data, or None."""
    return require_query(value)


def neighbours(_mechanism: object, _parameter: Field, value: object) -> None:
    """Refuse anything but a neighbouring relation."""
    require_relation(value)


def within(
    lowest: float | Fraction, largest: float | Fraction, allowed: str, hint: str = ""
) -> Validator:
    """Refuse a number outside [lowest, largest], by the words for it."""

    def checked(_mechanism: object, parameter: Field, value: Fraction) -> None:
        if not lowest <= value <= largest:
            raise ParameterError(parameter.name, value, allowed, hint)

    return checked


def one_of(*words: str) -> Validator:
    """Refuse anything but one of some words."""

    def checked(_mechanism: object, parameter: Field, value: object) -> None:
        if not isinstance(value, str) or value not in words:
            raise ParameterError(parameter.name, value, f"one of {', '.join(words)}")

    return checked


def instance(kinds: type | tuple[type, ...], allowed: str, hint: str = "") -> Validator:
    """Refuse anything but an instance, by the words for what is allowed."""

    def checked(_mechanism: object, parameter: Field, value: object) -> None:
        if not isinstance(value, kinds):
            raise ParameterError(parameter.name, value, allowed, hint)

    return checked


def function_of_data(_mechanism: object, parameter: Field, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ParameterError(parameter.name, value, "a function of the data")


def norms(*kinds: type[Change[Any]]) -> Validator:
    """Refuse a bare number, or a sensitivity in another norm; say how to convert it."""
    allowed = f"{' or '.join(kind.__name__ for kind in kinds)}, in data units"

    def checked(_mechanism: object, parameter: Field, value: object) -> None:
        if isinstance(value, kinds):
            return
        hint = f"a number alone does not say its norm: {kinds[0].__name__}(1) does"
        if isinstance(value, L1) and L2 in kinds:
            hint = "L1(...).as_l2() converts it"
        elif isinstance(value, Sensitivity):
            hint = "another norm converts with as_l1 or as_l2, given the dimension"
        raise ParameterError(parameter.name, value, allowed, hint)

    return checked


def moves(_mechanism: object, _parameter: Field, sensitivity: Sensitivity[Any]) -> None:
    """Refuse the sensitivity of an integer query that never moves."""
    units(sensitivity)


def whole_part(sensitivity: Fraction) -> int:
    """Return the largest integer at most the sensitivity: how far a whole quantity can move.

    A value within a relative 2^-40 below the next integer is taken as that integer: it is a rounded
    square root or product, and counting one unit more is the safe side. An integer is itself.
    """
    raised = min(sensitivity * (1 + _SLACK), Fraction(math.ceil(sensitivity)))
    units = math.floor(raised)
    if units < 1:
        hint = "an integer query moves by integers"
        raise ParameterError("sensitivity", float(sensitivity), "at least 1", hint)
    return units


def units(sensitivity: Sensitivity[Any]) -> int:
    """Return the whole part of k, or for L2 that of the square, of an integer query."""
    value = sensitivity.value
    return whole_part(value**2 if isinstance(sensitivity, L2) else value)


def assumptions(sensitivity: Sensitivity[Any]) -> tuple[str, ...]:
    """Return the assumptions of a noise mechanism's guarantee."""
    norm = type(sensitivity).__name__
    return (
        SENSITIVITY(value=show(sensitivity.value), norm=norm, relation=sensitivity.relation),
        *assumptions_of_noise(),
    )


def assumptions_of_noise() -> tuple[str, ...]:
    """Return the assumptions of every noise mechanism besides its sensitivity."""
    return ONE_SHAPE(), RANDOM_BITS(), OUTPUT_ALONE()
