"""Private logistic regression with pure differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R, ReplaceLabel, ReplaceOne
from dpproof.accountant.sensitivity import L1
from dpproof.accountant.side_conditions import RANDOM_BITS, SPHERICAL_MINIMUM
from dpproof.accountant.theorems.composition import compose, post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.grid import row_width
from dpproof.mechanisms.learning.logistic_release import Release
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import laplace_rounded, spherical_rounded
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_PURE_LOGISTIC: Final = Theorem(
    rule="mechanism/logistic-objective-pure",
    source="proofs/theory/logistic.md, Theorem 3",
    attained=Attained.NO,  # the largest loss alone is near
)

# The output noise gets 1/64 of epsilon, and rows are shortened so that a regulariser of
# norm^2 / epsilon is enough for the rest: 0.9917^2 < 63/64. Heuristic.
_OUTPUT_SHARE: Final = Fraction(1, 64)
_SHORTER: Final = Fraction(2031, 2048)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class PureLogisticObjective(Mechanism[R]):
    """Learn logistic regression by objective perturbation with spherical noise: epsilon-DP.

    As ``LogisticObjective``, with b of density proportional to e^(-c ||b||).

    Statement: if the regulariser is at least norm^2 / epsilon, twice that if a record or label is
        replaced, the weights are epsilon-DP: nothing is paid for the curvature. 1/64 of epsilon is
        that of the output noise.
    Assumes: spherical minimum; random bits.
    Source: proofs/theory/logistic.md, Theorems 3 and 4. The mechanism is Chaudhuri, Monteleoni &
        Sarwate, JMLR 12 (2011), Algorithm 2, whose price has a term for the curvature.

    Args:
        epsilon: nats.
        regulariser, norm, relation, features: as for ``LogisticObjective``.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (1) and ``weights``, shape (features,).
    Raises:
        ParameterError: a parameter outside its domain, a regulariser that is too small included; on
            release, data that is not labelled rows.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import LogisticObjective
        >>> learner = LogisticObjective.pure(epsilon=1, regulariser=1, relation=AddRemove())
        >>> round(learner.guarantee().epsilon(delta=0).upper, 9)
        1.0
    """

    epsilon: Fraction = field(converter=parameters.scale)
    regulariser: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(converter=parameters.optional_scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(converter=row_width)

    def __attrs_post_init__(self) -> None:
        least = self._unit**2 / self._one_record
        if self.regulariser < least:
            raise ParameterError(
                "regulariser", self.regulariser, f"at least norm^2 / epsilon = {show(least)}"
            )

    @property
    def _unit(self) -> Fraction:
        """Return the bound of the rows' norms: 1 if every row is scaled to norm 1."""
        return Fraction(1) if self.norm is None else self.norm

    @property
    def _one_record(self) -> Fraction:
        """Return the price of adding or removing a record: half if a replacement does both."""
        doubled = isinstance(self.relation, ReplaceOne | ReplaceLabel)
        return self.epsilon / (2 if doubled else 1)

    @property
    def _noise(self) -> Fraction:
        """Return the price of one record in the exact minimum."""
        return self._one_record * (1 - _OUTPUT_SHARE)

    def guarantee(self) -> Guarantee[R]:
        """Return epsilon-DP: the exact minimum composes with the hidden difference from it."""
        price, bound = self.epsilon * (1 - _OUTPUT_SHARE), self._unit * _SHORTER
        node = applied(
            MECHANISM_PURE_LOGISTIC,
            f"logistic losses of rows of norm {show(bound)} with spherical noise in the linear "
            f"term: the minimum is {show(price)}-DP ({self.relation})",
            assumptions=(
                SPHERICAL_MINIMUM(bound=show(bound), regulariser=show(self.regulariser)),
                RANDOM_BITS(),
            ),
            norm=bound,
            scale=bound / self._noise,
            regulariser=self.regulariser,
        )
        minimum = PureDP(epsilon=price, relation=self.relation, derivation=node)
        hidden = Laplace(scale=1 / (self.epsilon * _OUTPUT_SHARE), sensitivity=L1(1, self.relation))
        joint = compose(minimum, hidden.guarantee())
        return post_process(joint, description="adding the noisy difference to the minimum")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        release = Release(
            decay=self.regulariser / (self._unit * _SHORTER) ** 2,
            scale=1 / self._noise,
            perturb=_spherical,
            share=self.epsilon * _OUTPUT_SHARE,
            blur=laplace_rounded,
            by_coordinates=True,
        )
        return release.runs(datasets, count, rng, norm=self.norm, features=self.features)


def _spherical(
    values: NDArray[np.float64], size: Fraction, grain: Fraction, rng: Rng
) -> NDArray[Any]:
    """Draw spherical noise in the shape of the values, which are zeros."""
    runs, width = values.shape
    return spherical_rounded(size, grain, width, runs, rng)
