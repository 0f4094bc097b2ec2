"""Learners that protect labels alone."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import auditing
import proofs
from accountant import BoundedRange, ReplaceLabel
from accountant.errors import NotImplied, ParameterError
from accountant.sampling.schemes import Poisson
from mechanisms import (
    LabelPrivateDescent,
    LabelPrivateHalfspaces,
    Polygon,
    RandomDirections,
    RandomizedLabels,
    Records,
)
from mechanisms.learning.label_private import public_components
from tests.contracts.mechanism_contract import AUDIT_ALARM

LABEL = ReplaceLabel()
LEARNERS: list[Any] = [
    LabelPrivateHalfspaces(cover=Polygon(corners=16), epsilon=1),
    LabelPrivateDescent(margin=0.5, steps=2, mu=0.5),
    RandomizedLabels(epsilon=1),
]


def _planted(records: int) -> Records:
    rng = np.random.default_rng(4)
    side = rng.choice([-1.0, 1.0], size=records)
    return Records(np.column_stack([3 * side, rng.normal(size=(records, 5)) / 2]), side)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_certified_audited_and_never_amplified(learner: Any) -> None:  # noqa: ANN401
    """A verified certificate under replace-label, no violation, and no sampling."""
    rows = np.array([[0.6, 0.8], [-1.0, 0.3], [0.2, 1.0]])
    one, two = Records(rows, [1, -1, 1]), Records(rows, [1, 1, 1])
    guarantee = learner.guarantee()
    verdict = proofs.check(guarantee.certify(delta=1e-6))
    report = auditing.audit(
        learner.sampler(), (one, two), guarantee, samples=4_000, significance=AUDIT_ALARM
    )

    assert guarantee.relation == LABEL
    assert isinstance(verdict, proofs.VerifiedUnder)
    assert "replace-label" in verdict.claim
    assert report.outcome is not auditing.Outcome.VIOLATION, str(report)
    with pytest.raises(NotImplied):
        learner.subsample(Poisson(sampling_rate=0.5)).guarantee()


def test_components_look_at_no_label_and_picks_have_the_range() -> None:
    """All labellings of four rows: the same candidates, and log ratios within epsilon."""
    rows = np.array([[0.6, 0.8], [-1.0, 0.3], [0.2, 1.0], [0.5, -0.5]])
    learner = LabelPrivateHalfspaces(cover=Polygon(corners=16), epsilon=1.5)
    mapped = rows @ public_components(rows, 2)
    laws = {}
    for labels in itertools.product((1, -1), repeat=4):
        mistakes = learner._pick().mistakes(Records(mapped, labels))
        weights = np.exp(-0.75 * mistakes)
        laws[labels] = np.log(weights / weights.sum())
    worst = max(
        np.ptp(laws[a] - laws[b])
        for a, b in itertools.combinations(laws, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    )

    assert learner.guarantee() == BoundedRange(epsilon=1.5, relation=LABEL)
    assert worst == pytest.approx(1.5)


def test_they_learn() -> None:
    """All three find a planted halfspace among 4,000 records, the baseline by debiased labels."""
    data = _planted(4_000)
    rng = np.random.default_rng(2)
    halfspace = LabelPrivateHalfspaces(
        cover=RandomDirections(size=2_000, dimension=6, seed=1), epsilon=1
    )
    descent = LabelPrivateDescent(margin=1, steps=50, mu=0.5)
    baseline = RandomizedLabels(epsilon=1)
    answers = baseline.release(data, rng=rng).labels
    mean = baseline.debiased(answers) @ data.rows / len(data)
    for weights in (
        halfspace.release(data, rng=rng).weights,
        descent.release(data, rng=rng).weights,
        mean,
    ):
        assert np.mean(np.sign(data.rows @ weights) == data.labels) > 0.95
    kept = math.e / (1 + math.e)

    assert np.mean(answers == data.labels) == pytest.approx(kept, abs=5 / 2 / math.sqrt(4_000))
    assert mean[0] == pytest.approx(3, abs=5 * 3 * 2.2 / math.sqrt(4_000))


def test_refusals() -> None:
    """Numbers outside their domains, and rows narrower than the cover."""
    bad: list[Any] = [
        lambda: LabelPrivateHalfspaces(cover="all", epsilon=1),  # type: ignore[arg-type]
        lambda: LabelPrivateHalfspaces(cover=Polygon(corners=4), epsilon=0),
        lambda: LabelPrivateDescent(margin=0, steps=1, mu=1),
        lambda: LabelPrivateDescent(margin=1, steps=0, mu=1),
        lambda: LabelPrivateDescent(margin=1, steps=1, mu=-1),
        lambda: RandomizedLabels(epsilon=0),
    ]
    for position, construct in enumerate(bad):
        with pytest.raises(ParameterError):
            pytest.fail(f"{position}: {construct()}")
    with pytest.raises(ParameterError, match="wide"):
        LEARNERS[0].release(Records([[1.0]], [1]))
