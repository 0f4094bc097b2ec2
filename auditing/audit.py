"""``audit``: does what comes out contradict what is claimed?"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from accountant import check
from accountant.check import Number
from accountant.errors import ParameterError
from auditing.binomial import lower_limit, upper_limit
from auditing.bounds.event_bet import unbet
from auditing.bounds.event_bound import significance_of
from auditing.claim import Claim
from auditing.counts import PrefixCounts
from auditing.drawing import Drawing, OutOfTime
from auditing.evidence import log_evidence
from auditing.identity import identity
from auditing.pair import Pair
from auditing.plan import CurvePlan, EpsilonPlan, plan_curve, plan_epsilon, questions
from auditing.power import detectable_epsilon, detectable_mu
from auditing.report import Finding, Outcome, Overview, Report
from auditing.sampler import FeatureMap, Sampler
from auditing.trial_store import TrialStore
from auditing.trials import Testing, Training, Trials
from auditing.witnesses.coordinates import Thresholds
from auditing.witnesses.float_grid import FloatGrid
from auditing.witnesses.histogram import Histogram
from auditing.witnesses.linear import LinearDiscriminant
from auditing.witnesses.witness import Question, Witness

WITNESSES: tuple[Witness, ...] = (Thresholds(), Histogram(), LinearDiscriminant(), FloatGrid())

_PILOT_SHARE = 0.1
_MOST_PILOT = 100_000
_LEAST_PILOT = 600
_LEAST_SAMPLES = 5
_PROBE = 64
_MOST_NUMBERS = 1 << 23


def audit(
    sampler: Sampler,
    pair: Pair | tuple[Any, Any],
    claim: object,
    *,
    samples: int = 100_000,
    significance: Number = 0.05,
    delta: Number | None = None,
    seed: int | None = None,
    seconds: float | None = None,
    features: FeatureMap | None = None,
    witnesses: Sequence[Witness] = WITNESSES,
    pilot: Number = 0.1,
    executor: Executor | None = None,
    chunk: int | None = None,
    store: str | Path | None = None,
    version: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Draw outputs on two neighbouring datasets and test a claim about them.

    Statement: if the claim holds for the pair and the outputs are independent, the probability
        that the outcome is a violation, or ``epsilon_lower`` exceeds the true epsilon at delta, is
        at most ``significance``, at every sample size.
    Design: a fair coin decides where every trial runs. Some of the trials are a pilot: its first
        half chooses one test, its second half makes it with a tenth of the significance, and a
        gross violation ends the audit there. Then all of the pilot chooses a test that is made on
        the other trials, with the rest of the significance: the prefix band of one score for
        epsilon at delta, and for a curve also one of its tangents, half the significance each.

    Args:
        sampler: ``(data, size, rng) -> outputs``, first axis = outputs, independent.
        pair: D and D', neighbours in either order.
        claim: a guarantee, of which the whole curve is tested, or ``(epsilon, delta)``.
        samples: trials per dataset, on average.
        significance: error probability of the whole audit.
        delta: where epsilon is reported, when the claim is a curve.
        seed: a whole number; None draws a fresh one, and the report has it.
        seconds: time budget; when it ends first the outcome is inconclusive.
        features: outputs -> numbers, applied before anything else.
        witnesses: where to look.
        pilot: share of the trials that is the pilot; witnesses that learn in many dimensions need
            more than a tenth.
        executor: a ``concurrent.futures.Executor`` that draws the trials; None draws them here.
            The report does not depend on it, nor on its number of workers.
        chunk: trials a task, 1 where a trial trains a model; None is many, for samplers that are
            vectorised. The report depends on it, as on the seed.
        store: a file that gets trials as they finish. The same audit with the same file goes on
            where it was killed, or where its time ended, and gives the report that it would have
            given; see ``TrialStore``.
        version: names the sampler's code for the store, in place of the digest of its sources.
        progress: called with the trials so far and all that are planned.
    Raises:
        StoreRefused: the store is of another audit.
        Unidentified: the store cannot tell code or data by themselves.
    """
    run = _Run(
        claim=Claim.of(claim, delta),
        pair=Pair.of(pair),
        significance=significance_of(significance),
        planned=2 * _enough(samples),
        witnesses=tuple(witnesses),
        pilot=float(check.open_probability(pilot=pilot)),
    )
    if not run.witnesses:
        raise ParameterError("witnesses", witnesses, "at least one witness")
    budget = math.inf if seconds is None else float(check.positive(seconds=seconds))
    asked = None if seed is None else check.whole(seed=seed)
    with _opened(store, asked, version, run, (sampler, features, chunk)) as kept:
        run.seed = _seed(asked) if kept is None else kept.seed
        started = time.monotonic()
        trials = Trials(
            sampler,
            run.pair,
            seed=run.seed,
            features=features,
            drawing=Drawing(executor, kept, started + budget),
            chunk=chunk,
            progress=None if progress is None else lambda drawn: progress(drawn, run.planned),
        )
        try:
            _stages(run, trials)
        except OutOfTime:
            run.notes.append("the time budget ended before the planned samples were drawn")
            run.out_of_time = True
            run.log_evidence += unbet()
    return _report(run, trials.drawn, time.monotonic() - started)


def _seed(asked: int | None) -> int:
    return secrets.randbits(63) if asked is None else asked


