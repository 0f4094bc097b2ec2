"""From training samples to the tests that will be made on others, and their power."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.errors import ParameterError
from dpproof.auditing.bounds.curves import PrefixBand
from dpproof.auditing.bounds.event_bound import (
    EventBound,
    RandomisedLabel,
    TwoSample,
    significance_of,
    thinned,
)
from dpproof.auditing.counts import (
    Claim,
    Design,
    EventCounts,
    Floats,
    PrefixCounts,
    Tangent,
    logistic_up,
    lower_limit,
    quantile,
    special,
    tail_up,
    upper_limit,
)
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.standard import Unusual, row_keys
from dpproof.auditing.witnesses.witness import BothSides, Question, SmoothOdds, Witness, both_sides

# Standard errors of the training estimate taken off, and of the coming test at about 5 %.
_CAUTION, _SURE, _TEST = 1.5, 2.0, 1.65
# The band has the events up to this many times smaller or larger than the best one in training.
_WINDOW = 6.0
_BAND_PRICE = 4.0  # about the number of independent looks that a band of such events amounts to
# Beyond this many expected trials in the part of delta, thinning costs more than a single event.
_MOST_THINNED = 20.0
FEW = 500  # below it one event with both its limits says more than a band of prefixes
HANDICAP = 0.1  # A fitted score has to promise more than one that was there before, by this share.
_ROUGH = 0.02  # Two bounds are compared up to this.
# Events whose violation is this close to the clearest one are told apart by their promise.
_CLOSE, _RARER = 2.0, 0.52

Ranked = tuple[Question | BothSides, PrefixCounts]


@final
class Method(Enum):
    """The bound that is made of the counts."""

    BAND = "every threshold of the score"
    LABEL = "the labels of one event"
    TWO_SAMPLE = "one event's two probabilities"


@final
@dataclass(frozen=True, slots=True, eq=False)
class EpsilonPlan:
    """Bound epsilon at the claim's delta, by nested events or pairs; by one if it is no band."""

    question: Question | BothSides
    position: int  # of the event that looked best in training
    epsilon: float  # its cautious estimate in training
    method: Method
    share: float = 1.0  # of the significance

    @property
    def weight(self) -> float:
        """Return the weight of the two-sample statistic."""
        return math.exp(min(max(self.epsilon, 0.0), 50.0))

    def lower_bound(self, counts: PrefixCounts, claim: Claim, significance: float) -> float:
        """Return the lower confidence bound from fresh counts."""
        if self.method is Method.BAND:
            level = self.share * significance
            return PrefixBand(significance=level).epsilon(counts, delta=claim.delta)
        return self.bound(significance).epsilon(counts.event(self.position), delta=claim.delta)

    def cautious(self, significance: float) -> EventBound:
        """Return the bound from one event at the level that is left when a band is looked at."""
        return self.bound(significance / (_BAND_PRICE if self.method is Method.BAND else 1.0))

    def bound(self, significance: float) -> EventBound:
        """Return the bound from one event, at the plan's share of a significance."""
        level = self.share * significance
        if self.method is Method.TWO_SAMPLE:
            return TwoSample(significance=level, weight=self.weight)
        return RandomisedLabel(significance=level)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CurvePlan:
    """Test one tangent of a claimed curve with one event."""

    question: Question
    tangent: Tangent

    def p_value(self, counts: PrefixCounts, significance: float) -> float:
        """Return the p-value of the tangent from fresh counts of the question's only event."""
        bound = TwoSample(significance=significance, weight=math.exp(self.tangent.epsilon))
        return bound.p_value(
            counts.event(0), epsilon=self.tangent.epsilon, delta=self.tangent.delta
        )


def questions(
    witnesses: Sequence[Witness], fit: Training, rank: Training
) -> Iterator[tuple[Question, PrefixCounts]]:
    """Yield every score that can be ranked, direction and order of the datasets with its counts."""
    both = fit.joined(rank)
    for witness in witnesses:
        sample = rank if witness.learns else both
        on_data = int(sample.labels.sum())
        for score in witness.scores(fit):
            for upwards, swapped in itertools.product((True, False), repeat=2):
                question = Question.about(score, sample.features, upwards=upwards, swapped=swapped)
                counts = question.count(sample.features, sample.labels)
                question = replace(question, fitted=witness.learns)
                yield question, question.counts(*counts, on_data, len(sample) - on_data)


