"""Several fits of one learner, the best of which is picked privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition import compose, post_process
from dpproof.mechanisms.learning.bounded_updates import SumLearner
from dpproof.mechanisms.learning.descent import PhasedHinge
from dpproof.mechanisms.learning.exponential_halfspaces import fewest_mistakes
from dpproof.mechanisms.learning.featured import Projected
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap
from dpproof.mechanisms.learning.risk_bounds import mistakes
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.samplers.rng import Rng
from experiments.one_vs_rest import OneVsRest

Fitted = SumLearner[R] | OneVsRest[R] | Projected[R] | PhasedHinge[R]


@final
@dataclass(frozen=True, slots=True, init=False)
class Boosted(Mechanism[R]):
    """Fit a learner several times, and pick the fit with few mistakes exponentially likely.

    It turns a learner that succeeds with constant probability into one that fails with probability
    2^-runs or so. All fits are paid for, and so is the pick; so all weights may be released.

    Statement: given the fits, the numbers of mistakes on all records move by at most 1 between
        neighbours, under add-remove and zero-out all in the same direction, so the pick is
        epsilon-bounded-range; the composition of that with ``runs`` fits.
    Source: Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 3, whose fits spend the whole
        budget and whose pick spends it again: as printed it has twice the epsilon that is stated
        for it. It picks by hinge loss, which moves by (0.96 margin + 1) / (0.86 margin); counts of
        mistakes move by 1. proofs/theory/learners.md, Lemma 5.

    Args:
        base: a learner of halfspaces, ``KeslerPerceptron``, ``OneVsRest`` or ``Projected``. With
            ``PhasedHinge`` it is the boosted learner of Bassily, Mohri & Suresh,
            arXiv:2204.10376, Algorithms 2 and 4: a fit is projected onto the ball after its last
            noise, and what is scored and released is the projected one.
        runs: fits, at least 2.
        epsilon: of the pick, in nats. It has at most log(runs / beta) / epsilon mistakes more
            than the best fit, except with probability beta; twice that if records are replaced.
    Outputs:
        As for the base.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that the base refuses.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from experiments.noisy_hinge import NoisyHinge
        >>> base = NoisyHinge(
        ...     margin=0.3, expected_size=2_000, steps=100, sigma=100, relation=AddRemove()
        ... )
        >>> learner = Boosted(base=base, runs=4, epsilon=0.1)
        >>> round(learner.guarantee().epsilon(delta=1e-5).upper, 3)
        0.755
    """

    base: Fitted[R]
    runs: int
    epsilon: Fraction

    def __init__(self, *, base: Fitted[R], runs: int, epsilon: Number) -> None:
        learner: object = base
        if not isinstance(learner, SumLearner | OneVsRest | Projected | PhasedHinge):
            raise ParameterError("base", base, "a learner such as NoisyHinge(...)")
        number = check.count(runs=runs)
        if number < 2:
            raise ParameterError("runs", runs, "at least 2", "one fit needs no pick")
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "runs", number)
        object.__setattr__(self, "epsilon", check.positive(epsilon=epsilon))

    @property
    def relation(self) -> R:
        """Return the neighbouring relation of the base learner."""
        return self.base.relation

    def guarantee(self) -> Guarantee[R]:
        """Return the composition of the base's guarantee, once per fit, with that of the pick.

        Raises:
            NotImplied: as for the base.
        """
        fits = self.base.repeat(self.runs).guarantee()
        return post_process(
            compose(fits, fewest_mistakes(self.epsilon, self.relation).guarantee()),
            description="looking up the weights of the fit that was picked",
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Fit and pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        return np.stack([self._picked(data, count, rng) for data in datasets])

    def _picked(self, data: object, count: int, rng: Rng) -> Outputs:
        """Draw the picked fits on one dataset."""
        fits = self.base.draw([data], count * self.runs, rng)[0]
        plan: FeatureMap | None = getattr(self.base, "map", None)
        scored = data if isinstance(plan, LinearMap | None) else plan.records(data)
        counts = mistakes(np.asarray(fits["weights"]), scored).reshape(count, self.runs)
        picked = fewest_mistakes(self.epsilon, self.relation).draw(list(-counts), 1, rng)[:, 0]
        return np.asarray(fits.reshape(count, self.runs)[np.arange(count), picked])
