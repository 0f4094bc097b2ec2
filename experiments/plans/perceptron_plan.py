"""The number of records and steps of a perceptron, by the published constants and by ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, Literal, final

from dpproof.accountant import AddRemove, arguments as check
from dpproof.accountant.arguments import MAX_COUNT, Number
from dpproof.accountant.arithmetic.crossing import least_count
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.errors import LARGER, CalibrationError, ParameterError
from dpproof.mechanisms.learning.perceptron import BatchPerceptron
from dpproof.mechanisms.learning.stops import GaussianStop, LaplaceStop

Law = Literal["paper", "ours"]

# Among so many events the failure probability is divided.
_EVENTS: Final = {"paper": 7, "ours": 8}
# Noise of the count over noise of the sum: the count costs one fiftieth of the budget. Heuristic.
_COUNT_NOISE: Final = 5
_MOST_RECORDS: Final = 2**60
_FINENESS: Final = 4  # Step counts tried per doubling. Heuristic.
_DOUBLINGS: Final = 24


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PerceptronPlan:
    """Parameters of a perceptron that stops early, and the records for which they are proved.

    Attributes:
        law: by which constants.
        records: the least number for which ``certifies`` holds; public, as the rest rests on it.
        steps, rate, sigma, margin: of the learner.
        count_noise: of the test: the scale of Laplace noise ("paper"), or a standard deviation.
        below: the threshold of the test.
    """

    law: Law
    records: int
    steps: int
    rate: float
    sigma: float
    margin: float
    count_noise: float
    below: float

    def learner(self, *, features: int | None = None) -> BatchPerceptron[Any]:
        """Return the learner with these parameters, for rows of norm at most 1.

        Example:
            >>> plan = plan_perceptron(
            ...     features=20, gamma=0.5, margin=0.25, alpha=0.2, xi=0.1, epsilon=1, delta=1e-5
            ... )
            >>> plan.learner().guarantee().epsilon(delta=1e-5).upper <= 1
            True
        """
        stop: LaplaceStop | GaussianStop = GaussianStop(sigma=self.count_noise, below=self.below)
        if self.law == "paper":
            stop = LaplaceStop(scale=self.count_noise, below=self.below)
        return BatchPerceptron(
            margin=self.margin,
            steps=self.steps,
            sigma=self.sigma,
            rate=self.rate,
            stop=stop,
            features=features,
            relation=AddRemove(),
        )


def certifies(
    *,
    law: Law,
    records: int,
    features: int,
    gamma: Number,
    margin: Number,
    alpha: Number,
    xi: Number,
    steps: int,
    rate: Number,
    sigma: Number,
    count_noise: Number,
) -> bool:
    """Return whether a perceptron provably stops, with few margin mistakes, on these records.

    Statement: rows have norm at most 1 and margin ``gamma``. With probability at least 1 - xi the
        run stops within its steps, at a state that has ``margin`` mistakes on at most a share
        alpha / 2 of the records; by the paper's constants also on at most a share alpha of the
        distribution that the records were drawn from, with 0.95 of the margin.
    Source: "paper": Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Lemmas 16 and 18, by the
        conditions of their seven events. "ours": proofs/theory/learners.md, Proposition 9.

    Args:
        law: by which constants.
        records: their number, n.
        features: d, the width of a row.
        gamma: the margin of the data.
        margin: that of the learner, below gamma.
        alpha: error.
        xi: failure probability.
        steps: of the learner.
        rate: of its samples.
        sigma: of its sums, for rows of norm at most 1.
        count_noise: the scale of the test's Laplace noise ("paper"), or its standard deviation.
    Raises:
        ParameterError: an argument outside its domain.
    Laws: more records never hurt by the paper's constants; it is an inverse of ``plan_perceptron``.
    Example:
        >>> certifies(
        ...     law="ours", records=158_489, features=20, gamma=0.5, margin=0.25, alpha=0.2, xi=0.1,
        ...     steps=1259, rate=1259**-0.5, sigma=3.9, count_noise=19.5,
        ... )
        True
    """
    gap, error, failure = _checked(gamma, margin, alpha, xi)
    n, t, d = check.whole(records=records), check.count(steps=steps), check.count(features=features)
    if not 1 <= n <= _MOST_RECORDS:
        raise ParameterError("records", records, "from 1 to 2^60")
    p, s = float(check.rate(rate=rate)), float(check.positive(sigma=sigma))
    noise = float(check.positive(count_noise=count_noise))
    if law not in _EVENTS:
        raise ParameterError("law", law, '"paper" or "ours"')
    each = failure / _EVENTS[law]
    case = _Case(n, d, t, gap, float(margin), error, each, p, s, noise)
    return _paper(case) if law == "paper" else _ours(case)


def plan_perceptron(
    *,
    features: int,
    gamma: Number,
    alpha: Number,
    xi: Number,
    epsilon: Number,
    delta: Number,
    margin: Number | None = None,
    law: Law = "ours",
) -> PerceptronPlan:
    """Return the fewest records for which a private perceptron is proved to learn, as a plan.

    Statement: ``certifies`` holds for the plan, and not for one record less; its learner satisfies
        (epsilon, delta)-DP under add-remove. By the paper's constants steps, rate and noise are
        those of its Lemmas 18 and 19; by ours all records are taken in every step, and of some
        numbers of steps that with the fewest records is taken.
    Source: as for ``certifies``; Lemma 19 of arXiv:2011.14580.

    Args:
        features: d, the width of a row.
        gamma: the margin of the data, for rows of norm at most 1.
        alpha: error.
        xi: failure probability.
        epsilon: the budget, with ``delta``.
        delta: see ``epsilon``.
        margin: that of the learner; by default 0.95 gamma ("paper"), or 0.
        law: by which constants. By the paper's the budget is met about 200 times over.
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: no number of records up to 2^60 suffices.
    Example:
        >>> common = dict(features=20, gamma=0.5, margin=0.25, alpha=0.2, xi=0.1)
        >>> ours = plan_perceptron(**common, epsilon=1, delta=1e-5)
        >>> paper = plan_perceptron(**common, epsilon=1, delta=1e-5, law="paper")
        >>> paper.steps == 120_000 and paper.records > 1_000 * ours.records
        True
    """
    budget, at = check.positive(epsilon=epsilon), check.open_probability(delta=delta)
    default = 0.95 * float(gamma) if law == "paper" else 0.0
    learned = float(default if margin is None else margin)
    gap, error, _ = _checked(gamma, learned, alpha, xi)
    shared: dict[str, Any] = {
        "law": law,
        "features": features,
        "gamma": gamma,
        "margin": learned,
        "alpha": alpha,
        "xi": xi,
    }
    if law == "paper":
        steps = math.ceil(1500 / (error * gap**2))
        if steps > MAX_COUNT:
            raise CalibrationError(f"{steps:.3g} steps are more than {MAX_COUNT}; {LARGER}")
        log = math.log(steps / float(at))
        sigma, noise = 100 * log / float(budget), 100 * math.sqrt(log) / float(budget)
        return _least(shared, steps, steps**-0.5, sigma, noise)
    unit = calibrate(
        lambda size: _full_batch(1, size), epsilon=budget, delta=at, increasing=False
    ).value
    plans = []
    for power in range(_FINENESS * _DOUBLINGS):
        steps = math.ceil(2 ** (power / _FINENESS))
        sigma = math.nextafter(unit * math.sqrt(steps), math.inf) * (1 + 2**-40)
        plan = _try(shared, steps, 1.0, sigma, _COUNT_NOISE * sigma)
        if plan is not None:
            plans.append(plan)
        if plans and steps > 64 * min(plans, key=lambda one: one.records).steps:
            break
    if not plans:
        raise CalibrationError(f"no number of records up to {_MOST_RECORDS} suffices; {LARGER}")
    return min(plans, key=lambda one: one.records)


def _full_batch(steps: int, sigma: float) -> BatchPerceptron[Any]:
    """Return the learner that ours plans, for its price."""
    stop = GaussianStop(sigma=_COUNT_NOISE * Fraction(sigma), below=0)
    return BatchPerceptron(margin=0, steps=steps, sigma=sigma, stop=stop, relation=AddRemove())


def _least(
    shared: dict[str, Any], steps: int, rate: float, sigma: float, noise: float
) -> PerceptronPlan:
    """Return the plan with the fewest records.

    Raises:
        CalibrationError: there is none.
    """
    plan = _try(shared, steps, rate, sigma, noise)
    if plan is None:
        raise CalibrationError(f"no number of records up to {_MOST_RECORDS} suffices; {LARGER}")
    return plan


def _try(
    shared: dict[str, Any], steps: int, rate: float, sigma: float, noise: float
) -> PerceptronPlan | None:
    """Return the plan with the fewest records, None if none suffices."""
    found = partial(certifies, **shared, steps=steps, rate=rate, sigma=sigma, count_noise=noise)
    records = least_count(lambda n: found(records=n), _MOST_RECORDS)
    if records is None:
        return None
    error, failure = float(shared["alpha"]), float(shared["xi"])
    if shared["law"] == "paper":
        below = 0.3 * error * rate * records
    else:
        below = _fewest(records, rate, error, failure / _EVENTS["ours"] / steps) - _quantile(
            noise, failure / _EVENTS["ours"] / steps
        )
    return PerceptronPlan(
        law=shared["law"],
        records=records,
        steps=steps,
        rate=rate,
        sigma=sigma,
        margin=shared["margin"],
        count_noise=noise,
        below=below,
    )


@final
@dataclass(frozen=True, slots=True)
class _Case:
    """Quantities of the conditions, as floats: gap = gamma - margin, each = an event's share."""

    records: int
    features: int
    steps: int
    gap: float
    margin: float
    alpha: float
    each: float
    rate: float
    sigma: float
    noise: float


