"""Costs of choices and local reports over many uses, by the pairs here and by other rules.

    python -m benchmarks.choices

prints the tables of docs/MECHANISMS.md. Of each mechanism with the same noise, epsilon at delta =
1e-6: by its pair, by composing epsilon-DP exactly (randomised response), and by zCDP of epsilon-DP;
of noise, by its pair and by what is published of it; of everything else, by its pair and by
composing exactly the plain statement that a library without the pair makes of it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    ZCDP,
    AddRemove,
    ApproxDP,
    Guarantee,
    JointSensitivity,
    LInf,
    PureDP,
    convert,
    self_compose,
)
from dpproof.mechanisms import (
    AboveThreshold,
    BoundedMean,
    CanonicalNoise,
    Chained,
    CorrelatedGaussian,
    ExponentialMechanism,
    FiniteMechanism,
    Gaussian,
    GaussianAboveThreshold,
    Histogram,
    Laplace,
    LocalHashing,
    MagnitudeBound,
    Mechanism,
    NumericAnswers,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    Rappor,
    Skellam,
    SmoothBound,
    SmoothSensitivity,
    Staircase,
    SubsetSelection,
    ThresholdedCounts,
    TopK,
    TruncatedLaplace,
    UnaryEncoding,
)

DELTA = Fraction(1, 10**6)
USES = (1, 10, 100)
Make = Callable[[Fraction], Mechanism[Any]]

CHOICES: dict[str, Make] = {
    "permute-and-flip, noisy max (exponential, Laplace)": lambda e: PermuteAndFlip(
        epsilon=e, sensitivity=LInf(1)
    ),
    "noisy max (Gumbel), exponential mechanism": lambda e: ExponentialMechanism(
        epsilon=e, sensitivity=LInf(1)
    ),
    "AboveThreshold": lambda e: AboveThreshold(
        threshold_scale=2 / e, query_scale=4 / e, sensitivity=LInf(1)
    ),
    "AboveThreshold, monotone queries, half the noise on them": lambda e: AboveThreshold(
        threshold_scale=2 / e, query_scale=2 / e, monotone=True, sensitivity=LInf(1)
    ),
    "AboveThreshold, rising queries, half the noise on them": lambda e: AboveThreshold(
        threshold_scale=2 / e, query_scale=2 / e, rising=True, sensitivity=LInf(1)
    ),
    "staircase noise of the least size, sensitivity 1000": lambda e: Staircase(
        epsilon=e, sensitivity=L1(1000)
    ),
    "optimised unary encoding": lambda e: UnaryEncoding(
        epsilon=e, categories=10, relation=AddRemove()
    ),
    "local hashing": lambda e: LocalHashing(epsilon=e, categories=10, relation=AddRemove()),
    "subset selection of 10 categories": lambda e: SubsetSelection(
        epsilon=e, categories=10, relation=AddRemove()
    ),
}


TOTAL = Gaussian(sigma=20, sensitivity=L2(1), query=sum)
NOISES: dict[str, Mechanism[Any]] = {
    "Skellam noise of variance 100": Skellam(variance=100, sensitivity=L1(1)),
    "AboveThreshold, normal noise 10 and 17.3, 100 queries": GaussianAboveThreshold(
        threshold_sigma=10, query_sigma=17.3, queries=100, sensitivity=LInf(1)
    ),
    "noise of covariance (100, 75; 75, 100)": CorrelatedGaussian(
        [[100, 75], [75, 100]], sensitivity=L2(1)
    ),
    "propose-test-release, sigma 20, test 0.1 and 1e-9": ProposeTestRelease(
        release=TOTAL, distance=len, epsilon=Fraction(1, 10), delta=Fraction(1, 10**9)
    ),
    "smooth sensitivity, beta 0.1, scale 5": SmoothSensitivity(
        query=len,
        bound=SmoothBound(beta=Fraction(1, 10), bound=len),
        scale=5,
        granularity=1,
        relation=AddRemove(),
    ),
    "thresholded counts, Laplace noise of scale 10, delta 1e-9": ThresholdedCounts(
        scale=10, delta=Fraction(1, 10**9), relation=AddRemove()
    ),
}


def skellam_by_orders(uses: int) -> float:
    """Return epsilon by the Renyi bound of Agarwal, Kairouz & Liu (NeurIPS 2021)."""
    spent = [
        uses * (a / 200 + min((2 * a + 5) / 40_000, 3 / 200))
        + math.log(1 / float(DELTA) / a) / (a - 1)
        + math.log1p(-1 / a)
        for a in range(2, 400)
    ]
    return min(spent)


def test_by_sums(uses: int) -> float:
    """Return epsilon of propose-test-release as sums of what test and release cost."""
    left = DELTA - Fraction(uses, 10**9)
    release = self_compose(TOTAL.guarantee(), uses)
    return uses / 10 + release.epsilon(delta=left).upper


def noises() -> list[str]:
    """Return the rows of noise."""
    rows = ["| noise | " + " | ".join(f"{n} uses" for n in USES) + " |", "|---|---|---|---|"]
    found = {name: [cost(one.guarantee(), n) for n in USES] for name, one in NOISES.items()}
    found["Skellam by its Rényi bound"] = list(map(skellam_by_orders, USES))
    found["propose-test-release by sums of epsilons"] = list(map(test_by_sums, USES))
    for name, costs in found.items():
        rows.append(f"| {name} | " + " | ".join(f"{one:.3f}" for one in costs) + " |")
    return rows


TENTH = Fraction(1, 10)
TINY = Fraction(1, 10**9)
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
THREE_ANSWERS = [[HALF, QUARTER, QUARTER], [QUARTER, HALF, QUARTER], [QUARTER, QUARTER, HALF]]
RAPPOR = Rappor(f=HALF, one=1 - QUARTER, zero=HALF, categories=10, relation=AddRemove())
FOUR_KEYS = ApproxDP(epsilon=4 * TENTH, delta=4 * TINY)
PLAIN: dict[str, tuple[Mechanism[Any], Guarantee[Any]]] = {
    "histogram, 10 cells of a record, discrete Laplace noise 20": (
        Histogram(scale=20, noise="laplace", contributions=10, relation=AddRemove()),
        PureDP(epsilon=HALF),
    ),
    "Laplace noise 20, ten numbers move by 1": (
        Laplace(scale=20, sensitivity=JointSensitivity(l1=10, linf=1)),
        Laplace(scale=20, sensitivity=L1(10)).guarantee(),
    ),
    "mean, Gaussian noise 10 (sum and count with half a budget each)": (
        BoundedMean(scale=10, lower=0, upper=1, relation=AddRemove()),
        GDP(mu=Fraction(141422, 10**6)),
    ),
    "partition selection, 4 keys of a record": (
        PartitionSelection(
            epsilon=4 * TENTH, delta=4 * TINY, contributions=4, relation=AddRemove()
        ),
        FOUR_KEYS,
    ),
    "thresholded counts, 4 keys, Laplace noise 10": (
        ThresholdedCounts(scale=10, delta=4 * TINY, contributions=4, relation=AddRemove()),
        FOUR_KEYS,
    ),
    "bound by powers of two": (
        MagnitudeBound(threshold_scale=20, query_scale=20, outside=0, relation=AddRemove()),
        PureDP(epsilon=TENTH),
    ),
    "AboveThreshold with the value found": (
        Chained(
            first=AboveThreshold(
                threshold_scale=20, query_scale=40, query=list, sensitivity=LInf(1)
            ),
            then=NumericAnswers(query=list, scale=20, sensitivity=LInf(1)),
        ),
        PureDP(epsilon=3 * TENTH / 2),
    ),
    "the best 10 of a list by peeling, 0.1 each": (
        TopK(ExponentialMechanism(epsilon=TENTH, sensitivity=LInf(1)), 10),
        PureDP(epsilon=1),
    ),
    "canonical noise, sensitivity 8": (
        CanonicalNoise(epsilon=TENTH, delta=TINY, sensitivity=L1(8)),
        ApproxDP(epsilon=TENTH, delta=TINY),
    ),
    "truncated Laplace noise, sensitivity 8": (
        TruncatedLaplace(epsilon=1, delta=TINY, sensitivity=L1(8)),
        ApproxDP(epsilon=1, delta=TINY),
    ),
    "randomised response of 10 categories": (
        RandomizedResponse(epsilon=1, categories=10, relation=AddRemove()),
        PureDP(epsilon=1),
    ),
    "one report of RAPPOR, f = 1/2, 3/4 and 1/2": (
        RAPPOR,
        PureDP(epsilon=Fraction(RAPPOR.guarantee().epsilon(delta=0).upper)),
    ),
    "a table: the truth of 3 answers with 1/2": (
        FiniteMechanism(THREE_ANSWERS, relation=AddRemove()),
        PureDP(epsilon=Fraction(math.nextafter(math.log(2), 1))),
    ),
}


def others() -> list[str]:
    """Return the rows of tables, statistics, reports and bounded noise."""
    uses = " | ".join(f"{n} uses" for n in USES)
    rows = [f"| by the pair, by the plain statement | {uses} | {uses} |", "|---|" + "---|" * 6]
    for name, (mine, plain) in PLAIN.items():
        costs = [cost(one, n) for one in (mine.guarantee(), plain) for n in USES]
        rows.append(f"| {name} | " + " | ".join(f"{one:.3f}" for one in costs) + " |")
    return rows


def cost(guarantee: Guarantee[Any], uses: int) -> float:
    """Return epsilon of so many uses."""
    return self_compose(guarantee, uses).epsilon(delta=DELTA).upper


def table(epsilon: Fraction) -> list[str]:
    """Return the rows of one epsilon."""
    pure = PureDP(epsilon=epsilon)
    curve = convert(pure, to=ZCDP)
    rows = [f"| ε = {float(epsilon):g} each | " + " | ".join(f"{n} uses" for n in USES) + " |"]
    rows.append("|---|" + "---|" * len(USES))
    known: dict[str, Guarantee[Any]] = {
        "ε-DP composed exactly": pure,
        "ε-DP composed by zCDP": curve,
        **{name: make(epsilon).guarantee() for name, make in CHOICES.items()},
    }
    for name, guarantee in known.items():
        rows.append(f"| {name} | " + " | ".join(f"{cost(guarantee, n):.3f}" for n in USES) + " |")
    return rows


if __name__ == "__main__":
    for each in (Fraction(1), Fraction(1, 10)):
        sys.stdout.write("\n".join([*table(each), "", ""]))
    sys.stdout.write("\n".join([*noises(), "", *others(), ""]))
