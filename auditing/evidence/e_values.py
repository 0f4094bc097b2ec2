"""E-values from the counts of an audit, which multiply over its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpproof.auditing.counts.claim import Claim, Tangent
from dpproof.auditing.counts.counts import EventCounts, PrefixCounts
from dpproof.auditing.evidence.e_process import EProcess, EventBet, unbet
from dpproof.auditing.planning.plan import CurvePlan
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.both_sides import BothSides
from dpproof.auditing.witnesses.witness import Question

_GROWTH = 1.1
_LARGEST = 600.0

# No audit's e-value is below this, in logarithm: at most two stages, each with what nobody bets.
LEAST = 2 * unbet() - 1e-9


def log_evidence(
    training: Training,
    claim: Claim,
    question: Question,
    curves: Sequence[CurvePlan],
    counts: Sequence[PrefixCounts],
) -> float:
    """Return the log of the e-value of a stage's counts: the mean of bets on its questions.

    A bet is on what training showed, but on at least a tenth more loss than is claimed.

    Args:
        training: chose the plans, and predicts.
        claim: bet against at its epsilon and delta.
        question: nested events, the first of the questions that were counted.
        curves: tests of tangents, to be bet against.
        counts: of the question and of the curves, from other trials.
    """
    logs = [0.0]
    if math.isfinite(claim.epsilon):
        logs = [_best_bet(question, training, claim, counts[0])]
    for curve, counted in zip(curves, counts[1:], strict=False):
        bet = bet_on(training_counts(curve.question, training).event(0), curve.tangent)
        logs.append(bet.log_evidence(counted.event(0)))
    return EProcess.mixed(np.array(logs))


def _best_bet(question: Question, training: Training, claim: Claim, counts: PrefixCounts) -> float:
    """Return the log wealth of the bet on the event that would have earned most in training."""
    past = training_counts(question, training)
    against = [past.event(position) for position in range(len(past.inside))]
    bets = [bet_on(event, _tangent(event, claim)) for event in against]
    earned = [bet.log_evidence(event) for bet, event in zip(bets, against, strict=True)]
    best = int(np.argmax(earned))
    return bets[best].log_evidence(counts.event(best))


def _tangent(past: EventCounts, claim: Claim) -> Tangent:
    """Return the claim at its own epsilon, with the room that a tenth more epsilon would make."""
    q = _frequency(past.other_hits, past.other_trials)
    here, more = (math.exp(min(a * claim.epsilon, _LARGEST)) for a in (1.0, _GROWTH))
    return Tangent(claim.epsilon, claim.delta_up, (more - here) * q)


def training_counts(question: Question | BothSides, training: Training) -> PrefixCounts:
    """Count the events of a question on training samples."""
    inside, hits = question.count(training.features, training.labels)
    on_data = int(training.labels.sum())
    return question.counts(inside, hits, on_data, len(training) - on_data)


def bet_on(past: EventCounts, tangent: Tangent) -> EventBet:
    """Return a bet on the past frequencies, or on a tenth more loss than claimed if larger."""
    p = _frequency(past.hits, past.trials)
    q = _frequency(past.other_hits, past.other_trials)
    grown = math.exp(min(tangent.epsilon, _LARGEST)) * q + tangent.delta + tangent.room
    p = min(max(p, grown), _frequency(past.trials, past.trials))
    return EventBet(epsilon=tangent.epsilon, delta=tangent.delta, p=p, q=q)


def _frequency(hits: int, trials: int) -> float:
    return (hits + 0.5) / (trials + 1)