def _paper(case: _Case) -> bool:
    """Return whether the paper's seven events, and its number of steps, meet their conditions."""
    from scipy.stats import binom, chi2, norm  # noqa: PLC0415 - its import takes longer than all of ours

    n, t, alpha, each = case.records, case.steps, case.alpha, case.each
    batch, tail = case.rate * n, each / t
    if case.margin <= 0 or t < 1500 / (alpha * case.gap**2):
        return False
    wrong = math.ceil(0.5 * alpha * n)
    sampled = case.rate == 1 or (
        t * float(binom.sf(math.floor(1.5 * batch), n, case.rate)) <= each
        and t * float(binom.cdf(math.floor(0.4 * alpha * batch), wrong, case.rate)) <= each
    )
    return (
        sampled
        and case.sigma * math.sqrt(float(chi2.isf(tail, case.features))) <= batch * math.sqrt(alpha)
        and case.sigma * float(norm.isf(tail)) <= 0.01 * alpha * case.gap * batch
        and case.noise * math.log(1 / tail) <= 0.1 * alpha * batch
        and 400 * math.sqrt(math.log(4 / each) / n) / case.margin <= alpha / 2
    )


def _ours(case: _Case) -> bool:
    """Return whether a run of t steps would have to make more mistakes than it can."""
    from scipy.stats import binom, chi2  # noqa: PLC0415 - its import takes longer than all of ours

    n, t, p, sigma, each = case.records, case.steps, case.rate, case.sigma, case.each
    tail = each / t
    most = n if p == 1 else float(binom.isf(tail, n, p))
    mistakes = t * (_fewest(n, p, case.alpha, tail) - 2 * _quantile(case.noise, tail))
    if mistakes <= 0:
        return False
    total = sigma**2 * float(chi2.isf(each, t * case.features))
    largest = sigma * math.sqrt(float(chi2.isf(tail, case.features)))
    walks = 2 * sigma * math.sqrt(2 * t * math.log(1 / each))
    root = math.sqrt(2 * (most * mistakes + total))
    return case.gap * mistakes > root + 2 * most + largest + walks and case.gap >= most / root


