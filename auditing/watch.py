"""``watch``: an audit that may stop at any time, and whose evidence multiplies over runs."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np

from dpproof.accountant import arguments
from dpproof.auditing.audit import WITNESSES
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts import Claim, Floats, PrefixCounts
from dpproof.auditing.evidence import (
    BetProcess,
    ConfidenceSequence,
    EProcess,
    GaussianSequence,
    bet_on,
    training_counts,
)
from dpproof.auditing.planning.plan import Method, best_event, clearness, plan_curve, questions
from dpproof.auditing.trials.encoding import FeatureMap, Labels, Pair
from dpproof.auditing.trials.sampler import Sampler, Training, require_sampler
from dpproof.auditing.trials.trials import Drawing, Trials
from dpproof.auditing.witnesses.witness import Question, Witness

_FIRST_BLOCK, _LARGEST_BLOCK, _MOST_REMEMBERED = 64, 1 << 14, 1 << 16
# Where epsilon is bounded: in steps of 4 %, up to 25.
_GRID = (0.0, *(0.05 * 1.04**j for j in range(160)))
# Where mu is: in steps of 5 %, up to 25.
_MUS = (0.0, *(0.05 * 1.05**j for j in range(128)))


@final
@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that a run of ``watch`` gathered.

    ``log_evidence`` is the log of the final wealth: the run's e-value, to be multiplied over runs.
    The claim is ``refuted`` where the ``largest`` wealth on the way, in logs, says so at the
    significance. ``epsilon_lower`` is the bound of ``ConfidenceSequence`` at the claim's delta, in
    steps of 4 %, by itself wrong with at most the significance; ``mu_lower`` that of
    ``GaussianSequence`` in steps of 5 %, None for a point. The seed replays the run.
    """

    log_evidence: float
    largest: float
    refuted: bool
    epsilon_lower: float
    mu_lower: float | None
    trials: int
    seed: int


