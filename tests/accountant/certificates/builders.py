"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    AddRemove,
    ApproxDP,
    BoundedRange,
    DominatingPair,
    Guarantee,
    MetricDP,
    Poisson,
    PrivacyProfile,
    PureDP,
    ReplaceOne,
    TradeOff,
    WithoutReplacement,
    compose,
    convert,
    group,
    self_compose,
)
from dpproof.accountant.certificates.base_profile import with_logistic
from dpproof.accountant.theorems.conversion import profile_to_trade_off
from dpproof.mechanisms import (
    DiscreteGaussian,
    Gaussian,
    Laplace,
    RandomizedResponse,
    compose as mechanism_compose,
)
from tests.proofs.corpus import training, two_releases

CLOSE = 1e-6

SAMPLED = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.25))

MORE: dict[str, Callable[[], Guarantee[Any]]] = {
    "gdp": lambda: GDP(mu=1),
    "nothing": lambda: GDP(mu=0),
    "pure": lambda: PureDP(epsilon=1),
    "approx": lambda: ApproxDP(epsilon=1, delta=1e-9),
    "told": lambda: ApproxDP(epsilon=0, delta=1e-9),
    "range": lambda: BoundedRange(epsilon=1),
    "metric": lambda: MetricDP(epsilon=1),
    "zcdp": lambda: ZCDP(rho=0.5),
    "rdp": lambda: RDP(points=((2, 1), (10, 6))),
    "profile": lambda: PrivacyProfile(points=((0.5, 0.1), (1, 1e-9))),
    "trade-off": lambda: TradeOff(points=((0, 1), (0.25, 0.25), (1, 0))),
    "polygon": lambda: profile_to_trade_off(PrivacyProfile(points=((0.5, 0.1), (1, 0)))),
    "laplace": lambda: Laplace(scale=1, sensitivity=L1(1)).guarantee(),
    "sampled once": SAMPLED.guarantee,
    "sampled": lambda: SAMPLED.repeat(50).guarantee(),
    "mixed": lambda: compose(training(5_000), Laplace(scale=20, sensitivity=L1(1)).guarantee()),
    "converted": lambda: convert(self_compose(GDP(mu=0.1), 5), to=RDP, orders=[2, 8, 32]),
    "bounded": lambda: compose(PureDP(epsilon=0.25), BoundedRange(epsilon=0.375)),
    "largest": lambda: convert(compose(PureDP(epsilon=0.25), PureDP(epsilon=0.5)), to=PureDP),
    "sampled laplace": lambda: (
        Laplace(scale=2, sensitivity=L1(1))
        .subsample(Poisson(sampling_rate=0.125))
        .repeat(100)
        .guarantee()
    ),
    "sampled answers": lambda: (
        RandomizedResponse(epsilon=1, categories=4, relation=AddRemove())
        .subsample(Poisson(sampling_rate=0.125))
        .repeat(20)
        .guarantee()
    ),
    "subsets of laplace": lambda: (
        Laplace(scale=1, sensitivity=L1(1, ReplaceOne()))
        .subsample(WithoutReplacement(sample_size=10, population_size=100))
        .repeat(100)
        .guarantee()
    ),
    "whole noise on one sample": lambda: (
        DiscreteGaussian(sigma=4, sensitivity=L2(1.5))
        .subsample(Poisson(sampling_rate=0.05))
        .guarantee()
    ),
    "whole noise beside laplace": lambda: (
        mechanism_compose(
            DiscreteGaussian(sigma=4, sensitivity=L2(1)), Laplace(scale=5, sensitivity=L1(1))
        )
        .subsample(Poisson(sampling_rate=0.2))
        .guarantee()
    ),
    "many answers on one sample": lambda: (
        RandomizedResponse(epsilon=0.125, categories=3, relation=AddRemove())
        .repeat(200)
        .subsample(Poisson(sampling_rate=0.125))
        .guarantee()
    ),
    "five samples": lambda: two_releases().repeat(5).guarantee(),
    "laplaces on one sample": lambda: (
        Laplace(scale=10, sensitivity=L1(1))
        .repeat(4)
        .subsample(Poisson(sampling_rate=0.125))
        .guarantee()
    ),
    "few": lambda: self_compose(Laplace(scale=2, sensitivity=L1(1)).guarantee(), 7),
    "group": lambda: group(Laplace(scale=5, sensitivity=L1(1)).guarantee(), size=3),
}


def certifiable(guarantee: Guarantee[Any]) -> Guarantee[Any]:
    """What certificates prove where bounded ranges count as logistic pairs."""
    return with_logistic(guarantee) if isinstance(guarantee, DominatingPair) else guarantee