def _fewest(n: int, p: float, alpha: float, tail: float) -> float:
    """Return the fewest sampled mistakes if more than alpha n / 2 records are, but for a tail."""
    from scipy.stats import binom  # noqa: PLC0415 - its import takes longer than all of ours

    wrong = math.floor(0.5 * alpha * n) + 1
    return float(wrong if p == 1.0 else binom.ppf(tail, wrong, p))


def _quantile(noise: float, tail: float) -> float:
    """Return how far the test's noise reaches on one side, but for a tail."""
    from scipy.stats import norm  # noqa: PLC0415 - its import takes longer than all of ours

    return noise * float(norm.isf(tail))


def _checked(
    gamma: Number, margin: Number, alpha: Number, xi: Number
) -> tuple[float, float, float]:
    """Return the gap of the margins, the error and the failure probability.

    Raises:
        ParameterError: an argument outside its domain.
    """
    whole, learned = float(check.positive(gamma=gamma)), float(check.non_negative(margin=margin))
    if whole > 1:
        raise ParameterError("gamma", gamma, "in (0, 1], for rows of norm at most 1")
    if learned >= whole:
        raise ParameterError("margin", margin, f"below gamma = {whole:g}")
    error, failure = check.open_probability(alpha=alpha), check.open_probability(xi=xi)
    return whole - learned, float(error), float(failure)
