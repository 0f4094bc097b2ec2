"""Witnesses that scikit-learn trains: what they find, and that they see training samples only."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof import auditing
from dpproof.accountant import GDP
from dpproof.auditing import (
    WITNESSES,
    Boosting,
    GaussianEvent,
    Logistic,
    MissingDependency,
    Outcome,
)
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.trials.trials import Trials
from dpproof.auditing.witnesses.witness import Question, Score, Witness

pytest.importorskip("sklearn")
ALARM = 1e-9
Rng = np.random.Generator
Floats = NDArray[np.float64]


def gaussian_vector(mean: Floats, size: int, rng: Rng) -> Floats:
    """Standard normal noise on every coordinate."""
    return mean + rng.normal(size=(size, len(mean)))


def apart(dimension: int) -> Pair:
    """Means at Euclidean distance 1, every coordinate moved alike."""
    return Pair(np.full(dimension, 1 / math.sqrt(dimension)), np.zeros(dimension))


def correlated(sign: float, size: int, rng: Rng) -> Floats:
    """Two pairs of normal numbers, with correlations 0.6 and -0.6 or the other way round."""
    first, second, third, fourth = rng.normal(size=(4, size))
    alike, unlike = sign * 0.6 * first + 0.8 * second, -sign * 0.6 * third + 0.8 * fourth
    return np.column_stack([first, alike, third, unlike])


def checkered(side: int, size: int, rng: Rng) -> Floats:
    """Points on the white squares of one board and the black ones of another, or vice versa."""
    points = []
    for colour in (side, 1 - side):
        corner = rng.integers(4, size=(size, 2))
        corner[(corner.sum(axis=1) % 2) != colour, 0] ^= 1
        points.append(corner + rng.random((size, 2)))
    return np.column_stack(points)


def measured_mu(witness: Witness, pair: Pair, seed: int) -> dict[str, float]:
    """Lower bounds of mu from 20,000 trials, of which 6,000 train, at 95 % each."""
    bound = GaussianEvent(significance=0.05)
    trials = Trials(gaussian_vector, pair, seed=seed)
    training, testing = trials.training(6_000), trials.training(14_000)

    def counted(question: Question, sample: Training) -> auditing.PrefixCounts:
        on_data = int(sample.labels.sum())
        found = question.count(sample.features, sample.labels)
        return question.counts(*found, on_data, len(sample) - on_data)

    def mu(score: Score) -> float:
        question = Question.about(score, training.features, upwards=True, swapped=False)
        trained = counted(question, training)
        best = max(range(len(trained.inside)), key=lambda j: bound.mu(trained.event(j)))
        return bound.mu(counted(question.only(best), testing).event(0))

    return {str(score): mu(score) for score in witness.scores(training)}


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("witness", "dimension", "least"),
    [(Logistic(), 1, 0.88), (Logistic(), 20, 0.9), (Logistic(), 200, 0.8), (Boosting(), 20, 0.78)],
    ids=["logistic, 1", "logistic, 20", "logistic, 200", "boosting, 20"],
)
def test_gaussian_noise_in_many_dimensions(witness: Witness, dimension: int, least: float) -> None:
    """Mean bounds of mu = 1 over two seeds, close to what the best classifier gives."""
    plain = {Logistic: "log-odds of logistic regression", Boosting: "log-odds of boosted trees"}
    bounds = [measured_mu(witness, apart(dimension), seed)[plain[type(witness)]] for seed in (1, 2)]

    assert least < float(np.mean(bounds)) < 1


@pytest.mark.parametrize(
    ("sampler", "pair", "witness"),
    [(correlated, (1.0, -1.0), Logistic()), (checkered, (0, 1), Boosting())],
    ids=["correlation", "checkerboard"],
)
def test_more_is_found_by_learning(
    sampler: Any,  # noqa: ANN401
    pair: tuple[Any, Any],
    witness: Witness,
) -> None:
    """Products of coordinates and squares of a board: the bound grows by 0.4 or more."""
    found = [
        auditing.audit(sampler, pair, (9, 0), samples=3_000, seed=1, witnesses=witnesses)
        for witnesses in (WITNESSES, (*WITNESSES, witness))
    ]

    assert found[1].epsilon_lower > found[0].epsilon_lower + 0.4
    assert "log-odds of" in found[1].findings[-1].event


def test_true_claims_are_left_alone() -> None:
    """A vector with Gaussian noise against its own curve; fresh entropy, wrong with 1e-9."""
    report = auditing.audit(
        gaussian_vector,
        apart(20),
        GDP(mu=1),
        samples=3_000,
        significance=ALARM,
        witnesses=(*WITNESSES, Logistic(), Boosting(rounds=20)),
        pilot=0.3,
    )

    assert report.outcome is not Outcome.VIOLATION, str(report)


def test_short_noise_is_found_in_many_dimensions() -> None:
    """A third less noise than claimed, spread over fifty coordinates."""
    report = auditing.audit(
        lambda mean, size, rng: mean + rng.normal(scale=2 / 3, size=(size, 50)),
        apart(50),
        GDP(mu=1),
        samples=5_000,
        witnesses=(*WITNESSES, Logistic()),
        pilot=0.3,
        seed=1,
    )

    assert report.outcome is Outcome.VIOLATION, str(report)


@pytest.mark.parametrize("witness", [Logistic(), Boosting(rounds=10)], ids=repr)
def test_scores_are_functions_of_a_row(witness: Witness) -> None:
    """The same row scores the same alone; nan, infinities and missing coordinates score, too."""
    training = Trials(correlated, Pair(1.0, -1.0), seed=1).training(400)
    odd = np.array([[math.nan, 1.0], [math.inf, -math.inf], [1e300, 0.0], [0.5, 0.25]])
    odd = np.column_stack([odd, odd])
    for score in witness.scores(training):
        together = score(odd)

        assert np.isfinite(together).all()
        assert [float(score(odd[j : j + 1])[0]) for j in range(4)] == together.tolist()
        assert np.isfinite(score(odd[:, :1])).all()
        assert score(np.column_stack([odd, odd])).tolist() == together.tolist()


@pytest.mark.parametrize("witness", [Logistic(), Boosting()], ids=repr)
def test_nothing_is_learned_from_too_little(witness: Witness) -> None:
    """Few trials, or trials on one dataset only, give no score."""
    training = Trials(correlated, Pair(1.0, -1.0), seed=1).training(400)
    alike = Training(training.features, np.ones(400, dtype=bool))

    assert list(witness.scores(Training(training.features[:20], training.labels[:20]))) == []
    assert list(witness.scores(alike)) == []


@pytest.mark.parametrize("witness", [Logistic, Boosting])
def test_says_when_scikit_learn_is_missing(
    witness: type[Witness], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typed error that says what to install, before anything is drawn."""
    for module in ("sklearn.linear_model", "sklearn.ensemble"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingDependency, match=r"dpproof\[learn\]"):
        witness()
