"""Renyi divergences agree at whole orders, and their conversion is never below the exact answer."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Gaussian, Laplace, RandomizedResponse, compose
from tests.peers.support import (
    REPLACE_ONE,
    close,
    dp_accounting,
    gaussian_event,
    response_epsilon,
    sampled_gaussian,
)

rdp = pytest.importorskip("dp_accounting.rdp")

pytestmark = pytest.mark.peer

WHOLE = [2, 3, 5, 8, 16, 32, 64, 256]
FRACTIONAL = [1.1, 1.5, 2.5, 4.7, 16.5]


def _peer(event: Any, orders: list[float], **how: Any) -> list[float]:  # noqa: ANN401
    found: list[float] = rdp.RdpAccountant(orders=orders, **how).compose(event).rdp.tolist()
    return found


def _agree(theirs: list[float], ours: Guarantee[Any], orders: list[float]) -> None:
    for order, value in zip(orders, theirs, strict=True):
        assert close(value, ours.rdp(order=order), 1e-9), order


@pytest.mark.parametrize("sigma", [0.5, 1.0, 7.0])
def test_gaussian(sigma: float) -> None:
    """The order over 2 sigma^2, at every order."""
    orders = [*WHOLE, *FRACTIONAL]
    ours = Gaussian(sigma=sigma, sensitivity=L2(1)).guarantee()
    _agree(_peer(gaussian_event(sigma), orders), ours, orders)


@pytest.mark.parametrize("scale", [0.5, 2.0, 20.0])
def test_laplace(scale: float) -> None:
    """The Laplace mechanism, at every order."""
    orders = [*WHOLE, *FRACTIONAL]
    ours = Laplace(scale=scale, sensitivity=L1(1)).guarantee()
    _agree(_peer(dp_accounting.LaplaceDpEvent(scale), orders), ours, orders)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 0.9])
def test_subsampled_gaussian_at_whole_orders(sigma: float, rate: float) -> None:
    """The binomial sum, where it is finite in floating point."""
    ours = sampled_gaussian(sigma, rate, 1).guarantee()
    theirs = _peer(gaussian_event(sigma, rate), list(WHOLE))
    for order, value in zip(WHOLE, theirs, strict=True):
        assert close(value, ours.rdp(order=order), 3e-8), order  # their logs cancel at small rates


@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 0.9])
def test_subsampled_gaussian_at_fractional_orders(sigma: float, rate: float) -> None:
    """The peer's series is an upper bound there, for a reason in docs/DIVERGENCES.md."""
    ours = sampled_gaussian(sigma, rate, 1).guarantee()
    theirs = _peer(gaussian_event(sigma, rate), list(FRACTIONAL))
    for order, value in zip(FRACTIONAL, theirs, strict=True):
        assert ours.rdp(order=order).lower <= value * (1 + 3e-8), order


@pytest.mark.parametrize(("noise", "categories"), [(0.5, 2), (0.3, 4), (0.9, 10)])
def test_randomized_response(noise: float, categories: int) -> None:
    """Randomised response, at every order."""
    orders = [*WHOLE, *FRACTIONAL]
    event = dp_accounting.RandomizedResponseDpEvent(noise, categories)
    ours = RandomizedResponse(
        epsilon=response_epsilon(noise, categories), categories=categories, relation=ReplaceOne()
    )
    theirs = _peer(event, orders, neighboring_relation=REPLACE_ONE)
    _agree(theirs, ours.guarantee(), orders)


@pytest.mark.some(6)
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9, 1e-20])
@pytest.mark.parametrize(
    ("sigma", "rate", "count"), [(1.0, 0.01, 10_000), (0.8, 0.1, 100), (4.0, 0.3, 50)]
)
def test_converted_epsilon_is_never_below(
    sigma: float, rate: float, count: int, delta: float
) -> None:
    """What Renyi divergences imply is never stronger than the exact answer."""
    peer = rdp.RdpAccountant().compose(gaussian_event(sigma, rate), count)
    ours = sampled_gaussian(sigma, rate, count).guarantee().epsilon(delta=delta)

    assert ours.upper <= peer.get_epsilon(delta)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_converted_delta_is_never_below(epsilon: float) -> None:
    """The same for delta."""
    peer = rdp.RdpAccountant().compose(gaussian_event(1.0, 0.01), 10_000)
    ours = sampled_gaussian(1.0, 0.01, 10_000).guarantee().delta(epsilon=epsilon)

    assert ours.upper <= peer.get_delta(epsilon)


def test_our_own_conversion_matches() -> None:
    """A Renyi curve of ours converts to at most what the peer's conversion gives."""
    orders = [1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0]
    curve = [0.1 * order for order in orders]
    theirs, _ = rdp.rdp_privacy_accountant.compute_epsilon(orders, curve, 1e-6)
    ours = RDP(points=list(zip(orders, curve, strict=True))).epsilon(delta=1e-6)

    assert ours.upper <= theirs * (1 + 1e-9)


def test_mixed_pipeline() -> None:
    """Renyi curves of a pipeline add up."""
    peer = (
        rdp.RdpAccountant(orders=WHOLE)
        .compose(gaussian_event(1.0, 0.02), 300)
        .compose(gaussian_event(4.0), 3)
        .compose(dp_accounting.LaplaceDpEvent(10.0), 20)
    )
    ours = compose(
        sampled_gaussian(1.0, 0.02, 300),
        Gaussian(sigma=4, sensitivity=L2(1)).repeat(3),
        Laplace(scale=10, sensitivity=L1(1)).repeat(20),
    ).guarantee()

    for order, value in zip(WHOLE, peer.rdp.tolist(), strict=True):
        assert math.isfinite(value)
        assert close(value, ours.rdp(order=order), 1e-8), order
