"""Scores of one number with nothing to learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.auditing import Outcome
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.standard import Summaries
from tests.auditing.samplers import Draw, Rng, rounded

TENTH = 0.1


def normed(bound: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """A hundred numbers whose noise is scaled by the realised batch."""
    return rounded(rng.normal(scale=1 / bound, size=(size, 100)))


def signed(share: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Sizes without a sign, but for the number of positive ones."""
    signs = np.where(rng.random((size, 20)) < 0.5 + share, 1, -1)
    return rounded(signs * rng.exponential(size=(size, 20)))


def repeated(share: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """One number may be there twice, at a place that tells nothing."""
    rows = rng.permuted(np.tile(np.arange(40.0), (size, 1)), axis=1)[:, :20]
    rows[:, 1] = np.where(rng.random(size) < 5 * share, rows[:, 0], rows[:, 1])
    return rng.permuted(rows, axis=1)


def longer(share: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Noise, and one number more on one dataset, now and then."""
    return [rng.normal(size=20 + (rng.random() < 5 * share)).round(6) for _ in range(size)]


def unrounded(share: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Twenty numbers of which one, anywhere, is not on the grid of the others."""
    rows = np.rint(rng.normal(size=(size, 60)) * 64)
    rows[:, 0] += np.where(rng.random(size) < 5 * share, 2.0**-20, 0)
    return rng.permuted(rows, axis=1)


@pytest.mark.parametrize(
    ("draw", "pair", "meaning"),
    [
        (normed, (10.0, 11.0), "the norm of an output"),
        (signed, (2 * TENTH, 0.0), "how many numbers of an output are positive"),
        (repeated, (TENTH, 0.0), "how many numbers of an output are repeated"),
        (longer, (TENTH, 0.0), "how many numbers an output has"),
        (unrounded, (TENTH, 0.0), "the lowest bits of an output's numbers"),
    ],
)
def test_what_each_of_them_finds(draw: Draw, pair: Any, meaning: str) -> None:  # noqa: ANN401
    """A leak that one number of the whole output shows, and no coordinate by itself."""
    report = auditing.audit(draw, pair, (1, 0), samples=2_000, significance=1e-4, seed=1)

    assert report.outcome is Outcome.VIOLATION, str(report)
    assert any(finding.meaning.startswith(meaning) for finding in report.findings), str(report)


@pytest.mark.slow
def test_a_wrong_scale_of_a_hundred_coordinates_is_found() -> None:
    """Every one of twenty audits of 800 samples a dataset, with the witnesses of every audit."""
    outcomes = [
        auditing.audit(normed, (10.0, 11.0), (1, 0), samples=800, seed=seed).outcome
        for seed in range(20)
    ]

    assert outcomes.count(Outcome.VIOLATION) == 20


def test_a_score_is_of_its_own_output_alone() -> None:
    """What rows are padded with, where others are longer, changes no bit of it."""
    rng = np.random.default_rng(1)
    rows = np.array([*rng.normal(size=(50, 7)), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0]])
    wider = np.pad(rows, ((0, 0), (0, 30)), constant_values=np.nan)
    scores = list(Summaries().scores(Training(rows, np.arange(51) % 2 == 0)))

    assert len(scores) == 10
    for score in scores:
        assert score(rows).tolist() == score(wider).tolist() == [*map(float, _each(score, rows))]


def _each(score: Any, rows: Any) -> Any:  # noqa: ANN401
    return (score(row[None])[0] for row in rows)


def test_one_number_and_constants_have_none() -> None:
    """A single number is a threshold's affair; what never varies tells nothing."""
    labels = np.arange(8) % 2 == 0
    assert not list(Summaries().scores(Training(np.arange(8.0)[:, None], labels)))
    assert not list(Summaries().scores(Training(np.ones((8, 3)), labels)))
