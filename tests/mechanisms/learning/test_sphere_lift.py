"""Choices by spherical noise on lifted candidates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, ReplaceOne
from dpproof.mechanisms import (
    Conjunctions,
    Cube,
    EnumerationOracle,
    Grid,
    HingeLoss,
    MilpOracle,
    Records,
    SphereLift,
    Subsets,
    ZeroOne,
)
from dpproof.mechanisms.learning.separators.objective_perturbation import Lift
from dpproof.mechanisms.learning.separators.oracles import Problem, vectors
from dpproof.mechanisms.learning.separators.spaces import patterns
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"epsilon": 1, "space": Grid(2, 1)}


class TestSphereLift(MechanismContract):
    """Two weights of three levels."""

    def mechanism(self) -> SphereLift[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return SphereLift(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Integer rows of both labels."""
        return Records([[1, 0], [-1, 1], [0, 1], [1, 1]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[SphereLift[AddRemove]]:
        """Epsilon from 4 to a tenth."""
        return [SphereLift(epsilon=e, space=Grid(2, 1), relation=AddRemove()) for e in (4, 1, 0.1)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": (*NOT_POSITIVE, 2000, 2.0**-201),
            "space": (3, None, Cube(40)),
            "loss": ("zero-one",),
            "oracle": ("milp", MilpOracle()),
            "relation": ("add-remove", None),
        }
        return one_bad(SphereLift, good={**GOOD, "relation": AddRemove()}, bad=bad)


SPACES = [Grid(2, 2), Grid(3, 1), Cube(4), Conjunctions(3), Subsets(5, 2)]


def _lifts(space: Any) -> list[tuple[Any, tuple[int, ...]]]:  # noqa: ANN401
    """Candidates by positions of levels, and their lifts by definition."""
    lift = Lift(space)
    found = []
    for levels in vectors(space):
        y = np.array(lift.values)[levels]
        square = lift.square - int((y**2).sum())
        height = [] if lift.flat else [round(lift.fineness * square**0.5)]
        found.append((levels, (*(int(lift.fineness * x) for x in y), *height)))
    return found


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_lifts_are_far_apart_and_of_one_length(space: Any) -> None:  # noqa: ANN401
    """What Theorem 4 asks for, for every pair of candidates; and hardly more than that."""
    lift, lifted = Lift(space), _lifts(space)
    spare = []
    for (w, psi), (u, other) in itertools.permutations(lifted, 2):
        places = int(np.abs(w - u).sum())
        gain = sum(a * (a - b) for a, b in zip(psi, other, strict=True))
        assert gain >= lift.gain * places
        spare.append(float(gain / (lift.gain * places)))
    squares = [sum(x * x for x in psi) for _, psi in lifted]

    assert max(squares) <= lift.length <= 1.02 * min(squares)
    assert min(spare) < 1.05 if not isinstance(space, Subsets) else min(spare) == 1


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("bits", [8, 50])
def test_the_minimum_is_the_definition(space: Any, bits: int) -> None:  # noqa: ANN401
    """Of losses minus the product of noise and lift, in 64 bits or beyond."""
    rng = np.random.default_rng(3)
    rows = rng.integers(-1, 2, size=(20, space.coordinates))
    data = patterns(Records(rows, rng.choice([1, -1], size=20)), space.coordinates)
    lift, unit = Lift(space), 2**bits
    heights = None if lift.heights is None else -lift.heights
    problem = Problem(space, ZeroOne(), data, unit, heights)
    noises = rng.integers(-unit, unit, size=(12, lift.dimension)).astype(np.object_)
    found = EnumerationOracle().minima(problem, lift.charged(noises))
    losses = [
        problem.objective(levels, np.zeros(space.separators + 1, dtype=int))
        for levels in vectors(space)
    ]
    for noise, best in zip(noises, found, strict=True):
        products = [
            sum(int(k) * x for k, x in zip(noise, psi, strict=True)) for _, psi in _lifts(space)
        ]
        listed = [loss - product for loss, product in zip(losses, products, strict=True)]
        winner = _lifts(space)[listed.index(min(listed))][0]
        assert (winner == best).all()


def test_excess_is_bounded_run_by_run() -> None:
    """By the norm of the noise times the distance of two lifts, whatever the noise."""
    space = Grid(2, 2)
    data = patterns(Records([[1, 0], [1, 1], [-1, 2]] * 20, [1, -1, 1] * 20), 2)
    pick = SphereLift(epsilon=0.2, space=space, relation=AddRemove())
    lift = Lift(space)
    assert lift.heights is not None
    problem = Problem(space, ZeroOne(), data, pick.unit, -lift.heights)
    least = min(problem.totals().reshape(-1))
    rng = np.random.default_rng(4)
    for size in (0.1, 1.0, 10.0):
        noise = (rng.normal(size=(5, 3)) * size * pick.unit).astype(np.int64)
        minima = EnumerationOracle().minima(problem, lift.charged(noise))
        for k, levels in zip(noise, minima, strict=True):
            lost = problem.objective(levels, np.zeros(space.separators + 1, dtype=int))
            excess = lost - least * pick.unit
            assert excess <= 2 * np.linalg.norm(k.astype(float)) * lift.length**0.5


def test_relations_and_losses() -> None:
    """Replacement halves what a loss is worth, a steep loss costs its steepness; the radius."""
    plain = SphereLift(**GOOD, relation=AddRemove())
    replaced = SphereLift(**GOOD, relation=ReplaceOne())
    steep = SphereLift(**GOOD, loss=HingeLoss(bound=3), relation=AddRemove())
    assert plain.scale / plain.unit == pytest.approx(float(replaced.scale / replaced.unit) / 2)
    assert plain.scale / plain.unit == pytest.approx(float(steep.scale / steep.unit) / 3)
    assert plain.radius == pytest.approx(2**0.5)
    assert SphereLift(epsilon=1, space=Cube(9), relation=AddRemove()).radius == pytest.approx(1.5)
