"""Questions that were once slow or wide, as reviewers named them: what they take now."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from benchmarks.natural import SLOW, WIDE, Asked, measured
from benchmarks.report import Goal, Progress, Section, seconds
from benchmarks.worker import Workers
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    AddRemove,
    BinomialRuns,
    Bound,
    FixedRuns,
    Guarantee,
    Poisson,
    PureDP,
    ReplaceOne,
    TruncatedNegativeBinomial,
    WithoutReplacement,
    compose,
    select,
    select_above,
    self_compose,
)
from dpproof.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
)

_GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
Case = tuple[str, str, Callable[[], Bound]]


def named(_: Workers, __: int, progress: Progress) -> Section:
    """Ask every named question once."""
    section = Section(
        name="named",
        title="Questions that were slow or wide",
        columns=("question", "was", "time", "width", "answer"),
    )
    asked = []
    for what, before, ask in cases():
        progress(what)
        asked.append(measured(what, ask))
        section.rows.append((what, before, seconds(asked[-1].cpu), *_found(asked[-1])))
    section.data = [
        {"what": one.what, "cpu": one.cpu, "width": one.width, "answer": one.answer}
        for one in asked
    ]
    met = sum(one.cpu <= SLOW and one.width <= WIDE for one in asked)
    section.goals = [
        Goal("named questions within 1 s and 1e-4", str(len(asked)), str(met), met == len(asked))
    ]
    return section


def _found(one: Asked) -> tuple[str, str]:
    return f"{one.width:.1e}", one.answer


def _gaussian(sigma: float, rate: str) -> Guarantee[Any]:
    """Return one step of DP-SGD."""
    mechanism = Gaussian(sigma=sigma, sensitivity=L2(1))
    return mechanism.subsample(Poisson(sampling_rate=Fraction(rate))).guarantee()


def _fixed(sigma: float) -> Guarantee[Any]:
    """Return noise on 100 of 60,000 records, 3,000 times."""
    mechanism = Gaussian(sigma=sigma, sensitivity=L2(1, ReplaceOne()))
    scheme = WithoutReplacement(sample_size=100, population_size=60_000)
    return self_compose(mechanism.subsample(scheme).guarantee(), 3000)


def cases() -> list[Case]:
    """Return all cases, with their former time or width."""
    return [*_samples(), *_bounded(), *_selections()]


def _samples() -> list[Case]:
    """Return cases of sampling, alone and composed."""
    two, few = self_compose(_gaussian(0.6, "1e-5"), 2), self_compose(_gaussian(0.6, "1e-5"), 3)
    step = self_compose(_gaussian(1, "1e-3"), 2)
    rare = compose(_gaussian(1, "1e-4"), _gaussian(1.1, "2e-4"), _gaussian(1.2, "3e-4"))
    fixed = compose(_fixed(1), _fixed(2))
    laplace = Laplace(scale=2, sensitivity=L1(1))
    half = Poisson(sampling_rate=Fraction(1, 10))
    nested = laplace.subsample(half).subsample(half).guarantee()
    once = laplace.subsample(Poisson(sampling_rate=Fraction(1, 100))).guarantee()
    return [
        ("epsilon at 1e-9: 2 steps, sigma .6, rate 1e-5", "141 s", lambda: two.epsilon(delta=1e-9)),
        ("epsilon at 1e-9: 3 such steps", "30 s", lambda: few.epsilon(delta=1e-9)),
        ("epsilon at 1e-6: 3 rare different steps", "30 s", lambda: rare.epsilon(delta=1e-6)),
        (
            "power at 1e-2: 2 steps, sigma 1, rate 1e-3",
            "10 s",
            lambda: step.true_positive_rate(false_positive_rate=1e-2),
        ),
        ("advantage: 2 x 3,000 fixed-size samples", "30 s", fixed.advantage),
        ("epsilon at 1e-6: the same", "3.7e-3", lambda: fixed.epsilon(delta=1e-6)),
        (
            "power at 1e-3: the same",
            "81 s",
            lambda: fixed.true_positive_rate(false_positive_rate=1e-3),
        ),
        ("epsilon at 1e-6: a sample of a sample", "90x", lambda: nested.epsilon(delta=1e-6)),
        ("epsilon at 1e-6: at the product rate", "", lambda: once.epsilon(delta=1e-6)),
    ]


def _bounded() -> list[Case]:
    """Return cases of bounded losses, lattices, and extreme numbers."""
    laplace = Laplace(scale=2, sensitivity=L1(1)).guarantee()
    response = RandomizedResponse(epsilon=4, categories=2, relation=AddRemove())
    sampled = response.subsample(Poisson(sampling_rate=Fraction(1, 100))).guarantee()
    discrete = DiscreteLaplace(scale=Fraction("9.3"), sensitivity=L1(1))
    rounded = DiscreteGaussian(sigma=Fraction("4.36"), sensitivity=L1(1))
    many = self_compose(rounded.guarantee(), 16_459)
    return [
        (
            "power at 1e-6: Laplace(2)",
            "3.0e-1",
            lambda: laplace.true_positive_rate(false_positive_rate=1e-6),
        ),
        ("epsilon at 1e-12: sampled response", "inf", lambda: sampled.epsilon(delta=1e-12)),
        (
            "epsilon at 1e-9: discrete Laplace 9.3 twice",
            "inf",
            lambda: self_compose(discrete.guarantee(), 2).epsilon(delta=1e-9),
        ),
        ("mu above 1e-6: 16,459 discrete Gaussians", "inf", lambda: many.gdp(smallest_delta=1e-6)),
        (
            "epsilon at 2e-181: PureDP(1e-15), 10,000 times",
            "48 s",
            lambda: self_compose(PureDP(epsilon=1e-15), 10_000).epsilon(delta=2e-181),
        ),
    ]


def _selections() -> list[Case]:
    """Return cases of selection, alone and composed."""
    base, beside = GDP(mu=Fraction(1, 4)), GDP(mu=1)
    above = select_above(base, _GEOMETRIC)
    tuned, fixed = select(base, _GEOMETRIC), select(base, FixedRuns(count=3))
    laplace = Laplace(scale=2, sensitivity=L1(1))
    sampled = laplace.subsample(Poisson(sampling_rate=Fraction(1, 100))).guarantee()
    training = self_compose(_gaussian(1, "1e-2"), 1000)
    coins = BinomialRuns(trials=20, probability=Fraction(1, 2))
    asked: list[tuple[str, str, Guarantee[Any]]] = [
        ("a selection", "1.5e-4", tuned),
        ("a selection of DP-SGD, geometric", "", select(training, _GEOMETRIC)),
        ("a selection of DP-SGD, binomial", "", select(training, coins)),
        ("ten selections", "120 s", self_compose(tuned, 10)),
        ("a selection beside a Gaussian", "8 s", compose(tuned, beside)),
        ("the best of three beside a Gaussian", "9e-4", compose(fixed, beside)),
        ("the first above a threshold", "31 s", above),
        ("that beside a Gaussian", "5.0e-1", compose(above, beside)),
        ("a threshold on sampled Laplace noise", "6e-2", select_above(sampled, _GEOMETRIC)),
    ]
    return [
        (f"epsilon at 1e-6: {what}", before, lambda one=one: one.epsilon(delta=1e-6))  # type: ignore[misc]
        for what, before, one in asked
    ]
