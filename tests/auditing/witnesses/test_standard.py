"""What scores mean, in words."""

from __future__ import annotations

import re

import numpy as np

from dpproof import auditing
from dpproof.auditing.audit import WITNESSES
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.standard import Histogram, lowest_bit, meaning


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
    """The report says what leaks; another's score has no meaning here."""

    def leak(value: float, size: int, rng: np.random.Generator) -> object:
        return value + rng.laplace(size=size)

    report = auditing.audit(leak, (0.0, 1.0), (1.01, 0), samples=20_000, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION
    assert "that is the lowest bit of number 0 of an output\n" in str(report)
    assert "refuting the claim takes at least 10 samples" in str(report)
    assert meaning(lambda features: features[:, 0]) == ""


def test_scores_are_what_they_are_called() -> None:
    """A score that is called by a formula is that formula of what is released."""
    rng = np.random.default_rng(2)
    labels = rng.random(400) < 0.5
    features = rng.normal(size=(400, 3))
    training = Training(features + labels[:, None], labels)
    told = 0
    for score in (one for witness in WITNESSES for one in witness.scores(training)):
        formula = re.sub(r"\|(.+)\|", r"abs(\1)", str(score))
        if re.match(r"log-odds|a linear|the summed", formula) is None:
            told += 1
            for row, found in zip(features[:9], score(features[:9]), strict=True):
                known = {"output": row, "lowest_bit": lowest_bit}
                assert np.isclose(eval(formula, known), found, rtol=1e-4)  # noqa: S307  # ours
    assert told >= 3 * 3


def test_what_was_not_seen_in_training_has_no_odds() -> None:
    """An output that did not repeat speaks for neither side."""
    rng = np.random.default_rng(3)
    labels = np.arange(400) % 2 == 0
    seen = rng.integers(0, 3, size=(400, 1)) + 3.0 * labels[:, None]
    (score,) = Histogram().scores(Training(seen, labels))
    odds = score(np.array([[0.0], [5.0], [9.0]]))
    assert odds[0] < 0.0 < odds[1]
    assert odds[2] == 0.0
