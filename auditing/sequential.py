"""``watch``: an audit that may stop at any time, and whose evidence multiplies over runs."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from accountant import check
from accountant.check import Number
from auditing.audit import WITNESSES
from auditing.binomial import Floats
from auditing.bounds.confidence_sequence import ConfidenceSequence
from auditing.bounds.event_bound import significance_of
from auditing.claim import Claim
from auditing.drawing import Drawing
from auditing.encoding import FeatureMap
from auditing.pair import Pair
from auditing.plan import Method, best_event, questions
from auditing.sampler import Sampler
from auditing.trial_store import Labels
from auditing.trials import Training, Trials
from auditing.witnesses.witness import Question, Witness

_FIRST_BLOCK = 64
_LARGEST_BLOCK = 1 << 14
_MOST_REMEMBERED = 1 << 16
# Where epsilon is bounded: in steps of 4 %, up to 25.
_GRID = (0.0, *(0.05 * 1.04**j for j in range(160)))


@final
@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run of ``watch`` gathered.

    Attributes:
        log_evidence: log of the final wealth: the run's e-value, to be multiplied over runs.
        largest: log of the largest wealth on the way.
        refuted: whether the largest wealth refutes the claim at the significance.
        epsilon_lower: lower bound of epsilon at the claim's delta, of ``ConfidenceSequence`` on a
            grid in steps of 4 %; by itself wrong with at most the significance.
        trials: samples drawn, on both datasets together.
        seed: replays the run.
    """

    log_evidence: float
    largest: float
    refuted: bool
    epsilon_lower: float
    trials: int
    seed: int


def watch(
    sampler: Sampler,
    pair: Pair | tuple[Any, Any],
    claim: tuple[Number, Number],
    *,
    samples: int = 100_000,
    significance: Number = 0.05,
    seed: int | None = None,
    seconds: float | None = None,
    features: FeatureMap | None = None,
    witnesses: Sequence[Witness] = WITNESSES,
    executor: Executor | None = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evidence:
    """Bet against (epsilon, delta) block after block, each with what the earlier ones taught.

    It ends when the claim is refuted, or with the samples or the time; stopping costs nothing.

    Statement: ``EProcess`` and ``ConfidenceSequence``; D and D' bet against each other's claim by
        halves of the wealth. The run's e-value, its refutation and its bound of epsilon are valid
        whenever it stops, also by time.

    Args:
        sampler: ``(data, size, rng) -> outputs``.
        pair: D and D'.
        claim: (epsilon, delta).
        samples: at most so many trials per dataset.
        significance: error probability of a refutation by this run alone.
        seed: a whole number; None draws a fresh one.
        seconds: time budget.
        features: outputs -> numbers.
        witnesses: where to look.
        executor: where the trials are drawn; None draws them here.
        chunk: trials a task.
        progress: called with the trials so far and the most that there may be.
    """
    level = significance_of(significance)
    chosen = secrets.randbits(63) if seed is None else check.whole(seed=seed)
    epsilon, delta = claim
    against = ConfidenceSequence.over([epsilon], delta=delta, significance=level)
    bound = ConfidenceSequence.over(_GRID, delta=delta, significance=level)
    limit, block = 2 * check.count(samples=samples), _FIRST_BLOCK
    trials = Trials(
        sampler,
        Pair.of(pair),
        seed=chosen,
        features=features,
        drawing=Drawing(executor),
        chunk=chunk,
        progress=None if progress is None else lambda drawn: progress(drawn, limit),
    )
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    past = trials.training(min(limit, block))
    while trials.drawn < limit and not against.refutes(0):
        if time.monotonic() > deadline:
            break
        predict = _Predictor.after(past, Claim.of(claim), witnesses)
        fresh = trials.training(min(block, limit - trials.drawn))
        eta, labels = predict.of(fresh)
        against, bound = (
            sequence.after(eta, labels, highest=predict.highest, lowest=predict.lowest)
            for sequence in (against, bound)
        )
        past = _remembered(past.joined(fresh))
        block = min(2 * block, _LARGEST_BLOCK)
    return Evidence(
        log_evidence=against.evidence(0),
        largest=float(against.largest[0]),
        refuted=against.refutes(0),
        epsilon_lower=bound.epsilon,
        trials=trials.drawn,
        seed=chosen,
    )


def _remembered(past: Training) -> Training:
    keep = slice(max(0, len(past) - _MOST_REMEMBERED), None)
    return Training(past.features[keep], past.labels[keep])


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Predictor:
    """Posterior of a label by how deep an output lies in the nested events of one question."""

    question: Question
    posteriors: Floats

    @staticmethod
    def after(past: Training, claim: Claim, witnesses: Sequence[Witness]) -> _Predictor:
        """The best question of the past, with the frequencies of labels between its events."""
        ranked = list(questions(witnesses, *past.halves()))
        plan, _ = best_event([*ranked], claim, len(past), Method.LABEL)
        question = next(q for q, _ in ranked if q.same_score(plan.question))
        inside, hits = question.count(past.features, past.labels)
        cells = np.diff(inside, prepend=0), np.diff(hits, prepend=0)
        # Two observations at 1/2 keep a prediction from certainty.
        posteriors = np.append((cells[1] + 1.0) / (cells[0] + 2.0), 0.5)
        return _Predictor(question, posteriors)

    @property
    def highest(self) -> float:
        """No prediction is above this."""
        return float(self.posteriors.max())

    @property
    def lowest(self) -> float:
        """No prediction is below this."""
        return float(self.posteriors.min())

    def of(self, fresh: Training) -> tuple[Floats, Labels]:
        """Predictions of hits, and the hits."""
        eta = self.posteriors[self.question.cell(fresh.features)]
        return eta, fresh.labels != self.question.swapped
