"""The words of pipeline files: mechanisms, selections, and guarantees as others state them.

Adding a mechanism to pipeline files is adding one entry to ``KINDS`` of its family in ``kinds/``.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from dpproof.accountant import GDP, RDP, ZCDP, ApproxDP, PureDP, arguments
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
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters
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
        """Refuse anything but a guarantee."""
        if not isinstance(self.stated, Guarantee):
            raise ParameterError("stated", self.stated, "a guarantee, such as PureDP(epsilon=1)")

    @property
    def relation(self) -> Relation:
        """Return the relation of the guarantee."""
        return self.stated.relation

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


def _stated(release: ReleaseParameters) -> Mechanism[Relation]:
    values, relation = release.values, release.relation
    if "points" in release.rows:
        points = tuple((order, value) for order, value in release.rows["points"])
        return Stated(RDP(points=points, relation=relation))
    if "rho" in values:
        return Stated(ZCDP(rho=values["rho"], relation=relation))
    if "mu" in values:
        return Stated(GDP(mu=values["mu"], relation=relation))
    if "delta" in values:
        claim = ApproxDP(epsilon=values["epsilon"], delta=values["delta"], relation=relation)
        return Stated(claim)
    return Stated(PureDP(epsilon=values["epsilon"], relation=relation))


_STATED: Mapping[str, Kind] = {
    "stated": Kind(
        words="stated by others",
        forms=(("epsilon",), ("epsilon", "delta"), ("rho",), ("mu",), ("points",)),
        build=_stated,
    )
}


def _families() -> Iterator[Mapping[str, Kind]]:
    """Yield the words family by family, each imported when it is reached, as learners are many."""
    for name in ("noise", "correlated", "choices", "learning"):
        yield importlib.import_module(f"dpproof.pipeline.kinds.{name}").KINDS
        if name == "noise":
            yield _STATED


@final
class _Words(Mapping[str, Kind]):
    """All words of pipeline files."""

    __slots__ = ()

    def __getitem__(self, word: str) -> Kind:
        """Return what a word means."""
        for family in _families():
            if word in family:
                return family[word]
        raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        """Yield every word."""
        for family in _families():
            yield from family

    def __len__(self) -> int:
        """Return how many words there are."""
        return sum(len(family) for family in _families())


KINDS: Mapping[str, Kind] = _Words()
