"""The same mechanism for both libraries, and the comparison of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Gaussian, Laplace, Mechanism

dp_accounting = pytest.importorskip("dp_accounting")
distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

ADD_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE

FFT = 1e-13  # absolute: what the peer's Fourier transforms lose in delta
SHIFT = 0.02  # what rounding down all losses of a composition takes from their sum
RESOLVED = 1e-10  # below, the peer's Fourier transforms say nothing


@final
@dataclass(frozen=True, slots=True)
class Peer:
    """A privacy loss distribution, to be composed with itself."""

    make: Callable[..., Any]
    count: int = 1

    def ends(self, epsilons: Sequence[float]) -> tuple[list[float], list[float]]:
        """Deltas claimed to be below, and above, the truth."""
        interval = SHIFT / self.count
        low, high = (
            self.make(
                pessimistic_estimate=pessimistic,
                value_discretization_interval=interval,
                use_connect_dots=False,
            ).self_compose(self.count)
            for pessimistic in (False, True)
        )
        return (
            [float(low.get_delta_for_epsilon(epsilon)) for epsilon in epsilons],
            [float(high.get_delta_for_epsilon(epsilon)) for epsilon in epsilons],
        )


def brackets(peer: Peer, ours: Guarantee[Any], epsilons: Sequence[float]) -> None:
    """The peer's bracket and ours share a number, and both are narrow enough to mean something."""
    found = [ours.delta(epsilon=epsilon) for epsilon in epsilons]
    for bound, low, high in zip(found, *peer.ends(epsilons), strict=True):
        assert low <= bound.upper + FFT
        assert bound.lower <= high + FFT
        assert high - low <= 0.5 * high
        assert bound.lower >= RESOLVED
        assert bound.relative_width <= 1e-4


def close(value: float, bound: Bound, relative: float) -> bool:
    """Whether a peer's number is within a relative distance of a bracket."""
    return bound.lower * (1 - relative) <= value <= bound.upper * (1 + relative)


def sampled_gaussian(sigma: float, rate: float, count: int) -> Mechanism[AddRemove]:
    """Subsampled Gaussian steps of ours."""
    step = Gaussian(sigma=sigma, sensitivity=L2(1)).subsample(Poisson(sampling_rate=rate))
    return step.repeat(count)


def sampled_laplace(scale: float, rate: float, count: int) -> Mechanism[AddRemove]:
    """Subsampled Laplace steps of ours."""
    step = Laplace(scale=scale, sensitivity=L1(1)).subsample(Poisson(sampling_rate=rate))
    return step.repeat(count)


def replaced_gaussian(sigma: float) -> Mechanism[ReplaceOne]:
    """A sum of records of norm at most 1, one of them replaced: it moves by up to 2."""
    return Gaussian(sigma=sigma, sensitivity=L2(2, ReplaceOne()))


def gaussian_event(sigma: float, rate: float | None = None) -> Any:  # noqa: ANN401  # untyped
    """The peer's Gaussian, on Poisson samples where a rate is given."""
    event = dp_accounting.GaussianDpEvent(sigma)
    return event if rate is None else dp_accounting.PoissonSampledDpEvent(rate, event)


def response(noise: float, categories: int) -> Fraction:
    """exp(epsilon) of the peer's randomised response.

    The peer answers at random with probability ``noise``, so that the true category has
    probability 1 - noise + noise / k and every other one noise / k.
    """
    lie = Fraction(noise) / categories
    return (1 - Fraction(noise) + lie) / lie


def response_epsilon(noise: float, categories: int) -> float:
    """The nearest float to its epsilon."""
    return math.log(response(noise, categories))
