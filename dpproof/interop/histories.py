"""What other libraries record: accountants, histories, and the numbers of a training run."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant import (
    L1,
    L2,
    AddRemove,
    ApproxDP,
    Guarantee,
    L2Contribution,
    Poisson,
    PureDP,
    ShuffledBatches,
    ZeroOut,
    arguments,
    compose,
    self_compose,
)
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import Relation
from dpproof.accountant.theorems.composition import post_process
from dpproof.errors import InputError
from dpproof.mechanisms import Gaussian, Laplace

# Relative rounding of a rate that is one over a whole number of batches: of single precision.
_ROUNDED: Final = Fraction(1, 10**6)
TRAINING: Final[Mapping[str, tuple[str, ...]]] = {
    "records": ("n", "number_of_examples"),
    "batch_size": ("batch_size",),
    "epochs": ("epochs", "num_epochs"),
    "noise_multiplier": ("noise_multiplier",),
}
"""The names of each number in documents, the older ones of TensorFlow Privacy first."""
_ROOT_OF_TWO_UP = Fraction(14142135623730951, 10**16)


def from_pipeline_dp(accountant: Any, relation: Relation | None = None) -> Guarantee[Relation]:  # noqa: ANN401  # of a library that need not be there
    """Return the composition of the mechanisms that a budget accountant of PipelineDP resolved.

    A specification with a noise standard deviation, which is relative to the sensitivity, is that
    mechanism; one with epsilon and delta is what it states.

    Args:
        accountant: a ``BudgetAccountant`` after ``compute_budgets``, its specifications, or JSON of
            them with ``mechanism_type``, ``noise_standard_deviation``, ``eps``, ``delta``,
            ``count``, ``thresholding_delta``.
        relation: which datasets are neighbours: add-remove of a privacy unit, as PipelineDP bounds
            contributions.
    Raises:
        ParameterError: no relation, or numbers outside their domain.
        NotImplied: a specification without noise and without epsilon.
        InputError: there are no specifications.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> specs = [{"mechanism_type": "GAUSSIAN", "noise_standard_deviation": 2.0, "count": 4}]
        >>> round(from_pipeline_dp(specs, AddRemove()).gdp().upper, 6)
        1.0
    """
    if not isinstance(relation, Relation):
        raise ParameterError("relation", relation, "AddRemove(), for one privacy unit")
    specs = _entries(accountant, "mechanism_specs", "_mechanisms")
    if not specs:
        raise InputError("expected a budget accountant with mechanism_specs")
    return compose(*(_specified(getattr(one, "mechanism_spec", one), relation) for one in specs))


def _entries(accountant: Any, *names: str) -> Sequence[Any] | None:  # noqa: ANN401  # as above
    """Return the list that an accountant has under a name, or that it is; None without one."""
    entries = accountant
    if isinstance(accountant, Mapping):
        entries = accountant.get(names[0])
    elif not isinstance(accountant, Sequence):
        known = (getattr(accountant, one) for one in names if hasattr(accountant, one))
        entries = next(known, None)
    return entries if isinstance(entries, Sequence) and not isinstance(entries, str) else None


def _specified(spec: object, relation: Relation) -> Guarantee[Relation]:
    kind = _get(spec, "mechanism_type")
    name = str(getattr(kind, "name", kind)).rpartition(".")[2].upper().replace(" ", "_")
    noise = _get(spec, "noise_standard_deviation")
    epsilon, delta = _get(spec, "eps"), _get(spec, "delta")
    hidden = _get(spec, "thresholding_delta") or 0
    part: Guarantee[Relation]
    if noise is not None and "THRESHOLD" in name and not hidden:
        raise NotImplied(
            f"a specification of {name} with noise alone does not say at which delta partitions "
            "pass the threshold; give thresholding_delta"
        )
    if noise is not None and name.startswith("GAUSSIAN"):
        part = Gaussian(sigma=noise, sensitivity=L2(1, relation)).guarantee()
    elif noise is not None and name.startswith("LAPLACE"):
        scale = Fraction(noise) / _ROOT_OF_TWO_UP
        part = Laplace(scale=scale, sensitivity=L1(1, relation)).guarantee()
    elif epsilon is not None and not (name.startswith("GAUSSIAN") and not delta):
        stated = {"epsilon": epsilon, "relation": relation}
        part = ApproxDP(**stated, delta=delta) if delta else PureDP(**stated)
    else:
        raise NotImplied(
            f"a specification of {name} has neither noise nor epsilon and delta; call "
            "compute_budgets() first"
        )
    if hidden:
        part = compose(part, ApproxDP(epsilon=0, delta=hidden, relation=relation))
    count = _get(spec, "count")
    return part if count in (None, 1) else self_compose(part, count=count)


def _get(spec: object, field: str) -> Any:  # noqa: ANN401  # whatever the library keeps
    if isinstance(spec, Mapping):
        return spec.get(field, spec.get(f"_{field}"))
    value = getattr(spec, f"_{field}", None)
    try:
        return getattr(spec, field, None) if value is None else value
    except AssertionError:  # PipelineDP's way of saying that it was not computed
        return None


def from_opacus_history(
    history: Sequence[Sequence[Any]] | Mapping[str, Any],
    poisson: bool = False,  # noqa: FBT001, FBT002  # a contract
    relation: Relation | None = None,
) -> Guarantee[Relation]:
    """Return the guarantee of a training with Opacus.

    A history does not say how batches were drawn, and Opacus' own numbers are true of Poisson
    samples alone. With ``poisson_sampling=False`` batches are those of the user's loader, shuffled
    anew in every epoch: that has an upper and a lower end of its own, and costs more.

    Args:
        history: ``accountant.history``, a list of (noise_multiplier, sample_rate, num_steps), or
            ``accountant.state_dict()``.
        poisson: state that batches were drawn by Poisson sampling (``poisson_sampling=True``, no
            other sampler). Otherwise they are read as shuffled batches, one over the sample rate
            an epoch.
        relation: of shuffled batches ZeroOut(), by default, or ReplaceOne(); of Poisson samples
            add-remove.
    Raises:
        InputError: it is no history, of another relation, or of shuffled batches whose number is
            not one over the rate.
        ParameterError: a number outside its domain, or poisson is neither true nor false.
        NotImplied: shuffled batches under add-remove.
    Example:
        >>> from_opacus_history([(1.0, 0.01, 100)], poisson=True).epsilon(delta=1e-5).upper < 1.2
        True
        >>> from_opacus_history([(1.0, 0.01, 100)]).epsilon(delta=1e-5).lower > 3
        True
    """
    if not isinstance(poisson, bool):
        raise ParameterError(
            "poisson", poisson, "True or False", "say True of Poisson samples, False of shuffling"
        )
    if poisson and not isinstance(relation, AddRemove | None):
        raise InputError("a history of Poisson samples is about add-remove neighbours")
    entries = _entries(history, "history")
    if not entries:
        raise InputError("expected a list of (noise_multiplier, sample_rate, num_steps)")
    return compose(*(_entry(entry, relation, poisson=poisson) for entry in entries))


def _entry(entry: object, relation: Relation | None, *, poisson: bool) -> Guarantee[Relation]:
    if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 3:
        raise InputError(f"expected (noise_multiplier, sample_rate, num_steps), got {entry!r:.60}")
    noise, rate, steps = entry
    if not isinstance(noise, int | float) or not noise > 0:
        raise ParameterError("noise_multiplier", noise, "above 0", "there is no privacy without")
    scheme = Poisson(sampling_rate=rate)
    if poisson:
        stated: Relation = AddRemove()
        step = Gaussian(sigma=noise, sensitivity=L2(1, stated)).subsample(scheme)
        return step.repeat(steps).guarantee()
    batches = round(1 / scheme.sampling_rate)
    if abs(batches * scheme.sampling_rate - 1) > _ROUNDED:
        raise InputError(
            f"a sample_rate of {float(scheme.sampling_rate):.6g} is not one over a number of "
            "batches, which Opacus records of a loader: whether the last batch was dropped is not "
            "known; give records, batch_size and epochs to from_shuffled_training"
        )
    return shuffled(batches, arguments.count(num_steps=steps), noise, relation)


def from_diffprivlib(accountant: Any, relation: Relation | None = None) -> Guarantee[Relation]:  # noqa: ANN401  # of a library that need not be there
    """Return the composition of what a budget accountant has recorded, as it states it.

    The parts are assumptions: nothing here says that a model of diffprivlib keeps its epsilon.

    Args:
        accountant: a ``BudgetAccountant``, its ``spent_budget``, or a mapping with that key.
        relation: which datasets are neighbours, which the accountant does not say.
    Raises:
        ParameterError: no relation, or numbers outside their domain.
        InputError: it has no list of spent budgets.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> total = from_diffprivlib([(1.0, 0.0), (0.5, 1e-6)], AddRemove())
        >>> total.epsilon(delta=2e-6).upper <= 1.5
        True
    """
    if not isinstance(relation, Relation):
        raise ParameterError("relation", relation, "AddRemove(), ReplaceOne() or ZeroOut()")
    spent = _entries(accountant, "spent_budget")
    if spent is None:
        expected = "a budget accountant with spent_budget, a list of (epsilon, delta)"
        raise InputError(f"expected {expected}")
    parts = [_part(part, relation) for part in spent]
    return compose(*parts) if parts else PureDP(epsilon=0, relation=relation)


def _part(part: object, relation: Relation) -> Guarantee[Relation]:
    if not isinstance(part, Sequence) or isinstance(part, str) or len(part) != 2:
        raise InputError(f"expected (epsilon, delta), got {part!r:.60}")
    epsilon, delta = part
    if delta == 0:
        return PureDP(epsilon=epsilon, relation=relation)
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation)


def from_shuffled_training(
    *,
    records: int,
    batch_size: int,
    epochs: int,
    noise_multiplier: arguments.Number,
    relation: Relation | None = None,
) -> Guarantee[Relation]:
    """Return what DP-SGD satisfies that shuffles all records before every epoch.

    So do ``fit(shuffle=True)`` of Keras on arrays and ``DataLoader(shuffle=True)`` of PyTorch, the
    last batch perhaps smaller. Accountants of Poisson samples are about something else.

    Args:
        records: their number, public.
        batch_size: of every batch but perhaps the last one of an epoch.
        epochs: each in an order of its own.
        noise_multiplier: standard deviation of the noise over the norm to which the gradient of a
            record is clipped; the noise is added to the sum of a batch.
        relation: ZeroOut(), by default, or ReplaceOne().
    Raises:
        ParameterError: a number outside its domain.
        NotImplied: another relation.
    Example:
        >>> cost = from_shuffled_training(
        ...     records=60_000, batch_size=128, epochs=10, noise_multiplier=1.0
        ... ).epsilon(delta=1e-6)
        >>> round(cost.lower, 1), round(cost.upper, 1)
        (6.9, 19.4)
    """
    batches = -(-arguments.count(records=records) // arguments.count(batch_size=batch_size))
    return shuffled(batches, arguments.count(epochs=epochs) * batches, noise_multiplier, relation)


def shuffled(
    batches: int, steps: int, noise_multiplier: object, relation: Relation | None
) -> Guarantee[Relation]:
    """Return the guarantee of so many noisy sums of shuffled batches, each epoch in a new order."""
    # Of an epoch that is not finished the whole is accounted for, and forgotten in part.
    noise: Any = noise_multiplier
    base = Gaussian(sigma=noise, sensitivity=L2Contribution(1, relation or ZeroOut()))
    epochs = math.ceil(steps / batches)
    whole = base.allocate(ShuffledBatches(batches=batches)).repeat(epochs).guarantee()
    if steps == epochs * batches:
        return whole
    return post_process(whole, description=f"the first {steps} of {epochs * batches} sums")


def from_training(
    document: Mapping[str, Any], relation: Relation | None, *, poisson: bool
) -> Guarantee[Relation]:
    """Return the guarantee of a training run: of zero-out, or of Poisson samples of add-remove."""
    numbers: dict[str, Any] = {}
    for name, names in TRAINING.items():
        values = [document[one] for one in names if one in document]
        if len(values) != 1:
            raise InputError(f"expected a training run with one {' or '.join(names)}")
        numbers[name] = values[0]
    if not poisson:
        return from_shuffled_training(**numbers, relation=relation)
    size = arguments.count(batch_size=numbers["batch_size"])
    total, epochs = (arguments.count(**{one: numbers[one]}) for one in ("records", "epochs"))
    bound = L2Contribution(1, relation or AddRemove())
    base = Gaussian(sigma=numbers["noise_multiplier"], sensitivity=bound)
    rate = Poisson(sampling_rate=arguments.real(rate=size) / total)
    return base.subsample(rate).repeat(math.ceil(epochs * total / size)).guarantee()
