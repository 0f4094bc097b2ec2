"""The cost of a pipeline: every stage alone, the total, and what an attacker gains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from accountant.arithmetic.enclosure import float_down
from accountant.bound import Bound
from accountant.errors import NotCertified
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.relation import Relation
from accountant.theorems.composition.compose import compose
from dpproof.errors import placed
from dpproof.pipeline.pipeline import Pipeline, Stage

FALSE_POSITIVE_RATES = (Fraction(1, 100), Fraction(1, 1000))
SHARE_ORDER = 2

Step = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """The privacy cost of one stage by itself, and its share of the total.

    Attributes:
        stage: the stage.
        guarantee: what it satisfies.
        epsilon: its epsilon at the pipeline's delta, as if it ran alone.
        one_run: epsilon of one run alone, where the stage selects among several; else None.
        share: its part of the total's Renyi divergence at ``SHARE_ORDER``, the one cost
            that adds up; None where that is not a positive finite number.
    """

    stage: Stage
    guarantee: Guarantee[Relation]
    epsilon: Bound
    one_run: Bound | None
    share: float | None

    @property
    def factor(self) -> float | None:
        """What selecting costs, in runs' epsilons; None where there is no run's to compare."""
        if self.one_run is None or not 0 < self.one_run.lower < math.inf:
            return None
        return self.epsilon.upper / self.one_run.lower


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The privacy cost of a pipeline: of every stage and of all together.

    Attributes:
        pipeline: the pipeline.
        stages: the cost of every stage, in the order of the file.
        epsilon: of everything together, at the pipeline's delta.
        mu: the smallest mu of Gaussian differential privacy that covers the total wherever its
            delta is at least the pipeline's.
        advantage: largest advantage of any attack on one record.
        true_positive_rates: largest power of any attack at some false-positive rates.
        derivation: what the total follows from.
    """

    pipeline: Pipeline
    stages: tuple[StageCost, ...]
    epsilon: Bound
    mu: Bound
    advantage: Bound
    true_positive_rates: tuple[tuple[Fraction, Bound], ...]
    derivation: Derivation

    @property
    def within_budget(self) -> bool | None:
        """Whether the upper end of epsilon is within the budget, None without a budget."""
        allowed = self.pipeline.epsilon
        return None if allowed is None else self.epsilon.upper <= allowed


def spend(pipeline: Pipeline, step: Step = lambda _: None) -> Budget:
    """Everything there is to say about the cost of a pipeline.

    Args:
        pipeline: what runs.
        step: told what is being computed, before it is.
    Raises:
        InputError: a stage or the whole is refused by the accountant; one line.
    """
    guarantees, alone, once = [], [], []
    for stage in pipeline.stages:
        step(stage.name)
        with placed(stage.place):
            guarantees.append(stage.guarantee(pipeline.relation))
            alone.append(guarantees[-1].epsilon(delta=pipeline.delta))
            once.append(_one_run(stage, pipeline))
    step("total")
    with placed(pipeline.file):
        whole = total(guarantees)
        epsilon = alone[0] if len(alone) == 1 else whole.epsilon(delta=pipeline.delta)
        shares = _shares(guarantees)
        return Budget(
            pipeline=pipeline,
            stages=tuple(
                StageCost(stage=stage, guarantee=guarantee, epsilon=cost, one_run=run, share=share)
                for stage, guarantee, cost, run, share in zip(
                    pipeline.stages, guarantees, alone, once, shares, strict=True
                )
            ),
            epsilon=epsilon,
            mu=_or_nothing(lambda: whole.gdp(smallest_delta=pipeline.delta), Bound(0.0, math.inf)),
            advantage=_or_nothing(whole.advantage, Bound(0.0, 1.0)),
            true_positive_rates=tuple((rate, _power(whole, rate)) for rate in FALSE_POSITIVE_RATES),
            derivation=whole.derivation,
        )


def _one_run(stage: Stage, pipeline: Pipeline) -> Bound | None:
    if stage.runs is None:
        return None
    return replace(stage, runs=None).guarantee(pipeline.relation).epsilon(delta=pipeline.delta)


def total(guarantees: Sequence[Guarantee[Relation]]) -> Guarantee[Relation]:
    """The composition of the guarantees of all stages; one stage is its own total."""
    return guarantees[0] if len(guarantees) == 1 else compose(*guarantees)


def _power(whole: Guarantee[Relation], rate: Fraction) -> Bound:
    return _or_nothing(
        lambda: whole.true_positive_rate(false_positive_rate=rate), Bound(float_down(rate), 1.0)
    )


def _or_nothing(question: Callable[[], Bound], nothing: Bound) -> Bound:
    """Return the answer, or the trivial bracket if there is none. Not used for epsilon."""
    try:
        return question()
    except NotCertified:
        return nothing


def _shares(guarantees: Sequence[Guarantee[Relation]]) -> list[float | None]:
    """Return each guarantee's part of the sum of Renyi divergences at one order. Heuristic.

    A low order looks at the bulk of the loss; a high one would see rare large losses alone.
    """
    if len(guarantees) == 1:
        return [1.0]
    costs = [guarantee.rdp(order=SHARE_ORDER).lower for guarantee in guarantees]
    whole = math.fsum(costs)
    if not 0 < whole < math.inf:
        return [None] * len(costs)
    return [cost / whole for cost in costs]
