"""The numbers that stages of pipeline files carry: their domains, directions and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from dpproof.pipeline.section import (
    CHANCE,
    COUNT,
    FLAG,
    INDEX,
    INSIDE,
    POSITIVE,
    RATE,
    REAL,
    RowsRule,
    Rule,
)


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a stage may carry."""

    rule: Rule
    # Whether a larger value protects more; None where calibrating makes no sense.
    more_is_private: bool | None
    words: str

    @property
    def whole(self) -> bool:
        """Return whether it counts things."""
        return self.rule in (COUNT, FLAG)


PARAMETERS: Mapping[str, Parameter] = {
    "noise_multiplier": Parameter(POSITIVE, True, "noise multiplier"),
    "sigma": Parameter(POSITIVE, True, "sigma"),
    "scale": Parameter(POSITIVE, True, "scale"),
    "beta": Parameter(POSITIVE, False, "smoothness of the bound"),
    "variance": Parameter(POSITIVE, True, "variance"),
    "threshold_scale": Parameter(POSITIVE, True, "scale of the threshold's noise"),
    "query_scale": Parameter(POSITIVE, True, "scale of the queries' noise"),
    "threshold_sigma": Parameter(POSITIVE, True, "sigma of the threshold's noise"),
    "query_sigma": Parameter(POSITIVE, True, "sigma of the queries' noise"),
    "queries": Parameter(COUNT, False, "queries at most"),
    "cutoff": Parameter(COUNT, False, "answers"),
    "sensitivity": Parameter(POSITIVE, None, "sensitivity"),
    "each": Parameter(POSITIVE, None, "largest change of a number"),
    "contribution": Parameter(POSITIVE, None, "contribution"),
    "contributions": Parameter(COUNT, False, "cells of one record"),
    "largest": Parameter(COUNT, False, "largest count of a record in a cell"),
    "lower": Parameter(REAL, None, "values of at least"),
    "upper": Parameter(REAL, None, "values of at most"),
    "delta": Parameter(INSIDE, False, "delta"),
    "rho": Parameter(POSITIVE, False, "rho"),
    "mu": Parameter(POSITIVE, False, "mu"),
    "rising": Parameter(FLAG, None, "rising"),
    "gap": Parameter(FLAG, None, "gaps released"),
    "monotone": Parameter(FLAG, None, "monotone"),
    "epsilon": Parameter(POSITIVE, False, "epsilon"),
    "categories": Parameter(COUNT, None, "categories"),
    "f": Parameter(CHANCE, None, "f"),
    "one": Parameter(CHANCE, None, "report of a set bit"),
    "zero": Parameter(CHANCE, None, "report of another bit"),
    "rate": Parameter(RATE, False, "sampling rate"),
    "sample_size": Parameter(COUNT, False, "sample size"),
    "population_size": Parameter(COUNT, None, "population size"),
    "batches": Parameter(COUNT, None, "batches of an epoch"),
    "cycle": Parameter(COUNT, None, "parts in turn"),
    "rounds": Parameter(COUNT, False, "rounds"),
    "bands": Parameter(COUNT, None, "bands"),
    "separation": Parameter(COUNT, None, "rounds from one of a record to the next"),
    "participations": Parameter(COUNT, False, "rounds of a record at most"),
    "epochs": Parameter(COUNT, False, "epochs in one order"),
    "count_sigma": Parameter(POSITIVE, True, "sigma of the counts"),
    "classes": Parameter(COUNT, None, "classes"),
    "regulariser": Parameter(POSITIVE, None, "regulariser"),
    "norm": Parameter(POSITIVE, None, "rows of norm at most"),
    "places": Parameter(COUNT, None, "places of a pattern"),
    "steps": Parameter(COUNT, False, "steps"),
    "stop_scale": Parameter(POSITIVE, True, "scale of the stopping test's noise"),
    "stop_sigma": Parameter(POSITIVE, True, "sigma of the stopping test's noise"),
    "choice_epsilon": Parameter(POSITIVE, False, "epsilon of the choice of a state"),
    "batch_size": Parameter(COUNT, False, "records in the batch of each step"),
    "batch_rate": Parameter(RATE, False, "sampling rate of each step"),
    "records": Parameter(COUNT, None, "records"),
    "gamma": Parameter(INSIDE, True, "gamma of the number of runs"),
    "count": Parameter(COUNT, False, "count"),
}

ROWS: Mapping[str, RowsRule] = {
    "points": RowsRule(
        POSITIVE, "an array of arrays [order, divergence]", columns=("order", "divergence")
    ),
    "table": RowsRule(CHANCE, "an array of arrays of probabilities, one for each dataset"),
    "neighbours": RowsRule(
        INDEX, "an array of arrays [dataset, dataset], counted from 0", columns=("one", "other")
    ),
    "covariance": RowsRule(REAL, "an array of arrays of numbers, the rows of a matrix"),
    "differences": RowsRule(REAL, "an array of arrays of numbers, each a change of the query"),
    "coefficients": RowsRule(REAL, "an array of one array of numbers, [[1, 0.5]]"),
    "buffers": RowsRule(
        POSITIVE, "an array of arrays [weight, decay]", columns=("weight", "decay")
    ),
    "factor": RowsRule(REAL, "an array of arrays of numbers, the rows of a triangular matrix"),
}