def plan_epsilon(
    ranked: Sequence[tuple[Question, PrefixCounts]], claim: Claim, trials: int
) -> EpsilonPlan:
    """Return the plan with the score, direction, order and bound that promise most in training."""
    one_event: list[Ranked] = [*ranked]
    plain = [item for item in ranked if not item[0].fitted]
    guesses: list[Ranked] = [*ranked, *both_sides(ranked if trials < FEW else plain)]
    plans = [
        best_event(one_event if method is Method.TWO_SAMPLE else guesses, claim, trials, method)
        for method in _methods(claim, trials)
    ]
    if len(plans) == 1:
        return plans[0][0]
    # Of two bounds the one that says more about the training counts, brought to the test's size.
    level = _normal(-_CAUTION - _TEST)
    return max(
        plans,
        key=lambda item: (
            item[0]
            .cautious(level)
            .roughly(_scaled(item[1], trials), delta=claim.delta, tolerance=_ROUGH)
        ),
    )[0]


def _scaled(counts: EventCounts, trials: int) -> EventCounts:
    ratio = trials / counts.total
    first, second = round(counts.trials * ratio), round(counts.other_trials * ratio)
    return EventCounts(
        min(round(counts.hits * ratio), first),
        first,
        min(round(counts.other_hits * ratio), second),
        second,
        counts.design,
    )


def best_event(
    ranked: Sequence[Ranked], claim: Claim, trials: int, method: Method
) -> tuple[EpsilonPlan, EventCounts]:
    """Return the best plan of one kind in training, and the training counts of its event."""
    if not ranked:
        raise ParameterError("witnesses", (), "able to score the outputs", "add Thresholds()")
    cautions = [  # more where many thresholds of one sample compete
        _SURE if method is Method.BAND and not question.fitted else _CAUTION
        for question, _ in ranked
    ]
    sure = _promises(ranked, claim.delta_up, trials, method, cautions)
    best = max(range(len(ranked)), key=lambda j: float(sure[j].max(initial=-math.inf)))
    promise = sure[best]
    if not promise.max(initial=-math.inf) > 0:
        best = max(range(len(ranked)), key=lambda j: clearness(ranked[j][1]))
        (promise,) = _promises([ranked[best]], claim.delta_up, trials, method, [_CAUTION])
    question, counts = ranked[best]
    position = int(np.argmax(promise))
    value = float(promise[position])
    event = counts.event(position)
    if method is not Method.BAND:
        return EpsilonPlan(question.only(position), 0, value, method), event
    sizes = np.array(counts.inside)
    # Without delta the larger events cost little and save an audit whose best event was noise.
    largest = _WINDOW * sizes[position] if claim.delta else math.inf
    near = np.flatnonzero((sizes * _WINDOW >= sizes[position]) & (sizes <= largest))
    inside = question.only(slice(int(near[0]), int(near[-1]) + 1))
    return EpsilonPlan(inside, position - int(near[0]), value, method), event


def _methods(claim: Claim, trials: int) -> tuple[Method, ...]:
    """Yield the methods worth trying, judged before any trial is drawn."""
    thinned = trials * claim.delta_up / 2
    if thinned > _MOST_THINNED:
        return (Method.TWO_SAMPLE,)
    if trials < FEW:
        return (Method.LABEL, Method.TWO_SAMPLE)
    return (Method.BAND,) if thinned <= 1 else (Method.BAND, Method.TWO_SAMPLE)


def clearness(counts: PrefixCounts) -> float:
    """Return the most standard errors by which any event's hits exceed half."""
    hits, inside = np.array(counts.hits), np.array(counts.inside)
    return float(np.max((2 * hits - inside) / np.sqrt(np.maximum(inside, 1)), initial=0.0))


def _promises(
    ranked: Sequence[Ranked], delta: float, trials: int, method: Method, cautions: Sequence[float]
) -> list[Floats]:
    """Return the epsilon that each event is likely to show on fresh samples, or -inf. Heuristic."""
    # Exact lower limits at the standard errors of training and of a test of ``trials`` samples.
    promises = [np.empty(0)] * len(ranked)
    labels = delta == 0.0 and method is not Method.TWO_SAMPLE  # are tested, not two probabilities
    by_label = [labels or counts.design is Design.GUESSES for _, counts in ranked]
    for shown, kind in ((_log_odds_of_labels, True), (_log_ratio_of_probabilities, False)):
        places = [j for j, is_kind in enumerate(by_label) if is_kind == kind]
        if not places:
            continue
        chosen = [ranked[j][1] for j in places]
        sizes = [len(counts.inside) for counts in chosen]
        # In standard errors of the training.
        tests = [_TEST * math.sqrt(counts.total / max(trials, 1)) for counts in chosen]
        errors = np.repeat(
            [cautions[j] + test for j, test in zip(places, tests, strict=True)], sizes
        )
        events = _Events(
            np.concatenate([counts.hits for counts in chosen]).astype(float),
            np.concatenate([counts.inside for counts in chosen]).astype(float),
            np.repeat([float(counts.trials) for counts in chosen], sizes),
            np.repeat([float(counts.other_trials) for counts in chosen], sizes),
        )
        values = np.split(shown(events, delta, errors), np.cumsum(sizes)[:-1])
        for j, value in zip(places, values, strict=True):
            promises[j] = (1.0 - HANDICAP if ranked[j][0].fitted else 1.0) * value
    return promises


