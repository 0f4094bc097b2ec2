"""Smooth odds of a score: close to the likelihood ratio that made the samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.auditing import Pair
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.trials.trials import Trials
from dpproof.auditing.witnesses.witness import SmoothOdds
from tests.auditing.samplers import Draw, gaussian, laplace

TRIALS = 20_000


def drawn(draw: Draw, seed: int = 1) -> Training:
    """Training samples of a shift by one, high on D."""
    return Trials(draw, Pair(1.0, 0.0), seed=seed).training(TRIALS)


def fitted(training: Training) -> SmoothOdds:
    """Of the only coordinate."""
    smooth = SmoothOdds.of(training.features[:, 0], training.labels)
    assert smooth is not None
    return smooth


def rare(value: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A shift by 3 that one in twenty outputs has."""
    return rng.normal(size=size) + 3 * value * (rng.random(size) < 0.05)


@pytest.mark.parametrize("mu", [0.15, 0.5, 2.0])
def test_gaussian_odds_are_a_line(mu: float) -> None:
    """mu^2 (x - 1/2) up to four standard deviations, within three errors and a little."""
    odds, error = fitted(drawn(gaussian(1 / mu)))(np.linspace(-4, 4, 9) / mu + 0.5)

    assert (np.abs(odds - mu * np.linspace(-4, 4, 9)) <= 3 * error + 0.1 * mu).all()
    assert (error < 0.4).all()


def test_laplace_odds_are_flat_outside() -> None:
    """2 (x - 1/2) cut to [-1, 1] for noise of scale 1, also far outside."""
    at = np.array([-20.0, -3.0, 0.5, 4.0, 30.0])
    odds, _ = fitted(drawn(laplace(1.0)))(at)

    assert odds == pytest.approx(np.clip(2 * at - 1, -1, 1), abs=0.12)


def test_odds_may_rise_in_one_tail_only() -> None:
    """A rare shift: nearly even odds in the lower half, high ones in the upper tail."""
    odds, _ = fitted(drawn(rare))(np.array([-2.0, -1.0, 0.0, 4.0]))

    assert (np.abs(odds[:3]) < 0.2).all()
    assert odds[3] > 1.0


def test_half_of_all_trials_are_on_each_dataset() -> None:
    """The level is known, however many labels happened to be True."""
    training = drawn(gaussian(2.0))
    kept = training.labels | (np.arange(TRIALS) % 3 > 0)
    scores, labels = training.features[kept, 0], training.labels[kept]
    smooth = SmoothOdds.of(scores, labels)

    assert labels.mean() > 0.55
    assert smooth is not None
    odds, _ = smooth(scores)
    assert (1 / (1 + np.exp(-odds))).mean() == pytest.approx(0.5, abs=0.01)


def test_separated_datasets_have_finite_odds() -> None:
    """No overlap: large and finite, and so is the error."""
    labels = np.arange(200) < 100
    smooth = SmoothOdds.of(np.where(labels, 1.0, 0.0) + np.arange(200) / 1e3, labels)

    assert smooth is not None
    odds, error = smooth(np.array([0.0, 1.2]))
    assert odds[0] < -3
    assert odds[1] > 3
    assert np.isfinite(error).all()


def test_scores_that_do_not_differ_have_no_odds() -> None:
    """Nothing, one value, or one finite value; infinities beside others are cut."""
    labels = np.array([True, False, True, False])

    assert SmoothOdds.of(np.zeros(0), np.zeros(0, dtype=bool)) is None
    assert SmoothOdds.of(np.zeros(4), labels) is None
    assert SmoothOdds.of(np.array([-np.inf, 1.0, 1.0, np.inf]), labels) is None
    smooth = SmoothOdds.of(np.array([-np.inf, 1.0, 2.0, np.inf]), labels)
    assert smooth is not None
    assert np.isfinite(smooth(np.array([-np.inf, 1.5, np.inf]))).all()


def test_odds_are_straight_between_their_knots() -> None:
    """Interpolation gives the same odds, outside of all scores too."""
    smooth = fitted(drawn(laplace(1.0)))
    at = np.linspace(-20, 20, 997)

    assert np.interp(at, *smooth.knots()) == pytest.approx(smooth(at)[0], abs=1e-9)
