"""The auditors: a function from claim, two samplers and a budget to a verdict each."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.auditors.claims import Outputs, Question
from dpproof import auditing

LEVEL = 0.05
OURS = "dpproof audit", "dpproof watch"
SLOW = "dp-auditorium, hockey stick"


@dataclass(frozen=True)
class Verdict:
    """What an auditor says: whether the claim is refuted, and its bound of epsilon, if any."""

    refuted: bool
    epsilon: float | None = None


class Auditor(Protocol):
    """Test a claim with so many samples of each dataset, at 5 %."""

    def __call__(self, question: Question, budget: int, seed: int) -> Verdict:
        """Return the verdict."""
        ...


def dpproof_audit(question: Question, budget: int, seed: int) -> Verdict:
    """Ask ``auditing.audit`` with its defaults."""
    report = auditing.audit(_sampler(question), (0, 1), question.claim, samples=budget, seed=seed)
    return Verdict(report.outcome is auditing.Outcome.VIOLATION, report.epsilon_lower)


def dpproof_watch(question: Question, budget: int, seed: int) -> Verdict:
    """Ask ``auditing.watch``, which may stop at any time."""
    seen = auditing.watch(_sampler(question), (0, 1), question.claim, samples=budget, seed=seed)
    return Verdict(seen.refuted, seen.epsilon_lower)


def _sampler(question: Question) -> Callable[[int, int, np.random.Generator], Outputs]:
    return lambda which, size, rng: (question.other if which else question.draw)(size, rng)


def _scores(question: Question, budget: int, seed: int) -> tuple[Outputs, Outputs]:
    """Return scores of both datasets for auditors that need some: outputs, or a linear score.

    The direction is learned from a tenth of the budget, which is not scored.
    """
    rng = np.random.default_rng(seed)
    first, other = question.draw(budget, rng), question.other(budget, rng)
    few = max(10, budget // 10)
    slope = first[:few].mean(axis=0) - other[:few].mean(axis=0)
    if first.ndim == 1:
        return first[few:] * np.sign(slope), other[few:] * np.sign(slope)
    return first[few:] @ slope, other[few:] @ slope


def jax_privacy_clopper(question: Question, budget: int, seed: int) -> Verdict:
    """Ask jax-privacy for Clopper-Pearson limits over all thresholds (its default)."""
    from jax_privacy import auditing as theirs  # noqa: PLC0415

    auditor = theirs.CanaryScoreAuditor(*_scores(question, budget, seed))
    epsilon = float(auditor.epsilon_clopper_pearson(LEVEL, question.delta))
    return Verdict(epsilon > question.epsilon, epsilon)


def jax_privacy_split(question: Question, budget: int, seed: int) -> Verdict:
    """Ask jax-privacy for Clopper-Pearson limits at a threshold of another half."""
    from jax_privacy import auditing as theirs  # noqa: PLC0415

    auditor = theirs.CanaryScoreAuditor(*_scores(question, budget, seed))
    epsilon = float(
        auditor.epsilon_clopper_pearson(
            LEVEL, question.delta, threshold_strategy=theirs.Split(seed=seed)
        )
    )
    return Verdict(epsilon > question.epsilon, epsilon)


def auditorium_hockey_stick(question: Question, budget: int, seed: int) -> Verdict:
    """Ask dp-auditorium's classifier, with its own model and settings, in both orders."""
    import tensorflow as tf  # noqa: PLC0415
    from dp_auditorium.configs import property_tester_config as configs  # noqa: PLC0415
    from dp_auditorium.testers import hockey_stick_tester as theirs  # noqa: PLC0415

    tf.config.run_functions_eagerly(True)  # tracing takes longer than these few steps
    tf.keras.utils.set_random_seed(seed)
    tester = theirs.HockeyStickPropertyTester(
        config=configs.HockeyStickPropertyTesterConfig(
            training_config=theirs.make_default_hs_training_config(),
            approximate_dp=_property(question),
        ),
        base_model=theirs.make_default_hs_base_model(),
    )
    rng = np.random.default_rng(seed)
    pair = question.draw(budget, rng), question.other(budget, rng)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints every evaluation
        bounds = [tester.estimate_lower_bound(*each, LEVEL / 2) for each in (pair, pair[::-1])]
    return Verdict(any(map(tester.reject_property, bounds)))