def watch(
    sampler: Sampler,
    pair: Pair | tuple[Any, Any],
    claim: object,
    *,
    samples: int = 100_000,
    significance: arguments.Number = 0.05,
    delta: arguments.Number | None = None,
    seed: int | None = None,
    seconds: float | None = None,
    features: FeatureMap | None = None,
    witnesses: Sequence[Witness] = WITNESSES,
    executor: Executor | None = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evidence:
    """Bet against a claim block after block, each with what the earlier ones taught.

    It ends when the claim is refuted, or with the samples or the time; stopping costs nothing.

    Statement: ``EProcess`` and ``ConfidenceSequence``; D and D' bet against each other's claim by
        halves of the wealth. Against a curve, half of the wealth bets on its tangents, by
        ``BetProcess``, and mu is bounded by ``GaussianSequence``. The run's e-value, its
        refutation and its bounds are valid whenever it stops, also by time.
    Use: the arguments are those of ``audit``. At most ``samples`` trials per dataset are drawn;
        ``significance`` is the error probability of a refutation by this run alone.
    """
    require_sampler(sampler)
    level = significance_of(significance)
    chosen = secrets.randbits(63) if seed is None else arguments.whole(seed=seed)
    limit, block = 2 * arguments.count(samples=samples), _FIRST_BLOCK
    wealth = _Wealth.against(Claim.of(claim, delta), level)
    trials = Trials(
        sampler,
        Pair.of(pair).different(),
        seed=chosen,
        features=features,
        drawing=Drawing(executor),
        chunk=chunk,
        progress=None if progress is None else lambda drawn: progress(drawn, limit),
    )
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    past = trials.training(min(limit, block))
    while trials.drawn < limit and not wealth.refuted:
        if time.monotonic() > deadline:
            break
        bets = wealth.bets(past, witnesses)
        fresh = trials.training(min(block, limit - trials.drawn))
        wealth = bets(fresh)
        joined = past.joined(fresh)
        keep = slice(max(0, len(joined) - _MOST_REMEMBERED), None)
        past = Training(joined.features[keep], joined.labels[keep])
        block = min(2 * block, _LARGEST_BLOCK)
    return Evidence(
        log_evidence=wealth.evidence,
        largest=wealth.largest,
        refuted=wealth.refuted,
        epsilon_lower=wealth.epsilon.epsilon,
        mu_lower=None if wealth.mu is None else wealth.mu.mu,
        trials=trials.drawn,
        seed=chosen,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Wealth:
    """The bets against a claim, and against the grids that bound epsilon and mu."""

    claim: Claim
    largest: float  # log of the largest wealth at the end of a block
    point: ConfidenceSequence
    epsilon: ConfidenceSequence
    curve: BetProcess | None
    mu: GaussianSequence | None

    @staticmethod
    def against(claim: Claim, significance: float) -> _Wealth:
        """Return the wealth before any trial; an epsilon that is not finite is no claim."""
        epsilon = [claim.epsilon] if math.isfinite(claim.epsilon) else [_GRID[-1]]
        over = partial(ConfidenceSequence.over, delta=claim.delta, significance=significance)
        curve = mu = None
        if claim.tangents():
            curve = BetProcess.start()
            mu = GaussianSequence.over(_MUS, significance=significance)
        return _Wealth(claim, 0.0, over(epsilon), over(_GRID), curve, mu)

    def bets(self, past: Training, witnesses: Sequence[Witness]) -> Callable[[Training], _Wealth]:
        """Return the bets that the past recommends, to be applied to a block not yet drawn."""
        ranked = list(questions(witnesses, *past.halves()))
        predict = _Predictor.after(past, ranked, self.claim)
        plan = plan_curve(ranked, self.claim)
        apart = max(ranked, key=lambda item: clearness(item[1]))[0]

        def after(fresh: Training) -> _Wealth:
            eta, labels = predict.of(fresh)
            ends = {"highest": predict.posteriors.max(), "lowest": predict.posteriors.min()}
            point, epsilon = (s.after(eta, labels, **ends) for s in (self.point, self.epsilon))
            curve, mu = self.curve, self.mu
            if plan is not None and curve is not None and mu is not None:
                bet = bet_on(training_counts(plan.question, past).event(0), plan.tangent)
                curve = curve.after(bet, training_counts(plan.question, fresh).event(0))
                mu = mu.after(training_counts(apart, past), training_counts(apart, fresh))
            later = replace(self, point=point, epsilon=epsilon, curve=curve, mu=mu)
            return replace(later, largest=max(self.largest, later.evidence))

        return after

    @property
    def evidence(self) -> float:
        """Return the log of the present wealth: the point's, or the mean of it and the curve's."""
        point = self.point.evidence(0) if math.isfinite(self.claim.epsilon) else 0.0
        if self.curve is None:
            return point
        return EProcess.mixed(np.array([point, self.curve.evidence]))

    @property
    def refuted(self) -> bool:
        """Return whether the wealth has refuted the claim at any time."""
        return EProcess.refutes(self.largest, significance=self.point.significance)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Predictor:
    """Posterior of a label by how deep an output lies in the nested events of one question."""

    question: Question
    posteriors: Floats

    @staticmethod
    def after(
        past: Training, ranked: Sequence[tuple[Question, PrefixCounts]], claim: Claim
    ) -> _Predictor:
        """Return the best question of the past, with the label frequencies between its events."""
        plan, _ = best_event([*ranked], claim, len(past), Method.LABEL)
        question = next(q for q, _ in ranked if q.same_score(plan.question))
        inside, hits = question.count(past.features, past.labels)
        cells = np.diff(inside, prepend=0), np.diff(hits, prepend=0)
        # Two observations at 1/2 keep a prediction from certainty.
        posteriors = np.append((cells[1] + 1.0) / (cells[0] + 2.0), 0.5)
        return _Predictor(question, posteriors)

    def of(self, fresh: Training) -> tuple[Floats, Labels]:
        """Return predictions of hits, and the hits."""
        eta = self.posteriors[self.question.cell(fresh.features)]
        return eta, fresh.labels != self.question.swapped
