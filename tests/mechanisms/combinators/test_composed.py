"""Composition of mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import (
    ClippedSum,
    Composed,
    Count,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Repeated,
    compose,
)
from tests.contracts.mechanism_contract import MechanismContract, one_bad, overlap


def pipeline(noise: float) -> Composed[AddRemove]:
    """A sum and a count on the same records."""
    total = Gaussian(sigma=noise, sensitivity=L2(1), query=ClippedSum(lower=0, upper=1))
    return compose(total, DiscreteLaplace(scale=2 * noise, sensitivity=L1(1), query=Count()))


class TestComposed(MechanismContract):
    """A Gaussian and a discrete Laplace release."""

    def mechanism(self) -> Composed[AddRemove]:
        """On records."""
        return pipeline(2)

    def data(self) -> object:
        """Records."""
        return [0.5, 0.25, 4.0]

    def increasing_noise(self) -> Sequence[Composed[AddRemove]]:
        """Both parts grow noisier."""
        return [pipeline(noise) for noise in (0.5, 1, 4)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Nothing, or something that is not a mechanism."""
        nothing: list[Any] = []
        not_mechanisms: list[Any] = [3, "gaussian"]
        return [lambda: compose(*nothing), lambda: compose(*not_mechanisms)]


def test_release_is_a_tuple_in_order() -> None:
    """One output for each part."""
    total, count = pipeline(1e-6).release([0.5, 0.25, 4.0])

    assert total == pytest.approx(1.75, abs=1e-3)
    assert count == 3


def test_many_releases_are_named_fields() -> None:
    """A structured array: first axis outputs, one field a part, whatever their shapes."""
    table = Laplace(scale=1, sensitivity=L1(1))
    inner = compose(table, table.repeat(2))
    outputs = inner.release_many([1.0, 2.0, 3.0], 10)

    assert outputs.shape == (10,)
    assert outputs["0"].shape == (10, 3)
    assert outputs["1"].shape == (10, 2, 3)
    assert inner.sampler()([1.0, 2.0, 3.0], 10, np.random.default_rng(1)).shape == (10, 9)


def test_mixed_relations_are_refused() -> None:
    """At run time the error names both relations and the positions."""
    left: Any = Gaussian(sigma=1, sensitivity=L2(1))
    right: Any = Laplace(scale=1, sensitivity=L1(1, ReplaceOne()))
    with pytest.raises(RelationMismatch, match=r"AddRemove.*part 2 is ReplaceOne"):
        compose(left, left, right)


def test_order_and_grouping_do_not_matter() -> None:
    """Composition commutes and associates."""
    a = Gaussian(sigma=2, sensitivity=L2(1))
    b = Laplace(scale=3, sensitivity=L1(1))
    c = DiscreteLaplace(scale=4, sensitivity=L1(1))
    costs = [
        m.guarantee().epsilon(delta=1e-6)
        for m in (compose(a, b, c), compose(c, a, b), compose(compose(a, b), c))
    ]

    assert overlap(costs[0], costs[1])
    assert overlap(costs[0], costs[2])


def test_parts_of_a_subsampled_composition_share_one_sample() -> None:
    """With almost no noise, a sum of ones and a count on one sample agree."""
    both = compose(
        DiscreteLaplace(scale=2**-10, sensitivity=L1(1), query=Count()),
        DiscreteLaplace(scale=2**-10, sensitivity=L1(1), query=Count()),
    ).subsample(Poisson(sampling_rate=0.5))
    outputs = both.release_many(list(range(40)), 300)

    assert (outputs["0"] == outputs["1"]).all()
    assert len(set(outputs["0"].tolist())) > 5


def test_separately_subsampled_parts_draw_their_own_samples() -> None:
    """Subsampling before composing is another mechanism."""
    count = DiscreteLaplace(scale=2**-10, sensitivity=L1(1), query=Count())
    step = count.subsample(Poisson(sampling_rate=0.5))
    outputs = compose(step, step).release_many(list(range(40)), 300)

    assert (outputs["0"] != outputs["1"]).any()


def test_data_means_the_same_to_every_part() -> None:
    """Records for one part cannot be a noised value for another."""
    mixed = compose(
        Laplace(scale=1, sensitivity=L1(1), query=Count()), Laplace(scale=1, sensitivity=L1(1))
    )
    with pytest.raises(ParameterError, match="parts without one: 1"):
        mixed.release([1.0, 2.0])
    assert mixed.guarantee().relation == AddRemove()


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