def auditorium_histogram(question: Question, budget: int, seed: int) -> Verdict:
    """Ask dp-auditorium's histogram of ten bins on the range of a tenth of the scores."""
    from dp_auditorium.configs import property_tester_config as configs  # noqa: PLC0415
    from dp_auditorium.testers.histogram_tester import HistogramTester  # noqa: PLC0415

    pair = _scores(question, budget, seed)
    few, rest = zip(*((x[: len(x) // 10], x[len(x) // 10 :]) for x in pair), strict=True)
    tester = HistogramTester(
        configs.HistogramPropertyTesterConfig(
            test_discrete_mechanism=False,
            histogram_size=10,
            min_value=float(np.min(few)),
            max_value=float(np.max(few)),
            approximate_dp=_property(question),
        )
    )
    bounds = [tester.estimate_lower_bound(*each, LEVEL / 2) for each in (rest, rest[::-1])]
    return Verdict(any(map(tester.reject_property, bounds)))


def _property(question: Question) -> Any:  # noqa: ANN401  # of a library that may be missing
    """Return the claim for dp-auditorium, which takes no epsilon of 0."""
    from dp_auditorium.configs import privacy_property  # noqa: PLC0415

    return privacy_property.ApproximateDp(max(question.epsilon, 1e-9), question.delta)


def stat_dp_like(question: Question, budget: int, seed: int) -> Verdict:
    """Reimplement the idea of StatDP (Ding et al. 2018): the best event, then a thinned test.

    Events are half-lines and values of a linear score. The event with the least p-value on one
    half is tested on the other: hits on D' against hits on D kept with probability e^-epsilon.
    Delta is not paid for, as there.
    """
    rng = np.random.default_rng(seed + 1)
    first, other = _scores(question, budget, seed)
    half = len(first) // 2
    pooled = np.concatenate([first[:half], other[:half]])
    cuts = np.unique(np.quantile(pooled, np.linspace(0.05, 0.95, 19)))
    events: list[Callable[[Outputs], NDArray[np.bool_]]] = []
    for cut in cuts:
        events += [partial(np.less_equal, cut), partial(np.greater_equal, cut)]

    def p_value(event: Callable[[Outputs], NDArray[np.bool_]], a: Outputs, b: Outputs) -> float:
        hits, others = int(event(a).sum()), int(event(b).sum())
        kept = int(rng.binomial(hits, math.exp(-question.epsilon)))
        return float(stats.hypergeom.sf(kept - 1, len(a) + len(b), kept + others, len(a)))

    tried = [
        (p_value(event, *pair), event, swapped)
        for event in events
        for swapped, pair in enumerate(((first[:half], other[:half]), (other[:half], first[:half])))
    ]
    _, event, swapped = min(tried, key=lambda item: item[0])
    tested = (other[half:], first[half:]) if swapped else (first[half:], other[half:])
    return Verdict(p_value(event, *tested) <= LEVEL)


def delta_siege_like(question: Question, budget: int, seed: int) -> Verdict:
    """Reimplement the idea of Delta-Siege (Lokna et al. 2023): the whole claimed curve is searched.

    Thresholds of a linear score on one half, at each the point of the claimed curve that is
    violated most; limits of the best on the other half, 95 % each and without a correction.
    """
    first, other = _scores(question, budget, seed)
    half = len(first) // 2
    curve = [(question.epsilon, question.delta)]
    if not isinstance(question.claim, tuple):
        grid = np.linspace(0, question.epsilon, 12)
        curve = [(float(e), question.claim.delta(epsilon=float(e)).upper) for e in grid]
    cuts = np.unique(
        np.quantile(np.concatenate([first[:half], other[:half]]), np.linspace(0.02, 0.98, 49))
    )
    best, chosen = -math.inf, None
    for cut in cuts:
        for swapped, above in ((0, True), (0, False), (1, True), (1, False)):
            a, b = (other, first) if swapped else (first, other)
            p, q = (np.mean((x[:half] >= cut) == above) for x in (a, b))
            for epsilon, delta in curve:
                noise = math.sqrt(p + math.exp(2 * epsilon) * q + 1 / half) / math.sqrt(half)
                excess = (p - math.exp(epsilon) * q - delta) / noise
                if excess > best:
                    best, chosen = excess, (cut, swapped, above, epsilon, delta)
    if chosen is None:
        return Verdict(refuted=False)
    cut, swapped, above, epsilon, delta = chosen
    a, b = (other, first) if swapped else (first, other)
    k1, k0 = (int(((x[half:] >= cut) == above).sum()) for x in (a, b))
    n1, n0 = len(a) - half, len(b) - half
    low = stats.beta.ppf(LEVEL, k1, n1 - k1 + 1) if k1 else 0.0
    high = stats.beta.ppf(1 - LEVEL, k0 + 1, n0 - k0) if k0 < n0 else 1.0
    return Verdict(bool(low > math.exp(epsilon) * high + delta))


def contenders() -> dict[str, tuple[Auditor, bool]]:
    """Return the auditors that are installed, and whether each needs no score to be given."""
    found: dict[str, tuple[Auditor, bool]] = {
        OURS[0]: (dpproof_audit, True),
        OURS[1]: (dpproof_watch, True),
    }
    if importlib.util.find_spec("jax_privacy"):
        found["jax-privacy, all thresholds"] = (jax_privacy_clopper, False)
        found["jax-privacy, split"] = (jax_privacy_split, False)
    if importlib.util.find_spec("dp_auditorium"):
        found[SLOW] = (auditorium_hockey_stick, True)
        found["dp-auditorium, histogram"] = (auditorium_histogram, False)
    found["StatDP-like (ours)"] = (stat_dp_like, True)
    found["Delta-Siege-like (ours)"] = (delta_siege_like, True)
    return found
