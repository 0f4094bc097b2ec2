"""Audits of samplers: ``audit``, all in one test, and ``watch``, which may stop at any time.

The evidence of a watch multiplies over runs.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from attrs import Factory, define, frozen

from dpproof.accountant import ParameterError, arguments
from dpproof.accountant.form import withholding
from dpproof.accountant.progress import at_work
from dpproof.auditing import report
from dpproof.auditing.bounds.event_bound import significance_of
from dpproof.auditing.counts import Claim, Floats, PrefixCounts
from dpproof.auditing.evidence import (
    BetProcess,
    ConfidenceSequence,
    EProcess,
    GaussianSequence,
    bet_on,
    log_evidence,
    training_counts,
    unbet,
)
from dpproof.auditing.inspection.neighbours import suggested_pairs
from dpproof.auditing.planning.plan import (
    CurvePlan,
    EpsilonPlan,
    Method,
    alike,
    best_event,
    clearness,
    detectable_epsilon,
    detectable_mu,
    plan_curve,
    plan_epsilon,
    questions,
    samples_needed,
    sharpened,
    sharpened_curve,
    with_unusual,
)
from dpproof.auditing.trials.encoding import FeatureMap, Labels, Pair, identity
from dpproof.auditing.trials.sampler import Sampler, Training, require_sampler
from dpproof.auditing.trials.trials import Drawing, OutOfTime, Trials, TrialStore
from dpproof.auditing.witnesses import standard
from dpproof.auditing.witnesses.witness import BothSides, Question, Witness

WITNESSES: tuple[Witness, ...] = (
    standard.Thresholds(),
    standard.Histogram(),
    standard.LinearDiscriminant(),
    standard.Independent(),
    standard.FloatGrid(),
    standard.Summaries(),
)

_FIRST_LOOK, _FEW, _MOST_TRAINING, _LEAST_TRAINING = 0.1, 60, 100_000, 600
_LEAST_SAMPLES, _PROBE, _MOST_NUMBERS = 5, 64, 1 << 23
_EARLY_LOOKS = 0.1  # Share of the significance for looks before the last, where time may end.
_WORTH_LOOKS = 200  # Fewest trials that are looked at early. Heuristic.
INTERRUPTED: Final = "interrupted before the planned samples were drawn"


def audit(
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
    pilot: arguments.Number = 0.1,
    executor: Executor | None = None,
    chunk: int | None = None,
    store: str | Path | None = None,
    version: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    report_interrupted: bool = False,
) -> report.Report:
    """Draw outputs on two neighbouring datasets and test a claim about them.

    Statement: if the claim holds for the pair and the outputs are independent, the probability
        that the outcome is a violation, or ``epsilon_lower`` exceeds the true epsilon at delta, is
        at most ``significance``, at every sample size.
    Design: a fair coin decides where every trial runs. The pilot, a tenth of the trials or up to
        half of a few, chooses the tests: for epsilon at delta the prefix band of one score, and
        beside it one event of a smooth score (``sharpened``); for a curve also one or two
        of its tangents, half the significance for either. Nine tenths of what epsilon at a delta
        above 0 has are for a rare release (``with_unusual``), if the pilot is nearly constant. The
        shares add up to 1 (union bound). Where the pilot would refute the claim, were it a test, a
        tenth of the significance is spent on the first few of the other trials and
        a gross violation ends the audit; what is left of it is for all of them.

    Args:
        sampler: ``(data, size, rng) -> outputs``, first axis = outputs, independent.
        pair: D and D', neighbours in either order.
        claim: a guarantee, of which the whole curve is tested, or ``(epsilon, delta)``.
        samples: trials per dataset, on average.
        significance: error probability of the whole audit.
        delta: where epsilon is reported, when the claim is a curve.
        seed: a whole number; None draws a fresh one, and the report has it.
        seconds: time budget; when it ends first the outcome is inconclusive, with what an eighth,
            a quarter or half of the trials have shown: a tenth of the significance is spent on
            them, and wherever there is a ``chunk``. Without one tasks grow from one trial.
        features: outputs -> numbers, applied before anything else.
        witnesses: where to look.
        pilot: share of the trials that is the pilot; learning in many dimensions needs more.
        executor: draws the trials; None draws them here. The report does not depend on it.
        chunk: trials a task, 1 where a trial trains a model; None is many, for samplers that are
            vectorised. The report depends on it and on whether there is a time budget.
        store: a file that gets trials as they finish. The same audit with the same file goes on
            where it was killed, or where its time ended, and gives the same report.
        version: names the sampler's code for the store, in place of the digest of its sources.
        progress: called with the trials so far and all that are planned.
        report_interrupted: whether a ``KeyboardInterrupt`` ends the audit with a report of the
            tests made until then, as the end of its time does.
    """
    require_sampler(sampler)
    run = _Run(
        claim=Claim.of(claim, delta),
        pair=Pair.of(pair).different(),
        significance=significance_of(significance),
        planned=2 * _enough(samples),
        witnesses=tuple(witnesses),
        pilot=float(arguments.open_probability(pilot=pilot)),
    )
    if not run.witnesses:
        raise ParameterError("witnesses", witnesses, "at least one witness")
    budget = math.inf if seconds is None else float(arguments.positive(seconds=seconds))
    stated_seed = None if seed is None else arguments.whole(seed=seed)
    with _opened(
        store, stated_seed, version, run, (sampler, features, chunk, seconds)
    ) as trial_store:
        fresh = secrets.randbits(63) if stated_seed is None else stated_seed
        run.seed, started = fresh if trial_store is None else trial_store.seed, time.monotonic()
        trials = Trials(
            sampler,
            run.pair,
            seed=run.seed,
            features=features,
            drawing=Drawing(executor, trial_store, started + budget),
            chunk=chunk,
            growing=seconds is not None,
            progress=None if progress is None else lambda drawn: progress(drawn, run.planned),
        )
        try:
            with at_work(lambda: f"{trials.drawn} of {run.planned} trials"):
                _stages(run, trials, looks=seconds is not None or chunk is not None)
        except OutOfTime:
            run.end("the time budget ended before the planned samples were drawn")
        except KeyboardInterrupt:
            if not report_interrupted:
                raise
            run.end(INTERRUPTED)
    taken = time.monotonic() - started
    if run.violated and run.training is not None:
        quick = 4 * report.REPLAYED * taken / trials.drawn < budget - taken
        replay = report.replayed(sampler, run.pair, features, run.seed) if quick else ""
        runs = report.recorded(sampler, run.pair, run.claim.guarantee, run.seed) if quick else []
        run.seen = report.symptoms(run.training, run.claim, replay, runs)
    return _report(run, trials.drawn, taken)


def _opened(
    store: str | Path | None,
    seed: int | None,
    version: str | None,
    run: _Run,
    drawn: tuple[Sampler, FeatureMap | None, int | None, float | None],
) -> AbstractContextManager[TrialStore | None]:
    """Open the store under the identity of the audit: all that decides how its trials are used."""
    if store is None:
        return nullcontext()
    sampler, features, chunk, seconds = drawn
    timed = () if chunk is not None or seconds is None else ("growing",)
    claimed = (run.significance, run.claim.delta, run.claim.is_curve)
    settings = (run.planned, run.pilot, *claimed, chunk, *timed)
    about = {
        "sampler": identity((sampler, features)) if version is None else f"version {version}",
        "pair": identity((run.pair.data, run.pair.neighbour, run.pair.name), code=False),
        "claim": identity(run.claim.guarantee, code=False),
        "settings": identity(settings, code=False),
        "auditor": identity((audit, run.witnesses)),
    }
    return TrialStore(store, about, seed)


def _enough(samples: int) -> int:
    if arguments.count(samples=samples) < _LEAST_SAMPLES:
        raise ParameterError("samples", samples, f"at least {_LEAST_SAMPLES} per dataset")
    return samples


@final
@define(eq=False)
class _Run:
    """The state of one audit."""

    claim: Claim
    pair: Pair
    significance: float
    planned: int
    witnesses: tuple[Witness, ...]
    pilot: float
    seed: int = -1  # known when the store is open
    findings: list[report.Finding] = Factory(list)
    notes: list[str] = Factory(list)
    detectable_epsilon: float = math.inf
    detectable_mu: float | None = None
    log_evidence: float = 0.0
    out_of_time: bool = False
    overview: report.Overview | None = None
    training: Training | None = None
    seen: tuple[str, ...] = ()

    def end(self, why: str) -> None:
        """Note why the planned samples were not drawn; of those that are missing nobody bets."""
        self.notes.append(why)
        self.out_of_time = True
        self.log_evidence += unbet()

    @property
    def violated(self) -> bool:
        """Return whether any test refuted the claim."""
        return any(finding.refutes for finding in self.findings)


def _stages(run: _Run, trials: Trials, *, looks: bool) -> None:
    few = min(max(run.planned // 3, min(run.planned // 2, _FEW)), _LEAST_TRAINING)
    size = min(max(int(run.planned * run.pilot), few), _MOST_TRAINING)
    probe = trials.training(min(_PROBE, size))
    size = min(size, max(_LEAST_TRAINING, _MOST_NUMBERS // probe.features.shape[1]))
    training = run.training = trials.training_after(probe, size)
    left = run.planned - size
    test, level = _chosen(run, training, left), run.significance
    counts: list[PrefixCounts] | None = None
    if test.promises(run.claim, level * _FIRST_LOOK):
        counts = trials.testing(min(left, max(size // 2, 1))).tally(test.questions)
        test.gain(run, counts)
        test.make(run, counts, level * _FIRST_LOOK)
        left -= counts[0].total
        level *= 1 - _FIRST_LOOK
    earlier = len(run.findings)
    for look, share in _looks(left) if looks else [(left, 1.0)]:
        if run.violated or not left:
            return
        more = trials.testing(look).tally(test.questions)
        test.gain(run, more)
        if counts is not None:
            more = [early.plus(late) for early, late in zip(counts, more, strict=True)]
        counts, left = more, left - look
        del run.findings[earlier:]  # a later look has the trials of the earlier ones too
        test.make(run, counts, level * share)
        if not left:
            test.judge(run, counts, level * share)


def _looks(left: int) -> list[tuple[int, float]]:
    """Return how many trials are drawn before each look, and its share of the significance."""
    # Early looks are kept in case time ends; fixed beforehand, each is a test of its own.
    if left < _WORTH_LOOKS:
        return [(left, 1.0)]
    early = [left // 8, left // 8, left // 4]
    return [*((size, _EARLY_LOOKS / 3) for size in early), (left - sum(early), 1 - _EARLY_LOOKS)]


def _chosen(run: _Run, training: Training, trials: int) -> _Test:
    """Return the test that the training samples choose, for a number of test samples."""
    ranked = list(questions(run.witnesses, *training.halves()))
    epsilon = plan_epsilon(ranked, run.claim, trials)
    curves = sharpened_curve(plan_curve(ranked, run.claim), ranked, training, run.claim)
    shown = curves[0] if curves else epsilon
    plans = sharpened(
        epsilon, ranked, training, run.claim, trials=trials, significance=run.significance
    )
    plans = with_unusual(plans, training, run.claim)
    return _Test(training, plans, curves, shown.question.overview(training.features))


@final
@frozen(eq=False)
class _Test:
    """The questions put to the test samples, fixed before these are drawn."""

    training: Training  # chose it, and predicts for the bets
    plans: tuple[EpsilonPlan, ...]  # whose shares add up to 1
    curves: tuple[CurvePlan, ...]  # of equal shares
    overview: Question  # for display; it decides nothing

    @property
    def questions(self) -> list[Question | BothSides]:
        """Return the questions of every plan, of the curves, of the overview and the bet."""
        middle = [curve.question for curve in self.curves]
        return [*(plan.question for plan in self.plans), *middle, self.overview, self.bet]

    @property
    def bet(self) -> Question:
        """Return the question that is bet on: one end of the score where both are guessed."""
        return self.plans[0].question.sides[0]

    def promises(self, claim: Claim, level: float) -> bool:
        """Return whether the training samples, if tested, would refute the claim at a level."""
        share, of_curve = self.shares(level)
        for curve in self.curves:
            past = training_counts(curve.question, self.training)
            if curve.p_value(past, of_curve) <= of_curve:
                return True
        return math.isfinite(claim.epsilon) and any(
            plan.cautious(share).refutes(
                training_counts(plan.question, self.training).event(plan.position),
                epsilon=claim.epsilon,
                delta=claim.delta,
            )
            for plan in self.plans
        )

    def shares(self, level: float) -> tuple[float, float]:
        """Return the significance of the plans together, and of each curve: half for either."""
        return (level / 2, level / 2 / len(self.curves)) if self.curves else (level, 0.0)

    def gain(self, run: _Run, counts: Sequence[PrefixCounts]) -> None:
        """Multiply in the e-value of trials that no bet was made on before."""
        curve = counts[len(self.plans) :]
        run.log_evidence += log_evidence(
            self.training, run.claim, self.bet, self.curves[:1], [counts[-1], *curve]
        )

    def make(self, run: _Run, counts: Sequence[PrefixCounts], level: float) -> None:
        """Test at a level, shared as ``shares`` says."""
        share, of_curve = self.shares(level)
        for plan, counted in zip(self.plans, counts, strict=False):
            run.findings.append(epsilon_finding(run.claim, plan, counted, share))
        for curve, counted in zip(self.curves, counts[len(self.plans) :], strict=False):
            run.findings.append(curve_finding(curve, counted, of_curve))
        run.overview = report.Overview(str(self.overview.score), order(self.overview), counts[-2])

    def judge(self, run: _Run, counts: Sequence[PrefixCounts], level: float) -> None:
        """Say what would have been found, and whether the pair could have shown it."""
        share, of_curve = self.shares(level)
        run.detectable_epsilon = min(
            detectable_epsilon(plan, counted, run.claim, share)
            for plan, counted in zip(self.plans, counts, strict=False)
        )
        for curve, counted in zip(self.curves[:1], counts[len(self.plans) :], strict=False):
            run.detectable_mu = detectable_mu(curve.tangent, counted, of_curve)
        run.notes += alike(counts[-2], run.claim, level)


def _report(run: _Run, drawn: int, seconds: float) -> report.Report:
    least = min(run.detectable_epsilon, run.detectable_mu or math.inf)
    if run.violated:
        outcome = report.Outcome.VIOLATION
    elif run.out_of_time or math.isinf(least):
        outcome = report.Outcome.INCONCLUSIVE
    else:
        outcome = report.Outcome.NO_EVIDENCE
    if outcome is not report.Outcome.VIOLATION and report.sampling_rates(run.claim.guarantee):
        for hidden, other in suggested_pairs(run.pair):
            run.notes.append(f"this pair may hide {hidden}: {other.name} would show it")
    lowers = [f.epsilon_lower for f in run.findings if f.epsilon_lower is not None]
    return report.Report(
        outcome=outcome,
        claim=run.claim.describe(),
        pair=run.pair.name,
        epsilon_claimed=run.claim.epsilon,
        delta=run.claim.delta_up,
        epsilon_lower=max(lowers, default=0.0),
        significance=run.significance,
        detectable_epsilon=run.detectable_epsilon,
        detectable_mu=run.detectable_mu,
        trials=drawn,
        planned=run.planned,
        seed=run.seed,
        log_evidence=run.log_evidence,
        findings=tuple(run.findings),
        notes=tuple(run.notes),
        seconds=seconds,
        overview=run.overview,
        needed=samples_needed(run.claim.guarantee, significance=run.significance),
        seen=run.seen,
    )


def epsilon_finding(
    claim: Claim, plan: EpsilonPlan, counts: PrefixCounts, level: float
) -> report.Finding:
    """Return the bound of epsilon at the claim's delta, with the event in words."""
    lower = plan.lower_bound(counts, claim, level)
    at = f" at delta = {claim.delta_up:.6g}" if claim.delta else ""
    return report.Finding(
        what=f"epsilon{at} >= {lower:.6g}, by {plan.method.value}",
        event=plan.question.describe(plan.position),
        order=order(plan.question),
        counts=counts.event(plan.position),
        significance=plan.share * level,
        refutes=lower > claim.epsilon,
        epsilon_lower=lower,
        meaning=standard.meaning(plan.question.sides[0].score),
        epsilon=claim.epsilon,
        allowed=claim.delta_up,
    )


