"""Random pipelines as people build them: training, queries, choices, tuning and schedules.

Every draw is in words and as a guarantee, so that a question can be asked again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from dpproof.accountant import (
    L1,
    L2,
    AddRemove,
    BinomialRuns,
    FixedRuns,
    Guarantee,
    LInf,
    Poisson,
    PoissonRuns,
    Relation,
    ReplaceOne,
    TruncatedNegativeBinomial,
    WithoutReplacement,
    compose,
    select,
    self_compose,
)
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Histogram,
    Laplace,
    LocalHashing,
    Mechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    SubsetSelection,
    UnaryEncoding,
)

Drawn = tuple[str, Guarantee[Any]]


def training(rng: random.Random) -> Drawn:
    """Return DP-SGD of 1 to 100 epochs: batches of 32 to 1024 of 5,000 to a million records."""
    batch, records = 2 ** rng.randint(5, 10), _rounded(10 ** rng.uniform(3.7, 6))
    steps = max(round(10 ** rng.uniform(0, 2) * records / batch), 1)
    return _steps(_rounded(rng.uniform(0.5, 4)), batch / records, steps)


def sampled(rng: random.Random) -> Drawn:
    """Return one or two releases on all records, on Poisson samples or on fixed-size samples."""
    scheme = rng.choice(("none", "poisson", "fixed"))
    relation: Relation = ReplaceOne() if scheme == "fixed" else AddRemove()
    drawn = []
    for _ in range(rng.choice((1, 1, 2))):
        mechanism, name = _release(rng, relation)
        if scheme == "poisson":
            rate = _rounded(10 ** rng.uniform(-5, -0.5))
            mechanism = mechanism.subsample(Poisson(sampling_rate=rate))
            name += f" at rate {float(rate):g}"
        elif scheme == "fixed":
            mechanism, name = _fixed(rng, mechanism, name)
        count = rng.choice((1, 2, 3, round(10 ** rng.uniform(0, 5))))
        drawn.append(_repeated(mechanism, name, count))
    return _composed(drawn)


def queries(rng: random.Random) -> Drawn:
    """Return one to three kinds of queries, each asked up to a hundred times."""
    drawn = []
    for _ in range(rng.randint(1, 3)):
        mechanism, name = _release(rng, AddRemove())
        if rng.random() < 0.3:
            cells = rng.choice((1, 2, 4))
            scale = _rounded(10 ** rng.uniform(0, 1.7))
            mechanism, name = (
                Histogram(scale=scale, contributions=cells, relation=AddRemove()),
                f"Histogram({scale}, {cells})",
            )
        drawn.append(_repeated(mechanism, name, round(10 ** rng.uniform(0, 2))))
    return _composed(drawn)


def training_and_queries(rng: random.Random) -> Drawn:
    """Return queries about the records of a training, drawn at random."""
    return _composed([training(rng), queries(rng)])


def reports(rng: random.Random) -> Drawn:
    """Return local reports of one kind."""
    epsilon, categories = _rounded(rng.uniform(0.1, 4)), rng.choice((2, 10, 100))
    kind: type[Any] = rng.choice((RandomizedResponse, UnaryEncoding, LocalHashing, SubsetSelection))
    mechanism = kind(epsilon=epsilon, categories=categories, relation=AddRemove())
    name = f"{kind.__name__}({epsilon}, {categories})"
    return _repeated(mechanism, name, round(10 ** rng.uniform(0, 2)))


def threshold(rng: random.Random) -> Drawn:
    """Return the first above a threshold, some times, perhaps beside queries."""
    scale = _rounded(10 ** rng.uniform(0, 1.5))
    mechanism = AboveThreshold(threshold_scale=scale, query_scale=2 * scale, sensitivity=LInf(1))
    drawn = [_repeated(mechanism, f"AboveThreshold({scale})", rng.randint(1, 20))]
    return _composed([*drawn, queries(rng)] if rng.random() < 0.4 else drawn)


def choices(rng: random.Random) -> Drawn:
    """Return choices of the best of several candidates, perhaps beside queries."""
    epsilon = _rounded(10 ** rng.uniform(-2, 0.3))
    mechanism, name = rng.choice(
        (
            (ReportNoisyMax(epsilon=epsilon, noise="laplace", sensitivity=LInf(1)), "NoisyMax"),
            (PermuteAndFlip(epsilon=epsilon, sensitivity=LInf(1)), "PermuteAndFlip"),
            (ExponentialMechanism(epsilon=epsilon, sensitivity=LInf(1)), "Exponential"),
        )
    )
    drawn = [_repeated(mechanism, f"{name}({epsilon})", round(10 ** rng.uniform(0, 2)))]
    return _composed([*drawn, queries(rng)] if rng.random() < 0.4 else drawn)


def tuning(rng: random.Random) -> Drawn:
    """Return the best of a random number of trainings or queries, perhaps with a last training."""
    words, base = rng.choice((training, training, training_and_queries, queries))(rng)
    law, name = _law(rng)
    drawn = [(f"best of {name} of ({words})", select(base, law))]
    return _composed([*drawn, training(rng)] if rng.random() < 0.2 else drawn)


def schedule(rng: random.Random) -> Drawn:
    """Return a training of 2 to 200 stages, each with noise and a rate of its own."""
    stages, steps = round(10 ** rng.uniform(0.3, 2.3)), round(10 ** rng.uniform(0, 3))
    sigma, rate = rng.uniform(0.8, 3), 10 ** rng.uniform(-4, -1.5)
    growth, decay = rng.uniform(0.995, 1.01), rng.uniform(0.98, 1.01)
    parts = [
        _steps(_rounded(sigma * growth**one), _rounded(rate * decay**one), steps)[1]
        for one in range(stages)
    ]
    words = f"{stages} stages of {steps} x Gauss({sigma:.3g}) at rate {rate:.3g}"
    return words, compose(*parts)


def fixed_size(rng: random.Random) -> Drawn:
    """Return a training on samples of a fixed size."""
    sigma = _rounded(rng.uniform(0.8, 8))
    gaussian = Gaussian(sigma=sigma, sensitivity=L2(1, ReplaceOne()))
    mechanism, name = _fixed(rng, gaussian, f"Gauss({float(sigma):g})")
    return _repeated(mechanism, name, round(10 ** rng.uniform(0, 4)))


KINDS: Final[Mapping[Callable[[random.Random], Drawn], int]] = {
    training: 3,
    sampled: 4,
    queries: 2,
    training_and_queries: 2,
    reports: 1,
    threshold: 1,
    choices: 1,
    tuning: 4,
    schedule: 2,
    fixed_size: 1,
}
"""How often each kind is drawn."""


def pipeline(rng: random.Random) -> Drawn:
    """Return a random pipeline of any kind."""
    return rng.choices(list(KINDS), [*KINDS.values()])[0](rng)


def _law(rng: random.Random) -> tuple[RunLaw, str]:
    """Return a random law of the number of runs, with a mean of 3 to 30."""
    mean = _rounded(10 ** rng.uniform(0.5, 1.5))
    kind = rng.choice(("geometric", "logarithmic", "poisson", "binomial", "fixed"))
    name = f"{kind} {float(mean):g}"
    match kind:
        case "geometric" | "logarithmic":
            eta = 1 if kind == "geometric" else 0
            return TruncatedNegativeBinomial(eta=eta, gamma=1 / mean), name
        case "poisson":
            return PoissonRuns(rate=mean), name
        case "binomial":
            return BinomialRuns(trials=2 * round(mean), probability=Fraction(1, 2)), name
        case _:
            return FixedRuns(count=round(mean)), name


def _release(rng: random.Random, relation: Relation) -> tuple[Mechanism[Any], str]:
    """Return one release of sensitivity 1, or a randomised response."""
    noise = _rounded(10 ** rng.uniform(-0.3, 1.5))
    match rng.choice(("gaussian", "laplace", "discrete-gaussian", "discrete-laplace", "response")):
        case "gaussian":
            return Gaussian(sigma=noise, sensitivity=L2(1, relation)), f"Gauss({noise})"
        case "laplace":
            return Laplace(scale=noise, sensitivity=L1(1, relation)), f"Laplace({noise})"
        case "discrete-gaussian":
            norm = L1(rng.choice((1, 2, 5)), relation)
            words = f"DiscreteGauss({noise}, {norm.value})"
            return DiscreteGaussian(sigma=noise, sensitivity=norm), words
        case "discrete-laplace":
            norm = L1(rng.choice((1, 2, 5)), relation)
            words = f"DiscreteLaplace({noise}, {norm.value})"
            return DiscreteLaplace(scale=noise, sensitivity=norm), words
        case _:
            epsilon, categories = _rounded(rng.uniform(0.1, 4)), rng.choice((2, 2, 5))
            response = RandomizedResponse(epsilon=epsilon, categories=categories, relation=relation)
            return response, f"RR({epsilon}, {categories})"


def _fixed(rng: random.Random, mechanism: Mechanism[Any], name: str) -> tuple[Mechanism[Any], str]:
    """Return a mechanism on a sample of a fixed size."""
    size, records = rng.choice(((1, 1000), (100, 60_000), (256, 5000), (50, 200)))
    scheme = WithoutReplacement(sample_size=size, population_size=records)
    return mechanism.subsample(scheme), f"{name} on {size} of {records}"


def _steps(sigma: Fraction, rate: Fraction, steps: int) -> Drawn:
    """Return so many steps of DP-SGD."""
    step = Gaussian(sigma=sigma, sensitivity=L2(1)).subsample(Poisson(sampling_rate=rate))
    return _repeated(step, f"Gauss({float(sigma):g}) at rate {float(rate):.3g}", steps)


def _repeated(mechanism: Mechanism[Any], name: str, count: int) -> Drawn:
    return f"{count} x {name}", self_compose(mechanism.guarantee(), count)


def _composed(drawn: list[Drawn]) -> Drawn:
    words, guarantees = zip(*drawn, strict=True)
    return " + ".join(words), compose(*guarantees)


def _rounded(value: float) -> Fraction:
    """Return a number with three digits, as people write parameters."""
    return Fraction(f"{value:.3g}")
