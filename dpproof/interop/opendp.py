"""Measurements of OpenDP, both ways."""

import importlib
import math
from collections.abc import Callable
from typing import Any, Final

from dpproof.accountant import GDP, ZCDP, ApproxDP, Guarantee, PureDP, convert, group
from dpproof.accountant.arguments import Number, probability
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.guarantee import require_single
from dpproof.accountant.relation import AddRemove, Relation, ReplaceOne
from dpproof.errors import InputError

NEIGHBOURS: Final = {
    "SymmetricDistance": AddRemove(),
    "InsertDeleteDistance": AddRemove(),
    "ChangeOneDistance": ReplaceOne(),
    "HammingDistance": ReplaceOne(),
}


def from_opendp(
    measurement: Any,  # noqa: ANN401  # of a library that need not be there
    *,
    d_in: Any = 1,  # noqa: ANN401  # as its metric measures
    relation: Relation | None = None,
    delta: Number | None = None,
) -> Guarantee[Relation]:
    """Return what a measurement of OpenDP says of inputs at a distance, as an assumption.

    Args:
        measurement: its ``map``, ``output_measure`` and ``input_metric`` are read.
        d_in: how far neighbours are apart in the input metric.
        relation: which datasets are neighbours; by default what the metric says at distance 1.
        delta: where a measurement in a smoothed divergence is asked for its epsilon.
    Raises:
        ParameterError: the metric says nothing of records and no relation is given, or the two
            contradict each other.
        NotImplied: an output measure that no notion here stands for.
    """
    metric = str(measurement.input_metric)
    nearest = next((one for name, one in NEIGHBOURS.items() if metric.startswith(name)), None)
    if relation is None:
        if nearest is None or d_in != 1:
            allowed = f"given: {metric} at distance {d_in} does not say it"
            raise ParameterError("relation", relation, allowed)
        relation = nearest
    elif nearest is not None and d_in == 1 and nearest != relation:
        raise ParameterError("relation", relation, f"{nearest}, which {metric} at distance 1 means")
    elif nearest is not None and not _near(d_in, nearest, relation):
        allowed = f"at least the distance in {metric} of {relation} neighbours"
        raise ParameterError("d_in", d_in, allowed)
    measure, loss = str(measurement.output_measure), measurement.map(d_in)
    if measure.startswith("MaxDivergence"):
        return PureDP(epsilon=loss, relation=relation)
    if measure.startswith("ZeroConcentratedDivergence"):
        return ZCDP(rho=loss, relation=relation)
    if measure.startswith(("FixedSmoothedMaxDivergence", "Approximate(MaxDivergence")):
        epsilon, missing = loss
        return ApproxDP(epsilon=epsilon, delta=missing, relation=relation)
    if measure.startswith("SmoothedMaxDivergence"):
        if delta is None:
            raise ParameterError("delta", delta, f"given: {measure} is a curve")
        at = float_down(probability(delta=delta))
        return ApproxDP(epsilon=loss.epsilon(delta=at), delta=delta, relation=relation)
    raise NotImplied(
        f"no notion here stands for {measure}; cast the measurement to MaxDivergence, "
        "ZeroConcentratedDivergence or Approximate(MaxDivergence)"
    )


def _near(distance: Any, own: Relation, relation: Relation) -> bool:  # noqa: ANN401  # as d_in
    """Return whether neighbours are within a distance: to replace is to remove and add."""
    if isinstance(relation, AddRemove) and not isinstance(own, AddRemove):
        return False  # no number of replacements adds a record
    steps = 2 if isinstance(own, AddRemove) and not isinstance(relation, AddRemove) else 1
    return bool(distance >= steps)


def to_opendp(
    guarantee: Guarantee[Any],
    function: Callable[[Any], Any],
    *,
    input_domain: Any,  # noqa: ANN401  # of a library without types
    input_metric: Any,  # noqa: ANN401  # as above
    delta: Number | None = None,
) -> Any:  # noqa: ANN401  # as above
    """Return a measurement of OpenDP whose privacy map is a guarantee's upper end.

    epsilon-DP becomes MaxDivergence, zCDP and GDP ZeroConcentratedDivergence, (epsilon, delta)-DP
    and any guarantee at a delta Approximate(MaxDivergence). At a distance above 1 the map is that
    of a group. OpenDP believes a user's measurement: enable its features contrib and
    honest-but-curious.

    Args:
        guarantee: what the function satisfies between neighbours.
        function: from a dataset of the domain to a release; the mechanism itself.
        input_domain: what datasets are.
        input_metric: counts the records that differ, as the guarantee's relation does.
        delta: where the guarantee is asked for its epsilon, unless it states one in OpenDP's terms.
    Raises:
        InputError: OpenDP is not installed.
        NotImplied: no metric of OpenDP counts steps of the relation.
        ParameterError: a metric of another relation, or no delta where one is needed.
    """
    try:
        library = importlib.import_module("opendp.prelude")
    except ImportError:
        raise InputError("this needs OpenDP: pip install opendp") from None
    require_single(guarantee, "a measurement")
    _require_metric(guarantee.relation, str(input_metric))
    if isinstance(guarantee, GDP):
        guarantee = convert(guarantee, to=ZCDP)
    if delta is None and not isinstance(guarantee, PureDP | ZCDP | ApproxDP):
        raise ParameterError("delta", delta, f"given: {guarantee.describe()} states no epsilon")
    if delta is not None or isinstance(guarantee, ApproxDP):
        measure = library.approximate(library.max_divergence())
    elif isinstance(guarantee, ZCDP):
        measure = library.zero_concentrated_divergence()
    else:
        measure = library.max_divergence()
    at = None if delta is None else float_down(probability(delta=delta))
    return library.m.make_user_measurement(
        input_domain,
        input_metric,
        output_measure=measure,
        function=function,
        privacy_map=lambda distance: loss_at(guarantee, distance, at),
    )


def loss_at(
    guarantee: Guarantee[Any], distance: int, delta: float | None
) -> float | tuple[float, float]:
    """Return what OpenDP calls the loss at a distance, as floats rounded up."""
    pair = delta is not None or isinstance(guarantee, ApproxDP)
    if distance == 0:
        return (0.0, 0.0) if pair else 0.0
    guarantee_at = group(guarantee, size=distance)
    if delta is not None:
        return guarantee_at.epsilon(delta=delta).upper, delta
    if isinstance(guarantee_at, ApproxDP):
        stated = (guarantee_at.stated_epsilon, guarantee_at.stated_delta)
        epsilon, failures = map(float_up, stated)
        return (epsilon, failures) if math.isfinite(epsilon) else (math.inf, 1.0)
    if isinstance(guarantee_at, ZCDP):
        return float_up(guarantee_at.rho)
    return float_up(convert(guarantee_at, to=PureDP).stated_epsilon)


def _require_metric(relation: Relation, metric: str) -> None:
    """Refuse a metric that does not count steps of the relation."""
    fitting = [name for name, one in NEIGHBOURS.items() if one == relation]
    if not fitting:
        raise NotImplied(
            f"no metric of OpenDP counts steps of {relation}; state the guarantee under "
            "AddRemove() or ReplaceOne()"
        )
    if not metric.startswith(tuple(fitting)):
        raise ParameterError("input_metric", metric, f"{' or '.join(fitting)} for {relation}")
