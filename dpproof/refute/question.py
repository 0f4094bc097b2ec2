"""Natural random questions to accountants, their answers here, and simpler ones."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from dpproof.accountant import AddRemove, Bound, Guarantee, ReplaceOne
from dpproof.interop.from_event import from_dp_event

# Values in the order in which a reader likes them: a reproducer moves towards the first.
VALUES: Final[dict[str, tuple[float, ...]]] = {
    "noise": (1.0, 2.0, 0.5, 3.0, 4.0, 0.8, 1.5, 5.0, 10.0, 20.0, 0.6, 1000.0),
    "rate": (1.0, 0.01, 0.1, 0.2, 0.5, 0.001, 0.02, 0.05, 0.125, 1e-8),
    "count": (1, 10, 100, 1000, 2, 5, 20, 50, 200, 500, 10_000, 10**12),
    "target": (1.0, 0.1, 0.5, 2.0, 5.0),
    "epsilon": (1.0, 0.0, 0.1, 0.5, 2.0, 5.0),
    "delta": (1e-5, 1e-6, 1e-3, 1e-8, 1e-9, 1e-10, 1e-12, 1e-13, 1e-15),
}
NONSENSE: Final = (("noise", math.nan), ("count", -5), ("count", 2.5), ("at", math.nan))
_SPREAD: Final = {"noise": (0.4, 20.0), "rate": (1e-3, 0.5)}  # of numbers that are not round
RECORDS: Final = 1000  # of which a fixed number is drawn
_OFTEN: Final = {"nonsense": 0.04, "extreme": 0.04, "two parts": 0.2, "sampled": 0.75, "odd": 0.3}
RELATIONS: Final = {"add-remove": AddRemove(), "replace-one": ReplaceOne()}
METHODS: Final = {"power": "true_positive_rate", "noise": "epsilon"}  # else what is asked
POINTS: Final = {"delta": "epsilon", "power": "false_positive_rate"}  # else delta


@final
@dataclass(frozen=True, slots=True)
class Part:
    """Equal rounds of one mechanism on values of norm at most 1.

    Attributes:
        kind: gaussian, laplace, response (randomised, on two answers) or fixed (a Gaussian on a
            fixed share of 1,000 records, drawn without replacement).
        noise: the multiplier, the scale, or the probability of a uniform answer.
        rate: of the Poisson sample, or the share; 1 is no sampling.
        count: rounds.
    """

    kind: str
    noise: float
    rate: float = 1.0
    count: float = 1

    def event(self, *, instance: bool) -> Mapping[str, Any]:
        """Return the event in JSON, or that of an instance which attains what it costs.

        Of fixed: 999 records are -1, and the other is -1 or 1. Up to a shift the sum is a Gaussian
        at 0, or at the rate at 2: a Poisson sample with half the noise.
        """
        half = instance and self.kind == "fixed"
        name = "LaplaceDpEvent" if self.kind == "laplace" else "GaussianDpEvent"
        event = _event(name, noise_multiplier=self.noise / 2 if half else self.noise)
        if self.kind == "response":
            event = _event("RandomizedResponseDpEvent", noise_parameter=self.noise, num_buckets=2)
        if self.kind == "fixed" and not instance:
            sizes = {"source_dataset_size": RECORDS, "sample_size": round(self.rate * RECORDS)}
            event = _event("SampledWithoutReplacementDpEvent", **sizes, event=event)
        elif self.rate != 1:
            event = _event("PoissonSampledDpEvent", sampling_probability=self.rate, event=event)
        return _event("SelfComposedDpEvent", event=event, count=self.count)


def _event(name: str, **fields: object) -> dict[str, Any]:
    return {"class_name": name, **fields}


@final
@dataclass(frozen=True, slots=True)
class Question:
    """What an accountant is asked."""

    parts: tuple[Part, ...]  # what runs
    relation: str
    # Epsilon, delta, power (the true-positive rate of attacks), or noise: the smallest of the
    # only part with ``target`` as its epsilon.
    asked: str
    at: float  # the delta, the epsilon, or the false-positive rate
    target: float = 1.0  # of noise

    @property
    def method(self) -> str:
        """Return the name of the question to a guarantee."""
        return METHODS.get(self.asked, self.asked)

    @property
    def point(self) -> dict[str, float]:
        """Return what is asked at, by its name here."""
        return {POINTS.get(self.asked, "delta"): self.at}

    @property
    def fixed(self) -> bool:
        """Return whether samples have a fixed size, so that an instance stands for a lower end."""
        return any(part.kind == "fixed" for part in self.parts)

    def event(self, *, instance: bool = False) -> Mapping[str, Any]:
        """Return the event in JSON, or that of an instance."""
        events = [part.event(instance=instance) for part in self.parts]
        return events[0] if len(events) == 1 else _event("ComposedDpEvent", events=events)

    def guarantee(self, *, instance: bool = False) -> Guarantee[Any]:
        """Return what is known of the event, or of an instance, whose lower ends hold of it."""
        relation = AddRemove() if instance and self.fixed else RELATIONS[self.relation]
        return from_dp_event(self.event(instance=instance), relation=relation)

    def bracket(self) -> Bound:
        """Return the answer, whose lower end is that of the instance."""
        upper = self._answer(self.guarantee())
        if not self.fixed:
            return upper
        instance = self._answer(self.guarantee(instance=True))
        return Bound(instance.lower, upper.upper, instance.attained)

    def _answer(self, guarantee: Guarantee[Any]) -> Bound:
        answered: Bound = getattr(guarantee, self.method)(**self.point)
        return answered

    def written(self) -> str:
        """Return the question as the beginning of a program."""
        parts = [(part.kind, part.noise, part.rate, part.count) for part in self.parts]
        text = f"parts = {parts}  # kind, noise, rate, count\n"
        text += f"at, target, relation = {self.at}, {self.target}, {self.relation!r}\n"
        return f"from math import nan\n{text}" if "nan" in text else text

    def simpler(self) -> Iterator[Question]:
        """Yield questions with a part less, or with a rounder number."""
        for place, part in enumerate(self.parts):
            before, after = self.parts[:place], self.parts[place + 1 :]
            if len(self.parts) > 1:
                yield replace(self, parts=before + after)
            for name in ("count", "rate", "noise"):
                if name == "noise" and (self.asked == "noise" or part.kind == "response"):
                    continue
                for new in _rounder(part, name, name):
                    yield replace(self, parts=(*before, new, *after))
        yield from _rounder(self, "at", "epsilon" if self.asked == "delta" else "delta")
        yield from _rounder(self, "target", "target")

    def __str__(self) -> str:
        """Return the question in a line."""
        shown = " + ".join(
            f"{part.count:g} × {part.kind}({part.noise:g})"
            + ("" if part.rate == 1 else f" at rate {part.rate:g}")
            for part in self.parts
        )
        ((name, at),) = self.point.items()
        wanted = f"noise for epsilon {self.target:g}" if self.asked == "noise" else self.asked
        return f"{shown}, {self.relation}: {wanted} at {name} {at:g}"


PAST: Final = tuple(
    Question((Part(kind, noise, rate, count),), relation, asked, at)
    for kind, noise, rate, count, relation, asked, at in (
        ("response", 0.8, 1.0, 100, "replace-one", "epsilon", 1e-6),
        ("gaussian", 1.0, 1.0, 1, "replace-one", "epsilon", 1e-6),
        ("laplace", 1.0, 1.0, 1, "replace-one", "epsilon", 1e-9),
        ("gaussian", 1.0, 1.0, 1, "add-remove", "power", 1e-9),
        ("gaussian", 3.0, 0.2, 50, "add-remove", "epsilon", 1 / 48_000),
        ("gaussian", 1000.0, 1e-8, 10**12, "add-remove", "delta", 0.0),
        ("gaussian", 2.0, 1.0, 1, "add-remove", "delta", 0.5),
        ("laplace", 1.0, 1.0, 10, "add-remove", "epsilon", 1e-6),
        ("fixed", 1.0, 0.1, 10, "replace-one", "epsilon", 1e-5),
        ("gaussian", 1.0, 0.01, 1000, "add-remove", "epsilon", 1e-13),
        ("gaussian", 1.0, 0.01, 10_000, "add-remove", "epsilon", 1e-12),
        ("gaussian", 1.0, 0.01, 10_000, "add-remove", "epsilon", 1e-16),
        ("gaussian", 4.0, 1 / 3000, 10_000, "add-remove", "epsilon", 1.13e-18),
        ("gaussian", 0.6, 0.02, 200, "add-remove", "epsilon", 1e-6),
        ("gaussian", 0.8, 0.125, 1000, "add-remove", "epsilon", 1e-6),
        ("gaussian", math.nan, 0.01, 1, "add-remove", "epsilon", 1e-6),
        ("gaussian", 1.0, 0.01, -5, "add-remove", "epsilon", 1e-6),
        ("gaussian", 1.0, 0.01, 10**9, "add-remove", "epsilon", 1e-6),
    )
)
"""Questions that some accountant got wrong before: asked first."""


def _rounder(whole: Any, field: str, name: str) -> Iterator[Any]:  # noqa: ANN401  # either class
    """Yield a part or a question with each number that a reader likes better in a field."""
    value, values = getattr(whole, field), VALUES[name]
    if value not in [one for _, one in NONSENSE] and not math.isnan(value):
        liked = values[: values.index(value)] if value in values else values
        yield from (replace(whole, **{field: one}) for one in liked)


def draw(
    source: random.Random, kinds: Mapping[str, Sequence[str]], asked: str, *, poisson: bool
) -> Question:
    """Draw a question about kinds of parts, each under neighbours that it is accounted for."""

    def one(name: str) -> float:
        if extreme:
            return VALUES[name][-1]
        if name in _SPREAD and source.random() < _OFTEN["odd"]:
            low, high = map(math.log, _SPREAD[name])
            return float(f"{math.exp(source.uniform(low, high)):.3g}")
        return source.choice(VALUES[name][:-1])

    extreme = source.random() < _OFTEN["extreme"]
    several = asked != "noise" and source.random() < _OFTEN["two parts"]
    kind = source.choice(tuple(kinds))
    relation = source.choice(kinds[kind])
    fits = [name for name, relations in kinds.items() if relation in relations]
    parts = []
    for name in [kind, source.choice(fits)][: 1 + several]:
        sampled = poisson and relation == "add-remove" and source.random() < _OFTEN["sampled"]
        rate = 0.1 if name == "fixed" else one("rate") if sampled else 1.0
        noise = 0.8 if name == "response" else one("noise")
        parts.append(Part(name, noise, rate, int(one("count"))))
    at = source.choice(VALUES["epsilon" if asked == "delta" else "delta"])
    question = Question(tuple(parts), relation, asked, at, source.choice(VALUES["target"]))
    if not poisson or asked == "noise" or source.random() >= _OFTEN["nonsense"]:
        return question
    name, value = source.choice(NONSENSE)
    changed: dict[str, Any] = {name: value}
    if name == "at":
        return replace(question, **changed)
    return replace(question, parts=(replace(parts[0], **changed),))