@final
@dataclass(frozen=True, slots=True)
class _Events:
    """Training counts of many events, one entry an event."""

    hits: Floats
    inside: Floats
    trials: Floats
    other_trials: Floats


def _log_odds_of_labels(events: _Events, delta: float, errors: Floats) -> Floats:
    """Return the log-odds of labels inside each event, minus what delta explains."""
    right = lower_limit(events.hits, events.inside, special().ndtr(-errors)) * events.inside
    explained = right - delta * (events.trials + events.other_trials)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(np.maximum(explained, 0.0) / (events.inside - right))
    return np.where(explained > 0, odds, -np.inf)


def _log_ratio_of_probabilities(events: _Events, delta: float, errors: Floats) -> Floats:
    """Return the log ratio of the two probabilities of each event."""
    each = special().ndtr(-errors / math.sqrt(2.0))
    p = lower_limit(events.hits, events.trials, each)
    q = upper_limit(events.inside - events.hits, events.other_trials, each)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > delta, np.log(np.maximum(p - delta, 0.0) / q), -np.inf)


def plan_curve(ranked: Sequence[tuple[Question, PrefixCounts]], claim: Claim) -> CurvePlan | None:
    """Return the event and tangent to test, None for a point claim."""
    shown = [
        (question, np.array(counts.inside, float), np.array(counts.hits, float))
        for question, counts in ranked
    ]
    trials = [(counts.trials, counts.other_trials) for _, counts in ranked]
    return clearest_tangent(shown, trials, claim, _CLOSE)


def clearest_tangent(
    shown: Sequence[tuple[Question, Floats, Floats]],
    trials: Sequence[tuple[float, float]],
    claim: Claim,
    close: float,
) -> CurvePlan | None:
    """Return the event and the tangent of the claimed curve to test; None if none is rare."""
    # For each event the tangent that says most; of it and its complement, with D and D' exchanged,
    # the rarer. Among those about as clear as the clearest, which may be noise, the one that would
    # be clearest if every loss were a tenth above. ``trials`` are all of the hits' dataset, and
    # others.
    tangents = claim.tangents()
    if not tangents:
        return None
    slopes = np.exp([tangent.epsilon for tangent in tangents])
    deltas, rooms = (np.array([getattr(t, name) for t in tangents]) for name in ("delta", "room"))
    candidates: list[tuple[float, float, Question, int, Tangent]] = []
    for (question, inside, hits), (on_data, on_other) in zip(shown, trials, strict=True):
        n1, n0 = max(on_data, 1), max(on_other, 1)
        q = np.minimum((inside - hits + 0.5) / (n0 + 1), 1.0)
        allowed = slopes[:, None] * q + deltas[:, None]
        binding = np.argmin(allowed, axis=0)
        p = np.minimum(allowed.min(axis=0), 1.0)
        error = np.sqrt(p * (1 - p) / n1 + slopes[binding] ** 2 * q * (1 - q) / n0) + 1e-300
        clear, promise = (hits / n1 - p) / error, rooms[binding] / error
        candidates.extend(
            (float(clear[j]), float(promise[j]), question, int(j), tangents[binding[j]])
            for j in np.flatnonzero(inside <= _RARER * (on_data + on_other))
        )
    if not candidates:
        return None
    clearest = max(clear for clear, *_ in candidates)
    near = [item for item in candidates if item[0] >= clearest - close]
    _, _, question, position, tangent = max(near, key=lambda item: item[1])
    return CurvePlan(question.only(position), tangent)


def samples_needed(claim: object, *, significance: Number = 0.05) -> float:
    """Return the fewest samples on both datasets together with which any test can refute a claim.

    Statement: a test that errs with probability at most ``significance`` needs at least so many,
        even of an implementation whose every output gives its dataset away.
    Proof: proofs/theory/audits.md, section 6.
    Rounds: down, by at most one sample in a million; inf if the claim allows everything.
    Example:
        >>> samples_needed((1, 0)), samples_needed((10, 1e-6))
        (10, 65987)
    """
    advantage = Claim.of(claim).guarantee.advantage().lower
    level = float(significance_of(significance))
    if advantage >= 1.0:
        return math.inf
    least = math.log(level) / math.log1p((advantage - 1.0) / 2)
    return math.ceil(least * (1 - 1e-6))


