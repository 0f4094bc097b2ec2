"""Events of dp-accounting by the names of their classes, without the library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dpproof.accountant.errors import ParameterError
from dpproof.errors import InputError

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "NoOpDpEvent": (),
    "NonPrivateDpEvent": (),
    "UnsupportedDpEvent": (),
    "RandomizedResponseDpEvent": ("noise_parameter", "num_buckets"),
    "EpsilonDeltaDpEvent": ("epsilon", "delta"),
    "GaussianDpEvent": ("noise_multiplier",),
    "LaplaceDpEvent": ("noise_multiplier",),
    "DiscreteLaplaceDpEvent": ("noise_parameter", "sensitivity"),
    "DiscreteGaussianDpEvent": ("sigma", "sensitivity", "dimension"),
    "SelfComposedDpEvent": ("event", "count"),
    "ComposedDpEvent": ("events",),
    "PoissonSampledDpEvent": ("sampling_probability", "event"),
    "SampledWithReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
    "SampledWithoutReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
    "SingleEpochTreeAggregationDpEvent": ("noise_multiplier", "step_counts"),
    "RepeatAndSelectDpEvent": ("event", "mean", "shape"),
    "MixtureOfGaussiansDpEvent": ("standard_deviation", "sensitivities", "sampling_probs"),
    "RandomAllocationDpEvent": ("event", "num_selected", "num_steps"),  # from after 0.6.0 on
    "ZCDpEvent": ("rho", "xi"),
    "ExponentialMechanismDpEvent": ("epsilon",),
    "PermuteAndFlipDpEvent": ("epsilon",),
    "TruncatedSubsampledGaussianDpEvent": (
        "dataset_size",
        "sampling_probability",
        "truncated_batch_size",
        "noise_multiplier",
    ),
}
DEFAULTS: Final[Mapping[str, object]] = {"xi": 0.0, "sensitivity": 1.0, "dimension": None}
DEEPEST: Final = 32


@final
@dataclass(frozen=True, slots=True)
class Event:
    """One event: the name of its class and its fields, events inside being events."""

    name: str  # the class in dp-accounting, ``GaussianDpEvent``
    fields: Mapping[str, Any]  # its fields by name

    def number(self, field: str) -> Fraction:
        """Return a finite number, exactly as its float or integer."""
        value = self.fields[field]
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise ParameterError(f"{self.name}.{field}", value, "a number")
        if not math.isfinite(value):
            raise ParameterError(f"{self.name}.{field}", value, "a finite number")
        return Fraction(value)

    def numbers(self, field: str) -> list[Fraction]:
        """Return a list of finite numbers."""
        values = self.fields[field]
        if not isinstance(values, tuple | list):
            raise ParameterError(f"{self.name}.{field}", values, "a list of numbers")
        return [Event(self.name, {field: one}).number(field) for one in values]

    def count(self, field: str) -> int:
        """Return a whole number of at least 0."""
        value = self.number(field)
        if value.denominator != 1 or value < 0:
            raise ParameterError(f"{self.name}.{field}", self.fields[field], "a whole number >= 0")
        return int(value)


def read(source: object, depth: int = 0) -> Event:
    """Return the event in an object of dp-accounting, in its named tuple, or in JSON."""
    if isinstance(source, Event):
        return source
    if depth > DEEPEST:
        raise InputError(f"events nested deeper than {DEEPEST}")
    name = _name(source)
    if name not in FIELDS:
        raise InputError(
            f"{name or type(source).__name__} is no event of dp-accounting that is known here; "
            f"known are {', '.join(FIELDS)}"
        )
    values = {field: _value(source, name, field, depth) for field in FIELDS[name]}
    if isinstance(source, Mapping):
        unknown = set(source) - set(values) - {"module_name", "class_name"}
        if unknown:
            raise InputError(f"{name}: unknown fields {', '.join(sorted(unknown))}")
    return Event(name, values)


def _value(source: object, name: str, field: str, depth: int) -> object:
    """Return one field, with events and plain numbers in it."""
    value = _field(source, field, name)
    if field == "event":
        return read(value, depth + 1)
    if field == "events":
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InputError(f"{name}.events: expected a list of events")
        return tuple(read(one, depth + 1) for one in value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(map(_plain, value))
    return _plain(value)


def event_from_json(document: Mapping[str, Any]) -> Event:
    """Return the event of a JSON document with ``class_name`` and fields.

    Example:
        >>> event_from_json({"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}).name
        'GaussianDpEvent'
    """
    return read(document)


def event_to_json(event: object) -> dict[str, Any]:
    """Return a JSON document of an event, in the form of dp-accounting's named tuples.

    Example:
        >>> event_to_json(Event("GaussianDpEvent", {"noise_multiplier": 2.0}))["class_name"]
        'GaussianDpEvent'
    """
    fields_of = read(event)
    values = {name: _json(value) for name, value in fields_of.fields.items()}
    return {"module_name": "dp_accounting.dp_event", "class_name": fields_of.name, **values}


def _json(value: object) -> object:
    if isinstance(value, Event):
        return event_to_json(value)
    if isinstance(value, tuple):
        return [_json(one) for one in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


def _name(source: object) -> str:
    if isinstance(source, Mapping):
        return str(source.get("class_name", ""))
    name = getattr(source, "class_name", None)
    return str(type(source).__name__ if name is None else name)


def _field(source: object, field: str, name: str) -> object:
    missing = object()
    value = (
        source.get(field, missing)
        if isinstance(source, Mapping)
        else getattr(source, field, missing)
    )
    if value is missing:
        value = DEFAULTS.get(field, missing) if name != "DiscreteLaplaceDpEvent" else missing
    if value is missing:
        raise InputError(f"{name}: {field} is missing")
    return value


def _plain(value: object) -> object:
    """Return numbers of numpy as Python's, and JSON's "inf" as infinity."""
    if value == "inf":
        return math.inf
    item = getattr(value, "item", None)
    return item() if callable(item) else value
