"""Random pipelines of mechanisms that people use, and random questions about them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Any, Final

from dpproof import mechanisms as m
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    AddRemove,
    ApproxDP,
    BoundedRange,
    Guarantee,
    LInf,
    NotImplied,
    ParameterError,
    Poisson,
    PoissonRuns,
    PrivacyProfile,
    PureDP,
    Relation,
    ReplaceOne,
    TruncatedNegativeBinomial,
    WithoutReplacement,
    choice,
    compose,
    group,
    parallel_compose,
    self_compose,
)
from dpproof.mechanisms import Mechanism
from tests.contracts import every_mechanism
from tests.contracts.mechanism_contract import MechanismContract

PYTHON: Final = re.compile(r"Pair\(|Runs\(|Fraction\(|Direction|Binomial\(|[a-z]=")
"""What no refusal shows."""

Make = Callable[[random.Random, Relation], Mechanism[Any]]
PLAIN: Final[tuple[Make, ...]] = (
    lambda rng, kind: m.Gaussian(sigma=_noise(rng), sensitivity=L2(1, kind)),
    lambda rng, kind: m.Laplace(scale=_noise(rng), sensitivity=L1(1, kind)),
    lambda rng, kind: m.DiscreteGaussian(sigma=_noise(rng), sensitivity=_moves(rng, kind)),
    lambda rng, kind: m.DiscreteLaplace(scale=_noise(rng), sensitivity=_moves(rng, kind)),
    lambda rng, kind: m.RandomizedResponse(epsilon=_loss(rng), categories=3, relation=kind),
    lambda rng, kind: m.ExponentialMechanism(epsilon=_loss(rng), sensitivity=LInf(1, kind)),
    lambda rng, kind: m.PermuteAndFlip(epsilon=_loss(rng), sensitivity=LInf(1, kind)),
    lambda rng, kind: m.ReportNoisyMax(
        epsilon=_loss(rng), noise="gumbel", sensitivity=LInf(1, kind)
    ),
)
NEWER: Final[tuple[Make, ...]] = (
    lambda rng, kind: m.Staircase(epsilon=_loss(rng), sensitivity=_moves(rng, kind)),
    lambda rng, kind: m.CanonicalNoise(
        epsilon=1 + _loss(rng), delta=1e-3, sensitivity=_moves(rng, kind)
    ),
    lambda rng, kind: m.TruncatedLaplace(
        epsilon=1 + _loss(rng), delta=1e-3, sensitivity=L1(1, kind)
    ),
    lambda rng, kind: m.UnaryEncoding(epsilon=_loss(rng), categories=4, relation=kind),
    lambda rng, kind: m.SubsetSelection(epsilon=_loss(rng), categories=8, relation=kind),
    lambda rng, kind: m.LocalHashing(epsilon=_loss(rng), categories=8, relation=kind),
    lambda rng, kind: m.AboveThreshold(
        threshold_scale=_noise(rng), query_scale=_noise(rng), sensitivity=LInf(1, kind)
    ),
)


OTHERS: Final[tuple[Make, ...]] = (
    lambda rng, kind: m.LogisticObjective(
        sigma=_noise(rng) + 1, regulariser=100 if kind.symmetric else 1, relation=kind
    ),
    lambda rng, kind: m.Skellam(variance=1 + _noise(rng), sensitivity=_moves(rng, kind)),
    lambda rng, kind: m.Histogram(scale=_noise(rng) + 1, noise="gaussian", relation=kind),
    lambda rng, kind: m.PartitionSelection(epsilon=_loss(rng), delta=1e-7, relation=kind),
    lambda rng, kind: m.FiniteMechanism(_table(rng), relation=kind),
)
"""Mechanisms whose certificates take other rules."""


def _table(rng: random.Random) -> list[list[Fraction]]:
    rows = [[rng.randint(1, 9) for _ in range(4)] for _ in range(2)]
    return [[Fraction(one, sum(row)) for one in row] for row in rows]


def _rounded(value: float) -> Fraction:
    return Fraction(f"{value:.2g}")


def _noise(rng: random.Random) -> Fraction:
    return _rounded(10 ** rng.uniform(-0.3, 1.5))


def _loss(rng: random.Random) -> Fraction:
    return _rounded(10 ** rng.uniform(-1.5, 0.6))


def _moves(rng: random.Random, relation: Relation) -> L1[Relation]:
    return L1(rng.choice((1, 2, 5)), relation)


def pipeline(rng: random.Random, kinds: tuple[Make, ...], most: int) -> Guarantee[Any]:
    """Return one to three stages, on all records, on Poisson samples or on ones of fixed size."""
    scheme = rng.choice(("none", "none", "poisson", "fixed"))
    relation: Relation = ReplaceOne() if scheme == "fixed" else AddRemove()
    if scheme == "none":
        relation = rng.choice((AddRemove(), AddRemove(), ReplaceOne()))
    stages = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        mechanism = rng.choice(kinds)(rng, relation)
        if scheme == "poisson" and rng.random() < 0.7:
            rate = _rounded(10 ** rng.uniform(-4, -0.5))
            mechanism = mechanism.subsample(Poisson(sampling_rate=rate))
        elif scheme == "fixed" and rng.random() < 0.7:
            size, records = rng.choice(((1, 1000), (100, 60_000), (256, 5000)))
            given = WithoutReplacement(sample_size=size, population_size=records)
            mechanism = mechanism.subsample(given)
        count = rng.choice((1, 1, 2, 3, round(most ** rng.uniform(0, 1))))
        stages.append(self_compose(mechanism.guarantee(), count))
    return compose(*stages)


def question(rng: random.Random) -> dict[str, Any]:
    """Return one number that a certificate can be asked for, sometimes its lower end."""
    asked: dict[str, Any] = rng.choice(
        (
            {"delta": Fraction(1, 10 ** rng.randint(2, 9))},
            {"delta": Fraction(1, 10 ** rng.randint(2, 9))},
            {"epsilon": Fraction(rng.randint(1, 16), 4)},
            {"advantage": True},
            {"order": rng.randint(2, 32)},
            {"false_positive_rate": Fraction(1, 10 ** rng.randint(1, 4))},
        )
    )
    return {**asked, "lower": True} if rng.random() < 0.2 else asked


def selected(rng: random.Random) -> Guarantee[Any]:
    """Return a group of records, or the best of some runs, alone or beside something else."""
    kinds = (*PLAIN, *OTHERS)
    if rng.random() < 0.3:
        return group(pipeline(rng, PLAIN, 10), size=rng.randint(2, 4))
    relation: Relation = rng.choice((AddRemove(), ReplaceOne()))
    base = rng.choice(PLAIN)(rng, relation)
    runs = rng.choice(
        (
            TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, rng.choice((4, 10, 100)))),
            PoissonRuns(rate=rng.choice((2, 10))),
        )
    )
    best = base.select(runs).guarantee()
    return (
        best if rng.random() < 0.5 else compose(best, rng.choice(kinds)(rng, relation).guarantee())
    )


@cache
def _every() -> tuple[type[MechanismContract], ...]:
    return tuple(sorted(every_mechanism.contracts(), key=lambda one: one.__qualname__))


def listed(rng: random.Random) -> Guarantee[Any]:
    """Return any mechanism of the library, some times, alone or beside a stated guarantee."""
    mechanism = rng.choice(_every())().mechanism()
    once = mechanism.guarantee()
    if rng.random() < 0.2 and isinstance(mechanism.relation, AddRemove):
        with suppress(ParameterError, NotImplied):  # no samples of samples, nor of all notions
            rate = _rounded(10 ** rng.uniform(-3, -0.5))
            once = mechanism.subsample(Poisson(sampling_rate=rate)).guarantee()
    used = self_compose(once, rng.choice((1, 1, 2, 10, 100)))
    match rng.choice(("alone", "alone", "alone", "beside", "apart")):
        case "beside":
            with suppress(NotImplied):  # it has no Renyi curve beside one
                return compose(used, stated(rng, mechanism.relation))
            return used
        case "apart" if isinstance(mechanism.relation, AddRemove):
            return parallel_compose(used, used)
        case "apart":
            return choice(used, used)
        case _:
            return used


def stated(rng: random.Random, relation: Relation) -> Guarantee[Any]:
    """Return what somebody states of a mechanism, in any notion."""
    made: Guarantee[Any] = rng.choice(
        (
            PureDP(epsilon=_loss(rng), relation=relation),
            ApproxDP(epsilon=_loss(rng), delta=1e-8, relation=relation),
            ZCDP(rho=_loss(rng) / 8, relation=relation),
            GDP(mu=_loss(rng), relation=relation),
            BoundedRange(epsilon=_loss(rng), relation=relation),
            RDP(points=[(2, _loss(rng) / 4), (16, _loss(rng) * 2)], relation=relation),
            PrivacyProfile(points=[(1, 1e-4), (2, 1e-7), (4, 1e-12)], relation=relation),
        )
    )
    return made


def natural(seed: int) -> tuple[Guarantee[Any], dict[str, Any]]:
    """Return a pipeline of any kind and a question about it, each by a number."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    kind = rng.random()
    if kind < 0.08:
        made = selected(rng)
    elif kind < 0.3:
        made = listed(rng)
    else:
        made = pipeline(rng, PLAIN + NEWER + OTHERS, rng.choice((1, 30, 1000)))
    return made, question(rng)


def misplaced(refusal: str, asked: dict[str, Any]) -> list[str]:
    """Return what a refusal advises to change though nobody gave it."""
    advice = refusal.rsplit("; ", 1)[-1]
    others = {"delta": "delta", "order": "order", "epsilon(": "epsilon"}
    return [word for word, name in others.items() if word in advice and name not in asked]
