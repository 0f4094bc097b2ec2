"""Answers as JSON values. Floats are exact; an infinite end is the text ``"inf"``."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dpproof.accountant.bound import Bound
from dpproof.commands.budget import Budget

if TYPE_CHECKING:  # a budget does not wait for the search
    from dpproof.commands.calibrate import Solved

Json = dict[str, object]


def bound(value: Bound) -> Json:
    """Return both ends of a bracket as JSON."""
    ends = {"lower": _end(value.lower), "upper": _end(value.upper)}
    return {**ends, "attained": value.attained}


def budget(spent: Budget) -> Json:
    """Return the answer of ``dpproof budget --json``."""
    pipeline = spent.pipeline
    return {
        "epsilon": bound(spent.epsilon),
        "delta": float(pipeline.delta),
        "relation": pipeline.relation.name,
        "protect": pipeline.protect,
        "budget": _optional(pipeline.epsilon),
        "within_budget": spent.within_budget,
        "stages": [
            {
                "name": cost.stage.name,
                "epsilon": bound(cost.epsilon),
                "one_run": None if cost.one_run is None else bound(cost.one_run),
                "factor": _finite(cost.factor),
                "share": cost.share,
                "stages": [{"name": name, "epsilon": bound(one)} for name, one in cost.inner],
                "poisson_accounting": None if cost.poisson is None else bound(cost.poisson),
            }
            for cost in spent.stages
        ],
        "others": None
        if spent.rest is None
        else {"count": len(spent.stages) - len(spent.largest), "epsilon": bound(spent.rest)},
        "mu": bound(spent.mu),
        "advantage": bound(spent.advantage),
        "true_positive_rate": [
            {"false_positive_rate": float(rate), **bound(power)}
            for rate, power in spent.true_positive_rates
        ],
        "missing": list(spent.missing),
        "implied": list(spent.implied),
    }


def solved(answer: Solved) -> Json:
    """Return the answer of ``dpproof calibrate --json``."""
    return {
        "stage": answer.free.stage.name,
        "parameter": answer.free.address,
        "value": answer.value,
        "epsilon": bound(answer.epsilon),
        "delta": float(answer.free.pipeline.delta),
        "budget": _optional(answer.free.pipeline.epsilon),
        "exact": not answer.rough,
    }


def _end(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _finite(value: float | None) -> float | str | None:
    return None if value is None else _end(value)


def _optional(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
