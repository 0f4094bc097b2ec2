"""Privacy loss distributions, rounded up and down, bracket our deltas."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest

from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
    compose,
)
from tests.peers.support import (
    FFT,
    REPLACE_ONE,
    Peer,
    brackets,
    distributions,
    replaced_gaussian,
    response_epsilon,
    sampled_gaussian,
    sampled_laplace,
)

pytestmark = pytest.mark.peer


@pytest.mark.parametrize(
    ("sigma", "count", "epsilons"),
    [(0.7, 1, (0.0, 1.0, 5.0)), (2.0, 8, (0.0, 1.0, 5.0)), (30.0, 500, (0.0, 0.5, 3.0))],
)
def test_gaussian(sigma: float, count: int, epsilons: tuple[float, ...]) -> None:
    """The Gaussian, composed."""
    peer = Peer(partial(distributions.from_gaussian_mechanism, sigma), count)
    brackets(peer, Gaussian(sigma=sigma, sensitivity=L2(1)).repeat(count).guarantee(), epsilons)


@pytest.mark.parametrize(
    ("scale", "count", "epsilons"),
    [(1.0, 1, (0.0, 0.3, 0.9)), (1.0, 5, (0.0, 1.0, 4.5)), (20.0, 200, (0.0, 1.0, 3.0))],
)
def test_laplace(scale: float, count: int, epsilons: tuple[float, ...]) -> None:
    """The Laplace mechanism, composed."""
    peer = Peer(partial(distributions.from_laplace_mechanism, scale), count)
    brackets(peer, Laplace(scale=scale, sensitivity=L1(1)).repeat(count).guarantee(), epsilons)


@pytest.mark.parametrize(
    ("sigma", "rate", "count"), [(0.8, 0.1, 1), (1.0, 0.2, 10), (1.0, 0.01, 100), (5.0, 0.5, 50)]
)
def test_subsampled_gaussian(sigma: float, rate: float, count: int) -> None:
    """The Poisson-subsampled Gaussian, the worse of both directions."""
    make = partial(distributions.from_gaussian_mechanism, sigma, sampling_prob=rate)
    brackets(Peer(make, count), sampled_gaussian(sigma, rate, count).guarantee(), (0.0, 0.5, 1.5))


@pytest.mark.parametrize(
    ("scale", "rate", "count", "epsilons"),
    [(1.0, 0.3, 1, (0.0, 0.1, 0.3)), (0.5, 0.1, 10, (0.0, 0.5, 2.0))],
)
def test_subsampled_laplace(
    scale: float, rate: float, count: int, epsilons: tuple[float, ...]
) -> None:
    """The Poisson-subsampled Laplace mechanism, the worse of both directions."""
    make = partial(distributions.from_laplace_mechanism, scale, sampling_prob=rate)
    brackets(Peer(make, count), sampled_laplace(scale, rate, count).guarantee(), epsilons)


@pytest.mark.parametrize(("scale", "shift", "count"), [(2.0, 1, 1), (2.0, 3, 1), (4.0, 2, 10)])
def test_discrete_laplace(scale: float, shift: int, count: int) -> None:
    """The discrete Laplace mechanism; the peer's parameter is one over our scale."""
    make = partial(distributions.from_discrete_laplace_mechanism, 1 / scale, sensitivity=shift)
    ours = DiscreteLaplace(scale=scale, sensitivity=L1(shift)).repeat(count).guarantee()
    brackets(Peer(make, count), ours, (0.0, 0.2, 0.4))


@pytest.mark.parametrize(("sigma", "shift", "count"), [(0.6, 1, 1), (3.0, 2, 1), (5.0, 1, 20)])
def test_discrete_gaussian(sigma: float, shift: int, count: int) -> None:
    """The discrete Gaussian mechanism."""
    make = partial(distributions.from_discrete_gaussian_mechanism, sigma, sensitivity=shift)
    ours = DiscreteGaussian(sigma=sigma, sensitivity=L1(shift)).repeat(count).guarantee()
    brackets(Peer(make, count), ours, (0.0, 0.5, 1.3))


