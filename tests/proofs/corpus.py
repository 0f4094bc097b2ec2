"""Computations that reach every part of the checker, and what the library certifies of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    AddRemove,
    ApproxDP,
    Guarantee,
    L2Contribution,
    LInf,
    Poisson,
    PrivacyProfile,
    PureDP,
    ReplaceOne,
    TradeOff,
    WithoutReplacement,
    compose,
    convert,
    group,
    map_records,
    parallel_compose,
    post_process,
    self_compose,
)
from dpproof.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    RandomizedResponse,
    compose as mechanism_compose,
)

FOLDER = Path(__file__).parent / "certificates" / "v1"
NEIGHBOURS = ReplaceOne()


def training(count: int = 10_000) -> Guarantee[Any]:
    """DP-SGD."""
    step = Gaussian(sigma=1.0, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
    return step.repeat(count).guarantee()


def _noises() -> Guarantee[Any]:
    laplace = Laplace(scale=2, sensitivity=L1(1, NEIGHBOURS))
    gaussian = Gaussian(sigma=3, sensitivity=L2(1, NEIGHBOURS))
    whole = DiscreteLaplace(scale=5, sensitivity=L1(2, NEIGHBOURS))
    return compose(laplace.guarantee(), gaussian.repeat(4).guarantee(), whole.guarantee())


def _integers() -> Guarantee[Any]:
    parts = [
        DiscreteLaplace(scale=4, sensitivity=L1(1)).repeat(20).guarantee(),
        DiscreteGaussian(sigma=4, sensitivity=L2(1)).repeat(30).guarantee(),
        RandomizedResponse(epsilon=0.25, categories=3, relation=AddRemove()).repeat(10).guarantee(),
    ]
    return compose(*parts)


def _choices() -> Guarantee[Any]:
    choice = ExponentialMechanism(epsilon=0.1, sensitivity=LInf(1), monotone=True)
    return self_compose(choice.guarantee(), 100)


def _curves() -> Guarantee[Any]:
    stated = RDP(points=((2, 0.25), (8, 1), (32, 5)))
    both = compose(stated, ZCDP(rho=0.0625), training(100), orders=[2, 4, 8, 16])
    return self_compose(both, 3)


def _groups() -> Guarantee[Any]:
    base = compose(GDP(mu=0.5), GDP(mu=0.25))
    mapped = map_records(base, description="clipping")
    return group(post_process(mapped, description="rounding"), size=3)


def _disjoint() -> Guarantee[Any]:
    parts = parallel_compose(PureDP(epsilon=0.5), PureDP(epsilon=1))
    return compose(parts, ApproxDP(epsilon=0.5, delta=1e-9))


def _points() -> Guarantee[Any]:
    profile = PrivacyProfile(points=((0, 0.25), (0.5, 0.1), (1, 1e-3), (2, 1e-9)))
    curve = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))
    return compose(profile, curve)


def _concentrated() -> Guarantee[Any]:
    noise = DiscreteGaussian(sigma=4, sensitivity=L2(3)).guarantee()
    return compose(noise, convert(PureDP(epsilon=0.5), to=ZCDP))


def _converted() -> Guarantee[Any]:
    parts = [
        convert(training(1_000), to=PrivacyProfile, epsilons=[1, 2, 3]),
        convert(ZCDP(rho=0.03125), to=ApproxDP, delta=1e-9),
        convert(Laplace(scale=5, sensitivity=L1(1)).guarantee(), to=ApproxDP, delta=1e-9),
    ]
    return compose(*parts)


def two_releases(rate: float = 0.125) -> Any:  # noqa: ANN401  # a mechanism with its data's type
    """A Gaussian and a Laplace release on one Poisson sample."""
    both = mechanism_compose(
        Gaussian(sigma=2, sensitivity=L2(1)), Laplace(scale=4, sensitivity=L1(1))
    )
    return both.subsample(Poisson(sampling_rate=rate))


def _rough() -> Guarantee[Any]:
    """Two Laplace releases and an answer on one Poisson sample, ten times."""
    parts = [Laplace(scale=scale, sensitivity=L1(1)) for scale in (2, 5)]
    both = mechanism_compose(
        *parts, RandomizedResponse(epsilon=0.5, categories=3, relation=AddRemove())
    )
    return both.subsample(Poisson(sampling_rate=0.125)).repeat(10).guarantee()


def _samples() -> Guarantee[Any]:
    return compose(two_releases(0.02).repeat(200).guarantee(), GDP(mu=0.25))


def _subsets() -> Guarantee[Any]:
    noise = Gaussian(sigma=2, sensitivity=L2(1, NEIGHBOURS))
    return noise.subsample(WithoutReplacement(sample_size=5, population_size=40)).guarantee()


def _replaced() -> Guarantee[Any]:
    """A training run on Poisson samples under replace-one."""
    noise = Gaussian(sigma=0.875, sensitivity=L2Contribution(1, NEIGHBOURS))
    return noise.subsample(Poisson(sampling_rate=1 / 128)).repeat(120).guarantee()


def _restated() -> Guarantee[Any]:
    answers = (
        RandomizedResponse(epsilon=1, categories=4, relation=AddRemove()).repeat(10).guarantee()
    )
    curve = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))
    noise = Laplace(scale=2, sensitivity=L1(1)).guarantee()
    told = [convert(convert(one, to=GDP), to=ZCDP) for one in (curve, noise)]
    return compose(convert(answers, to=ZCDP), *told)


COMPUTATIONS: dict[str, Callable[[], Guarantee[Any]]] = {
    "training": training,
    "noises": _noises,
    "integers": _integers,
    "choices": _choices,
    "curves": _curves,
    "groups": _groups,
    "disjoint": _disjoint,
    "points": _points,
    "concentrated": _concentrated,
    "restated": _restated,
    "rough": _rough,
    "converted": _converted,
    "chained": lambda: group(TradeOff(points=((0, 1), (0.25, 0.25), (1, 0))), size=3),
    "sample": lambda: two_releases().guarantee(),
    "samples": _samples,
    "subsets": _subsets,
    "replaced": _replaced,
}
DELTA = 1e-6
