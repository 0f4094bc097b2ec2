"""Events beside the plans: where smooth odds promise most, and those never seen in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.auditing.counts import Claim, Design, Floats, PrefixCounts, lower_limit, tail_up
from dpproof.auditing.planning.plan import (
    FEW,
    HANDICAP,
    CurvePlan,
    EpsilonPlan,
    Method,
    clearest_tangent,
    clearness,
)
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.coordinates import Unusual, row_keys
from dpproof.auditing.witnesses.witness import BothSides, Question, SmoothOdds, both_sides

_SHARE = 0.75  # of the significance for the sharp event; the rest is for what odds do not see
_SCORES = 3  # As many scores as show most by their whole distribution are smoothed.
_FEWEST_EVENTS, _FEWEST_INSIDE = 8, 4  # With fewer values, counts say enough about each event.
_CAUTION = 0.5  # standard deviations taken off the odds
_CONTRADICTION = 3.0  # Hits this many standard deviations above the smooth odds contradict them.
# A curve's plan stays beside the other where its event is less likely than this, as by chance.
_SURPRISING = 0.08
# Violations that smooth odds show as clearly, up to so many standard errors, may be chosen.
_CLOSE = 0.5

Ranked = tuple[Question, PrefixCounts]


def sharpened(
    plan: EpsilonPlan,
    ranked: Sequence[Ranked],
    training: Training,
    claim: Claim,
    *,
    trials: int,
    significance: float,
) -> tuple[EpsilonPlan, ...]:
    """Return the plan, and beside it the event with the largest bound that smooth odds expect.

    Frequencies in training are too noisy to tell the best of many rare events. A smooth curve is
    not, and where it is wrong the plan still has its part of the significance. It has all of it
    where trials or values are few, or its event contradicts the smooth odds.
    """
    if trials < FEW:
        return (plan,)
    best, refined, smooth = 0.0, plan, None
    for score in _clearest(ranked):
        first = score[0][0]
        sample = training.halves()[1] if first.fitted or plan.question.fitted else training
        posterior = _Posterior.of(first, sample)
        if posterior is None:
            continue
        questions: list[Question | BothSides] = [question for question, _ in score]
        for question in [*questions, *(sides for sides, _ in both_sides(score))]:
            promise = _promise(question, posterior, claim, trials, _SHARE * significance)
            position = int(np.argmax(promise))
            if promise[position] > best:
                best, smooth = float(promise[position]), posterior
                refined = EpsilonPlan(question.only(position), 0, best, Method.LABEL, _SHARE)
    if smooth is None or smooth.contradicted(plan.question.only(plan.position)):
        return (plan,)
    return replace(plan, share=1 - _SHARE), refined


def sharpened_curve(
    plan: CurvePlan | None, ranked: Sequence[Ranked], training: Training, claim: Claim
) -> tuple[CurvePlan, ...]:
    """Return the tangent and event of the plan's score with most evidence under smooth odds.

    The clearest of all frequencies in training is often one of few trials, by chance. The plan
    stays where its score was fitted or has few values. It is the first of two, for half of the
    significance each, where its event contradicts the smooth odds.
    """
    if plan is None or plan.question.fitted:
        return () if plan is None else (plan,)
    score = [question for question, _ in ranked if question.score is plan.question.score]
    smooth = _Posterior.of(plan.question, training)
    if len(score[0].thresholds) <= _FEWEST_EVENTS or smooth is None:
        return (plan,)
    shown = [(question, *smooth.expected(question)) for question in score]
    half = len(training) / 2
    refined = clearest_tangent(shown, [(half, half)] * len(shown), claim, _CLOSE)
    if refined is None or smooth.surprise(plan.question) >= _SURPRISING:
        return (refined or plan,)
    return plan, refined


def _clearest(ranked: Sequence[Ranked]) -> list[list[Ranked]]:
    """Return lists of questions about one score, for the clearest scores with many values."""
    scores: dict[int, list[Ranked]] = {}
    for question, counts in ranked:
        if len(question.thresholds) > _FEWEST_EVENTS:
            scores.setdefault(id(question.score), []).append((question, counts))
    return sorted(scores.values(), key=lambda one: -max(clearness(c) for _, c in one))[:_SCORES]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Posterior:
    """Probability that each training sample is from D, by the smooth odds of a score."""

    sample: Training
    likely: Floats
    low: Floats  # cautiously, where D is guessed
    high: Floats  # where D' is

    @staticmethod
    def of(question: Question, sample: Training) -> _Posterior | None:
        """Return the posterior of the question's score; None where it has no smooth odds."""
        scores = np.asarray(question.score(sample.features), dtype=np.float64)
        smooth = SmoothOdds.of(scores, sample.labels)
        if smooth is None:
            return None
        odds, error = smooth(scores)
        likely, low, high = (_logistic(odds + k * error) for k in (0.0, -_CAUTION, _CAUTION))
        return _Posterior(sample, likely, low, high)

    def expected(self, question: Question | BothSides) -> tuple[Floats, Floats]:
        """Return the expected numbers of samples and of right ones in each event, cautiously."""
        inside, hits = np.zeros(len(question.thresholds)), np.zeros(len(question.thresholds))
        for side in question.sides:
            cell = side.cell(self.sample.features)
            right = 1 - self.high if side.swapped else self.low
            inside += _nested(cell, np.ones(len(cell)), len(inside))
            hits += _nested(cell, right, len(inside))
        return inside, hits

    def surprise(self, event: Question) -> float:
        """Return the approximate p-value of this many hits of one event under the smoothed odds."""
        inside = event.cell(self.sample.features) == 0
        likely = 1 - self.likely[inside] if event.swapped else self.likely[inside]
        right = int((self.sample.labels[inside] != event.swapped).sum())
        return float(tail_up(right, likely.size, likely.mean())) if likely.size else 1.0

    def contradicted(self, event: Question | BothSides) -> bool:
        """Return whether many more guesses of one event were right than the smoothed odds allow."""
        right = expected = variance = 0.0
        for side in event.sides:
            inside = side.cell(self.sample.features) == 0
            likely = 1 - self.likely[inside] if side.swapped else self.likely[inside]
            right += float((self.sample.labels[inside] != side.swapped).sum())
            expected += float(likely.sum())
            variance += float((likely * (1 - likely)).sum())
        return right - 0.5 > expected + _CONTRADICTION * math.sqrt(variance)


