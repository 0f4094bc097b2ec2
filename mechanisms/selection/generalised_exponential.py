"""The exponential mechanism for losses that records move by different amounts."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import LInf
from dpproof.accountant.theorems.post_processing import post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryMechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import categorical_exp
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.exponential import ExponentialMechanism
from dpproof.mechanisms.selection.scores import one_direction


def _moved(sensitivities: Sequence[Number], name: str = "value") -> tuple[Fraction, ...]:
    """Return the sensitivity of every candidate's loss."""
    value: object = sensitivities
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or not len(value):
        raise ParameterError(name, value, "one number above 0 for each candidate")
    return tuple(parameters.positive(one, name) for one in sensitivities)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class GeneralisedExponential(QueryMechanism[R]):
    """Pick a candidate of small loss, where one record moves the losses by different amounts.

    With a_i = loss_i + shift sensitivity_i the score of candidate i is the largest of
    (a_i - a_j) / N_ij over all j, and its probability is proportional to e^(-epsilon score / 2).
    N_ij is sensitivity_i + sensitivity_j; for monotone losses the larger one of both.

    Statement: if loss_i moves by at most sensitivity_i between neighbours, for monotone losses all
        in the same direction, a score moves by at most 1, so the pick is epsilon-bounded-range.
    Proof: proofs/theory/margins.md, section 9.
    Source: Raskhodnikova & Smith, FOCS 2016, as used by Bassily, Mohri & Suresh, arXiv:2204.10376,
        appendix F; with the sum as normaliser, which the larger one halves at best.

    Args:
        epsilon: nats, above 0.
        sensitivities: public, one above 0 for each candidate, in the losses' unit. If a solver
            computes a loss from above with error at most s, it is that of the exact loss plus s, or
            plus 2 s for monotone losses.
        failure: with which probability ``excess`` may fail; it decides the shift,
            2 ln(candidates/failure) / epsilon.
        monotone: claim that adding a record never lowers any loss (or never raises any).
            Meaningless under replace-one, where it is refused.
        relation: the neighbouring relation that the sensitivities speak of.
        query: data -> one loss for each candidate; None when the data is already the losses.
    Raises:
        ParameterError: a parameter outside its domain; on release, losses that are not a finite
            number for each candidate.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> pick = GeneralisedExponential(epsilon=1, sensitivities=[1, 100], relation=AddRemove())
        >>> pick.release([500, 3000])
        0
    """

    epsilon: Fraction = field(converter=parameters.positive)
    sensitivities: tuple[Fraction, ...] = field(converter=_moved)
    failure: Fraction = field(default=Fraction(0.05), converter=parameters.open_probability)
    relation: R = field(validator=parameters.neighbours)
    monotone: bool = field(default=False, converter=parameters.flag, validator=one_direction)

    @property
    def shift(self) -> Fraction:
        """Return the weight of a sensitivity beside a loss, public.

        It is 2 ln(candidates/failure) / epsilon.
        """
        logarithm = math.log(len(self.sensitivities)) - math.log(self.failure)
        return 2 * Fraction(logarithm) / self.epsilon

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded range of the pick by scores of sensitivity 1."""
        largest = "the larger one" if self.monotone else "the sum"
        direction = ", all in the same direction" if self.monotone else ""
        moved = ", ".join(show(one) for one in self.sensitivities)
        return post_process(
            self._mechanism().guarantee(),
            description=(
                f"naming the candidate; the scores are of losses that move by at most {moved}"
                f"{direction}, normalised by {largest} of two sensitivities"
            ),
        )

    def excess(self, candidate: int) -> Fraction:
        """Bound how much larger the loss of the pick is than that of one candidate.

        Statement: 2 shift sensitivity, for all candidates at once, except with probability
            ``failure``.
        Source: proofs/theory/margins.md, section 9.

        Raises:
            ParameterError: not the number of a candidate.
        Example:
            >>> from dpproof.accountant import AddRemove
            >>> pick = GeneralisedExponential(
            ...     epsilon=1, sensitivities=[1, 100], relation=AddRemove()
            ... )
            >>> round(float(pick.excess(0)), 2)
            14.76
        """
        if not 0 <= candidate < len(self.sensitivities):
            allowed = f"from 0 to {len(self.sensitivities) - 1}"
            raise ParameterError("candidate", candidate, allowed)
        return 2 * self.shift * self.sensitivities[candidate]

    def scores(self, data: object) -> list[Fraction]:
        """Return the normalised scores, exactly; they are private.

        Raises:
            ParameterError: losses that are not a finite number for each candidate.
        """
        losses = self._losses(data if self.query is None else self.query(data))
        shifted = [
            loss + self.shift * moved
            for loss, moved in zip(losses, self.sensitivities, strict=True)
        ]
        return [
            max((one - other) / self._normaliser(i, j) for j, other in enumerate(shifted))
            for i, one in enumerate(shifted)
        ]

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        rows = [[-score for score in self.scores(data)] for data in datasets]
        factor = self._mechanism().factor
        return np.stack([categorical_exp(row, count, rng, factor=factor) for row in rows])

    def _normaliser(self, one: int, other: int) -> Fraction:
        """Return what a difference of two shifted losses is divided by."""
        both = self.sensitivities[one], self.sensitivities[other]
        return max(both) if self.monotone else sum(both, start=Fraction(0))

    def _losses(self, losses: object) -> list[Fraction]:
        """Return the losses as exact numbers.

        Raises:
            ParameterError: not a finite number for each candidate.
        """
        number = len(self.sensitivities)
        allowed = f"{number} finite numbers, one for each candidate"
        if not isinstance(losses, Sequence | np.ndarray) or len(losses) != number:
            raise DataError("losses", losses, allowed)
        exact = []
        for one in losses:
            value = one.item() if isinstance(one, np.generic) else one
            if not isinstance(value, numbers.Rational | float) or not math.isfinite(value):
                raise DataError("losses", value, allowed)
            exact.append(Fraction(value))
        return exact

    def _mechanism(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism on the negative scores."""
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=LInf(1, self.relation))
