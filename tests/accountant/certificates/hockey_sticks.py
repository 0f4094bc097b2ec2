"""Pipelines whose hockey-stick divergences are known or sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    AddRemove,
    Guarantee,
    Poisson,
    PureDP,
    ReplaceOne,
    WithoutReplacement,
    compose,
    self_compose,
)
from dpproof.mechanisms import DiscreteGaussian, Gaussian, Laplace, RandomizedResponse
from tests.accountant.certificates.builders import certifiable
from tests.proofs.corpus import COMPUTATIONS, two_releases

SAMPLED = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.25))


def samples(mechanism: Any, count: int) -> Guarantee[Any]:  # noqa: ANN401  # of any data
    """So many Poisson samples of one record in twenty."""
    return mechanism.subsample(Poisson(sampling_rate=0.05)).repeat(count).guarantee()  # type: ignore[no-any-return]


KNOWN: dict[str, Callable[[], Guarantee[Any]]] = {
    **{name: COMPUTATIONS[name] for name in ("training", "noises", "integers")},
    "choices": lambda: certifiable(COMPUTATIONS["choices"]()),
    "gdp": lambda: GDP(mu=1),
    "pure": lambda: PureDP(epsilon=1),
    "laplace": lambda: Laplace(scale=1, sensitivity=L1(1)).guarantee(),
    "responses": lambda: self_compose(PureDP(epsilon=0.25), 30),
    "sampled once": SAMPLED.guarantee,
    "rough": lambda: compose(
        Laplace(scale=10, sensitivity=L1(1)).repeat(50).guarantee(),
        RandomizedResponse(epsilon=0.125, categories=2, relation=AddRemove())
        .repeat(50)
        .guarantee(),
    ),
    "samples": lambda: samples(Laplace(scale=1, sensitivity=L1(1)), 100),
    "samples of whole noise": lambda: samples(DiscreteGaussian(sigma=2, sensitivity=L2(1)), 100),
    "samples of two": lambda: two_releases(0.02).repeat(50).guarantee(),
    "samples beside noise": lambda: compose(
        samples(Laplace(scale=2, sensitivity=L1(1)), 20), GDP(mu=0.5)
    ),
    "samples of answers": lambda: samples(
        RandomizedResponse(epsilon=1, categories=3, relation=AddRemove()), 50
    ),
    "subsets": lambda: (
        Laplace(scale=1, sensitivity=L1(1, ReplaceOne()))
        .subsample(WithoutReplacement(sample_size=5, population_size=100))
        .repeat(100)
        .guarantee()
    ),
    "sampled whole noise": lambda: (
        DiscreteGaussian(sigma=1, sensitivity=L2(1))
        .subsample(Poisson(sampling_rate=0.25))
        .guarantee()
    ),
}