_LIKELY, _STEPS = 0.975, 30


def detectable_epsilon(
    plan: EpsilonPlan, counts: PrefixCounts, claim: Claim, significance: float
) -> float:
    """Return the smallest epsilon above the claim's found with 95 % probability; inf if none."""
    # At epsilon, an event of the observed frequency r has at most P(S) = e^eps Q(S) + delta with
    # (P(S) + Q(S)) / 2 = r. The claim is then contradicted with 95 % probability when it is at the
    # 2.5 % quantile of the hits on D with the 97.5 % quantile of those on D'. Of guesses made with
    # frequency r, at most a share (e^eps (r - delta) / (1 + e^eps) + delta) / r is right: its 5 %
    # quantile.
    claimed, delta = claim.epsilon, claim.delta_up
    positions = range(len(counts.inside))
    frequencies = sorted({counts.inside[j] / max(counts.total, 1) for j in positions} - {0.0})
    if not math.isfinite(claimed) or not frequencies:
        return math.inf
    rejects = _rejector(plan, counts, claim, significance)

    def finds(epsilon: float, frequency: float) -> bool:
        if counts.design is Design.GUESSES:
            right = logistic_up(epsilon) * (frequency - delta) + delta
            guesses = _unlucky_guesses(counts, frequency, min(right / frequency, 1.0))
            return delta <= frequency and rejects(guesses)
        q = (2 * frequency - delta) / (1 + math.exp(epsilon))
        p = math.exp(epsilon) * q + delta
        return 0 <= q <= p <= 1 and rejects(_unlucky(counts, p, q))

    best = math.inf
    for r in frequencies:
        if math.isinf(best) or finds(best, r):
            best = min(best, _smallest(partial(finds, frequency=r), claimed))
    return best


def _rejector(
    plan: EpsilonPlan, counts: PrefixCounts, claim: Claim, significance: float
) -> Callable[[EventCounts], bool]:
    """Return a predicate: whether counts of one event are sure to contradict the claim."""
    epsilon, delta = claim.epsilon, claim.delta_up
    if plan.method is not Method.BAND:
        bound = plan.bound(significance)
        return lambda event: bound.refutes(event, epsilon=epsilon, delta=delta)
    share = plan.share * significance
    paid, removed = thinned(counts.total, counts.design.marked(delta), 0.1 * share)
    level = (share - paid) / max(1, len(counts.inside))  # the band is never worse than this
    bias = logistic_up(epsilon)
    return lambda event: (
        float(tail_up(event.hits - removed, event.hits - removed + event.other_hits, bias)) <= level
    )


def detectable_mu(tangent: Tangent, counts: PrefixCounts, significance: float) -> float:
    """Return the smallest mu of Gaussian noise found with 95 % probability at this frequency."""
    bound = TwoSample(significance=significance, weight=math.exp(tangent.epsilon))
    frequency = counts.inside[0] / max(counts.total, 1)

    def finds(mu: float) -> bool:
        q = _gaussian_share(mu, frequency)
        event = _unlucky(counts, _normal(_normal_quantile(q) + mu), q)
        return bound.refutes(event, epsilon=tangent.epsilon, delta=tangent.delta)

    return _smallest(finds, 0.0) if 0 < frequency < 1 else math.inf


def _unlucky(counts: PrefixCounts, p: float, q: float) -> EventCounts:
    """Return counts such that worse ones have probability at most 5 %."""
    hits = quantile(1 - _LIKELY, counts.trials, p)
    others = quantile(_LIKELY, counts.other_trials, q)
    return EventCounts(hits, counts.trials, others, counts.other_trials)


def _unlucky_guesses(counts: PrefixCounts, frequency: float, right: float) -> EventCounts:
    """Return guess counts with so few right that fewer have probability at most 5 %."""
    guesses = round(frequency * counts.total)
    hits = quantile(2 * (1 - _LIKELY), guesses, right)
    wrong = guesses - hits
    return EventCounts(hits, counts.total - wrong, wrong, wrong, Design.GUESSES)


def _smallest(finds: Callable[[float], bool], start: float) -> float:
    """Return the smallest refuted value above ``start``, to 1 %, or inf if none up to 60 is."""
    low, step = start, max(start, 0.1) / 16
    while not finds(low + step):
        low, step = low + step, step * 2
        if low > 60.0:
            return math.inf
    high = low + step
    for _ in range(_STEPS):
        if high - low <= 0.01 * (high - start):
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if finds(middle) else (middle, high)
    return high


