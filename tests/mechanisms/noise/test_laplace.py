"""The Laplace mechanism."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from accountant.errors import ParameterError
from accountant.relation import AddRemove, ReplaceOne, ZeroOut
from accountant.sensitivity import L1, L2
from mechanisms import Count, Laplace, ReplayRng
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad


class TestLaplace(MechanismContract):
    """On the value of a query."""

    def mechanism(self) -> Laplace[AddRemove]:
        """Scale twice the sensitivity."""
        return Laplace(scale=6, sensitivity=L1(3))

    def data(self) -> object:
        """A single number."""
        return 12.5

    def increasing_noise(self) -> Sequence[Laplace[AddRemove]]:
        """Scales from half the sensitivity to fifty times."""
        return [Laplace(scale=scale, sensitivity=L1(1)) for scale in (0.5, 1, 2.5, 50)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            Laplace,
            good={"scale": 1, "sensitivity": L1(1)},
            bad={
                "scale": (*NOT_POSITIVE, 2**301),
                "sensitivity": (L2(1), 1.0, None),
                "relation": ("add-remove", AddRemove, None),
                "query": (3,),
                "granularity": (0, 3, -1, "1", float("inf")),
            },
        )


class TestLaplaceOnRecords(MechanismContract):
    """Carrying its query."""

    def mechanism(self) -> Laplace[AddRemove]:
        """A count."""
        return Laplace(scale=2, sensitivity=L1(1), query=Count())

    def data(self) -> object:
        """Records of any kind."""
        return ["ann", "bob", "eve"]

    def increasing_noise(self) -> Sequence[Laplace[AddRemove]]:
        """Scales from half the sensitivity up."""
        return [Laplace(scale=s, sensitivity=L1(1), query=Count()) for s in (0.5, 1, 4)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A query that is not one."""
        return one_bad(
            Laplace,
            good={"scale": 1, "sensitivity": L1(1)},
            bad={
                "query": ("count", 3),
            },
        )


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.5, 1.0, 1.2])
def test_states_the_closed_profile(epsilon: float) -> None:
    """One Laplace release has delta = 1 - e^((epsilon - epsilon_0)/2) below epsilon_0."""
    stated = Laplace(scale=20, sensitivity=L1(20)).guarantee().delta(epsilon=epsilon)
    truth = max(0.0, -math.expm1((epsilon - 1.0) / 2))

    assert stated.lower - 1e-15 <= truth <= stated.upper + 1e-15


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne(), ZeroOut()])
def test_pure_epsilon_is_sensitivity_over_scale(
    relation: AddRemove | ReplaceOne | ZeroOut,
) -> None:
    """At delta 0 the cost is exactly the ratio, under any relation."""
    bound = Laplace(scale=20, sensitivity=L1(5), relation=relation).guarantee().epsilon(delta=0)

    assert bound.lower <= 0.25 <= bound.upper
    assert bound.relative_width < 1e-9


def test_outputs_lie_on_a_grid_that_ignores_the_data() -> None:
    """Every output is a multiple of the granularity, whatever the value's low bits."""
    mechanism = Laplace(scale=1, sensitivity=L1(1), granularity=Fraction(1, 64))
    outputs = mechanism.release_many(math.pi, 10_000, rng=ReplayRng(1)) * 64

    assert (outputs == np.rint(outputs)).all()


def test_outputs_follow_the_ideal_law() -> None:
    """The empirical distribution stays in its DKW band, except with probability 1e-8."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    size, value, scale = 200_000, -4.7, 3.0
    mechanism = Laplace(scale=scale, sensitivity=L1(1))
    outputs = np.sort(mechanism.release_many(value, size, rng=np.random.default_rng(seed)))
    x = (outputs - value) / scale
    law = np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)
    deviation = np.abs(law - (np.arange(size) + 0.5) / size)

    # Rounding to the grid moves the distribution function by at most half a grid step.
    assert deviation.max() <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size)) + 2**-19


@pytest.mark.parametrize("value", [float("nan"), -float("inf"), "3", None, [1.0, [2.0]]])
def test_refuses_values_it_cannot_protect(value: object) -> None:
    """Not finite or not a number: refused with the reason."""
    with pytest.raises(ParameterError, match="value must be"):
        Laplace(scale=1, sensitivity=L1(1)).release(value)
