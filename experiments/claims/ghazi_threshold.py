"""Ghazi, Kumar, Manurangsi & Nguyen, Algorithm 1: when to stop."""

from __future__ import annotations

import math

from experiments.claims.claim import Claim, Verdict


def check() -> str:
    """Follow a record that is in no sample: it moves the threshold, and so the law of the stop."""
    alpha, rate, scale, records = 0.1, 0.001, 1.0, 10_000
    before = 0.3 * alpha * rate * records
    after = 0.3 * alpha * rate * (records + 1)
    # No mistakes among the sampled: a run goes on if Laplace noise is at least the threshold.
    stays = [0.5 * math.exp(-theta / scale) for theta in (before, after)]
    loss = math.log(stays[0] / stays[1])
    assert abs(loss - 0.3 * alpha * rate / scale) < 1e-9
    return f"a record outside the sample costs {loss:.0e} a step, where amplification says 0"


CLAIM = Claim(
    title="A step of the batch perceptron is a function of its sample",
    source="Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Algorithm 1 with Lemma 20",
    printed="stop if the noisy number of mistakes is below 0.3 α p n; amplification by sampling",
    verdict=Verdict.UNPROVED,
    check=check,
    shipped="`LaplaceStop` and `GaussianStop` with a constant threshold",
)
