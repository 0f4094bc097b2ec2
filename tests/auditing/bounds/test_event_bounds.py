"""Bounds from one event: their error probability, computed exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Design, EventCounts, RandomisedLabel, Rectangle, TwoSample
from dpproof.auditing.bounds import event_bound
from dpproof.auditing.bounds.event_bound import EventBound, largest_at_most, thinned

SIGNIFICANCE = 0.05
TRIALS = 11
BOUNDS = [
    RandomisedLabel(significance=SIGNIFICANCE),
    Rectangle(significance=SIGNIFICANCE),
    TwoSample(significance=SIGNIFICANCE, weight=1),
    TwoSample(significance=SIGNIFICANCE, weight=3),
]
Refutes = Callable[[EventCounts], bool]


def outcomes(design: Design) -> list[EventCounts]:
    """Everything that can be counted."""
    splits = range(TRIALS + 1) if design is Design.COIN else [TRIALS // 2]
    return [
        EventCounts(hits, n, others, TRIALS - n, design)
        for n in splits
        for hits, others in itertools.product(range(n + 1), range(TRIALS - n + 1))
    ]


def probabilities(counts: list[EventCounts], p: float, q: float) -> NDArray[np.float64]:
    """Their exact probabilities for an event of probabilities p and q."""
    n1 = np.array([c.trials for c in counts])
    n0 = np.array([c.other_trials for c in counts])
    split = stats.binom.pmf(n1, TRIALS, 0.5) if counts[0].design is Design.COIN else 1.0
    hits = stats.binom.pmf([c.hits for c in counts], n1, p)
    others = stats.binom.pmf([c.other_hits for c in counts], n0, q)
    return np.asarray(split * hits * others)


def error_probability(refutes: Refutes, design: Design, epsilon: float, delta: float) -> float:
    """The largest probability of a refutation over events on the boundary of the claim."""
    counts = outcomes(design)
    refuted = np.array([refutes(c) for c in counts])
    worst = 0.0
    for q in np.linspace(0, 1, 51):
        p = min(1.0, math.exp(epsilon) * q + delta)
        worst = max(worst, float(probabilities(counts, p, q)[refuted].sum()))
    return worst


@pytest.mark.some(8)
@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{type(bound).__name__}")
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1), (2.0, 1e-4)])
def test_error_probability_is_at_most_the_significance(
    bound: EventBound, epsilon: float, delta: float
) -> None:
    """Exactly, over all counts of 11 trials and fifty least favourable events."""
    error = error_probability(
        lambda c: bound.refutes(c, epsilon=epsilon, delta=delta), Design.COIN, epsilon, delta
    )

    assert error <= SIGNIFICANCE


@pytest.mark.parametrize(
    "bound",
    [Rectangle(significance=SIGNIFICANCE), TwoSample(significance=SIGNIFICANCE, weight=2)],
    ids=["Rectangle", "TwoSample"],
)
def test_error_probability_in_fixed_designs(bound: EventBound) -> None:
    """The bounds that take fixed numbers of trials keep their significance there."""
    for epsilon, delta in ((0.0, 0.0), (0.7, 0.05)):
        error = error_probability(
            lambda c, e=epsilon, d=delta: bound.refutes(c, epsilon=e, delta=d),  # type: ignore[misc]
            Design.FIXED,
            epsilon,
            delta,
        )

        assert error <= SIGNIFICANCE


def test_the_computation_sees_a_bound_that_is_wrong() -> None:
    """The ratio of frequencies alone errs far more often than 5 % in the same computation."""
    error = error_probability(
        lambda c: c.hits * c.other_trials > math.e * c.other_hits * c.trials, Design.COIN, 1.0, 0.0
    )

    assert error > 0.3


def test_forgetting_to_pay_for_delta_is_seen() -> None:
    """Testing epsilon alone when the claim has a delta exceeds the significance."""
    bound = RandomisedLabel(significance=SIGNIFICANCE)
    error = error_probability(lambda c: bound.refutes(c, epsilon=0.5), Design.COIN, 0.5, 0.4)

    assert error > SIGNIFICANCE


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{type(bound).__name__}")
def test_lower_bound_is_where_refutation_ends(bound: EventBound) -> None:
    """Refuted at the bound, not a little above; more hits never lower it."""
    counts = EventCounts(400, 1_000, 100, 1_000)
    for delta in (0, 0.01):
        lower = bound.epsilon(counts, delta=delta)

        assert 0.9 < lower < math.log(4)
        assert bound.refutes(counts, epsilon=lower, delta=delta)
        assert not bound.refutes(counts, epsilon=lower + 1e-4, delta=delta)
        assert bound.epsilon(EventCounts(420, 1_000, 100, 1_000), delta=delta) > lower


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{type(bound).__name__}")
def test_nothing_is_shown_by_nothing(bound: EventBound) -> None:
    """No trials, no hits, equal frequencies, or fewer hits: 0."""
    for counts in ((0, 0, 0, 0), (0, 50, 0, 50), (20, 50, 20, 50), (1, 50, 30, 50)):
        assert bound.epsilon(EventCounts(*counts)) == 0.0


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{type(bound).__name__}")
def test_never_more_than_the_samples_can_show(bound: EventBound) -> None:
    """Without a hit on the other side the bound is finite, and below ln(trials / significance)."""
    lower = bound.epsilon(EventCounts(500, 500, 0, 500))

    assert 3 < lower < math.log(1_000 / SIGNIFICANCE)


def test_few_trials_are_summed_and_many_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum over every value is at most the one over blocks, and close to it."""
    bound = TwoSample(significance=SIGNIFICANCE, weight=2)
    rng = np.random.default_rng(1)
    for trials in (1, 7, 60, 700, 1_000):
        for _ in range(4):
            counts = EventCounts(
                int(rng.integers(trials + 1)), trials, int(rng.integers(trials // 2 + 1)), trials
            )
            for delta in (0, 0.01):
                monkeypatch.undo()
                summed = bound.p_value(counts, epsilon=0.5, delta=delta)
                monkeypatch.setattr(event_bound, "_FEW", 0)
                blocks = bound.p_value(counts, epsilon=0.5, delta=delta)

                assert summed <= blocks + 1e-8
                assert summed >= 0.95 * blocks - 1e-3


def test_labels_have_to_be_coins() -> None:
    """A fixed design is refused by the bound whose proof needs coins."""
    with pytest.raises(ParameterError, match="Rectangle"):
        RandomisedLabel(significance=0.05).epsilon(EventCounts(5, 9, 1, 9, Design.FIXED))


@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.05, 1])
def test_thinning_pays_what_it_says(delta: float) -> None:
    """Pr(Bin(N, delta/2) > c) is at most t <= level, and c is the smallest such."""
    paid, removed = thinned(5_000, Design.COIN.marked(delta), 0.005)
    above = stats.binom(5_000, delta / 2).sf

    assert above(removed) <= paid <= 0.005
    assert removed == 0 or above(removed - 1) > 0.005


