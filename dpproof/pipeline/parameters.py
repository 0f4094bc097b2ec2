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
@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A number that a stage may carry."""

    rule: Rule
    # Whether a larger value protects more; None where calibrating makes no sense.
    more_is_private: bool | None
    whole: bool = False  # whether it counts things
    words: str


PARAMETERS: Mapping[str, Parameter] = {
    "noise_multiplier": Parameter(rule=POSITIVE, more_is_private=True, words="noise multiplier"),
    "sigma": Parameter(rule=POSITIVE, more_is_private=True, words="sigma"),
    "scale": Parameter(rule=POSITIVE, more_is_private=True, words="scale"),
    "beta": Parameter(rule=POSITIVE, more_is_private=False, words="smoothness of the bound"),
    "variance": Parameter(rule=POSITIVE, more_is_private=True, words="variance"),
    "threshold_scale": Parameter(
        rule=POSITIVE, more_is_private=True, words="scale of the threshold's noise"
    ),
    "query_scale": Parameter(
        rule=POSITIVE, more_is_private=True, words="scale of the queries' noise"
    ),
    "threshold_sigma": Parameter(
        rule=POSITIVE, more_is_private=True, words="sigma of the threshold's noise"
    ),
    "query_sigma": Parameter(
        rule=POSITIVE, more_is_private=True, words="sigma of the queries' noise"
    ),
    "queries": Parameter(rule=COUNT, more_is_private=False, whole=True, words="queries at most"),
    "cutoff": Parameter(rule=COUNT, more_is_private=False, whole=True, words="answers"),
    "sensitivity": Parameter(rule=POSITIVE, more_is_private=None, words="sensitivity"),
    "each": Parameter(rule=POSITIVE, more_is_private=None, words="largest change of a number"),
    "contribution": Parameter(rule=POSITIVE, more_is_private=None, words="contribution"),
    "contributions": Parameter(
        rule=COUNT, more_is_private=False, whole=True, words="cells of one record"
    ),
    "largest": Parameter(
        rule=COUNT, more_is_private=False, whole=True, words="largest count of a record in a cell"
    ),
    "lower": Parameter(rule=REAL, more_is_private=None, words="values of at least"),
    "upper": Parameter(rule=REAL, more_is_private=None, words="values of at most"),
    "delta": Parameter(rule=INSIDE, more_is_private=False, words="delta"),
    "rho": Parameter(rule=POSITIVE, more_is_private=False, words="rho"),
    "mu": Parameter(rule=POSITIVE, more_is_private=False, words="mu"),
    "rising": Parameter(rule=FLAG, more_is_private=None, whole=True, words="rising"),
    "gap": Parameter(rule=FLAG, more_is_private=None, whole=True, words="gaps released"),
    "monotone": Parameter(rule=FLAG, more_is_private=None, whole=True, words="monotone"),
    "epsilon": Parameter(rule=POSITIVE, more_is_private=False, words="epsilon"),
    "categories": Parameter(rule=COUNT, more_is_private=None, whole=True, words="categories"),
    "f": Parameter(rule=CHANCE, more_is_private=None, words="f"),
    "one": Parameter(rule=CHANCE, more_is_private=None, words="report of a set bit"),
    "zero": Parameter(rule=CHANCE, more_is_private=None, words="report of another bit"),
    "rate": Parameter(rule=RATE, more_is_private=False, words="sampling rate"),
    "sample_size": Parameter(rule=COUNT, more_is_private=False, whole=True, words="sample size"),
    "population_size": Parameter(
        rule=COUNT, more_is_private=None, whole=True, words="population size"
    ),
    "batches": Parameter(rule=COUNT, more_is_private=None, whole=True, words="batches of an epoch"),
    "cycle": Parameter(rule=COUNT, more_is_private=None, whole=True, words="parts in turn"),
    "rounds": Parameter(rule=COUNT, more_is_private=False, whole=True, words="rounds"),
    "bands": Parameter(rule=COUNT, more_is_private=None, whole=True, words="bands"),
    "separation": Parameter(
        rule=COUNT,
        more_is_private=None,
        whole=True,
        words="rounds from one of a record to the next",
    ),
    "participations": Parameter(
        rule=COUNT, more_is_private=False, whole=True, words="rounds of a record at most"
    ),
    "epochs": Parameter(rule=COUNT, more_is_private=False, whole=True, words="epochs in one order"),
    "count_sigma": Parameter(rule=POSITIVE, more_is_private=True, words="sigma of the counts"),
    "classes": Parameter(rule=COUNT, more_is_private=None, whole=True, words="classes"),
    "regulariser": Parameter(rule=POSITIVE, more_is_private=None, words="regulariser"),
    "norm": Parameter(rule=POSITIVE, more_is_private=None, words="rows of norm at most"),
    "places": Parameter(rule=COUNT, more_is_private=None, whole=True, words="places of a pattern"),
    "steps": Parameter(rule=COUNT, more_is_private=False, whole=True, words="steps"),
    "stop_scale": Parameter(
        rule=POSITIVE, more_is_private=True, words="scale of the stopping test's noise"
    ),
    "stop_sigma": Parameter(
        rule=POSITIVE, more_is_private=True, words="sigma of the stopping test's noise"
    ),
    "choice_epsilon": Parameter(
        rule=POSITIVE, more_is_private=False, words="epsilon of the choice of a state"
    ),
    "batch_size": Parameter(
        rule=COUNT, more_is_private=False, whole=True, words="records in the batch of each step"
    ),
    "batch_rate": Parameter(rule=RATE, more_is_private=False, words="sampling rate of each step"),
    "records": Parameter(rule=COUNT, more_is_private=None, whole=True, words="records"),
    "gamma": Parameter(rule=INSIDE, more_is_private=True, words="gamma of the number of runs"),
    "count": Parameter(rule=COUNT, more_is_private=False, whole=True, words="count"),
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
