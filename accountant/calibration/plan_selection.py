"""Plan a selection: how many runs to draw, and how much noise each of them needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.bound import Bound
from dpproof.accountant.calibration.calibrate import HasGuarantee, calibrate, guarantee_of
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.readable import Readable
from dpproof.accountant.run_counts.law import PoissonRuns, RunLaw, TruncatedNegativeBinomial
from dpproof.accountant.theorems.composition import self_compose
from dpproof.accountant.theorems.selection import select

_SHAPES = (Fraction(-1, 2), Fraction(0), Fraction(1))  # The eta of the laws compared. Heuristic.
# Relative tolerance of the noise. Heuristic: the noise returned meets the target.
_TOLERANCE = 1e-3
# Bisections of a law's parameter. Heuristic: the law returned reaches the probability.
_HALVINGS = 60
_MARGIN = 2.0**-20  # Distance to the ends of a family's parameter in (0, 1). Heuristic.
_LARGEST_RATE = 10**4  # Largest rate of the Poisson laws tried. Heuristic.
_LEAST_GAMMA = 1e-9  # Least gamma of the laws tried. Heuristic.

Build = Callable[[float], HasGuarantee | Guarantee[Any]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOption(Readable):
    """One law of the number of runs, with the noise that makes it meet the target.

    Attributes:
        runs: the law.
        noise: of every run; the larger, the more private.
        probability_drawn: that a given candidate is among the runs.
        epsilon: the selection's epsilon at the target's delta.
    """

    runs: RunLaw
    noise: float
    probability_drawn: float
    epsilon: Bound


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionPlan(Readable):
    """The cheapest way found to try a given candidate with the wanted probability.

    Attributes:
        best: the option that needs the least noise.
        options: every law that reaches the probability, by the noise it needs.
        all_candidates_noise: the noise with which releasing one run of every candidate meets
            the target; every candidate is then tried, and all results may be looked at.
        all_candidates_epsilon: epsilon of that with the best option's noise.
        one_run_epsilon: epsilon of a single run with that noise.
        left_out: the laws that do not reach the probability, and what they reach.
    """

    best: SelectionOption
    options: tuple[SelectionOption, ...]
    all_candidates_noise: float
    all_candidates_epsilon: Bound
    one_run_epsilon: Bound
    left_out: tuple[str, ...] = ()

    def explain(self) -> str:
        """Return what was tried in a line each: the noise, the runs, and why a law lost."""
        lines = []
        for option in self.options:
            runs, more = option.runs, option.noise / self.best.noise - 1
            lost = "least noise" if option is self.best else f"{100 * more:.3g} % more noise"
            lines.append(
                f"{runs.describe()}: noise {option.noise:.5g}, {lost}; {runs.mean:.4g} runs on "
                f"average, 99 % of the time at most {_quantile(runs)}"
            )
        once, best = self.one_run_epsilon.upper, self.best.epsilon.upper
        price = f"one run with the least noise: epsilon {once:.5g}, the best of the runs {best:.5g}"
        every = f"every candidate once, all released: noise {self.all_candidates_noise:.5g}"
        return "\n".join([*lines, *self.left_out, price, every])

    @property
    def selecting_pays(self) -> bool:
        """Return whether selecting needs less noise than trying every candidate once."""
        return self.best.noise < self.all_candidates_noise


def plan_selection(
    build: Build, *, epsilon: Number, delta: Number, candidates: int, probability: Number
) -> SelectionPlan:
    """Choose how many runs to draw and how much noise they need, for a total budget.

    Every run draws one of the candidates uniformly. Of the truncated negative binomial laws with
    eta -1/2, 0 and 1 and the Poisson law, each is given just the parameter at which a given
    candidate (the best one, unknown beforehand) is among the runs with the probability wanted. Then
    it is given just the noise at which the best of the runs meets the budget. A heavier tail needs
    more runs for the same probability: ``runs.mean`` and ``runs.quantile`` say how many.

    Args:
        build: from a noise to the mechanism or guarantee of one run; more noise costs less.
        epsilon: the whole budget, nats.
        delta: where epsilon is meant, in (0, 1).
        candidates: how many there are, at least 2.
        probability: wanted, in (0, 1).
    Raises:
        CalibrationError: no noise meets the budget.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> plan = plan_selection(
        ...     lambda sigma: GDP(mu=1 / sigma),
        ...     epsilon=2, delta=1e-6, candidates=2, probability=0.99,
        ... )
        >>> plan.selecting_pays
        False
        >>> print(plan.explain().splitlines()[-1][:34])
        every candidate once, all released
    """
    number = arguments.count(candidates=candidates)
    if number < 2:
        raise ParameterError("candidates", candidates, "at least 2", "one needs no selection")
    wanted = arguments.open_probability(probability=probability)
    target = arguments.positive(epsilon=epsilon), arguments.open_probability(delta=delta)

    def meeting(cost: Callable[[Guarantee[Any]], Guarantee[Any]]) -> tuple[float, Bound]:
        result = calibrate(
            lambda noise: cost(guarantee_of(build(noise))),
            epsilon=target[0],
            delta=target[1],
            increasing=False,
            tolerance=_TOLERANCE,
        )
        return result.value, result.epsilon

    options = []
    reaching, left_out = _laws(number, float(wanted))
    for runs in reaching:
        noise, spent = meeting(partial(select, runs=runs))
        drawn = runs.probability_drawn(candidates=number)
        options.append(
            SelectionOption(runs=runs, noise=noise, probability_drawn=drawn, epsilon=spent)
        )
    options.sort(key=lambda option: option.noise)
    best = options[0]
    every, _ = meeting(lambda one: self_compose(one, number))
    once = guarantee_of(build(best.noise))
    return SelectionPlan(
        best=best,
        options=tuple(options),
        all_candidates_noise=every,
        all_candidates_epsilon=self_compose(once, number).epsilon(delta=target[1]),
        one_run_epsilon=once.epsilon(delta=target[1]),
        left_out=left_out,
    )


def _quantile(runs: RunLaw) -> str:
    """Return the number of runs that is not exceeded 99 % of the time, in words."""
    try:
        return str(runs.quantile(level=0.99))
    except NotCertified:
        return "a number that nobody runs"


def _laws(candidates: int, wanted: float) -> tuple[list[RunLaw], tuple[str, ...]]:
    """Return the laws that reach the probability with just enough runs, and what others reach."""
    families: list[Callable[[float], RunLaw]] = [
        *(partial(_negative_binomial, eta) for eta in _SHAPES),
        lambda share: PoissonRuns(rate=_LARGEST_RATE**share),
    ]
    laws, left_out = [], []
    for family in families:
        law = _reaching(family, candidates, wanted)
        if law is not None:
            laws.append(law)
            continue
        most = family(1.0 - _MARGIN)
        drawn = most.probability_drawn(candidates=candidates)
        left_out.append(
            f"{most.describe()}: left out, its {most.mean:.4g} runs on average draw a candidate "
            f"with probability {drawn:.4g} only"
        )
    return laws, tuple(left_out)


def _negative_binomial(eta: Fraction, share: float) -> RunLaw:
    """Return the law of a family with gamma = _LEAST_GAMMA^share."""
    return TruncatedNegativeBinomial(eta=eta, gamma=_LEAST_GAMMA**share)


def _reaching(build: Callable[[float], RunLaw], candidates: int, wanted: float) -> RunLaw | None:
    """Return the first law in a family, by its parameter, that reaches the probability."""

    def reaches(share: float) -> bool:
        return build(share).probability_drawn(candidates=candidates) >= wanted

    if not reaches(1.0 - _MARGIN):
        return None
    ends = _MARGIN, 1.0 - _MARGIN
    return build(bisect(lambda share: not reaches(share), *ends, rounds=_HALVINGS)[1])