@pytest.mark.parametrize("significance", [0, 1, -0.1, float("nan"), "0.05", None])
def test_refuses_what_is_no_significance(significance: object) -> None:
    """A significance lies between 0 and 1."""
    for bound in (RandomisedLabel, Rectangle, TwoSample):
        with pytest.raises(ParameterError):
            bound(significance=significance)  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [(5, 4, 0, 1), (1, 4, 2, 1), (-1, 4, 0, 1), (0.5, 4, 0, 1)])
def test_refuses_impossible_counts(counts: tuple[int, int, int, int]) -> None:
    """No more hits than trials, no fractions, nothing negative."""
    with pytest.raises(ParameterError):
        EventCounts(*counts)


@pytest.mark.parametrize("tolerance", [1e-5, 0.02])
@pytest.mark.parametrize("edge", [0.0, 1e-4, 0.3, 0.99999, 1.0, 7.5, 500.0])
@pytest.mark.parametrize(
    "shape",
    [
        lambda excess: math.exp(3 * excess),
        lambda excess: 0.5 if excess <= 0 else 2.0,
        lambda excess: 0.0 if excess <= 0 else 1.0 + 1e-9,
        lambda excess: math.exp(min(max(excess, -1.0), 4.0) ** 3 + 1e-9 * excess),
    ],
    ids=["exponential", "step", "from nothing", "flat"],
)
def test_the_search_ends_at_the_edge(
    shape: Callable[[float], float], edge: float, tolerance: float
) -> None:
    """A refuted epsilon within the tolerance of the edge, as by halving, in fewer than 60 steps."""
    asked = []

    def p_value(epsilon: float) -> float:
        asked.append(epsilon)
        return min(1.0, 0.05 * shape(epsilon - edge))

    found = largest_at_most(p_value, 0.05, tolerance)

    assert p_value(found) <= 0.05
    assert p_value(found + 1.01 * tolerance) > 0.05
    assert len(asked) < 60


def test_a_straight_logarithm_is_crossed_at_once() -> None:
    """Once both sides of the edge are known, two more questions are enough."""
    asked = []

    def p_value(epsilon: float) -> float:
        asked.append(epsilon)
        return min(1.0, 0.05 * math.exp(3 * (epsilon - 0.3)))

    largest_at_most(p_value, 0.05, 1e-9)
    assert len(asked) == 4


def test_the_search_finds_nothing_where_nothing_is_refuted() -> None:
    """Zero, when a p-value at zero is above the level."""
    assert largest_at_most(lambda _: 0.051, 0.05, 1e-5) == 0.0
    assert largest_at_most(lambda _: 0.0, 0.05, 1e-5) >= 300


def test_a_rectangle_is_two_limits_of_half_the_significance() -> None:
    """Clopper and Pearson's, from scipy."""
    low, high = Rectangle(significance=SIGNIFICANCE).limits(EventCounts(70, 100, 20, 90))

    assert low == pytest.approx(stats.beta(70, 31).ppf(SIGNIFICANCE / 2), rel=1e-8)
    assert high == pytest.approx(stats.beta(21, 70).ppf(1 - SIGNIFICANCE / 2), rel=1e-8)
