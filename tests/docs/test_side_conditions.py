"""What a theorem assumes: its docstring, its derivation and the checker's verdict agree."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, Final

import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    ZCDP,
    AddRemove,
    ApproxDPFilter,
    BoundedRange,
    CyclicPoisson,
    FixedRuns,
    GDPFilter,
    Guarantee,
    JointSensitivity,
    L2Contribution,
    LInf,
    Poisson,
    PoissonRuns,
    PrivacyFilter,
    PureDP,
    RandomAllocation,
    RenyiFilter,
    ReplaceOne,
    SamplingScheme,
    Shuffle,
    ShuffledBatches,
    TruncatedNegativeBinomial,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
    ZCDPFilter,
    ZeroOut,
    choice,
    compose,
    compose_concurrent,
    group,
    mixture,
    parallel_compose,
    select,
    self_compose,
)
from dpproof.accountant.adaptive.several_filters import limits, several_filters
from dpproof.accountant.theorems.parallel import parallel_positions
from dpproof.accountant.theorems.selection import select_above
from dpproof.accountant.theorems.subsampling import repeated_positions, subsample_poisson
from dpproof.mechanisms import (
    AboveThreshold,
    AveragedPerturbation,
    CorrelatedGaussian,
    Cube,
    DiscreteGaussian,
    ExponentialMechanism,
    FiniteMechanism,
    Gaussian,
    GaussianAboveThreshold,
    GaussianSeparator,
    Grid,
    Histogram,
    Laplace,
    LogisticObjective,
    MatrixMechanism,
    MilpOracle,
    MinSeparation,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    ReportNoisyMax,
    SeparatorPerturbation,
    Skellam,
    SmoothBound,
    SmoothSensitivity,
    SphereLift,
    ThresholdedCounts,
    Toeplitz,
    UnaryEncoding,
)
from dpproof.proofs.core.rule import Application, Rule
from dpproof.proofs.kernel import check
from dpproof.proofs.rules import RULES
from tests.proofs.corpus import COMPUTATIONS, DELTA

PAGE = import_module("scripts.theorems")
RUNS = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 2))
BLANK = ZeroOut()
IMPLIED = {"mechanism/gaussian": {"sum of contributions"}}  # it only makes the sensitivity
CERTIFICATES_ALONE = {"select/profile", "compose/ranges"}  # other rules for a theorem's node
RENAMED = {theorem: rules[0] for theorem, rules in PAGE.APPLIED.items() if len(rules) == 1}
RENAMED["repeat/pair"] = "compose/pair"

VERDICTS: Final = {
    "fixed in advance": r"fixed before any output is seen",
    "own randomness": r"^(runs .*(the same data|parts|positions)|draws one of ).*fresh randomness",
    "public draw": r"draws one of .* the same for all datasets, looking at no data",
    "split by record": r"a part that depends on that record alone(?! or)",
    "split by position": r"disjoint sets of positions, split by a law that looks at no record",
    "split kept by blanking": r"on nothing of it that blanking it changes",
    "parts apart": r"none of which looks at what another releases",
    "outputs alone": r"^has as its result a function of that of M\d+",
    "each record mapped alone": r"of which each is mapped to one that depends on that record alone",
    "independent sampling": r"holds every record independently with probability",
    "repeated positions": r"each position is drawn uniformly and independently from \d+",
    "shuffled reports": r"each of \d+ records .*(how often each|in an order that is)",
    "uniform subset": r"all such subsets equally likely, in random order if their order matters",
    "counted sample": r"\d+ times taking every record independently .* as it was taken",
    "draws with replacement": r"\d+ times choosing one of the records, all equally likely",
    "truncated sample": r"where more than \d+ are taken, \d+ are kept, all such subsets equally",
    "subset of one size": r"draws a sample of \d+ of the records, all such subsets equally likely",
    "hidden sample": r"((on a|draws a) sample|in every round) .*only the results are used",
    "blank ignored": r"treats a blank record as if it were not there",
    "blank adds nothing": r"adds nothing to the exact sum for a blank record",
    "independent number of runs": r"a number of times that is drawn independently of everything",
    "score of the output": r"a score that .* looks at an output alone; ties are broken at random",
    "best output alone": r"of the outputs only the best.* neither the number of runs, nor which",
    "score and fixed threshold": r"looks at an output alone; score and threshold are fixed",
    "first output alone": r"only that output, or that none did, and neither the number of runs",
    "random allocation": r"every record draws \d+ of \d+, uniformly, and independently",
    "cyclic sample": r"in round i from part i mod \d+ of the records; .* a record belongs to",
    "shuffled batches": r"order that is drawn uniformly and fills \d+ batches in it",
    "participation": r"for equal earlier results this moves by at most .* and in no other round",
    "sum of contributions": r"of at most .* in L2 norm that depends on no other record",
    "sensitivity": r"(?<!equal earlier results this )mov(es|ing) by at most .* between",
    "smooth bound": r"moves by at most the bound of either, and the bounds differ by a factor",
    "proposed bound": r"distance, .* at most 1 apart for .* 0 where the value moves by more",
    "few cells": r"at most \d+ of (which|them) move, each by at most \d+, between",
    "one shape": r"numbers, as long for every dataset|a number, as one for every dataset|"
    r"the same for all datasets; each score",
    "random bits": r"^(?!runs |draws one of |has as ).*fresh randomness",
    "output alone": r"^(?!runs |draws one of |has as |releases a candidate|computes the exact|"
    r"adds up \d+ vectors).*only the results are used",
    "monotone scores": r"no two (scores|queries) that move in opposite directions",
    "rising queries": r"no query that is smaller on the dataset that has what the other lacks",
    "same candidates": r"candidates that is the same for all datasets",
    "perturbed choice": r"releases a candidate w .* an integer objective of the data plus",
    "lifted choice": r"minimises an integer objective of the data minus <k, psi\(w\)>",
    "averaged choices": r"adds up \d+ vectors of \d+ integers from a box",
    "near minimum": r"misses the minimum of that sum, .*, by at most \d+, whatever the data",
    "spherical minimum": r"exact minimum over all w .* ideal spherical noise",
    "perturbed minimum": r"exact minimum over all w .* ideal Gaussian noise .*nothing else",
    "asked at once": r"one analyst asks them at the same time, .* who asks it alone",
    "spent before": r"chosen after looking at .* before (each|it)|true of it given that",
    "categories": r"one of \d+ categories, the same list for all datasets",
}
"""How the checker, which shares no words with the library, says each condition."""


def _disjoint_blanks() -> Guarantee[Any]:
    return parallel_compose(GDP(mu=1, relation=BLANK), GDP(mu=2, relation=BLANK))


def _disjoint_choices() -> Guarantee[Any]:
    return parallel_compose(BoundedRange(epsilon=1), BoundedRange(epsilon=2))


def _sampled_blanks() -> Guarantee[Any]:
    return subsample_poisson(GDP(mu=1, relation=BLANK), Poisson(sampling_rate=Fraction(1, 8)))


def _sampled_sum() -> Guarantee[Any]:
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(1, ReplaceOne()))
    return noise.subsample(Poisson(sampling_rate=Fraction(1, 8))).guarantee()


COUNTED: Final[tuple[SamplingScheme, ...]] = (
    WithoutReplacement(sample_size=2, population_size=9),
    WithReplacement(sample_size=2, population_size=9),
    TruncatedPoisson(sampling_rate=Fraction(1, 8), largest=2, population_size=9),
    UserPoisson(sampling_rate=Fraction(1, 8), contributions=2),
)


def _counted_sum(scheme: SamplingScheme) -> Guarantee[Any]:
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(1))
    return noise.subsample(scheme).guarantee()


def _blank_counted(place: int) -> Guarantee[Any]:
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(1, BLANK))
    return noise.subsample(COUNTED[place]).guarantee()


def _threshold(*, monotone: bool) -> Guarantee[Any]:
    return AboveThreshold(
        threshold_scale=1, query_scale=2, monotone=monotone, sensitivity=LInf(1)
    ).guarantee()


def _normal_threshold(flag: str) -> Guarantee[Any]:
    flags: dict[str, Any] = {} if flag == "any" else {flag: True}
    return GaussianAboveThreshold(
        threshold_sigma=5, query_sigma=9, queries=4, sensitivity=LInf(1), **flags
    ).guarantee()


def _spent(budget: PrivacyFilter[Any], *parts: Guarantee[Any]) -> Guarantee[Any]:
    for part in parts:
        budget.spend(part)
    return budget.guarantee()


def _several() -> Guarantee[Any]:
    stated = {"epsilon": Fraction(1), "delta": Fraction(DELTA)}
    found = limits(**stated, ways=("basic", "zcdp", "gdp"))
    return several_filters(**stated, relation=AddRemove(), budgets=found)


FILTERS: Final[Mapping[str, Callable[[], Guarantee[Any]]]] = {
    "zcdp": lambda: _spent(ZCDPFilter(rho=1), ZCDP(rho=1)),
    "gdp": lambda: _spent(GDPFilter(mu=2), GDP(mu=1), GDP(mu=1)),
    "renyi": lambda: _spent(RenyiFilter(order=8, epsilon=1), ZCDP(rho=Fraction(1, 16))),
    "approx": lambda: _spent(ApproxDPFilter(epsilon=1, delta=DELTA), PureDP(epsilon=0.01)),
    "several": _several,
}
NOISY: Final = (ReportNoisyMax, PermuteAndFlip)
ASKED: Final[Mapping[str, Mapping[str, Any]]] = {
    "group": {},
    "allocated": {},
    "allocated several": {},
    "allocated bits": {"delta": 1e-6},
    "allocated blank bits": {"delta": 1e-6},
    "allocated to one round": {},
    "allocated to two rounds": {},
    **{f"filter {name}": {} for name in FILTERS},
    "first": {"epsilon": 0.5},
    "near separator": {"delta": 1e-4},
    "average": {"delta": 1e-4},
}
EXAMPLES: Final[Mapping[str, Callable[[], Guarantee[Any]]]] = {
    **{name: COMPUTATIONS[name] for name in ("noises", "integers", "choices", "curves", "groups")},
    **{name: COMPUTATIONS[name] for name in ("disjoint", "concentrated", "subsets", "sample")},
    "blanks": _disjoint_blanks,
    "ranges": _disjoint_choices,
    "sampled blanks": _sampled_blanks,
    "sampled sum": _sampled_sum,
    **{
        f"counted sum {place}": functools.partial(_counted_sum, scheme)
        for place, scheme in enumerate(COUNTED)
    },
    "blank user": lambda: _blank_counted(-1),
    "blank subset": lambda: _blank_counted(0),
    "blank in a cycle": lambda: (
        MatrixMechanism(
            factor=Toeplitz([1], rounds=4),
            sigma=2,
            sensitivity=L2Contribution(1, BLANK),
            participation=MinSeparation(2),
        )
        .allocate(CyclicPoisson(sampling_rate=Fraction(1, 8), cycle=2))
        .guarantee()
    ),
    "shuffled and replaced": lambda: (
        Gaussian(sigma=2, sensitivity=L2Contribution(1, ReplaceOne()))
        .allocate(ShuffledBatches(batches=3))
        .guarantee()
    ),
    "shuffled": lambda: (
        Gaussian(sigma=2, sensitivity=L2Contribution(1, BLANK))
        .allocate(ShuffledBatches(batches=3))
        .guarantee()
    ),
    "allocated to one round": lambda: (
        Gaussian(sigma=2, sensitivity=L2(1)).allocate(RandomAllocation(steps=3)).guarantee()
    ),
    "allocated blank bits": lambda: (
        Laplace(scale=2, sensitivity=L1(1, BLANK)).allocate(RandomAllocation(steps=3)).guarantee()
    ),
    "allocated bits": lambda: (
        Laplace(scale=2, sensitivity=L1(1)).allocate(RandomAllocation(steps=3)).guarantee()
    ),
    "allocated": lambda: (
        Gaussian(sigma=2, sensitivity=L2(1, BLANK)).allocate(RandomAllocation(steps=3)).guarantee()
    ),
    "allocated to two rounds": lambda: (
        Gaussian(sigma=2, sensitivity=L2(1, BLANK))
        .allocate(RandomAllocation(steps=3, chosen=2))
        .guarantee()
    ),
    "allocated several": lambda: (
        Gaussian(sigma=2, sensitivity=L2(1))
        .allocate(RandomAllocation(steps=3, chosen=2))
        .guarantee()
    ),
    "histogram of responses": lambda: (
        RandomizedResponse(epsilon=1, categories=3, relation=ReplaceOne())
        .shuffle(Shuffle(records=20))
        .guarantee()
    ),
    "shuffled bits": lambda: (
        UnaryEncoding(epsilon=1, categories=3, relation=ReplaceOne())
        .shuffle(Shuffle(records=20))
        .guarantee()
    ),
    "gaussian": lambda: compose(Gaussian(sigma=2, sensitivity=L2(1)).guarantee(), GDP(mu=1)),
    "positions": lambda: parallel_positions(
        GDP(mu=1, relation=ReplaceOne()), GDP(mu=2, relation=ReplaceOne())
    ),
    "repeated positions": lambda: repeated_positions(
        GDP(mu=1, relation=ReplaceOne()), records=4, draws=[1]
    ),
    "mixed draws": lambda: mixture([GDP(mu=1), GDP(mu=2)], weights=[0.25, 0.75]),
    "draws": lambda: choice(GDP(mu=1), GDP(mu=2)),
    "contributions": lambda: Gaussian(sigma=2, sensitivity=L2Contribution(1)).guarantee(),
    "choice": lambda: ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).guarantee(),
    "choices counted": lambda: self_compose(BoundedRange(epsilon=1), 3),
    "table": lambda: FiniteMechanism([[0.75, 0.25], [0.5, 0.5]], relation=AddRemove()).guarantee(),
    "partitions": lambda: PartitionSelection(
        epsilon=2, delta=1e-7, relation=AddRemove()
    ).guarantee(),
    **{
        f"normal threshold {flag}": functools.partial(_normal_threshold, flag)
        for flag in ("any", "monotone", "rising")
    },
    "published": lambda: ThresholdedCounts(scale=2, delta=1e-7, relation=AddRemove()).guarantee(),
    "counts": lambda: Histogram(scale=3, noise="laplace", relation=AddRemove()).guarantee(),
    "bits": lambda: UnaryEncoding(epsilon=1, categories=3, relation=AddRemove()).guarantee(),
    "largest": lambda: compose(*(m(epsilon=1, sensitivity=LInf(1)).guarantee() for m in NOISY)),
    "largest together": lambda: compose(
        *(m(epsilon=1, sensitivity=LInf(1), monotone=True).guarantee() for m in NOISY)
    ),
    "threshold": lambda: _threshold(monotone=False),
    "threshold together": lambda: _threshold(monotone=True),
    "threshold rising": lambda: AboveThreshold(
        threshold_scale=1, query_scale=2, rising=True, sensitivity=LInf(1)
    ).guarantee(),
    "wide": lambda: self_compose(DiscreteGaussian(sigma=9, sensitivity=L2(3)).guarantee(), 2),
    "separator": lambda: SeparatorPerturbation(
        epsilon=1, space=Cube(2), relation=AddRemove()
    ).guarantee(),
    "near separator": lambda: SeparatorPerturbation(
        epsilon=1, space=Cube(2), oracle=MilpOracle(), relation=AddRemove()
    ).guarantee(),
    "lift": lambda: SphereLift(epsilon=1, space=Grid(2, 1), relation=AddRemove()).guarantee(),
    "average": lambda: AveragedPerturbation(
        epsilon=1, delta=1e-6, space=Grid(1, 2), calls=100, rate=0.01, relation=AddRemove()
    ).guarantee(),
    "pure logistic": lambda: LogisticObjective.pure(
        epsilon=1, regulariser=1, relation=AddRemove()
    ).guarantee(),
    "gaussian separator": lambda: GaussianSeparator(
        sigma=2, space=Cube(2), relation=AddRemove()
    ).guarantee(),
    "logistic": lambda: LogisticObjective(sigma=2, regulariser=8, relation=AddRemove()).guarantee(),
    "shifted": lambda: DiscreteGaussian(sigma=9, sensitivity=L1(3)).guarantee(),
    "differences": lambda: Skellam(variance=9, sensitivity=L1(1)).guarantee(),
    "two differences": lambda: Skellam(variance=9, sensitivity=L2(1)).guarantee(),
    "few": lambda: Laplace(
        scale=2, sensitivity=JointSensitivity.few(coordinates=2, each=1)
    ).guarantee(),
    "smooth": lambda: SmoothSensitivity(
        query=len,
        bound=SmoothBound(beta=1, bound=len),
        scale=1,
        granularity=1,
        relation=AddRemove(),
    ).guarantee(),
    "proposed": lambda: ProposeTestRelease(
        release=Gaussian(sigma=1, sensitivity=L2(1), query=len), distance=len, epsilon=1, delta=1e-9
    ).guarantee(),
    "corners": lambda: CorrelatedGaussian([[4, 3], [3, 4]], sensitivity=L1(1)).guarantee(),
    "correlated": lambda: CorrelatedGaussian([[4, 3], [3, 4]], sensitivity=L2(1)).guarantee(),
    "matrix": lambda: MatrixMechanism(
        factor=Toeplitz([1, 0.5], rounds=4),
        sigma=1,
        sensitivity=L2(1),
        participation=MinSeparation(2),
    ).guarantee(),
    "parts in turn": lambda: (
        MatrixMechanism(
            factor=Toeplitz([1, 0.5], rounds=4),
            sigma=1,
            sensitivity=L2Contribution(1),
            participation=MinSeparation(2),
        )
        .allocate(CyclicPoisson(sampling_rate=Fraction(1, 8), cycle=2))
        .guarantee()
    ),
    "at once": lambda: compose_concurrent(ZCDP(rho=1), ZCDP(rho=2)),
    "both": lambda: compose(ZCDP(rho=1), ZCDP(rho=2)),
    "best": lambda: select(Gaussian(sigma=4, sensitivity=L2(1)).guarantee(), RUNS),
    "best of curves": lambda: select(ZCDP(rho=Fraction(1, 100)), PoissonRuns(rate=2)),
    "best of answers": lambda: select(PureDP(epsilon=Fraction(1, 8)), RUNS),
    "first": lambda: select_above(PureDP(epsilon=Fraction(1, 8)), FixedRuns(count=2)),
    **{f"filter {name}": made for name, made in FILTERS.items()},
    "group": lambda: group(compose(PureDP(epsilon=1), ZCDP(rho=1)), size=2),
}

LONG_PROOFS: Final = {"best of answers", "choices", "first"}  # whose certificates take seconds
CONVERTED: Final = sorted(set(COMPUTATIONS) - set(EXAMPLES) - {"rough", "samples", "chained"})


@cache
def assumed() -> Mapping[str, Mapping[str, str]]:
    """The conditions of each rule by the docstrings, each with when it applies."""
    found: dict[str, Mapping[str, str]] = {}
    for theorem in PAGE.theorems():
        if theorem.assumes and not theorem.assumes.startswith("what the theorem"):
            for rule in theorem.rules:
                conditions = PAGE.conditions(theorem.assumes)
                assert found.setdefault(rule, conditions) == conditions, rule
    return found


def listed(assumptions: tuple[str, ...]) -> set[str]:
    """The conditions that a derivation lists; every assumption is exactly one."""
    names = []
    for text in assumptions:
        said = [name for name, one in PAGE.CONDITIONS.items() if _is_said(one.text, text)]
        assert len(said) == 1, (text, said)
        names += said
    assert len(names) == len(set(names)), names
    return set(names)


def applied(name: str) -> Iterator[tuple[str, set[str]]]:
    """The checker's rule of every theorem in an example's derivation, with its assumptions."""
    for node in EXAMPLES[name]().derivation.everything():
        if not node.rule.startswith("state/"):
            yield RENAMED.get(node.rule, node.rule), listed(node.assumptions)


def agrees(rule: str, found: set[str]) -> None:
    """Assert that what is listed is what the docstring names."""
    conditions = assumed().get(rule, {})
    always = {name for name, when in conditions.items() if not when}
    assert always <= found <= set(conditions), rule


def _is_said(clause: str, assumption: str) -> bool:
    """Whether an assumption is a clause with any values in its braces."""
    parts = re.split(r"\{\w+\}", clause)
    return re.fullmatch(".+".join(map(re.escape, parts)), assumption) is not None


@pytest.mark.parametrize("name", EXAMPLES)
def test_derivations_list_what_docstrings_name(name: str) -> None:
    """No condition more and none less, at every theorem of a derivation."""
    for rule, found in applied(name):
        agrees(rule, found)


def test_every_condition_is_met_and_every_case_distinguished() -> None:
    """The examples use every theorem that assumes something, with each condition that may fail."""
    seen: dict[str, list[set[str]]] = {}
    for name in EXAMPLES:
        for rule, found in applied(name):
            seen.setdefault(rule, []).append(found)
    for rule, conditions in assumed().items():
        if rule in CERTIFICATES_ALONE:
            continue
        for condition, when in conditions.items():
            given = {condition in found for found in seen.get(rule, [])}
            assert given == ({True, False} if when else {True}), (rule, condition)


class Recorder:
    """The checker's rules, noting what each takes for granted."""

    def __init__(self) -> None:
        """Note nothing yet."""
        self.taken: list[tuple[str, tuple[str, ...]]] = []

    def rules(self) -> dict[str, Rule]:
        """Every rule, under its name."""
        return {name: self._noted(name, rule) for name, rule in RULES.items()}

    def _noted(self, name: str, rule: Rule) -> Rule:
        def apply(step: Application) -> tuple[str, ...]:
            found = rule(step)
            self.taken.append((name, found))
            return found

        return apply


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.slow) if one in LONG_PROOFS else one for one in EXAMPLES],
)
def test_verdicts_say_what_docstrings_name(name: str) -> None:
    """The checker asks for the same in its own words, at every step of a certificate."""
    guarantee = EXAMPLES[name]()
    certificate = guarantee.certify(**ASKED.get(name, {"delta": DELTA}))
    recorder = Recorder()
    verdict = check(certificate, recorder.rules())

    assert isinstance(verdict, proofs.VerifiedUnder)
    derived: dict[str, set[str]] = {}
    for rule, found in applied(name):
        derived.setdefault(rule, set()).update(found - IMPLIED.get(rule, set()))
    for rule, texts in recorder.taken:
        if not rule.startswith("state/"):
            words = " ".join(texts)
            said = {one for one, pattern in VERDICTS.items() if re.search(pattern, words)}
            agrees(rule, said)
            assert said == derived.get(rule, said), rule
    assert_same_moves(guarantee, recorder.taken)


