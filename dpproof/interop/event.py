"""Events of dp-accounting by the names of their classes, and the guarantee of each."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final, TypeAlias, cast, final

from dpproof import accountant, mechanisms
from dpproof.accountant import AddRemove, NotImplied, Relation
from dpproof.accountant.arithmetic.enclosure import float_up, log_exact
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.rdp import DEFAULT_ORDERS
from dpproof.accountant.sampling import OneStepScheme
from dpproof.accountant.theorems import subsampling
from dpproof.accountant.theorems.allocation import allocate_random
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


Result: TypeAlias = accountant.Guarantee[Relation]
MOST_SHIFTS: Final = 256  # Shifts of a mixture. Heuristic: their law is computed exactly.
RATE_ROOM: Final = Fraction(1, 1 << 32)  # Raises a rate. Heuristic: the law is checked.


def from_dp_event(event: object, relation: Relation | None = None) -> Result:
    """Return the guarantee of an event of dp-accounting, or of jax-privacy, which uses them.

    An event does not say which datasets are neighbours: dp-accounting keeps that on the accountant.
    As there, noise is relative to the largest norm of one record's value, so that under replace-one
    a sum moves by twice as much.

    Args:
        event: an object of dp-accounting, its named tuple, or its JSON.
        relation: which datasets are neighbours.
    Raises:
        ParameterError: no relation, or a field outside its domain.
        InputError: it is no event that is known.
        NotImplied: no theorem here covers the event under the relation.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> event = {"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}
        >>> round(from_dp_event(event, relation=AddRemove()).gdp().upper, 6)
        0.5
    """
    if not isinstance(relation, Relation):
        hint = "an event does not say which datasets are neighbours, and the answer depends on it"
        raise ParameterError("relation", relation, "AddRemove(), ReplaceOne() or ZeroOut()", hint)
    source = read(event)
    return _READERS[source.name](source, relation)


def _no_op(_: Event, relation: Relation) -> Result:
    return accountant.PureDP(epsilon=0, relation=relation)


def _non_private(_: Event, relation: Relation) -> Result:
    return accountant.ApproxDP(epsilon=0, delta=1, relation=relation)


def _uncovered(event: Event, relation: Relation, why: str) -> NotImplied:
    return NotImplied(f"no theorem here covers {event.name} under {relation}: {why}")


def _unsupported(event: Event, relation: Relation) -> Result:
    raise _uncovered(event, relation, "it stands for an operation without a description")


def _randomized_response(event: Event, relation: Relation) -> Result:
    """Convert randomised response: an answer kept with probability 1 - p, else uniform."""
    # The ratio is 1 + k (1 - p)/p. Under add-remove no answer may be there, which is not described.
    noise, buckets = event.number("noise_parameter"), event.count("num_buckets")
    if not 0 <= noise <= 1 or buckets < 1:
        raise ParameterError("noise_parameter", event.fields, "in [0, 1], of at least 1 bucket")
    if isinstance(relation, AddRemove):
        why = "without a record there is no answer; take ReplaceOne() or ZeroOut(), under which"
        raise _uncovered(event, relation, f"{why} every record has one")
    if noise == 1 or buckets == 1:
        return _no_op(event, relation)
    if noise == 0:
        return _non_private(event, relation)
    odds = 1 + buckets * (1 - noise) / noise
    # Above the logarithm, which is computed within 16 units of roundoff.
    epsilon = Fraction(log_exact(odds) * (1 + 2.0**-48))
    response = mechanisms.RandomizedResponse
    return response(epsilon=epsilon, categories=buckets, relation=relation).guarantee()


def _epsilon_delta(event: Event, relation: Relation) -> Result:
    epsilon, delta = event.number("epsilon"), event.number("delta")
    return accountant.ApproxDP(epsilon=epsilon, delta=delta, relation=relation)


def _moves(relation: Relation) -> int:
    """Return by how many times the largest norm of one value a sum moves between neighbours."""
    if not isinstance(relation, AddRemove | accountant.ZeroOut | accountant.ReplaceOne):
        raise NotImplied(f"the noise of an event says nothing of {relation} neighbours")
    return 2 if isinstance(relation, accountant.ReplaceOne) else 1


def _noise(event: Event, relation: Relation) -> Result:
    noise, moves = event.number("noise_multiplier"), _moves(relation)
    if noise == 0:
        return _non_private(event, relation)
    if event.name == "GaussianDpEvent":
        moved = accountant.L2(moves, relation)
        return mechanisms.Gaussian(sigma=noise, sensitivity=moved).guarantee()
    return mechanisms.Laplace(scale=noise, sensitivity=accountant.L1(moves, relation)).guarantee()


def _discrete_laplace(event: Event, relation: Relation) -> Result:
    rate = event.number("noise_parameter")
    moves = event.count("sensitivity") * _moves(relation)
    if moves == 0:
        return _no_op(event, relation)
    if not rate > 0:
        raise ParameterError("noise_parameter", rate, "above 0")
    moved = accountant.L1(moves, relation)
    return mechanisms.DiscreteLaplace(scale=1 / rate, sensitivity=moved).guarantee()


def _discrete_gaussian(event: Event, relation: Relation) -> Result:
    sigma, moves = event.number("sigma"), event.number("sensitivity") * _moves(relation)
    if sigma == 0:
        return _non_private(event, relation)
    one = event.fields["dimension"] == 1 and moves.denominator == 1
    sensitivity = accountant.L1(moves, relation) if one else accountant.L2(moves, relation)
    return mechanisms.DiscreteGaussian(sigma=sigma, sensitivity=sensitivity).guarantee()


def _self_composed(event: Event, relation: Relation) -> Result:
    count = event.count("count")
    if count == 0:
        return _no_op(event, relation)
    return accountant.self_compose(_inner(event, relation), count=count)


def _composed(event: Event, relation: Relation) -> Result:
    parts = [_READERS[one.name](one, relation) for one in event.fields["events"]]
    return accountant.compose(*parts) if parts else _no_op(event, relation)


def _inner(event: Event, relation: Relation) -> Result:
    inner = cast("Event", event.fields["event"])
    return _READERS[inner.name](inner, relation)


def _poisson(event: Event, relation: Relation) -> Result:
    rate, inner = event.number("sampling_probability"), event.fields["event"]
    if rate == 0:
        return _no_op(event, relation)
    scheme = accountant.Poisson(sampling_rate=rate)
    if isinstance(relation, accountant.ReplaceOne) and inner.name == "GaussianDpEvent" and rate < 1:
        return subsampling.subsample_gaussian_sum(
            sigma=inner.number("noise_multiplier"),
            contribution=accountant.L2Contribution(1, relation),
            scheme=scheme,
        )
    return subsampling.subsample_poisson(_inner(event, relation), scheme)


def _sized(event: Event, relation: Relation) -> Result:
    """Convert a sample of a fixed size, without replacement under replace-one by any mechanism."""
    if event.count("sample_size") == 0:
        return _no_op(event, relation)
    replaced, inner = event.name == "SampledWithReplacementDpEvent", event.fields["event"]
    summed = replaced or not isinstance(relation, accountant.ReplaceOne)
    if summed and inner.name != "GaussianDpEvent":
        raise NotImplied(
            f"no theorem here covers {event.name} of {inner.name} under {relation}: samples in "
            "which records push others out are bounded for Gaussian sums alone"
        )
    if summed and inner.number("noise_multiplier") == 0:
        return _non_private(event, relation)
    scheme: Any = (accountant.WithReplacement if replaced else accountant.WithoutReplacement)(
        sample_size=event.count("sample_size"), population_size=event.count("source_dataset_size")
    )
    if summed:
        return _counted(inner.number("noise_multiplier"), 1, scheme, relation)
    return subsampling.subsample_without_replacement(_inner(event, relation), scheme)


def _allocated(event: Event, relation: Relation) -> Result:
    """Convert an inner event in those steps that every record draws for itself."""
    inner, chosen = _inner(event, relation), event.count("num_selected")
    if chosen == 0 or (isinstance(inner, accountant.PureDP) and inner.stated_epsilon == 0):
        return _no_op(event, relation)
    if isinstance(inner, accountant.ApproxDP) and inner.stated_delta == 1:
        return inner
    scheme = accountant.RandomAllocation(steps=event.count("num_steps"), chosen=chosen)
    return allocate_random(inner, scheme)


def _truncated(event: Event, relation: Relation) -> Result:
    """Convert a Gaussian sum over a Poisson sample that is cut to a largest size."""
    rate, largest = event.number("sampling_probability"), event.count("truncated_batch_size")
    if rate == 0 or largest == 0:
        return _no_op(event, relation)
    sigma = event.number("noise_multiplier")
    if sigma == 0:
        return _non_private(event, relation)
    records = event.count("dataset_size")
    scheme = accountant.TruncatedPoisson(
        sampling_rate=rate, largest=largest, population_size=records
    )
    return _counted(sigma, 1, scheme, relation)


def _tree(event: Event, relation: Relation) -> Result:
    """Convert a tree: every record is in one leaf, and in one finished node of each level above."""
    # That is so if no other record changes its leaf: under add-remove the event does not say it.
    # With floor(log2 n) + 1 levels all is one Gaussian release of the root of that sensitivity.
    counts_given, sigma = event.fields["step_counts"], event.number("noise_multiplier")
    if isinstance(relation, AddRemove):
        why = "a record more may move the others to other steps; take ZeroOut(), which keeps every"
        raise _uncovered(event, relation, f"{why} record's step")
    counts = counts_given if isinstance(counts_given, tuple) else (counts_given,)
    given = (Event(event.name, {"step_counts": one}) for one in counts)
    steps = max((one.count("step_counts") for one in given), default=0)
    if steps == 0:
        return _no_op(event, relation)
    if sigma == 0:
        return _non_private(event, relation)
    squared = Fraction(steps.bit_length() * _moves(relation) ** 2) / sigma**2
    return accountant.GDP(mu_squared=squared, relation=relation)


def _runs(event: Event) -> accountant.RunLaw:
    mean, shape = event.number("mean"), event.fields["shape"]
    if isinstance(shape, float) and math.isinf(shape) and shape > 0:
        return accountant.PoissonRuns(rate=mean)
    eta = event.number("shape")
    if eta < 0:
        raise ParameterError("shape", shape, "at or above 0")
    law = accountant.TruncatedNegativeBinomial
    return accountant.FixedRuns(count=1) if mean == 1 else law(eta=eta, mean=mean)


def _mixture(event: Event, relation: Relation) -> Result:
    """Convert a mixture: a shift, a sampled shift, or a user's binomial multiples."""
    sigma = event.number("standard_deviation")
    shifts, chances = event.numbers("sensitivities"), event.numbers("sampling_probs")
    if len(shifts) != len(chances) or min(chances, default=Fraction(-1)) < 0:
        raise ParameterError("sampling_probs", chances, "one probability for each sensitivity")
    if not math.isclose(sum(chances), 1, rel_tol=1e-9):
        raise ParameterError("sampling_probs", chances, "of sum 1")
    moved = {abs(shift) for shift, chance in zip(shifts, chances, strict=True) if chance and shift}
    if not moved:
        return _no_op(event, relation)
    if sigma == 0:
        return _non_private(event, relation)
    if relation.symmetric or min(shifts) < 0:
        raise _other(event, f"negative shifts, or under {relation}")
    if len(moved) > 1:
        return _user_sum(event, relation, shifts, chances)
    still = sum(chance for shift, chance in zip(shifts, chances, strict=True) if shift == 0)
    noise = mechanisms.Gaussian(sigma=sigma, sensitivity=accountant.L2(moved.pop(), relation))
    base: Result = noise.guarantee()
    if still == 0:
        return base
    rate = min(max(1 - still, sum(chances) - still), Fraction(1))  # floats that add up to nearly 1
    return subsampling.subsample_poisson(base, accountant.Poisson(sampling_rate=rate))


def _zcdp(event: Event, relation: Relation) -> Result:
    rho, xi = event.number("rho"), event.number("xi")
    if xi == 0:
        return accountant.ZCDP(rho=rho, relation=relation)
    points = tuple((order, xi + rho * order) for order in DEFAULT_ORDERS)
    return accountant.RDP(points=points, relation=relation)


def _permute_and_flip(event: Event, relation: Relation) -> Result:
    """Convert permute-and-flip, as noise of scale 2/epsilon on scores of sensitivity 1."""
    epsilon = event.number("epsilon")
    if epsilon == 0:
        return accountant.MetricDP(epsilon=0, relation=relation)
    moved = accountant.LInf(1, relation)
    return mechanisms.PermuteAndFlip(epsilon=epsilon, sensitivity=moved).guarantee()


def _user_sum(
    event: Event, relation: Relation, shifts: Sequence[Fraction], chances: Sequence[Fraction]
) -> Result:
    """Return the guarantee of a mixture of shifts whose multiples are binomial, at most."""
    # A mixture of stochastically larger shifts costs more: proofs/theory/one_step.md.
    if abs(1 - sum(chances, Fraction(0))) > Fraction(1, 1 << 40):
        raise _other(event, "probabilities that do not add up to 1")
    unit = min(shift for shift in shifts if shift)
    law: dict[int, Fraction] = {}
    for shift, chance in zip(shifts, chances, strict=True):
        times = shift / unit
        if times.denominator != 1 or times > MOST_SHIFTS:
            raise _other(event, "shifts that are no small multiples of the least")
        law[int(times)] = law.get(int(times), Fraction(0)) + chance
    most = max(law)
    mean = sum((times * chance for times, chance in law.items()), Fraction(0))
    rate = Fraction(float_up(mean / most * (1 + RATE_ROOM)))
    if not 0 < rate < 1 or not _is_below(law, most, rate):
        raise _other(event, "shifts that are not binomial")
    scheme = accountant.UserPoisson(sampling_rate=rate, contributions=most)
    return _counted(event.number("standard_deviation"), unit, scheme, relation)


def _other(event: Event, what: str) -> NotImplied:
    return NotImplied(f"no theorem here covers a {event.name} of {what}")


def _is_below(law: Mapping[int, Fraction], most: int, rate: Fraction) -> bool:
    """Return whether a binomial law has at least the mass of another on all large numbers."""
    binomial = (math.comb(most, j) * rate**j * (1 - rate) ** (most - j) for j in range(most, 0, -1))
    other = (law.get(j, Fraction(0)) for j in range(most, 0, -1))
    tails = zip(accumulate(binomial), accumulate(other), strict=True)
    return all(above >= below for above, below in tails)


def _counted(
    sigma: Fraction, bound: Fraction | int, scheme: OneStepScheme, relation: Relation
) -> Result:
    """Apply the theorem on samples in which records count several times or push others out."""
    contribution: Any = accountant.L2Contribution(bound, relation)
    return subsampling.subsample_counted_sum(sigma=sigma, contribution=contribution, scheme=scheme)


_READERS: Final[Mapping[str, Callable[[Event, Relation], Result]]] = {
    "NoOpDpEvent": _no_op,
    "NonPrivateDpEvent": _non_private,
    "UnsupportedDpEvent": _unsupported,
    "RandomizedResponseDpEvent": _randomized_response,
    "EpsilonDeltaDpEvent": _epsilon_delta,
    "GaussianDpEvent": _noise,
    "LaplaceDpEvent": _noise,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "SelfComposedDpEvent": _self_composed,
    "ComposedDpEvent": _composed,
    "PoissonSampledDpEvent": _poisson,
    "SampledWithReplacementDpEvent": _sized,
    "SampledWithoutReplacementDpEvent": _sized,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": lambda event, relation: accountant.select(
        _inner(event, relation), _runs(event)
    ),
    "MixtureOfGaussiansDpEvent": _mixture,
    "RandomAllocationDpEvent": _allocated,
    "ZCDpEvent": _zcdp,
    "ExponentialMechanismDpEvent": lambda event, relation: accountant.BoundedRange(
        epsilon=event.number("epsilon"), relation=relation
    ),
    "PermuteAndFlipDpEvent": _permute_and_flip,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
}
