"""Repetition of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sampling.poisson import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Count, DiscreteLaplace, Gaussian, Repeated
from tests.contracts.mechanism_contract import MechanismContract, one_bad


class TestRepeated(MechanismContract):
    """Three Gaussian releases of a vector."""

    def mechanism(self) -> Repeated[AddRemove]:
        """On the value of a query."""
        return Gaussian(sigma=3, sensitivity=L2(1)).repeat(3)

    def data(self) -> object:
        """A vector."""
        return [1.0, 2.0]

    def neighbour(self) -> object:
        """One coordinate moves by the sensitivity."""
        return [2.0, 2.0]

    def increasing_noise(self) -> Sequence[Repeated[AddRemove]]:
        """The base grows noisier."""
        return [Gaussian(sigma=s, sensitivity=L2(1)).repeat(3) for s in (1, 2, 8)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A count that is not a whole number from 1 to 10^12, a base that is no mechanism."""
        return one_bad(
            Repeated,
            good={"base": Gaussian(sigma=3, sensitivity=L2(1)), "count": 2},
            bad={
                "base": (3, "gaussian", None),
                "count": (0, -1, 1.5, 2.0, "2", True, None, 10**12 + 1, float("nan")),
            },
        )


def test_outputs_are_stacked() -> None:
    """Shape (count, ...); repeats nest."""
    assert Gaussian(sigma=3, sensitivity=L2(1)).repeat(3).release([1.0, 2.0]).shape == (3, 2)
    assert Gaussian(sigma=3, sensitivity=L2(1)).repeat(3).repeat(2).release(0.0).shape == (2, 3)


def test_nested_repetition_multiplies_counts() -> None:
    """A repeat of a repeat costs what one long repeat costs."""
    base = DiscreteLaplace(scale=9, sensitivity=L1(1))
    nested = base.repeat(20).repeat(5).guarantee().epsilon(delta=1e-6)
    flat = base.repeat(100).guarantee().epsilon(delta=1e-6)

    assert nested == flat


def test_every_repetition_draws_a_fresh_sample() -> None:
    """A subsampled base sees another sample each time; a subsampled repetition sees one."""
    count = DiscreteLaplace(scale=2**-10, sensitivity=L1(1), query=Count())
    scheme = Poisson(sampling_rate=0.5)
    fresh = count.subsample(scheme).repeat(20).release(list(range(40)))
    shared = count.repeat(20).subsample(scheme).release(list(range(40)))

    assert len(np.unique(fresh)) > 1
    assert len(np.unique(shared)) == 1
