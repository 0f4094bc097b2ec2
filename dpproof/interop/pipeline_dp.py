"""Budget accountants of PipelineDP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant import (
    L1,
    L2,
    AddRemove,
    ApproxDP,
    Guarantee,
    Poisson,
    PureDP,
    arguments,
    compose,
    self_compose,
)
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError
from dpproof.interop.training import shuffled
from dpproof.mechanisms import Gaussian, Laplace

# Relative rounding of a rate that is one over a whole number of batches: of single precision.
_ROUNDED: Final = Fraction(1, 10**6)
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
    specs = accountant
    if isinstance(accountant, Mapping):
        specs = accountant.get("mechanism_specs")
    elif not isinstance(accountant, Sequence):
        specs = getattr(accountant, "mechanism_specs", getattr(accountant, "_mechanisms", None))
    if not isinstance(specs, Sequence) or isinstance(specs, str) or not specs:
        raise InputError("expected a budget accountant with mechanism_specs")
    return compose(*(_specified(getattr(one, "mechanism_spec", one), relation) for one in specs))


def _specified(spec: object, relation: Relation) -> Guarantee[Relation]:
    kind = _get(spec, "mechanism_type")
    name = str(getattr(kind, "name", kind)).rpartition(".")[2].upper().replace(" ", "_")
    noise, epsilon, delta = (
        _get(spec, field) for field in ("noise_standard_deviation", "eps", "delta")
    )
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
    entries = history.get("history") if isinstance(history, Mapping) else history
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
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
    spent = accountant
    if isinstance(accountant, Mapping):
        spent = accountant.get("spent_budget")
    elif not isinstance(accountant, Sequence):
        spent = getattr(accountant, "spent_budget", None)
    if not isinstance(spent, Sequence) or isinstance(spent, str):
        raise InputError(
            "expected a budget accountant with spent_budget, a list of (epsilon, delta)"
        )
    if not spent:
        return PureDP(epsilon=0, relation=relation)
    return compose(*(_part(part, relation) for part in spent))


def _part(part: object, relation: Relation) -> Guarantee[Relation]:
    if not isinstance(part, Sequence) or isinstance(part, str) or len(part) != 2:
        raise InputError(f"expected (epsilon, delta), got {part!r:.60}")
    epsilon, delta = part
    if delta == 0:
        return PureDP(epsilon=epsilon, relation=relation)
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation)
