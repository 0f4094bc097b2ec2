"""Two mechanisms in a chain: what runs, and that the statement covers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import (
    BatchPerceptron,
    Chained,
    Clamped,
    ClassMeans,
    Gaussian,
    Laplace,
    NoisyMistakes,
    Records,
    Staircase,
    compose,
)
from tests.contracts.mechanism_contract import MechanismContract, one_bad

TRAIN = BatchPerceptron(margin=0.1, steps=2, sigma=2, relation=AddRemove())
SCORE = NoisyMistakes(sigma=2, relation=AddRemove())


class TestChained(MechanismContract):
    """A perceptron, then the number of its mistakes."""

    def mechanism(self) -> Chained[AddRemove]:
        """Two steps and a count."""
        return Chained(first=TRAIN, then=SCORE)

    def data(self) -> Records:
        """A few rows."""
        return Records([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]], [1, -1, 1])

    def increasing_noise(self) -> Sequence[Chained[AddRemove]]:
        """The count grows noisier."""
        return [
            Chained(first=TRAIN, then=NoisyMistakes(sigma=s, relation=AddRemove()))
            for s in (0.5, 1, 2, 50)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """A first part that does not act on records, and a second one that sees no output."""
        good = {"first": TRAIN, "then": SCORE}
        value = Gaussian(sigma=1, sensitivity=L2(1))
        return one_bad(
            Chained, good=good, bad={"first": (None, SCORE, value), "then": (None, TRAIN)}
        )


def test_the_second_part_sees_the_output_of_the_first() -> None:
    """Without noise on the count, the second output is a function of the first one."""
    rows = np.array([[1.0, 0.2], [-0.9, 0.1], [0.3, -0.8], [0.2, 0.9]])
    data = Records(rows, [1, -1, 1, -1])
    chain = Chained(first=TRAIN, then=NoisyMistakes(sigma=1e-9, relation=AddRemove()))
    outputs = chain.release_many(data, 40)
    wrong = (outputs["0"]["weights"] @ rows.T * data.labels <= 0).sum(axis=1)

    assert len(set(wrong.tolist())) > 1
    assert np.rint(outputs["1"]).tolist() == wrong.tolist()


def test_the_guarantee_is_that_of_the_composition() -> None:
    """A chain costs what its parts cost one after the other."""
    count = Gaussian(sigma=2, sensitivity=L2(1))

    assert Chained(first=TRAIN, then=SCORE).guarantee() == compose(TRAIN, count).guarantee()


def test_parts_speak_of_the_same_neighbours() -> None:
    """Parts under different relations are refused."""
    with pytest.raises(RelationMismatch):
        Chained(first=TRAIN, then=NoisyMistakes(sigma=1, relation=ReplaceOne()))  # type: ignore[misc]


def test_outputs_without_weights_are_refused() -> None:
    """What is scored has weights; the error names the field."""
    chain = Chained(first=ClassMeans(classes=2, sigma=1, relation=AddRemove()), then=SCORE)
    with pytest.raises(ParameterError, match="weights"):
        chain.release(Records(np.eye(2), [0, 1]))


NOISE = Laplace(scale=2, sensitivity=L1(1))


class TestClamped(MechanismContract):
    """Laplace noise in a range."""

    def mechanism(self) -> Clamped[AddRemove]:
        """Around where the value is."""
        return Clamped(NOISE, lower=-1, upper=9.5)

    def data(self) -> object:
        """A number near an end."""
        return 9.0

    def neighbour(self) -> object:
        """As far away as can be."""
        return 8.0

    def increasing_noise(self) -> Sequence[Clamped[AddRemove]]:
        """More and more noise."""
        return [
            Clamped(Gaussian(sigma=sigma, sensitivity=L2(1)), lower=0, upper=1)
            for sigma in (1, 2, 9)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """No mechanism, no range."""
        return one_bad(
            Clamped,
            good={"noise": NOISE, "lower": 0, "upper": 1},
            bad={
                "noise": (None, 3),
                "lower": (2, float("nan"), "0", Fraction(1, 3)),
                "upper": (-1, float("inf"), None),
            },
        )


def test_costs_what_the_noise_does() -> None:
    """The same answers, and outputs in the range; integers and vectors, too."""
    clamped = Clamped(NOISE, lower=0, upper=1)

    assert clamped.guarantee() == NOISE.guarantee()
    drawn = np.asarray(clamped.release_many(0.5, 2_000))
    assert {0.0, 1.0} <= set(drawn.tolist()) <= set(np.clip(drawn, 0, 1).tolist())
    whole = Clamped(Staircase(epsilon=1, sensitivity=L1(3)), lower=0, upper=5)
    assert 0 <= whole.release(4) <= 5
    with pytest.raises(ParameterError, match="several outputs"):
        Clamped(compose(NOISE, NOISE), lower=0, upper=1).release(0.5)
