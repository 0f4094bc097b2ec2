"""The ``select = { … }`` table of a stage: how many times it runs, the best released.

Adding a law of the number of runs to pipeline files is adding one entry to ``RUNS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from accountant import arguments
from accountant.run_counts.binomial import BinomialRuns
from accountant.run_counts.fixed import FixedRuns
from accountant.run_counts.law import RunLaw
from accountant.run_counts.poisson import PoissonRuns
from accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.errors import placed
from dpproof.pipeline.section import COUNT, INSIDE, POSITIVE, Rule, Section

A_SELECTION = 'a table such as { runs = "geometric", gamma = 0.1 }'
ABOVE_MINUS_ONE = Rule(arguments.real, "a finite number above -1")

Values = Mapping[str, Fraction]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """A law of the number of runs that a pipeline file can name.

    Attributes:
        parameters: its numbers, all of them needed, with their domains.
        build: the law, from their values.
    """

    parameters: Mapping[str, Rule]
    build: Callable[[Values], RunLaw]


RUNS: Mapping[str, Runs] = {
    "geometric": Runs(
        parameters={"gamma": INSIDE},
        build=lambda given: TruncatedNegativeBinomial(eta=1, gamma=given["gamma"]),
    ),
    "logarithmic": Runs(
        parameters={"gamma": INSIDE},
        build=lambda given: TruncatedNegativeBinomial(eta=0, gamma=given["gamma"]),
    ),
    "truncated-negative-binomial": Runs(
        parameters={"eta": ABOVE_MINUS_ONE, "gamma": INSIDE},
        build=lambda given: TruncatedNegativeBinomial(eta=given["eta"], gamma=given["gamma"]),
    ),
    "poisson": Runs(
        parameters={"rate": POSITIVE}, build=lambda given: PoissonRuns(rate=given["rate"])
    ),
    "binomial": Runs(
        parameters={"trials": COUNT, "probability": INSIDE},
        build=lambda given: BinomialRuns(
            trials=int(given["trials"]), probability=given["probability"]
        ),
    ),
    "fixed": Runs(
        parameters={"count": COUNT}, build=lambda given: FixedRuns(count=int(given["count"]))
    ),
}


def selection(section: Section) -> RunLaw:
    """The law of a stage's ``select = { … }`` table.

    Raises:
        InputError: anything is wrong with it.
    """
    table = section.table("select", A_SELECTION)
    names = [name for law in RUNS.values() for name in law.parameters]
    table.only(["runs", *dict.fromkeys(names)])
    name = table.choice("runs", RUNS)
    law = RUNS[name]
    for key in table.values:
        if key not in ("runs", *law.parameters):
            raise table.refuse(
                key, f"not a parameter here: {name} takes {' and '.join(law.parameters)}"
            )
    given = {key: table.number(key, rule) for key, rule in law.parameters.items()}
    with placed(f"{section.place}: select"):
        return law.build(given)
