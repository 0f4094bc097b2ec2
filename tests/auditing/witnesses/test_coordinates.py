"""The summed log-odds of coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from dpproof import auditing
from dpproof.auditing import Outcome, Pair
from dpproof.auditing.trials.trials import Trials
from dpproof.auditing.witnesses.standard import Independent
from tests.auditing.builders import BROKEN
from tests.auditing.samplers import laplace

SHIFTED = Pair(np.zeros(3), np.array([1.0, 0.0, 1.0]))


def test_sums_the_log_likelihood_ratios() -> None:
    """Those of two shifted coordinates, none of the third, saturating; nan says nothing."""
    training = Trials(laplace(1.0), SHIFTED, seed=1).training(20_000)
    (score,) = Independent().scores(training)
    at = np.array([[-4.0, 9.0, -7.0], [0.5, 0.0, 0.5], [6.0, -3.0, 0.5], [np.nan, 0.0, 0.0]])

    assert score(at) == pytest.approx([2.0, 0.0, -1.0, 1.0], abs=0.2)
    assert np.isfinite(score(np.array([[np.inf, -np.inf, np.nan]]))).all()
    assert "3 coordinates" in str(score)


def test_needs_two_coordinates_that_vary() -> None:
    """One coordinate is a threshold's affair; outputs may be shorter than in training."""
    one = Trials(laplace(1.0), Pair(0.0, 1.0), seed=1).training(500)
    three = Trials(laplace(1.0), SHIFTED, seed=1).training(500)
    (score,) = Independent().scores(three)

    assert not list(Independent().scores(one))
    assert score(np.zeros((2, 1))) == pytest.approx(score(np.array([[0.0, np.nan, np.nan]] * 2)))


def test_finds_a_shift_spread_over_several_coordinates() -> None:
    """The tree without its depth: every one of six seeds, with three times the listed samples."""
    (case,) = (case for case in BROKEN if case.name == "tree without its depth")
    found = sum(
        auditing.audit(
            case.draw, (case.data, case.neighbour), case.claim, samples=3 * case.samples, seed=seed
        ).outcome
        is Outcome.VIOLATION
        for seed in range(6)
    )

    assert found == 6
