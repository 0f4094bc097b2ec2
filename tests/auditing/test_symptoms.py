"""What a refutation shows of its cause, on the ways in which a training loop breaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import auditing
from auditing.symptoms import REPLAYED

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
