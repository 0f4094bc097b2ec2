"""What a refutation shows of its cause, on the ways in which a training loop breaks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof import auditing
from dpproof.accountant import L2, Poisson
from dpproof.auditing.counts.claim import Claim
from dpproof.auditing.symptoms import REPLAYED, replayed, symptoms
from dpproof.auditing.trials.pair import Pair
from dpproof.auditing.trials.sampler import Training
from dpproof.mechanisms import Gaussian

Rows = NDArray[np.float64]
Draw = Callable[[float, int, np.random.Generator], Rows]
STEPS = 4


def _rounded(rows: Rows) -> Rows:
    return np.round(rows * 2.0**20) / 2.0**20


def _reused(value: float, size: int, rng: np.random.Generator) -> Rows:
    """Noise drawn once for all steps."""
    return _rounded(value + rng.normal(scale=0.5, size=(size, 1)) + np.zeros((size, STEPS)))


def _seeded(value: float, size: int, _: np.random.Generator) -> Rows:
    """A seed that is set in the code."""
    noise = np.random.default_rng(7).normal(scale=2, size=(size, STEPS))
    return _rounded(4 * value + noise)


def _exact(value: float, size: int, _: np.random.Generator) -> Rows:
    """No noise at all."""
    return np.full((size, 1), value)


def _small(value: float, size: int, rng: np.random.Generator) -> Rows:
    """Less noise than claimed, in every step anew."""
    return _rounded(value + rng.normal(scale=0.5, size=(size, STEPS)))


def _right(value: float, size: int, rng: np.random.Generator) -> Rows:
    """Sound."""
    return _rounded(value + rng.normal(scale=8, size=(size, STEPS)))


@pytest.mark.parametrize(
    ("draw", "seen"),
    [
        (_reused, "numbers 0 and 1 of an output differ by the same few amounts"),
        (_seeded, f"two calls on D with different generators gave the same {REPLAYED} outputs"),
        (_exact, f"all {2 * REPLAYED} outputs of two calls on D were equal"),
        (_small, ""),
    ],
)
def test_causes_that_can_be_seen_are_said(draw: Draw, seen: str) -> None:
    """Reuse, seeds and missing noise are facts of the outputs; of the others nothing is said."""
    report = auditing.audit(draw, (0.0, 1.0), (1, 1e-6), samples=2_000, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION
    assert [fact.startswith(seen) for fact in report.seen] == ([True] if seen else [])
    assert f"  seen: {seen}" in str(report) if seen else "  seen: " not in str(report)
    for cause in ("noise smaller", "a seed that is set", "in every batch", "the realised batch"):
        assert cause in str(report)


def test_no_advice_where_nothing_was_found() -> None:
    """A page without a violation names no cause, and what was looked at without a hint."""
    report = auditing.audit(_right, (0.0, 1.0), (4, 1e-6), samples=2_000, seed=1)

    assert report.outcome is auditing.Outcome.NO_EVIDENCE
    assert report.seen == ()
    assert "cause" not in str(report)
    assert "look for" not in str(report)


def test_what_fits_the_event_stands_first() -> None:
    """Low bits are a matter of rounding, values of one dataset of outputs without noise."""

    def leak(value: float, size: int, rng: np.random.Generator) -> Rows:
        return np.asarray(value + rng.laplace(size=size))

    def keys(value: float, size: int, rng: np.random.Generator) -> Rows:
        return np.asarray(4 * rng.integers(0, 9, size) + 1 + 2 * value * (rng.random(size) < 0.5))

    for draw, first in ((leak, "floating-point numbers"), (keys, "something released without")):
        text = str(auditing.audit(draw, (0.0, 1.0), (1.01, 0), samples=20_000, seed=1))
        assert f"does not tell apart:\n    - {first}" in text


def test_a_sampler_that_breaks_afterwards_keeps_its_refutation() -> None:
    """Errors of the two further calls say nothing, and hide nothing."""

    def once(value: float, size: int, rng: np.random.Generator) -> Rows:
        if size == REPLAYED:
            raise RuntimeError
        return _small(value, size, rng)

    report = auditing.audit(once, (0.0, 1.0), (1, 1e-6), samples=2_000, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION
    assert report.seen == ()


SIGMA, RATE, ALL, WIDTH = 2.0, 0.2, 10, 4


def _loop(rows: Rows, size: int, rng: np.random.Generator, *, bug: str = "") -> Rows:
    """DP-SGD of ten steps on rows of norm 1, with a bug; outputs are all its noisy sums."""
    if bug == "seed":  # of every call with 100 outputs
        seeded = _loop(rows, 100, np.random.default_rng(7))
        return np.resize(seeded, (size, seeded.shape[1]))
    clip = np.minimum(1, 1 / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    clipped = rows if bug == "clipping" else rows * clip
    batches = (rng.random((size, ALL, len(rows))) < RATE).astype(float)
    if bug == "every":
        batches[..., 0] = 1
    if bug == "in turn":
        one_in = round(1 / RATE)
        batches[:] = (np.arange(len(rows)) % one_in) == (np.arange(ALL) % one_in)[:, None]
    noise = rng.normal(scale=SIGMA / 2 if bug == "half" else SIGMA, size=(size, ALL, WIDTH))
    if bug == "reused":
        noise[:] = noise[:, :1]
    sums = batches @ clipped + noise
    if bug == "divisor":
        sums /= np.maximum(batches.sum(axis=2, keepdims=True), 1)
    return _rounded(sums.reshape(size, -1))


ZEROS = np.zeros((19, WIDTH))
ROW = np.eye(1, WIDTH)
EQUAL = np.full((60, WIDTH), WIDTH**-0.5)
PAIRS = {
    "clipping": (np.vstack([10 * ROW, ZEROS]), ZEROS),
    "divisor": (np.vstack([EQUAL, -EQUAL[:1]]), EQUAL),
}
NOISE, SHARED, SAMPLED, DIVISOR = (
    "noise smaller",
    "noise that is shared",
    "sampling other",
    "a scale, divisor",
)


@pytest.mark.parametrize(
    ("bug", "seen", "first"),
    [
        ("half", "", NOISE),
        ("clipping", "", NOISE),
        ("reused", f"numbers 0 and {WIDTH} of an output differ by the same few amounts", SHARED),
        ("seed", "two calls on D with different generators gave the same", SHARED),
        ("every", "the record moves numbers ", SAMPLED),
        ("in turn", f"the record moves numbers 0, {5 * WIDTH} of an output in every run", SAMPLED),
        ("divisor", "neighbouring numbers of an output are large together", DIVISOR),
    ],
)
def test_a_broken_training_loop_is_told_what_is_wrong(bug: str, seen: str, first: str) -> None:
    """Seven loops are refuted; the bug stands first among the causes, with what shows it."""
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 5)))
    claim = step.repeat(ALL).guarantee().labelled("DP-SGD, 10 steps")
    pair = PAIRS.get(bug, (np.vstack([ROW, ZEROS]), ZEROS))
    sampler = partial(_loop, bug=bug)
    report = auditing.audit(sampler, pair, claim, samples=20_000, significance=1e-6, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION, str(report)
    assert [fact.startswith(seen) for fact in report.seen] == ([True] if seen else [])
    fits = ", first what fits the facts above" * bool(seen)
    assert f"does not tell apart{fits}:\n    - {first}" in str(report)


@pytest.mark.parametrize("pair", ["zeros", "clipping", "divisor"])
def test_a_correct_loop_shows_nothing(pair: str) -> None:
    """No cause is seen in its outputs, were they looked at after a refutation."""
    data, neighbour = PAIRS.get(pair, (np.vstack([ROW, ZEROS]), ZEROS))
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 5)))
    claim = Claim.of(step.repeat(ALL).guarantee())
    outputs = [_loop(data, 1_000, np.random.default_rng(1))]
    outputs.append(_loop(neighbour, 1_000, np.random.default_rng(2)))
    training = Training(np.concatenate(outputs), np.arange(2_000) < 1_000)

    assert symptoms(training, claim, replayed(_loop, Pair(data, neighbour), None, 1)) == ()
