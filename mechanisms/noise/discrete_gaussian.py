"""The discrete Gaussian mechanism on whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

from attrs import field, frozen

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import add_whole, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import whole_values
from dpproof.mechanisms.samplers import discrete_gaussian
from dpproof.mechanisms.samplers.rng import Rng

_CANONNE = "Canonne, Kamath & Steinke 2020, arXiv:2004.00010"

MECHANISM_DISCRETE_GAUSSIAN_ZCDP: Final = Theorem(
    rule="mechanism/discrete-gaussian-zcdp",
    source=f"{_CANONNE}, Theorem 14",
    attained=Attained.NO,  # divergences below those of a Gaussian
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class DiscreteGaussian(NoiseMechanism[R]):
    """Add independent discrete Gaussian noise to every coordinate of an integer query.

    The noise has P(z) proportional to e^(-z^2 / (2 sigma^2)) on the whole numbers.

    Statement: let v be the change of the query between neighbours, a vector of whole numbers.
        L1 sensitivity k: dominated, in any dimension, by one variable shifted by floor(k).
        L2 sensitivity Delta, m = floor(Delta^2) <= 3: every entry of v is 0 or +-1, at most m of
        them non-zero, so m independent shifts by 1 dominate, with equality when all m occur.
        L2 sensitivity Delta, m >= 4: a longer jump of one coordinate is possible as well, and the
        statement is m / (2 sigma^2)-zCDP.
        A query with one coordinate is best described by its L1 sensitivity.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md; zCDP: Canonne, Kamath & Steinke, "The Discrete Gaussian for
        Differential Privacy", arXiv:2004.00010, Theorem 14.

    Args:
        sigma: in units of the query, in [2^-300, 2^300]; sigma^2 is the variance only nearly.
        sensitivity: L1 or L2, at least 1. Whole parts are taken of k and of Delta^2, because an
            integer query moves by whole numbers (a value within a relative 2^-40 below a whole
            number counts as that number, so ``L2(math.sqrt(3))`` means m = 3).
        query: data -> an integer or integer array; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not an
            integer of size at most 2^62, which is visible and depends on the data.
    Example:
        >>> DiscreteGaussian(sigma=10, sensitivity=L2(3)).guarantee().rho
        Fraction(9, 200)
        >>> isinstance(DiscreteGaussian(sigma=10, sensitivity=L1(1)).release(41), int)
        True
    """

    sigma: Fraction = field(converter=parameters.scale)
    sensitivity: L1[R] | L2[R] = field(validator=[parameters.norms(L1, L2), parameters.moves])

    def guarantee(self) -> DominatingPair[R] | ZCDP[R]:
        """Return a dominating pair for L1, and for L2 below 2; zCDP for a larger L2 sensitivity."""
        units = parameters.units(self.sensitivity)
        variance = self.sigma**2
        if isinstance(self.sensitivity, L1):
            factor = Factor(DiscreteGaussianPair(sigma_squared=variance, shift=units), 1)
            return self._dominated(factor, f"by its shift by {units}", "Corollary 1")
        if units <= 3:
            factor = Factor(DiscreteGaussianPair(sigma_squared=variance, shift=1), units)
            return self._dominated(factor, f"by {units} independent shifts by 1", "Corollary 2")
        rho = units / (2 * variance)
        derivation = applied(
            MECHANISM_DISCRETE_GAUSSIAN_ZCDP,
            f"discrete Gaussian noise of sigma {show(self.sigma)} on an integer query of "
            f"squared L2 sensitivity {units} is {show(rho)}-zCDP ({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity),
            sigma=self.sigma,
            units=units,
        )
        return ZCDP(rho=rho, relation=self.relation, derivation=derivation)

    def _dominated(self, factor: Factor, how: str, item: str) -> DominatingPair[R]:
        norm = type(self.sensitivity).__name__
        derivation = applied(
            Theorem(
                rule="mechanism/discrete-gaussian",
                source=f"docs/shift-lemma.md, {item}",
                attained=Attained.WHOLE,  # a query that makes the largest change
            ),
            f"discrete Gaussian noise of sigma {show(self.sigma)} on an integer query of "
            f"{norm} sensitivity {show(self.sensitivity.value)} is dominated {how} "
            f"({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity),
            sigma=self.sigma,
            units=parameters.units(self.sensitivity),
            norm=norm,
        )
        pair = Product((factor,))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count, ...)."""
        values = repeated_values(whole_values(self.query, datasets), count)
        return add_whole(values, discrete_gaussian(self.sigma**2, values.size, rng))
