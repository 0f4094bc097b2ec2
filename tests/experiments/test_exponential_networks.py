"""Networks by the exponential mechanism over public random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne
from dpproof.mechanisms import Records
from experiments.exponential_networks import ExponentialNetworks, _tanh
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"architecture": (2, 3), "candidates": 30, "seed": 1, "epsilon": 1}


class TestExponentialNetworks(MechanismContract):
    """Three hidden units, under add-remove."""

    def mechanism(self) -> ExponentialNetworks[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return ExponentialNetworks(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Rows on every side."""
        return Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[ExponentialNetworks[AddRemove]]:
        """Epsilon from 4 to a hundredth."""
        return [
            ExponentialNetworks(**{**GOOD, "epsilon": e}, relation=AddRemove())
            for e in (4, 1, 0.1, 0.01)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = dict.fromkeys(("epsilon", "eta", "gain"), NOT_POSITIVE)
        bad |= {
            "architecture": ((2,), 2, (2, 0), (2, 1.5), "23"),
            "candidates": (0, 10**9),
            "seed": (None, 0.5),
            "norm": (0, -1, "1"),
            "relation": ("add-remove", None),
        }
        return one_bad(ExponentialNetworks, good={**GOOD, "relation": ReplaceOne()}, bad=bad)


def test_mistakes_are_those_of_the_network() -> None:
    """By numpy's tanh and floats, for two hidden layers; next to ties left out."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3)) / 3
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    labels = rng.choice([-1, 1], size=60)
    learner = ExponentialNetworks(
        architecture=(3, 4, 2),
        candidates=25,
        seed=3,
        epsilon=1,
        eta=6,
        gain=1.5,
        relation=ReplaceOne(),
    )
    found = learner.mistakes(Records(rows, labels))
    for index, weights in enumerate(learner._directions()):
        one, two, last = weights[:12].reshape(4, 3), weights[12:20].reshape(2, 4), weights[20:]
        hidden = np.tanh(1.5 * np.tanh(1.5 * rows @ one.T * 1.5) @ two.T * 1.5)
        said = hidden @ last
        certain = np.abs(said) > 1e-3

        assert abs(found[index] - (labels * said <= 0).sum()) <= (~certain).sum()
        signs = np.sign(learner.outputs(weights, rows))
        assert (signs == np.sign(said))[certain].all()


def test_a_record_is_judged_alone() -> None:
    """Removing, adding and moving records changes the others' mistakes by no bit."""
    rng = np.random.default_rng(5)
    rows, labels = rng.normal(size=(70, 9)), rng.choice([-1, 1], size=70)
    learner = ExponentialNetworks(
        architecture=(9, 7), candidates=40, seed=2, epsilon=1, relation=ReplaceOne()
    )
    each = np.array([learner.mistakes(Records(rows[[i]], labels[[i]])) for i in range(70)])
    order = rng.permutation(70)
    for part in (slice(0, 70), slice(3, 64), slice(1, 18)):
        chosen = order[part]
        total = learner.mistakes(Records(rows[chosen], labels[chosen]))

        assert (total == each[chosen].sum(axis=0)).all()


def test_the_activation_has_slope_eta_over_four() -> None:
    """(1 - e^(-eta a/2))/(1 + e^(-eta a/2)) is tanh(eta a/4), here up to 1e-4."""
    a = np.linspace(-12, 12, 4_001)
    paper = (1 - np.exp(-a / 2)) / (1 + np.exp(-a / 2))

    assert _tanh(a / 4) == pytest.approx(paper, abs=1.5e-4)
    assert np.max(np.diff(paper) / np.diff(a)) == pytest.approx(1 / 4, rel=1e-4)
    assert ExponentialNetworks(**GOOD, eta=2, relation=ReplaceOne()).lipschitz == 0.5


def test_picks_are_next_to_the_best_candidate() -> None:
    """Within the excess that the exponential mechanism allows with probability 0.999; seed 3."""
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1, 1, size=(400, 2))
    data = Records(rows * 0.6, np.where(rows[:, 0] > 0, 1, -1))
    learner = ExponentialNetworks(
        architecture=(2, 2), candidates=500, seed=1, epsilon=1, eta=9, relation=ReplaceOne()
    )
    mistakes = learner.mistakes(data)
    released = learner.release(data, rng=rng)

    assert learner.guarantee() == BoundedRange(epsilon=1, relation=ReplaceOne())
    assert mistakes[released.index] <= mistakes.min() + 2 * np.log(500 / 0.001)
    assert mistakes.min() < 20