def _opened(
    store: str | Path | None,
    seed: int | None,
    version: str | None,
    run: _Run,
    drawn: tuple[Sampler, FeatureMap | None, int | None],
) -> AbstractContextManager[TrialStore | None]:
    """The store, told what the audit is of: all that decides what its trials are used for."""
    if store is None:
        return nullcontext()
    sampler, features, chunk = drawn
    claimed = (run.significance, run.claim.delta, run.claim.is_curve)
    settings = (run.planned, run.pilot, *claimed, chunk)
    about = {
        "sampler": identity((sampler, features)) if version is None else f"version {version}",
        "pair": identity((run.pair.data, run.pair.neighbour, run.pair.name), code=False),
        "claim": identity(run.claim.guarantee, code=False),
        "settings": identity(settings, code=False),
        "auditor": identity((audit, run.witnesses)),
    }
    return TrialStore(store, about, seed)


def _enough(samples: int) -> int:
    if check.count(samples=samples) < _LEAST_SAMPLES:
        raise ParameterError("samples", samples, f"at least {_LEAST_SAMPLES} per dataset")
    return samples


@final
@dataclass(slots=True, eq=False)
class _Run:
    """What one audit has to remember."""

    claim: Claim
    pair: Pair
    significance: float
    planned: int
    witnesses: tuple[Witness, ...]
    pilot: float
    seed: int = -1  # known when the store is open
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    detectable_epsilon: float = math.inf
    detectable_mu: float | None = None
    log_evidence: float = 0.0
    out_of_time: bool = False
    overview: Overview | None = None

    @property
    def violated(self) -> bool:
        """Whether any test refuted the claim."""
        return any(finding.refutes for finding in self.findings)


def _stages(run: _Run, trials: Trials) -> None:
    pilot = max(int(run.planned * run.pilot), min(run.planned // 2, _LEAST_PILOT))
    pilot = min(pilot, _MOST_PILOT)
    probe = trials.training(min(_PROBE, pilot // 2))
    pilot = min(pilot, max(_LEAST_PILOT, _MOST_NUMBERS // probe.features.shape[1]))
    first = trials.training_after(probe, pilot // 2)
    looked = trials.testing(pilot - pilot // 2)
    _test(run, first.halves(), looked, pilot - pilot // 2, pilot=True)
    rest = run.planned - pilot
    if run.violated:
        return
    _test(run, (first, looked.spent()), trials.testing(rest), rest, pilot=False)


def _test(
    run: _Run, training: tuple[Training, Training], testing: Testing, count: int, *, pilot: bool
) -> None:
    """Choose by the training, test on the testing samples, at the stage's share."""
    level = run.significance * (_PILOT_SHARE if pilot else 1 - _PILOT_SHARE)
    ranked = list(questions(run.witnesses, *training))
    epsilon = plan_epsilon(ranked, run.claim, count)
    curve = plan_curve(ranked, run.claim)
    asked = [epsilon.question, *([] if curve is None else [curve.question])]
    overview = asked[-1].overview(training[0].joined(training[1]).features)
    *counts, seen = testing.tally([*asked, overview], keep=pilot)
    run.overview = Overview(str(overview.score), _order(overview), seen)
    share = level if curve is None else level / 2
    run.log_evidence += log_evidence(training[1], run.claim, epsilon, curve, counts)
    run.findings.append(_epsilon_finding(run, epsilon, counts[0], share))
    if curve is not None:
        run.findings.append(_curve_finding(curve, counts[1], share))
    if pilot:
        return
    run.detectable_epsilon = detectable_epsilon(epsilon, counts[0], run.claim, share)
    if curve is not None:
        run.detectable_mu = detectable_mu(curve.tangent, counts[1], share)
    _note_alike(run, counts[0], level)


def _epsilon_finding(run: _Run, plan: EpsilonPlan, counts: PrefixCounts, level: float) -> Finding:
    lower = plan.lower_bound(counts, run.claim, level)
    at = f" at delta = {run.claim.delta_up:.6g}" if run.claim.delta else ""
    return Finding(
        what=f"epsilon{at} >= {lower:.6g}, by {plan.method.value}",
        event=plan.question.describe(plan.position),
        order=_order(plan.question),
        counts=counts.event(plan.position),
        significance=level,
        refutes=lower > run.claim.epsilon,
        epsilon_lower=lower,
    )


def _curve_finding(plan: CurvePlan, counts: PrefixCounts, level: float) -> Finding:
    p_value = plan.p_value(counts, level)
    tangent = plan.tangent
    return Finding(
        what=f"claimed delta({tangent.epsilon:.6g}) = {tangent.delta:.6g}: p-value {p_value:.3g}",
        event=plan.question.describe(0),
        order=_order(plan.question),
        counts=counts.event(0),
        significance=level,
        refutes=p_value <= level,
        p_value=p_value,
    )


def _order(question: Question) -> str:
    return "neighbour" if question.swapped else "data"


def _note_alike(run: _Run, counts: PrefixCounts, level: float) -> None:
    """Say so when the pair shows much less than the claim allows: then it cannot refute it."""
    share = level / (4 * max(1, len(counts.inside)))
    apart = 0.0
    for position in range(len(counts.inside)):
        event = counts.event(position)
        for this in (event, event.reversed()):
            high = float(upper_limit(this.hits, this.trials, share))
            apart = max(apart, high - float(lower_limit(this.other_hits, this.other_trials, share)))
    allowed = run.claim.guarantee.advantage().lower
    if apart < allowed / 2:
        run.notes.append(
            f"on this pair the chosen score's events differ by at most {apart:.3g} in probability, "
            f"where the claim allows {allowed:.3g}: this pair cannot show a violation, try another"
        )


def _report(run: _Run, drawn: int, seconds: float) -> Report:
    if run.violated:
        outcome = Outcome.VIOLATION
    elif run.out_of_time or math.isinf(run.detectable_epsilon):
        outcome = Outcome.INCONCLUSIVE
    else:
        outcome = Outcome.NO_EVIDENCE
    lowers = [f.epsilon_lower for f in run.findings if f.epsilon_lower is not None]
    return Report(
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
    )
