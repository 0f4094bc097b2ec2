"""Gaussian noise on separating features, with its honest price."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.cut_gaussian import FoldedGaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import PERTURBED_CHOICE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.separators.oracles import EnumerationOracle, Oracle
from dpproof.mechanisms.learning.separators.separator_perturbation import (
    PerturbedChoice,
    exact,
    loss_unit,
)
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import gaussian_rounded
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_GAUSSIAN_SEPARATOR: Final = Theorem(
    rule="mechanism/gaussian-separator",
    source="proofs/theory/separators.md, Theorem 3",
    attained=Attained.NO,  # every place at its worst sign
)

_SHIFT: Final = 2**10  # Units of noise by which a place moves. Heuristic.


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class GaussianSeparator(PerturbedChoice[R]):
    """Release the candidate that minimises losses plus Gaussian noise on its pattern.

    As ``SeparatorPerturbation``, which needs less noise for (epsilon, 10^-6)-DP without any delta;
    this one is for comparison, and for compositions with other Gaussian releases.

    Statement: dominated by as many folded Gaussian pairs as a pattern has places, of
        mu = s / sigma, s the steepness of the loss (1 / distance if it is in [0, 1]), twice that if
        a record or its label is replaced. The signs of the shift depend on the output, so every
        place counts with its worst sign; sigma has to grow like the number of places, not like its
        root as in the published algorithm.
    Assumes: perturbed choice; random bits.
    Source: proofs/theory/separators.md, Theorem 3; docs/CLAIMS.md on the published claim.

    Args:
        sigma: standard deviation of the noise on a place, in losses.
        space, loss, relation: as for ``SeparatorPerturbation``.
        oracle: an exact one; by default ``EnumerationOracle()``.
    Outputs:
        A record with the field ``weights``: the candidate, integers of shape (coordinates,).
    Raises:
        ParameterError: as for ``SeparatorPerturbation``; an oracle with a tolerance.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Cube
        >>> pick = GaussianSeparator(sigma=10, space=Cube(2), relation=AddRemove())
        >>> pick.guarantee().epsilon(delta=1e-6).upper < 1
        True
        >>> pick.release([([1, 0], 1), ([0, 1], -1)] * 200).weights
        array([ 1, -1])
    """

    sigma: Fraction = field(converter=parameters.scale)
    oracle: Oracle = field(factory=EnumerationOracle, validator=exact)

    @property
    def _shift(self) -> int:
        """Return the shift of a place, in units of the noise."""
        return _SHIFT * math.ceil(self.loss.steepness(self.space))

    @property
    def _deviation(self) -> Fraction:
        """Return sigma in units of the noise, of which one loss is worth ``unit``."""
        return self.sigma * self.unit

    @property
    def unit(self) -> int:
        """Return the worth of one loss, in units of the noise."""
        return loss_unit(self._shift, self.space, self.loss, self.relation)

    def guarantee(self) -> DominatingPair[R]:
        """Return the product of one folded Gaussian pair a place, in both directions."""
        places, shift = self.space.separators, self._shift
        mu = shift / self._deviation
        node = applied(
            MECHANISM_GAUSSIAN_SEPARATOR,
            f"Gaussian noise of standard deviation {show(self._deviation)} on {places} places "
            f"hides shifts by {shift} ({self.relation})",
            assumptions=(PERTURBED_CHOICE(shift=shift, relation=self.relation), RANDOM_BITS()),
            places=places,
            shift=shift,
            sigma=self._deviation,
        )
        product = Product.of(FoldedGaussianPair(mu_squared=mu**2)).times(places)
        return DominatingPair(
            forward=product, backward=product, relation=self.relation, derivation=node
        )

    def _noises(self, count: int, rng: Rng) -> NDArray[Any]:
        zeros = np.zeros((count, self.space.separators))
        return gaussian_rounded(zeros, self._deviation, Fraction(1), rng)
