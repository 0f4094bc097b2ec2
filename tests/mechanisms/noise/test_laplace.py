"""The Laplace mechanism."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.accountant.sensitivity import L1, L2, JointSensitivity
from dpproof.mechanisms import Count, Laplace, ReplayRng
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
            Laplace, good={"scale": 1, "sensitivity": L1(1)}, bad={"query": ("count", 3)}
        )


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.5, 1.0, 1.2])
def test_states_the_closed_profile(epsilon: float) -> None:
    """One Laplace release has delta = 1 - e^((epsilon - epsilon_0)/2) below epsilon_0."""
    stated = Laplace(scale=20, sensitivity=L1(20)).guarantee().delta(epsilon=epsilon)
    truth = max(0.0, -math.expm1((epsilon - 1.0) / 2))

    assert stated.lower - 1e-15 <= truth <= stated.upper + 1e-15


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne(), ZeroOut()])
def test_pure_epsilon_is_sensitivity_over_scale(relation: AddRemove | ReplaceOne | ZeroOut) -> None:
    """At delta 0 the cost is exactly the ratio, under any relation."""
    bound = Laplace(scale=20, sensitivity=L1(5, relation)).guarantee().epsilon(delta=0)

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


class TestLaplaceJointly(MechanismContract):
    """Few coordinates, each of which moves a little."""

    def mechanism(self) -> Laplace[AddRemove]:
        """Two that move by 1, and one by a half."""
        return Laplace(scale=2, sensitivity=JointSensitivity(l1=2.5, linf=1))

    def data(self) -> object:
        """Four numbers."""
        return [1.0, 2.0, 3.0, 4.0]

    def neighbour(self) -> object:
        """The worst change."""
        return [1.0, 3.0, 2.0, 4.5]

    def increasing_noise(self) -> Sequence[Laplace[AddRemove]]:
        """Larger and larger scales."""
        few = JointSensitivity.few(coordinates=3, each=1)
        return [Laplace(scale=scale, sensitivity=few) for scale in (1, 2, 9)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """Bounds that are none."""
        return [
            lambda: JointSensitivity(l1=0, linf=1),
            lambda: JointSensitivity(l1=1, linf=-1),
            lambda: JointSensitivity.few(coordinates=0, each=1),
        ]


def _losses(shift: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses of a Laplace shift under the unshifted law, in steps, with their masses."""
    edges = np.linspace(-shift, shift, 20_001)
    below = np.concatenate([[0.0], np.exp((edges - shift) / 2) / 2, [1.0]])
    middle = (edges[1:] + edges[:-1]) / 2
    return np.concatenate([[-shift], middle, [shift]]), np.diff(below)


def _profile(first: float, second: float, epsilon: float) -> float:
    """The profile of two shifts: the closed profile of one, averaged over the loss of the other."""
    loss, mass = _losses(first)
    left = epsilon - loss
    one = np.where(left <= -second, 1 - np.exp(left), -np.expm1((left - second) / 2))
    return float(mass @ np.where(left >= second, 0.0, one))


def test_transfers_make_it_worse() -> None:
    """The lemma on random shifts and epsilons, up to the steps' width."""
    random = np.random.default_rng(7)
    for _ in range(200):
        small = random.uniform(0, 3)
        large, moved = small + random.uniform(0, 3), random.uniform(0, small)
        epsilon = random.uniform(-3, large + small)
        after = _profile(large + moved, small - moved, epsilon)
        assert after >= _profile(large, small, epsilon) - 1e-8


def test_states_the_worst_change() -> None:
    """Two full shifts and a rest; every change within the bounds costs at most that."""
    joint = Laplace(scale=1, sensitivity=JointSensitivity(l1=2.5, linf=1.5)).guarantee()
    for epsilon in (0.0, 0.7, 1.9):
        stated = joint.delta(epsilon=epsilon)
        assert stated.upper == pytest.approx(_profile(1.5, 1.0, epsilon), abs=1e-7)
        assert _profile(1.3, 1.2, epsilon) < stated.upper
    assert JointSensitivity(l1=2.5, linf=1.5).as_l2().value ** 2 == pytest.approx(3.25)
    assert JointSensitivity(l1=2.5, linf=9).as_l1() == L1(2.5)


def test_ten_counts_cost_less_than_one_sum() -> None:
    """Where ten counts move by 1 each, twenty times at scale 5: 15.91 and not 39.67."""
    few = Laplace(scale=5, sensitivity=JointSensitivity.few(coordinates=10, each=1))
    whole = Laplace(scale=5, sensitivity=L1(10))

    assert few.repeat(20).guarantee().epsilon(delta=1e-6).upper < 15.92
    assert whole.repeat(20).guarantee().epsilon(delta=1e-6).lower > 39.67