@pytest.mark.parametrize(("noise", "categories", "count"), [(0.5, 2, 1), (0.5, 5, 3), (0.9, 3, 60)])
def test_randomized_response(noise: float, categories: int, count: int) -> None:
    """Randomised response on k categories."""

    def make(*, use_connect_dots: bool, **how: object) -> object:
        assert not use_connect_dots
        return distributions.from_randomized_response(noise, categories, **how)

    ours = RandomizedResponse(
        epsilon=response_epsilon(noise, categories), categories=categories, relation=ReplaceOne()
    )
    brackets(Peer(make, count), ours.repeat(count).guarantee(), (0.0, 0.4, 1.0))


@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_gaussian_under_replace_one(sigma: float) -> None:
    """The peer's noise multiplier speaks of one record: replacing moves the sum twice as far."""
    make = partial(distributions.from_gaussian_mechanism, sigma, neighboring_relation=REPLACE_ONE)
    brackets(Peer(make), replaced_gaussian(sigma).guarantee(), (0.0, 0.5, 2.0))


def _composed(parts: list[Any]) -> Any:  # noqa: ANN401  # the peer is untyped
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return total


def test_mixed_pipeline() -> None:
    """Subsampled and plain Gaussians, Laplace, and both discrete noises together."""
    ends = []
    for pessimistic in (False, True):
        how = {
            "pessimistic_estimate": pessimistic,
            "value_discretization_interval": 2e-4,
            "use_connect_dots": False,
        }
        parts = [
            distributions.from_gaussian_mechanism(1.0, sampling_prob=0.05, **how).self_compose(100),
            distributions.from_gaussian_mechanism(10.0 / math.sqrt(4), **how),
            distributions.from_laplace_mechanism(20.0, **how).self_compose(10),
            distributions.from_discrete_laplace_mechanism(0.1, sensitivity=1, **how),
            distributions.from_discrete_gaussian_mechanism(8.0, sensitivity=1, **how),
        ]
        ends.append(_composed(parts))
    ours = compose(
        sampled_gaussian(1.0, 0.05, 100),
        Gaussian(sigma=10, sensitivity=L2(1)).repeat(4),
        Laplace(scale=20, sensitivity=L1(1)).repeat(10),
        DiscreteLaplace(scale=10, sensitivity=L1(1)),
        DiscreteGaussian(sigma=8, sensitivity=L1(1)),
    )
    guarantee = ours.guarantee()
    for epsilon in (0.5, 1.5, 3.0):
        low, high = (float(end.get_delta_for_epsilon(epsilon)) for end in ends)
        found = guarantee.delta(epsilon=epsilon)
        assert low <= found.upper + FFT
        assert found.lower <= high + FFT
        assert high - low <= 0.5 * high


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "delta", "epsilon"),
    [
        (0.8, 0.125, 1000, 1e-6, "56.726"),
        (1.0, 0.2, 10, 1e-5, "4.98421"),
        (1.0, 0.2, 500, 1e-5, "38.170"),
        (3.0, 0.2, 50, 1 / 48000, "1.96081"),
    ],
)
def test_reported_failures(
    sigma: float, rate: float, count: int, delta: float, epsilon: str
) -> None:
    """Settings that crashed other accountants, or came out too small, to the digits shown."""
    found = sampled_gaussian(sigma, rate, count).guarantee().epsilon(delta=delta)
    make = partial(distributions.from_gaussian_mechanism, sigma, sampling_prob=rate)
    peer = make(value_discretization_interval=1e-2).self_compose(count)
    digits = len(epsilon.partition(".")[2])

    assert f"{found.lower:.{digits}f}" == f"{found.upper:.{digits}f}" == epsilon
    assert found.upper <= peer.get_epsilon_for_delta(delta) <= found.upper * 1.1
