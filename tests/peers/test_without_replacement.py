"""Fixed-size sampling under replace-one, against instances."""

from __future__ import annotations

import pytest

from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.sampling import WithoutReplacement
from dpproof.accountant.sensitivity import L2
from dpproof.mechanisms import Gaussian
from tests.peers.support import Peer, distributions, sampled_gaussian

pytestmark = [pytest.mark.peer, pytest.mark.slow]


def test_our_bound_is_above_an_instance() -> None:
    """The instance of docs/DIVERGENCES.md that the peer's Renyi accountant is below."""
    ours = Gaussian(sigma=1, sensitivity=L2(2, ReplaceOne())).subsample(
        WithoutReplacement(sample_size=100, population_size=1000)
    )
    found = ours.repeat(10).guarantee().epsilon(delta=1e-5)
    instance = sampled_gaussian(0.5, 0.1, 10).guarantee().epsilon(delta=1e-5)

    assert instance.lower > 12.26
    assert instance.lower <= found.upper < 12.5


def test_one_step_is_above_an_instance() -> None:
    """One step: no delta of ours is below what the peer proves for the instance."""
    ours = Gaussian(sigma=1, sensitivity=L2(2, ReplaceOne())).subsample(
        WithoutReplacement(sample_size=100, population_size=1000)
    )

    def make(**how: object) -> object:
        return distributions.from_gaussian_mechanism(0.5, sampling_prob=0.1, **how)

    epsilons = (0.1, 0.5, 1.5)
    guarantee = ours.guarantee()
    for epsilon, low in zip(epsilons, Peer(make).ends(epsilons)[0], strict=True):
        assert low <= guarantee.delta(epsilon=epsilon).upper
