"""Guarantees of mechanisms of others, taken as they are stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.errors import placed
from dpproof.mechanisms import Mechanism, Rng
from dpproof.mechanisms.mechanism import Outputs
from dpproof.pipeline.section import COUNT, INSIDE, POSITIVE, Rule, Section


@final
@dataclass(frozen=True, slots=True)
class Stated(Mechanism[Relation]):
    """A mechanism of which only a guarantee is known: it is accounted for, and does not run here.

    Attributes:
        stated: the statement of others about it, an assumption of everything that follows.
    """

    stated: Guarantee[Relation]

    def __post_init__(self) -> None:
        """Refuse anything but a guarantee.

        Raises:
            ParameterError: it is none.
        """
        if not isinstance(self.stated, Guarantee):
            raise ParameterError("stated", self.stated, "a guarantee, such as PureDP(epsilon=1)")

    @property
    def relation(self) -> Relation:
        """Return the relation of the guarantee."""
        return self.stated.relation

    @property
    def acts_on_records(self) -> bool:
        """Return True: what it does with data is not known here."""
        return True

    def guarantee(self) -> Guarantee[Relation]:
        """Return what is stated."""
        return self.stated

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:  # noqa: ARG002
        """Refuse to run.

        Raises:
            NotImplied: always.
        """
        raise NotImplied(f"{self.stated.describe()} is stated of a mechanism that is not here")


A_SELECTION = 'a table such as { runs = "geometric", gamma = 0.1 }'
ABOVE_MINUS_ONE = Rule(arguments.real, "a finite number above -1")


@final
@dataclass(frozen=True, slots=True)
class Runs:
    """A law of the number of runs that a pipeline file can name."""

    # The law, from its numbers or, unless it is fixed, ``mean`` in place of the last.
    build: Callable[..., RunLaw]
    parameters: Mapping[str, Rule]  # its numbers, with their domains


RUNS: Mapping[str, Runs] = {
    "geometric": Runs(partial(TruncatedNegativeBinomial, eta=1), {"gamma": INSIDE}),
    "logarithmic": Runs(partial(TruncatedNegativeBinomial, eta=0), {"gamma": INSIDE}),
    "truncated-negative-binomial": Runs(
        TruncatedNegativeBinomial, {"eta": ABOVE_MINUS_ONE, "gamma": INSIDE}
    ),
    "poisson": Runs(PoissonRuns, {"rate": POSITIVE}),
    "binomial": Runs(BinomialRuns, {"trials": COUNT, "probability": INSIDE}),
    "fixed": Runs(FixedRuns, {"count": COUNT}),
}


def selection(section: Section) -> RunLaw:
    """Return the law of a stage's ``select = { … }`` table."""
    table = section.table("select", A_SELECTION)
    names = [name for law in RUNS.values() for name in law.parameters]
    table.only(["runs", *dict.fromkeys(names), "mean"])
    name = table.choice("runs", RUNS)
    rules = dict(RUNS[name].parameters)
    if "mean" in table.values and name != "fixed":
        rules.popitem()
        rules["mean"] = POSITIVE
    for key in table.values:
        if key not in ("runs", *rules):
            raise table.refuse(key, f"not a parameter here: {name} takes {' and '.join(rules)}")
    numbers = {key: table.number(key, rule) for key, rule in rules.items()}
    with placed(f"{section.place}: select"):
        law = {key: int(n) if rules[key] is COUNT else n for key, n in numbers.items()}
        return RUNS[name].build(**law)
