"""Measurements of OpenDP."""

from __future__ import annotations

from typing import Any, Final

from accountant import ZCDP, ApproxDP, Guarantee, PureDP
from accountant.arguments import Number, probability
from accountant.arithmetic.enclosure import float_down
from accountant.errors import NotImplied, ParameterError
from accountant.relation import AddRemove, Relation, ReplaceOne

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
    found = next((one for name, one in NEIGHBOURS.items() if metric.startswith(name)), None)
    if relation is None:
        if found is None or d_in != 1:
            raise ParameterError(
                "relation", relation, f"given: {metric} at distance {d_in} does not say it"
            )
        relation = found
    elif found is not None and d_in == 1 and found != relation:
        raise ParameterError("relation", relation, f"{found}, which {metric} at distance 1 means")
    elif found is not None and not _near(d_in, found, relation):
        raise ParameterError(
            "d_in", d_in, f"at least the distance in {metric} of {relation} neighbours"
        )
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


def _near(distance: Any, found: Relation, relation: Relation) -> bool:  # noqa: ANN401  # as d_in
    """Whether neighbours are within a distance: to replace a record is to remove and add one."""
    if isinstance(relation, AddRemove) and not isinstance(found, AddRemove):
        return False  # no number of replacements adds a record
    steps = 2 if isinstance(found, AddRemove) and not isinstance(relation, AddRemove) else 1
    return bool(distance >= steps)
