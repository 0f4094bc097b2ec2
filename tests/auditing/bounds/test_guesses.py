"""Bounds from guesses of both datasets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import (
    BinCounts,
    Design,
    EventCounts,
    PrefixBand,
    PrefixCounts,
    RandomisedLabel,
    Rectangle,
    TradeOffRegion,
    TwoSample,
)
from dpproof.auditing.bounds.event_bound import EventBound

SIGNIFICANCE, N = 0.2, 14
LABEL = RandomisedLabel(significance=SIGNIFICANCE)


def guesses(right: int, wrong: int, total: int = N) -> EventCounts:
    """Counts of guesses."""
    return EventCounts(right, total - wrong, wrong, wrong, Design.GUESSES)


def law(epsilon: float, delta: float, q: float) -> tuple[float, float]:
    """Right and wrong with probability: both sides as bad as (epsilon, delta)-DP allows.

    P gives D's side delta + e^eps q and D' side q, Q the other way round.
    """
    return math.exp(epsilon) * q + delta, q


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1), (0.3, 0.02)])
def test_error_probability_is_at_most_the_significance(epsilon: float, delta: float) -> None:
    """Exactly, over all counts of 14 trials and least favourable pairs of events."""
    counts = [(r, w) for r, w in itertools.product(range(N + 1), repeat=2) if r + w <= N]
    refuted = [LABEL.refutes(guesses(*c), epsilon=epsilon, delta=delta) for c in counts]
    for share in (0.2, 0.6, 1.0):
        right, wrong = law(epsilon, delta, share * (1 - delta) / (1 + math.exp(epsilon)))
        rates = [right, wrong, max(0.0, 1 - right - wrong)]
        error = sum(
            stats.multinomial.pmf([r, w, N - r - w], N, rates)
            for (r, w), wrongly in zip(counts, refuted, strict=True)
            if wrongly
        )

        assert error <= SIGNIFICANCE


def test_paying_for_one_side_only_is_seen() -> None:
    """With the marks of one event (delta / 2) the same computation errs more often than stated.

    Delta leaks all that there is: half of it in either order would be too little.
    """
    trials, delta, bound = 40, 0.2, RandomisedLabel(significance=0.2, thinning=0.9)
    right, wrong = law(0.0, delta, 0.02)
    error = 0.0
    for r, w in itertools.product(range(trials + 1), repeat=2):
        if r + w <= trials:
            one_event = EventCounts(r, trials - w, w, w)
            if bound.refutes(one_event, epsilon=0, delta=delta):
                rates = [right, wrong, 1 - right - wrong]
                error += stats.multinomial.pmf([r, w, trials - r - w], trials, rates)

    assert error > 0.2


def test_both_tails_count_twice() -> None:
    """Two equal tails show what one tail of twice the trials shows."""
    one = EventCounts(400, 5_000, 150, 5_000)
    both = guesses(800, 300, 20_000)

    assert LABEL.epsilon(both) == LABEL.epsilon(EventCounts(800, 10_000, 300, 10_000))
    assert LABEL.epsilon(both) > LABEL.epsilon(one)
    assert LABEL.epsilon(both, delta=1e-4) < LABEL.epsilon(both)


def test_prefix_band_of_guesses_pays_twice_for_delta() -> None:
    """A band of guesses at delta is the band of one event's labels at twice delta."""
    inside, hits = (100, 300, 900), (90, 240, 640)
    band = PrefixBand(significance=SIGNIFICANCE)
    both = PrefixCounts(inside, hits, 1_740, 260, Design.GUESSES)
    one = PrefixCounts(inside, hits, 1_740, 260)

    assert band.epsilon(both, delta=0.002) == band.epsilon(one, delta=0.004)
    assert band.epsilon(both, delta=0.002) < band.epsilon(one, delta=0.002)


@pytest.mark.parametrize("bound", [Rectangle(significance=0.1), TwoSample(significance=0.1)])
def test_bounds_of_two_probabilities_refuse_guesses(bound: EventBound) -> None:
    """Guesses are not one event on two datasets; nor bins, nor a region."""
    nested = PrefixCounts((5,), (4,), 9, 1, Design.GUESSES)
    with pytest.raises(ParameterError, match="RandomisedLabel"):
        bound.epsilon(guesses(9, 1))
    with pytest.raises(ParameterError):
        BinCounts.between(nested)
    with pytest.raises(ParameterError):
        TradeOffRegion(significance=0.1).points(nested)


def test_nested_counts_add_up() -> None:
    """Further trials of the same events."""
    first, more = PrefixCounts((2, 5), (1, 4), 6, 4), PrefixCounts((1, 3), (1, 1), 2, 5)

    assert first.plus(more) == PrefixCounts((3, 8), (2, 5), 8, 9)


def test_randomised_response_shows_more_by_guesses() -> None:
    """All trials of randomised response are guesses: the limit is the binomial's own."""
    n, bias = 20_000, 1 / (1 + math.exp(-0.5))
    right = round(n * bias)
    limit = stats.beta.ppf(0.05, right, n - right + 1)
    shown = RandomisedLabel(significance=0.05).epsilon(guesses(right, n - right, n))

    assert shown == pytest.approx(np.log(limit / (1 - limit)), abs=2e-5)
    assert shown > 0.95 * 0.5
