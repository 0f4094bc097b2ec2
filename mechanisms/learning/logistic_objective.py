"""Private logistic regression by objective perturbation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, final

from attrs import field, frozen

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee, applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.cut_gaussian import FlooredGaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R, ReplaceLabel, ReplaceOne
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.side_conditions import PERTURBED_MINIMUM, RANDOM_BITS
from dpproof.accountant.theorems.composition import compose, post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.grid import row_width
from dpproof.mechanisms.learning.logistic_release import Release
from dpproof.mechanisms.learning.pure_logistic import PureLogisticObjective
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import gaussian_rounded
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_LOGISTIC_OBJECTIVE: Final = Theorem(
    rule="mechanism/logistic-objective",
    source="proofs/theory/logistic.md, Theorem 1",
    attained=Attained.NO,  # the curvature is paid for at its worst
)

# Rows are shortened by (1 - t^2)/(1 + t^2) and the output noise gets the share 2t/(1 + t^2) of mu:
# the squares add up to 1, so that the total is mu exactly. Heuristic: t = 2^-8.
_SHORTER: Final = Fraction(2**16 - 1, 2**16 + 1)
_OUTPUT_SHARE: Final = Fraction(2**9, 2**16 + 1)


def free_regulariser(sigma: Fraction, norm: Fraction) -> Fraction:
    """Return the least regulariser at which the curvature costs nothing: Theorem 1's condition."""
    return min(2 * sigma**2, norm * sigma / 2)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class LogisticObjective(Mechanism[R]):
    """Learn logistic regression: minimise the penalised losses with a random linear term.

    The weights minimise sum_i log(1 + e^{-y_i <x_i, w>}) + (regulariser/2) ||w||^2 + <b, w>, with b
    drawn from N(0, sigma^2 I). The sum is not divided by the number of records, which is private.

    Statement: if the regulariser is at least norm sigma/2 or 2 sigma^2, the weights are mu-GDP
        with mu = norm / sigma, twice that under replace-one: nothing is paid for the curvature. The
        minimum is computed to a certified gradient and hidden by output noise, whose share of mu is
        taken from the norm: rows are shortened to norm (1 - 2^-15), so that mu is the total. With a
        smaller regulariser, dominated by floored Gaussian pairs, if a record is added or removed.
    Assumes: perturbed minimum; random bits.
    Source: proofs/theory/logistic.md, Theorems 1 and 2. The mechanism is Chaudhuri, Monteleoni &
        Sarwate, JMLR 12 (2011), Algorithm 2, and Kifer, Smith & Thakurta, COLT 2012; the exact
        price is ours.

    Args:
        sigma: standard deviation of b, in data units, in [2^-300, 2^300].
        regulariser: weight of ||w||^2 / 2, in squared data units.
        norm: rows are clipped to this Euclidean norm, in data units. None scales every row to
            norm 1.
        relation: the neighbouring relation.
        features: the width of a row; None takes it from the array.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (1) and ``weights``, shape (features,).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
        NotImplied: on guarantee, a regulariser below both if a record or label is replaced.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Records
        >>> learner = LogisticObjective(sigma=4, regulariser=32, relation=AddRemove())
        >>> learner.guarantee().mu
        Fraction(1, 4)
        >>> learner.release(Records([[0.6, 0.8], [-1.0, 0.0]], [1, -1])).weights.shape
        (2,)
    """

    whole = "it minimises over all records at once, by sums of real numbers"

    sigma: Fraction = field(converter=parameters.scale)
    regulariser: Fraction = field(converter=parameters.scale)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)
    relation: R = field(validator=parameters.neighbours)
    features: int | None = field(default=None, converter=row_width)

    @staticmethod
    def pure(
        *,
        epsilon: Number,
        regulariser: Number,
        norm: Number | None = 1,
        relation: R,
        features: int | None = None,
    ) -> PureLogisticObjective[R]:
        """Return the learner of the same objective with spherical noise, which is epsilon-DP.

        Raises:
            ParameterError: as for ``PureLogisticObjective``.
        """
        parameters: dict[str, Any] = {"epsilon": epsilon, "regulariser": regulariser, "norm": norm}
        return PureLogisticObjective(**parameters, relation=relation, features=features)

    @property
    def _bound(self) -> Fraction:
        """Return the norm of the rows that the objective sees."""
        return (Fraction(1) if self.norm is None else self.norm) * _SHORTER

    @property
    def _output_share(self) -> Fraction:
        """Return the mu of the output noise."""
        doubled = 2 if isinstance(self.relation, ReplaceOne) else 1
        return doubled * self._bound / _SHORTER * _OUTPUT_SHARE / self.sigma

    def guarantee(self) -> Guarantee[R]:
        """Return (norm / sigma)-GDP: the exact minimum composes with the hidden difference from it.

        It is a dominating pair if the regulariser is below ``free_regulariser``.

        Raises:
            NotImplied: it is, and the relation replaces records or labels.
        """
        difference = Gaussian(sigma=1 / self._output_share, sensitivity=L2(1, self.relation))
        joint = compose(self._minimum(), difference.guarantee())
        return post_process(joint, description="adding the noisy difference to the minimum")

    def _minimum(self) -> Guarantee[R]:
        """Return the guarantee of the exact minimum of the ideal objective."""
        bound, sigma = self._bound, self.sigma
        assumptions = (
            PERTURBED_MINIMUM(bound=show(bound), regulariser=show(self.regulariser)),
            RANDOM_BITS(),
        )
        parameters: dict[str, Any] = {
            "norm": bound,
            "sigma": sigma,
            "regulariser": self.regulariser,
        }
        said = (
            f"logistic losses of rows of norm {show(bound)} with Gaussian noise of standard "
            f"deviation {show(sigma)} in the linear term and regulariser {show(self.regulariser)}"
        )
        free = free_regulariser(sigma, bound)
        if self.regulariser >= free:
            mu = (2 if isinstance(self.relation, ReplaceOne) else 1) * bound / sigma
            text = f"{said}: the minimum is {show(mu)}-GDP ({self.relation})"
            node = applied(
                MECHANISM_LOGISTIC_OBJECTIVE, text, assumptions=assumptions, **parameters
            )
            return GDP(mu=mu, relation=self.relation, derivation=node)
        if isinstance(self.relation, ReplaceOne | ReplaceLabel):
            raise NotImplied(
                f"under {self.relation} logistic objective perturbation has a price only for a "
                f"regulariser of at least {show(free)}, got {show(self.regulariser)}"
            )
        square = (bound / sigma) ** 2
        floor = bound**2 / self.regulariser - square / 2
        text = f"{said}: dominated by floored Gaussian pairs, floor {show(floor)} ({self.relation})"
        return DominatingPair(
            forward=Product.of(FlooredGaussianPair(mu_squared=square, floor=floor)),
            backward=Product.of(FlooredGaussianPair(mu_squared=square, floor=Fraction(0))),
            relation=self.relation,
            derivation=applied(
                MECHANISM_LOGISTIC_OBJECTIVE, text, assumptions=assumptions, **parameters
            ),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        bound = self._bound
        release = Release(
            decay=self.regulariser / bound**2,
            scale=self.sigma / bound,
            perturb=gaussian_rounded,
            share=self._output_share,
            blur=gaussian_rounded,
            by_coordinates=False,
        )
        return release.runs(datasets, count, rng, norm=self.norm, features=self.features)