def assert_same_moves(guarantee: Guarantee[Any], taken: list[tuple[str, tuple[str, ...]]]) -> None:
    """Assert that the checker asks for the sensitivity that a derivation lists, in its norm."""
    words = {rule: " ".join(texts) for rule, texts in taken}
    for node in guarantee.derivation.everything():
        rule = RENAMED.get(node.rule, node.rule)
        listed_moves = re.findall(r"at most (\S+) in (L[12]) norm", " ".join(node.assumptions))
        for value, norm in listed_moves if rule in words else []:
            square = f"at most {Fraction(value) ** 2} in squared {norm} norm"
            told = f"at most {value} in {norm} norm", square, "whose unit ball is spanned by"
            assert any(text in words[rule] for text in told), (rule, value, norm)


@pytest.mark.parametrize("name", CONVERTED)
def test_other_verdicts_say_what_docstrings_name(name: str) -> None:
    """Conversions, groups and restated notions take nothing for granted but what they say."""
    recorder = Recorder()
    check(COMPUTATIONS[name]().certify(delta=DELTA), recorder.rules())

    for rule, texts in recorder.taken:
        if rule in assumed():
            words = " ".join(texts)
            agrees(rule, {one for one, pattern in VERDICTS.items() if re.search(pattern, words)})
            assert bool(texts) == bool(assumed()[rule]), rule


def test_every_condition_has_words_of_the_checker() -> None:
    """None is missing from the list."""
    assert set(VERDICTS) == set(PAGE.CONDITIONS)
