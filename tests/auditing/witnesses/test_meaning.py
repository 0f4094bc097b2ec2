"""What scores mean, in words."""

from __future__ import annotations

import numpy as np

import auditing
from auditing.audit import WITNESSES
from auditing.trials.training import Training
from auditing.witnesses.meaning import meaning


def test_every_score_of_an_audit_has_a_meaning() -> None:
    """Whatever refutes a claim, the reader is told what it looks at."""
    rng = np.random.default_rng(1)
    labels = rng.random(400) < 0.5
    for features in (rng.normal(size=(400, 3)), rng.integers(0, 3, size=(400, 2)).astype(float)):
        training = Training(features + labels[:, None], labels)
        for witness in WITNESSES:
            for score in witness.scores(training):
                assert meaning(score)


def test_a_leak_of_low_bits_is_explained() -> None:
    """The report says what leaks and what to do; another's score has no meaning here."""

    def leak(value: float, size: int, rng: np.random.Generator) -> object:
        return value + rng.laplace(size=size)

    report = auditing.audit(leak, (0.0, 1.0), (1.01, 0), samples=20_000, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION
    assert "that is the lowest bit of number 0: floating-point leak; round" in str(report)
    assert "refuting the claim takes at least 10 samples" in str(report)
    assert meaning(lambda features: features[:, 0]) == ""
