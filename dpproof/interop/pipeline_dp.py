"""Budget accountants of PipelineDP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpproof.accountant import L1, L2, ApproxDP, Guarantee, PureDP, compose, self_compose
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError
from dpproof.mechanisms import Gaussian, Laplace

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
        part = Gaussian(sigma=noise, sensitivity=L2(1), relation=relation).guarantee()
    elif noise is not None and name.startswith("LAPLACE"):
        scale = Fraction(noise) / _ROOT_OF_TWO_UP
        part = Laplace(scale=scale, sensitivity=L1(1), relation=relation).guarantee()
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
    found = getattr(spec, f"_{field}", None)
    try:
        return getattr(spec, field, None) if found is None else found
    except AssertionError:  # PipelineDP's way of saying that it was not computed
        return None