def curve_finding(plan: CurvePlan, counts: PrefixCounts, level: float) -> report.Finding:
    """Return the test of one tangent of a claimed curve, with the event in words."""
    p_value = plan.p_value(counts, level)
    tangent = plan.tangent
    return report.Finding(
        what=f"claimed delta({tangent.epsilon:.6g}) = {tangent.delta:.6g}: p-value {p_value:.3g}",
        event=plan.question.describe(0),
        order=order(plan.question),
        counts=counts.event(0),
        significance=level,
        refutes=p_value <= level,
        p_value=p_value,
        meaning=standard.meaning(plan.question.score),
        epsilon=tangent.epsilon,
        allowed=tangent.delta,
    )


def order(question: Question | BothSides) -> str:
    """Return which dataset is more likely to be in the events."""
    return "neighbour" if question.swapped else "data"


def search_pairs(
    sampler: Sampler,
    pairs: Iterable[Pair | tuple[Any, Any]],
    claim: object,
    *,
    samples: int = 250,
    keep: int = 1,
    seconds: arguments.Number = 60,
    seed: int | None = None,
) -> list[Pair]:
    """Return the pairs that look worst for a claim, worst first; nothing is tested with them.

    Rounds of small audits: the better half of the pairs by their evidence against the claim goes
    on, with twice the samples, until ``keep`` are left or the time ends. All trials are drawn for
    the search and by seeds of their own. So an audit of the pair that is returned is exact. The
    samples are those of the first round, per dataset. No audit begins after the seconds, and none
    takes longer. Everything else is as for ``audit``.

    Example:
        >>> def total(records, size, rng):  # nan is not clipped
        ...     return np.clip(records, 0, 1).sum() + rng.laplace(size=size).round(6)
        >>> tried = [([0.5, x], [0.5]) for x in (0.0, 0.5, np.nan)]
        >>> len(search_pairs(total, tried, (1.1, 0), seed=1)[0].data)
        2
    """
    end = time.monotonic() + float(arguments.positive(seconds=seconds))
    fresh = np.random.SeedSequence(None if seed is None else arguments.whole(seed=seed))
    most, size = arguments.count(keep=keep), arguments.count(samples=samples)
    left: Sequence[Pair] = [Pair.of(pair) for pair in withholding(list)(pairs)]
    if not left:
        raise ParameterError("pairs", pairs, "at least one pair")
    while True:
        ranked = []
        for place, pair in enumerate(left):
            remaining = end - time.monotonic()
            evidence = -math.inf
            if remaining > 0:
                drawn = int(fresh.spawn(1)[0].generate_state(1, np.uint64)[0] >> 1)
                evidence = audit(
                    sampler, pair, claim, samples=size, seed=drawn, seconds=remaining
                ).log_evidence
            ranked.append((-evidence, place))
        left = [left[place] for _, place in sorted(ranked)][: max(most, len(left) // 2)]
        if len(left) <= most or end <= time.monotonic():
            return list(left[:most])
        size *= 2


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
