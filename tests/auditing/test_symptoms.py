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
from dpproof.auditing.counts import Claim
from dpproof.auditing.report import REPLAYED, recorded, replayed, symptoms
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.sampler import Training
from dpproof.mechanisms import Gaussian
from tests.auditing.loops import ALL, EQUAL, ROW, WIDTH, ZEROS, loop_of

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


REUSED = "one noise is added twice", f"numbers 0 and {WIDTH} of an output differ by the same few"
DIVIDED = (
    "released numbers are multiplied or divided by what depends on the data",
    "neighbouring numbers of an output are large together",
)


@pytest.mark.parametrize(
    ("bug", "name", "seen", "first"),
    [
        ("half", "less noise than claimed", ("noise is added whose scale is smaller",), NOISE),
        ("clipping", "a record that is not clipped", ("the record moves a number that",), NOISE),
        ("reused", "one noise in several numbers", REUSED, SHARED),
        ("seed", "a seed set in the code", ("two calls on D with different",), SHARED),
        ("every", "a record in fixed batches", ("the record moves numbers ",), SAMPLED),
        ("in turn", "a record in fixed batches", ("the record moves numbers 0, 20 of",), SAMPLED),
        ("divisor", "numbers normalised by the realised batch", DIVIDED, DIVISOR),
    ],
)
def test_a_broken_training_loop_is_told_what_is_wrong(
    bug: str, name: str, seen: tuple[str, ...], first: str
) -> None:
    """Seven loops are refuted; headline, facts and first cause name the bug, and no other."""
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 5)))
    claim = step.repeat(ALL).guarantee().labelled("DP-SGD, 10 steps")
    pair = PAIRS.get(bug, (np.vstack([ROW, ZEROS]), ZEROS))
    sampler = partial(loop_of, bug=bug)
    report = auditing.audit(sampler, pair, claim, samples=20_000, significance=1e-6, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION, str(report)
    assert report.headline().startswith(f"VIOLATION (seen: {name}")
    assert len(report.seen) == len(seen)
    assert all(map(str.startswith, report.seen, seen)), report.seen
    assert f"does not tell apart, first what fits the facts above:\n    - {first}" in str(report)


@pytest.mark.parametrize("pair", ["zeros", "clipping", "divisor"])
def test_a_correct_loop_shows_nothing(pair: str) -> None:
    """No cause is seen in its outputs, were they looked at after a refutation."""
    data, neighbour = PAIRS.get(pair, (np.vstack([ROW, ZEROS]), ZEROS))
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 5)))
    claim = Claim.of(step.repeat(ALL).guarantee())
    outputs = [loop_of(data, 1_000, np.random.default_rng(1))]
    outputs.append(loop_of(neighbour, 1_000, np.random.default_rng(2)))
    training = Training(np.concatenate(outputs), np.arange(2_000) < 1_000)

    both = Pair(data, neighbour)
    runs = recorded(loop_of, both, claim.guarantee, 1)
    assert symptoms(training, claim, replayed(loop_of, both, None, 1), runs) == ()


def test_a_rare_release_is_not_taken_for_missing_noise() -> None:
    """Outputs that are nearly always the same name no cause, though two calls agree."""

    def rare(value: float, size: int, rng: np.random.Generator) -> Rows:
        return (rng.random(size) < value / 50).astype(float)

    report = auditing.audit(rare, (1.0, 0.0), (1, 1e-3), samples=5_000, seed=1)

    assert report.outcome is auditing.Outcome.VIOLATION
    assert report.seen == ()
