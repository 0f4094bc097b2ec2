"""The exponential mechanism over a finite space, every candidate listed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R, ReplaceLabel, ReplaceOne
from dpproof.accountant.sensitivity import LInf
from dpproof.accountant.theorems.composition import post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.separators.losses import patterns
from dpproof.mechanisms.learning.separators.oracles import Problem, levels_at
from dpproof.mechanisms.learning.separators.separator_perturbation import SpaceChoice, chosen
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.exponential import ExponentialMechanism


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class EnumeratedExponential(SpaceChoice[R]):
    """Pick a candidate of a space with probability proportional to e^(-epsilon loss).

    Losses are divided by the largest that a record can have; e^(-epsilon loss / 2) if a record or
    its label is replaced. It is what ``SeparatorPerturbation`` has to be compared with wherever the
    space can be listed: on the cube of m signs its excess loss is about m log(2) / epsilon, that of
    noise on separators m^2 / (2 epsilon).

    Statement: losses add up to scores that move by at most the largest loss between neighbours,
        under add-remove and zero-out all in one direction, so the pick is epsilon-bounded-range.
    Source: ``ExponentialMechanism``.

    Args:
        epsilon: of the pick, in nats.
        space: the candidates, at most 2^26 vectors of levels.
        loss: of a candidate at a record.
        relation: the neighbouring relation.
    Outputs:
        A record with the field ``weights``: the candidate, integers of shape (coordinates,).
    Raises:
        ParameterError: as for ``SeparatorPerturbation``.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Cube
        >>> pick = EnumeratedExponential(epsilon=1, space=Cube(2), relation=AddRemove())
        >>> pick.release([([1, 0], 1), ([0, 1], -1)] * 200).weights
        array([ 1, -1])
    """

    epsilon: Fraction = field(converter=parameters.positive)

    def guarantee(self) -> Guarantee[R]:
        """State epsilon-bounded range of the candidate that is looked up."""
        return post_process(
            self._mechanism().guarantee(), description="looking up the candidate of an index"
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        width = self.space.coordinates
        read = [patterns(data, width, self.loss.largest_feature) for data in datasets]
        choices = []
        for data in read:
            losses = Problem(self.space, self.loss, data, 1).totals().reshape(-1)
            listed = np.flatnonzero(losses >= 0)
            picked = self._mechanism().draw([-losses[listed]], count, rng)[0]
            choices.append(levels_at(self.space, listed[picked]))
        return chosen(np.array(self.space.levels)[np.stack(choices)])

    def _mechanism(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism on the negative losses."""
        return ExponentialMechanism(
            epsilon=self.epsilon,
            sensitivity=LInf(self.loss.most(self.space), self.relation),
            monotone=not isinstance(self.relation, ReplaceOne | ReplaceLabel),
        )
