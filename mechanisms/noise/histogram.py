"""Histograms: tables of counts, whose sensitivity follows from what one record adds to them."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, final

from attrs import field, frozen

from dpproof.accountant import L1, DominatingPair
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FEW_CELLS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Outputs, QueryMechanism
from dpproof.mechanisms.noise.gaussian import DiscreteGaussian
from dpproof.mechanisms.noise.laplace import DiscreteLaplace
from dpproof.mechanisms.samplers import Rng

Noise: TypeAlias = Literal["gaussian", "laplace"]

MECHANISM_HISTOGRAM: Final = Theorem(
    rule="mechanism/histogram",
    source="docs/shift-lemma.md, Corollary 4",
    attained=Attained.WHOLE,  # all counts that may move do
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Histogram(QueryMechanism[R]):
    """Add integer noise to counts of cells fixed in advance, to few of which each record adds.

    A record adds to at most ``contributions`` cells, to each a whole number from 0 to ``largest``.
    Under add-remove and zero-out so many cells move; a replaced record leaves as many and enters as
    many others, each moving by ``largest``: its Euclidean norm grows by sqrt 2, not by 2.

    Statement: with K = contributions, or 2 contributions under replace-one, neighbours are
        dominated by K independent noise variables each shifted by ``largest``, in both orders; some
        neighbours attain it.
    Assumes: few cells; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, Corollary 4.

    Args:
        scale: of the noise, in counts, in [2^-300, 2^300]: sigma of discrete Gaussian noise, which
            has P(z) proportional to e^(-z^2 / (2 scale^2)), or of discrete Laplace noise.
        noise: "gaussian" or "laplace", both on the whole numbers.
        contributions: the most cells that one record adds to (enforce it by sampling or
            dropping contributions of a record inside the query).
        largest: the most that it adds to one cell.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> Histogram(scale=20, relation=AddRemove()).release([120, 0, 7]).shape
        (3,)
    """

    scale: Fraction = field(converter=parameters.scale)
    noise: Noise = field(default="gaussian", validator=parameters.one_of("gaussian", "laplace"))
    contributions: int = field(default=1, converter=parameters.count)
    largest: int = field(default=1, converter=parameters.count)
    relation: R = field(validator=parameters.neighbours)

    def __attrs_post_init__(self) -> None:
        self._pair()

    @property
    def cells(self) -> int:
        """Return the largest number of cells that move between neighbours."""
        return self.contributions * (2 if self.relation.symmetric else 1)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of independent shifts of the cells that move, the same both ways."""
        return self._dominated(
            MECHANISM_HISTOGRAM,
            f"discrete {self.noise.capitalize()} noise of scale {show(self.scale)} on counts, "
            f"{self.cells} of which move by at most {self.largest} ({self.relation})",
            self._pair(),
            assumptions=(
                FEW_CELLS(cells=self.cells, largest=self.largest, relation=self.relation),
                *parameters.assumptions_of_noise(),
            ),
            noise=self.noise,
            scale=self.scale,
            cells=self.cells,
            largest=self.largest,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw counts plus noise: integers of shape (datasets, count, ...)."""
        noise: DiscreteGaussian[Any] | DiscreteLaplace[Any] = (
            DiscreteGaussian(sigma=self.scale, sensitivity=L1(1), query=self.query)
            if self.noise == "gaussian"
            else DiscreteLaplace(scale=self.scale, sensitivity=L1(1), query=self.query)
        )
        return noise.draw(datasets, count, rng)

    def _pair(self) -> Product:
        one: DiscreteGaussianPair | DiscreteLaplacePair = (
            DiscreteGaussianPair(sigma_squared=self.scale**2, shift=self.largest)
            if self.noise == "gaussian"
            else DiscreteLaplacePair(scale=self.scale, shift=self.largest)
        )
        return Product((Factor(one, self.cells),))