def _gaussian_share(mu: float, frequency: float) -> float:
    """Return Q(S) when the mean of Q(S) and Phi(Phi^-1(Q(S)) + mu) is the frequency."""

    def small(share: float) -> bool:
        return 0.5 * (share + _normal(_normal_quantile(share) + mu)) < frequency

    return bisect(small, 0.0, frequency, rounds=_STEPS)[1]


def _normal(x: Any) -> float:  # noqa: ANN401
    return float(special().ndtr(x))


def _normal_quantile(p: float) -> float:
    return float(special().ndtri(p))


def largest_difference(counts: PrefixCounts, level: float) -> float:
    """Return how much the probabilities of the counted events differ at most, at an error level."""
    share = level / (4 * max(1, len(counts.inside)))
    hits, others = np.array(counts.hits), np.array(counts.inside) - np.array(counts.hits)
    n1, n0 = np.full(hits.shape, counts.trials), np.full(hits.shape, counts.other_trials)
    return max(
        float(np.max(upper_limit(k, n, share) - lower_limit(k0, m, share), initial=0.0))
        for k, n, k0, m in ((hits, n1, others, n0), (others, n0, hits, n1))
    )


def alike(counts: PrefixCounts, claim: Claim, level: float) -> list[str]:
    """Return a note if a pair shows much less than a claim allows."""
    apart, allowed = largest_difference(counts, level), claim.guarantee.advantage().lower
    if apart >= allowed / 2:
        return []
    note = (
        f"the outputs on D and D' are alike: the score's events differ by at most {apart:.3g} in "
        f"probability, where the claim allows {allowed:.3g}; another pair may show more"
    )
    return [note]


_SHARE = 0.75  # of the significance for the sharp event; the rest is for what odds do not see
_SCORES = 3  # As many scores as show most by their whole distribution are smoothed.
_FEWEST_EVENTS, _FEWEST_INSIDE = 8, 4  # With fewer values, counts say enough about each event.
_LESS = 0.5  # standard deviations taken off the odds
_CONTRADICTION = 3.0  # Hits this many standard deviations above the smooth odds contradict them.
# A curve's plan stays beside the other where its event is less likely than this, as by chance.
_SURPRISING = 0.08
# Violations that smooth odds show as clearly, up to so many standard errors, may be chosen.
_AS_CLEAR = 0.5

Scored = tuple[Question, PrefixCounts]


def sharpened(
    plan: EpsilonPlan,
    ranked: Sequence[Scored],
    training: Training,
    claim: Claim,
    *,
    trials: int,
    significance: float,
) -> tuple[EpsilonPlan, ...]:
    """Return the plan, and beside it the event with the largest bound that smooth odds expect."""
    # Frequencies in training are too noisy to tell the best of many rare events; where the smooth
    # curve is wrong, the plan has its part of the significance, and all where trials are few.
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
    plan: CurvePlan | None, ranked: Sequence[Scored], training: Training, claim: Claim
) -> tuple[CurvePlan, ...]:
    """Return the tangent and event of the plan's score with most evidence under smooth odds."""
    # The clearest frequency is often one of few trials, by chance. The plan stays where its score
    # was fitted or has few values; it is one of two, for half each, where it contradicts smooth
    # odds.
    if plan is None or plan.question.fitted:
        return () if plan is None else (plan,)
    score = [question for question, _ in ranked if question.score is plan.question.score]
    smooth = _Posterior.of(plan.question, training)
    if len(score[0].thresholds) <= _FEWEST_EVENTS or smooth is None:
        return (plan,)
    shown = [(question, *smooth.expected(question)) for question in score]
    half = len(training) / 2
    refined = clearest_tangent(shown, [(half, half)] * len(shown), claim, _AS_CLEAR)
    if refined is None or smooth.surprise(plan.question) >= _SURPRISING:
        return (refined or plan,)
    return plan, refined


def _clearest(ranked: Sequence[Scored]) -> list[list[Scored]]:
    """Return lists of questions about one score, for the clearest scores with many values."""
    scores: dict[int, list[Scored]] = {}
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
        likely, low, high = (_logistic(odds + k * error) for k in (0.0, -_LESS, _LESS))
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
    """Return the plans, and beside them nearly all of the significance for a rare release."""
    # A key let through with probability e^epsilon delta is not in a pilot. Where nearly all outputs
    # of it are one value, and the claim has a delta, the event that one is another is fixed anyway.
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
