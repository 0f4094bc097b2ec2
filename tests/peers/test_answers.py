"""Answers of dp-accounting where ours are others, by public calls of both.

Each test asserts the peer's number as well as ours, so that it fails when the peer changes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator

import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L2
from dpproof.interop import from_dp_event
from dpproof.mechanisms import Gaussian, RandomizedResponse
from tests.peers.support import (
    ADD_REMOVE,
    REPLACE_ONE,
    distributions,
    dp_accounting,
    gaussian_event,
    response_epsilon,
    sampled_gaussian,
)

pld = pytest.importorskip("dp_accounting.pld")
rdp = pytest.importorskip("dp_accounting.rdp")

pytestmark = pytest.mark.peer


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The peer logs where it should refuse."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def test_count_ignored_for_randomized_response() -> None:
    """100 uses cost what one does."""
    event = dp_accounting.RandomizedResponseDpEvent(0.8, 2)

    def epsilon(composed: object, count: int) -> float:
        return float(pld.PLDAccountant(REPLACE_ONE).compose(composed, count).get_epsilon(1e-6))

    listed = epsilon(dp_accounting.ComposedDpEvent([event] * 100), 1)
    ours = RandomizedResponse(epsilon=response_epsilon(0.8, 2), relation=ReplaceOne()).repeat(100)
    found = ours.guarantee().epsilon(delta=1e-6)

    assert epsilon(event, 100) == epsilon(event, 1) == pytest.approx(0.4055, abs=1e-4)
    assert listed == pytest.approx(25.476, abs=1e-3)
    assert 25.47 < found.lower <= found.upper <= listed


def test_rdp_nan_costs_nothing() -> None:
    """One undefined noise multiplier resets the whole account to 0."""
    accountant = rdp.RdpAccountant().compose(gaussian_event(1.0), 100)
    assert accountant.get_epsilon(1e-6) > 50
    assert accountant.compose(gaussian_event(math.nan)).get_epsilon(1e-6) == 0

    with pytest.raises(ParameterError, match="sigma"):
        Gaussian(sigma=math.nan, sensitivity=L2(1))


def test_rdp_negative_divergence_costs_nothing() -> None:
    """A round-off of -1e-12 at one order makes epsilon and delta 0."""
    accounting = rdp.rdp_privacy_accountant
    assert accounting.compute_epsilon([2, 4], [5.0, -1e-12], 1e-5) == (0, 4)
    assert accounting.compute_delta([2, 4], [5.0, -1e-12], 1.0) == (0, 4)


def test_rdp_round_off_gives_negative_divergences() -> None:
    """Public events reach the previous case: a small rate and much noise."""
    sigma, rate, count = 1000.0, 1e-8, 10**12
    peer = rdp.RdpAccountant().compose(gaussian_event(sigma, rate), count)
    ours = sampled_gaussian(sigma, rate, count).guarantee()

    assert (peer.rdp < 0).any()
    assert peer.get_delta(0.0) == 0
    assert ours.delta(epsilon=0).lower > 3e-6  # near Phi(1e-5 / 2) - Phi(-1e-5 / 2)


def test_rdp_undefined_delta_costs_nothing() -> None:
    """A delta that is not a number, or above 1, is answered."""
    for delta in (math.nan, 2.0):
        assert rdp.RdpAccountant().compose(gaussian_event(1.0)).get_epsilon(delta) == 0
        with pytest.raises(ParameterError, match="delta"):
            Gaussian(sigma=1, sensitivity=L2(1)).guarantee().epsilon(delta=delta)


def test_pessimistic_pld_beside_the_truth_at_small_delta() -> None:
    """Round-off of the Fourier transform reaches delta: which side it takes is numpy's choice.

    With numpy 2.4 its upper end is .993 and .971 of the truth, with numpy 2.5 1.001 and 1.007.
    """
    truth = sampled_gaussian(1.0, 0.01, 10_000).guarantee()
    peer = distributions.from_gaussian_mechanism(1.0, sampling_prob=0.01).self_compose(10_000)
    for delta, least_error in {1e-12: 5e-4, 1e-13: 3e-3}.items():
        ours = truth.epsilon(delta=delta)
        assert ours.relative_width < 1e-9
        assert abs(peer.get_epsilon_for_delta(delta) / ours.lower - 1) > least_error
    assert peer.get_epsilon_for_delta(1e-15) == math.inf


def test_optimistic_pld_above_the_truth_at_small_delta() -> None:
    """Its lower bound of epsilon is above our upper bound."""
    delta = 1e-16
    ours = sampled_gaussian(1.0, 0.01, 10_000).guarantee().epsilon(delta=delta)
    peer = distributions.from_gaussian_mechanism(
        1.0, sampling_prob=0.01, pessimistic_estimate=False, use_connect_dots=False
    ).self_compose(10_000)

    assert ours.upper < 12.3
    assert peer.get_epsilon_for_delta(delta) > ours.upper


def _truncated(records: int) -> tuple[float, Bound]:
    """Delta at epsilon 1 of a sample at rate 1/5 that is cut to 3, by both libraries."""
    event = dp_accounting.TruncatedSubsampledGaussianDpEvent(records, 0.2, 3, 0.7)
    theirs = pld.PLDAccountant(ADD_REMOVE, 1e-3).compose(event).get_delta(1.0)
    return float(theirs), from_dp_event(event, relation=AddRemove()).delta(epsilon=1.0)


@pytest.mark.slow
def test_truncated_sample_of_a_record_more() -> None:
    """The peer's number of 9 records does not cover the neighbour of 10, by its own number."""
    nine, ours = _truncated(9)
    ten, _ = _truncated(10)

    assert nine == pytest.approx(0.03129, rel=1e-3)
    assert nine < ours.lower <= ours.upper < ten
    assert ours.upper == pytest.approx(0.03373, rel=1e-3)
