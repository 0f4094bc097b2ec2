"""Guarantees of mechanisms of others, taken as they are stated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpproof.accountant import arguments
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.accountant.run_counts.law import BinomialRuns, FixedRuns, PoissonRuns, RunLaw
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.errors import placed
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.samplers.rng import Rng
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

Values = Mapping[str, Fraction]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """A law of the number of runs that a pipeline file can name.

    Attributes:
        parameters: its numbers, all of them needed, with their domains.
        build: the law, from their values.
        by_mean: its parameters with ``mean`` in the place of one, and what that one is; None if
            the mean is a parameter, or given otherwise.
    """

    parameters: Mapping[str, Rule]
    build: Callable[[Values], RunLaw]
    by_mean: tuple[str, Callable[[Values], Fraction]] | None = None


RUNS: Mapping[str, Runs] = {
    "geometric": Runs(
        parameters={"gamma": INSIDE},
        build=lambda given: TruncatedNegativeBinomial(eta=1, gamma=given["gamma"]),
        by_mean=("gamma", lambda given: 1 / given["mean"]),
    ),
    "logarithmic": Runs(
        parameters={"gamma": INSIDE},
        build=lambda given: TruncatedNegativeBinomial(eta=0, gamma=given["gamma"]),
        by_mean=("gamma", lambda given: _gamma(Fraction(0), given["mean"])),
    ),
    "truncated-negative-binomial": Runs(
        parameters={"eta": ABOVE_MINUS_ONE, "gamma": INSIDE},
        build=lambda given: TruncatedNegativeBinomial(eta=given["eta"], gamma=given["gamma"]),
        by_mean=("gamma", lambda given: _gamma(given["eta"], given["mean"])),
    ),
    "poisson": Runs(
        parameters={"rate": POSITIVE},
        build=lambda given: PoissonRuns(rate=given["rate"]),
        by_mean=("rate", lambda given: given["mean"]),
    ),
    "binomial": Runs(
        parameters={"trials": COUNT, "probability": INSIDE},
        build=lambda given: BinomialRuns(
            trials=int(given["trials"]), probability=given["probability"]
        ),
        by_mean=("probability", lambda given: given["mean"] / given["trials"]),
    ),
    "fixed": Runs(
        parameters={"count": COUNT}, build=lambda given: FixedRuns(count=int(given["count"]))
    ),
}


def selection(section: Section) -> RunLaw:
    """Return the law of a stage's ``select = { … }`` table.

    Raises:
        InputError: anything is wrong with it.
    """
    table = section.table("select", A_SELECTION)
    names = [name for law in RUNS.values() for name in law.parameters]
    table.only(["runs", *dict.fromkeys(names), "mean"])
    name = table.choice("runs", RUNS)
    law = RUNS[name]
    rules, replaced = dict(law.parameters), ""
    if "mean" in table.values and law.by_mean is not None:
        replaced = law.by_mean[0]
        rules = {key: rule for key, rule in rules.items() if key != replaced}
        rules["mean"] = POSITIVE
    for key in table.values:
        if key not in ("runs", *rules):
            raise table.refuse(key, f"not a parameter here: {name} takes {' and '.join(rules)}")
    numbers = {key: table.number(key, rule) for key, rule in rules.items()}
    with placed(f"{section.place}: select"):
        if replaced and law.by_mean is not None:
            numbers[replaced] = law.by_mean[1](numbers)
        return law.build(numbers)


def _gamma(eta: Fraction, mean: Fraction) -> Fraction:
    """Return the gamma at which a truncated negative binomial law has nearly this mean.

    Any gamma is a law: it is this one that is accounted for, and shown.

    Raises:
        ParameterError: the mean is not above 1, or beyond what any gamma above 1e-12 gives.
    """

    def many(log_gamma: float) -> bool:  # the mean falls as gamma grows
        gamma = Fraction(math.exp(log_gamma))
        return TruncatedNegativeBinomial(eta=eta, gamma=gamma).mean >= mean

    gamma = Fraction(math.exp(bisect(many, -27.0, -1e-9, rounds=80)[1]))
    reached = TruncatedNegativeBinomial(eta=eta, gamma=gamma).mean
    if not mean > 1 or abs(reached - mean) > mean * Fraction(1, 10**6):
        raise ParameterError("mean", float(mean), "above 1 and within reach of gamma >= 1e-12")
    return gamma