def _promise(
    question: Question | BothSides,
    posterior: _Posterior,
    claim: Claim,
    trials: int,
    significance: float,
) -> Floats:
    """Return the bound from each event with its expected counts; -inf for none."""
    ratio = trials / len(posterior.sample)
    inside, hits = (ratio * counts for counts in posterior.expected(question))
    design = Design.GUESSES if isinstance(question, BothSides) else Design.COIN
    right = lower_limit(hits, inside, significance) * inside
    explained = right - float(design.marked(claim.delta)) * trials
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(np.maximum(explained, 0.0) / (inside - right))
    shown = np.where((explained > 0) & (inside >= ratio * _FEWEST_INSIDE), odds, -np.inf)
    return np.asarray((1 - HANDICAP if question.fitted else 1.0) * shown)


def _nested(cell: NDArray[np.int64], weights: Floats, events: int) -> Floats:
    return np.asarray(np.bincount(cell, weights, minlength=events + 1)[:-1].cumsum())


def _logistic(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50.0, 50.0))))


_RARE: Final = 0.01  # Share of the pilot, at most, in which an output is unusual. Heuristic.
_UNUSUAL_SHARE: Final = 0.9  # of the significance, for the events beside all else. Heuristic.
_WEIGHT: Final = 30.0  # Log of the weight of a hit where none is expected: one ends it all.


def with_unusual(
    plans: tuple[EpsilonPlan, ...], training: Training, claim: Claim
) -> tuple[EpsilonPlan, ...]:
    """Return the plans, and beside them nearly all of the significance for a rare release.

    A key that its threshold lets through with probability e^epsilon delta, and never on the other
    dataset, comes up a few times in a pilot or not at all, so that nothing can be learned of it.
    Where nearly all outputs of the pilot are one value, and the claim has a delta, the event that
    an output is another is fixed nevertheless: in the order of the pilot, or by halves in both.
    """
    rows = row_keys(training.features, training.features.shape[1])
    values, first, seen = np.unique(rows, return_index=True, return_counts=True)
    usual = int(np.argmax(seen))
    if claim.delta == 0 or seen[usual] < (1 - _RARE) * len(rows):
        return plans
    score, unusual = Unusual(training.features[first[usual]]), rows != values[usual]
    on_data = int((unusual & training.labels).sum())
    on_neighbour = int(unusual.sum()) - on_data
    orders = [on_neighbour > on_data] if on_data != on_neighbour else [False, True]
    expected = claim.epsilon if min(on_data, on_neighbour) else _WEIGHT
    rare = [
        EpsilonPlan(
            Question(score, upwards=True, swapped=swapped, thresholds=np.array([1.0])),
            0,
            expected,
            Method.TWO_SAMPLE,
            _UNUSUAL_SHARE / len(orders),
        )
        for swapped in orders
    ]
    return (*(replace(plan, share=(1 - _UNUSUAL_SHARE) * plan.share) for plan in plans), *rare)
