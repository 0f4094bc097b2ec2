"""The noisy mean as a halfspace: one Gaussian release."""

from __future__ import annotations

from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import Contributions, NoisySums
from dpproof.mechanisms.learning.halfspace import mistakes_within
from dpproof.mechanisms.learning.records import GridRecords
from dpproof.mechanisms.learning.sum_learner import SumLearner
from dpproof.mechanisms.parameters import named


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class MeanHalfspace(SumLearner[R]):
    """Learn a halfspace from the noisy sum of y x over all records, released once.

    A perceptron of margin norm or more makes every record a mistake in every step, so it is this
    sum with more noise.

    Statement: the sum moves by at most ``norm``, twice that under replace-one, so the weights are
        mu-GDP with mu = norm / sigma, or twice that.
    Source: Theorem A of proofs/theory/learners.md with one step.

    Args:
        sigma, norm, relation, features: as for ``BatchPerceptron``.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (1) and ``weights``, shape (features,).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> MeanHalfspace(sigma=4, relation=AddRemove()).guarantee().mu
        Fraction(1, 4)
    """

    sigma: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    average: bool = field(init=False, default=False)

    def sums(self) -> NoisySums[R]:
        """Return the one noisy sum that a run releases."""
        return NoisySums(steps=1, sigma=self.sigma, norm=self._unit, relation=self.relation)

    def _contributions(self, records: GridRecords) -> Contributions:
        """Return the contributions of all records, whatever the state."""
        return mistakes_within(records, np.inf)
