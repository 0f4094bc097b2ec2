"""Multinomial logistic regression by noisy gradient steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant import AddRemove
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import Records, SoftmaxDescent
from dpproof.mechanisms.learning import descent
from dpproof.mechanisms.learning.descent import SHARE_BITS, softmax
from tests.contracts.learner_contract import LearnerContract
from tests.contracts.mechanism_contract import one_bad
from tests.mechanisms.learning.builders import BAD

GOOD: dict[str, Any] = {"steps": 2, "sigma": 2, "classes": 3, "relation": AddRemove()}


class TestSoftmaxDescent(LearnerContract):
    """Three classes, all records in every step."""

    reached = Fraction(89, 100)  # more only as two rows of one class come to be opposite

    def learner(self, **changes: Any) -> SoftmaxDescent[Any]:  # noqa: ANN401
        """Two steps."""
        return SoftmaxDescent(**{**GOOD, **changes})

    def labels(self) -> list[float]:
        """Class numbers."""
        return [0.0, 1.0, 2.0]

    def states(self) -> NDArray[np.float64]:
        """So long, too, that a class has everything, where the gradients are longest."""
        short = LearnerContract.states(self)
        return np.concatenate([short, 1_000 * short])

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        names = ("steps", "sigma", "rate", "norm", "relation", "average", "features")
        bad: dict[str, Sequence[Any]] = {name: BAD[name] for name in names}
        bad["norm"] = (*BAD["norm"], 2**101, 2**-101)
        bad |= {"classes": (0, 1, 2.0, 2**17), "radius": (0, None, 2**101), "regulariser": (0, -1)}
        return one_bad(SoftmaxDescent, good=GOOD, bad=bad)


def test_shares_are_exact_and_those_of_the_definition() -> None:
    """They are at least 0, add up to 1, and are within a unit of the softmax, many classes too."""
    rng = np.random.default_rng(1)
    for classes in (2, 10, 2**16):
        powers = rng.uniform(-70, 0, size=(20, classes)) * rng.choice([0, 0.01, 1], size=(20, 1))
        powers -= powers.max(axis=1, keepdims=True)
        true = np.exp2(powers)
        found = softmax(powers)

        assert (found >= 0).all()
        assert (found.sum(axis=1) == 1 << SHARE_BITS).all()
        error = found / 2**SHARE_BITS - true / true.sum(axis=1, keepdims=True)
        assert abs(error).max() < 1.001 / 2**SHARE_BITS


def test_the_sum_is_the_gradient_of_the_logistic_losses() -> None:
    """It is minus the numerical derivative in data units, for a norm that is not 1."""
    rng = np.random.default_rng(2)
    rows, labels = rng.uniform(-1, 1, size=(40, 3)), rng.integers(0, 4, size=40)
    learner = SoftmaxDescent(**{**GOOD, "classes": 4, "norm": 2})
    weights = rng.normal(size=(4, 3)) * 3
    contributions = learner.contributions(Records(rows, labels))
    found = contributions.totals(weights[np.newaxis] / 2, None).sums[0] * 2.0**-24 * 2

    def loss(point: NDArray[np.float64]) -> float:
        scores = rows @ point.T
        return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(40), labels]).sum())

    for place in np.ndindex(weights.shape):
        change = np.zeros_like(weights)
        change[place] = 1e-5
        slope = (loss(weights + change) - loss(weights - change)) / 2e-5

        assert found[place] == pytest.approx(-slope, abs=40 * 2 * 2.0**-SHARE_BITS)


def test_the_exact_privacy_of_two_steps_is_at_most_the_stated_one() -> None:
    """By quadrature over the first release: the second moves by what the state it led to decides.

    Adding one record to none, with one feature and two classes: the step's releases move along
    (1, -1) alone, so that one coordinate decides, and states after a step have one length.
    """
    stats = pytest.importorskip("scipy.stats")
    learner = SoftmaxDescent(**{**GOOD, "classes": 2, "sigma": 1, "radius": 4})
    record = learner.contributions(Records([[1.0]], [0.0]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)

    def moved(states: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = record.totals(states, None).sums * 2.0**-24
        return np.asarray(np.linalg.norm(sums, axis=(1, 2)))

    first = moved(np.zeros((1, 2, 1)))[0]
    noisy = first + nodes  # along (1, -1) / sqrt(2), with the record
    releases = (noisy[:, np.newaxis] * np.array([1, -1]) / np.sqrt(2))[:, :, np.newaxis]
    seconds = moved(record.advance(np.zeros_like(releases), releases, 0))
    stated = learner.guarantee()
    for epsilon in (0.25, 0.5, 1.0):
        left = epsilon - (first * noisy - first**2 / 2)
        tail = stats.norm.sf(left / seconds - seconds / 2)
        delta = tail - np.exp(left) * stats.norm.sf(left / seconds + seconds / 2)
        exact = float(weights @ delta) / np.sqrt(2 * np.pi)

        assert 0.05 * stated.delta(epsilon=epsilon).lower < exact
        assert exact <= stated.delta(epsilon=epsilon).upper
    assert first == pytest.approx(np.sqrt(1 / 2))
    assert seconds.max() > 1.3  # the record that the first noise calls otherwise


def test_steps_are_as_long_as_the_step_decides() -> None:
    """Whatever the number of records, step t has length radius / (norm sqrt(t)) without decay."""
    learner = SoftmaxDescent(**{**GOOD, "norm": 2, "radius": 6})
    contributions = learner.contributions(Records([[1.0, 0.0]], [0.0]))
    noisy = np.random.default_rng(3).normal(size=(5, 3, 2)) * 10.0 ** np.arange(5)[:, None, None]
    moved = contributions.advance(np.zeros((5, 3, 2)), noisy, 3) * 2

    assert np.linalg.norm(moved, axis=(1, 2)) == pytest.approx(6 / (2 * 2))
    assert moved.sum(axis=1) == pytest.approx(0, abs=1e-12)
    decayed = SoftmaxDescent(**{**GOOD, "regulariser": 8}).contributions(Records([[1.0]], [0.0]))
    state = np.array([[[1.0], [-1.0], [0.0]]])
    back = decayed.advance(state, np.zeros_like(state), 0) - state
    assert back[0, :, 0] == pytest.approx(np.array([-1, 1, 0]) * 16 / np.sqrt(2))
    assert (contributions.advance(0 * noisy, 0 * noisy, 0) == 0).all()


def test_too_many_records_for_exact_sums_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of more than 2^25 products would not be exact."""
    monkeypatch.setattr(descent, "_MOST_RECORDS", 2)
    with pytest.raises(ParameterError, match="at most 2 records"):
        SoftmaxDescent(**GOOD).release(Records(np.eye(3), [0, 1, 2]))
