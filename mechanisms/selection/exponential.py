"""The exponential mechanism over finitely many candidates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import categorical_exp
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.selection.scores import ScoreMechanism, read_scores

MECHANISM_EXPONENTIAL: Final = Theorem(
    rule="mechanism/exponential",
    source="Dong, Durfee & Rogers 2020, arXiv:1909.13830, and the class's docstring",
    attained=Attained.POINTS,  # two candidates, whose odds are where the epsilon asks for them
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class ExponentialMechanism(ScoreMechanism[R]):
    """Release the index of a candidate, with probability proportional to e^(factor * score).

    factor = epsilon / (2 sensitivity), or epsilon / sensitivity for monotone scores.

    Statement: if every score moves by at most Delta between neighbours, the output is
        epsilon-bounded-range (hence epsilon-DP): log P(c)/Q(c) stays in one interval of length
        epsilon.
    Proof: log P(c)/Q(c) = factor * (u(c) - u'(c)) + log(Z'/Z); the second term does not depend on
        c, and the first lies in factor * [-Delta, Delta], an interval of length epsilon. Monotone:
        it lies in factor * [0, Delta], or in factor * [-Delta, 0], of length epsilon again.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: bounded range and its composition: Dong, Durfee & Rogers, arXiv:1909.13830.

    Args:
        epsilon: nats, above 0.
        sensitivity: LInf, in the scores' unit: every candidate's exact score moves by at most
            this between neighbours.
        monotone: claim that adding a record never lowers any score (or never raises any); it
            halves the noise. Meaningless under replace-one, where it is refused.
        query: data -> one score per candidate, the candidates fixed in advance (``Scores`` builds
            one); None when the data is already the scores.
    Raises:
        ParameterError: a parameter outside its domain; on release, scores that are not a
            sequence of finite numbers.
    Example:
        >>> from dpproof.accountant import LInf
        >>> pick = ExponentialMechanism(epsilon=1, sensitivity=LInf(1))
        >>> pick.release([10, 0, 2000])
        2
    """

    epsilon: Fraction = field(converter=parameters.positive)

    @property
    def factor(self) -> Fraction:
        """Return the factor of a score in the exponent, per unit of score."""
        return self.epsilon / self.sensitivity.value / (1 if self.monotone else 2)

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded range."""
        derivation = applied(
            MECHANISM_EXPONENTIAL,
            f"the exponential mechanism with factor {show(self.factor)} on scores of "
            f"sensitivity {show(self.sensitivity.value)} is {show(self.epsilon)}-bounded-range "
            f"({self.relation})",
            assumptions=self._assumptions(),
            factor=self.factor,
            sensitivity=self.sensitivity.value,
            monotone=self.monotone,
        )
        return BoundedRange(epsilon=self.epsilon, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        scores = read_scores(self.query, datasets)
        return np.stack([categorical_exp(row, count, rng, factor=self.factor) for row in scores])
