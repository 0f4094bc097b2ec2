"""The Gaussian mechanism on real values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

from attrs import field, frozen

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L2, L2Contribution
from dpproof.accountant.side_conditions import SUM_OF_CONTRIBUTIONS
from dpproof.accountant.theorems.subsampling import subsample_gaussian_sum, subsample_poisson
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import on_grid, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import real_values
from dpproof.mechanisms.samplers import default_granularity, gaussian_rounded
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_GAUSSIAN: Final = Theorem(
    rule="mechanism/gaussian",
    source="Dong, Roth & Su 2019, arXiv:1905.02383, Theorem 2.7",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class Gaussian(NoiseMechanism[R]):
    """Add independent N(0, sigma^2) noise to every coordinate of a real-valued query.

    The output is the ideal real-valued one, correctly rounded to the nearest multiple of
    ``granularity``. The grid does not depend on the data, so rounding is post-processing and the
    textbook statement holds exactly; no noise is ever computed in floating point and released.

    Statement: if the query moves by at most Delta in Euclidean norm between neighbours, the
        output is mu-GDP with mu = Delta / sigma.
    Assumes: sensitivity; one shape; random bits; output alone; sum of contributions (if stated
        as one).
    Source: Dong, Roth & Su, "Gaussian Differential Privacy", arXiv:1905.02383, Theorem 2.7.

    Args:
        sigma: standard deviation, in data units, in [2^-300, 2^300].
        sensitivity: L2, in data units, of the exact real value of the query; or L2Contribution,
            where the query is a sum over the records: it moves by one record's
            contribution, under replace-one by twice that, and Poisson samples of it have a
            guarantee under replace-one, too.
        query: data -> a number or array; None when the data is already the query's value.
        granularity: a power of two in data units; by default 2^-20 of sigma.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not finite.
            Such a refusal is visible and depends on the data: make the query total.
    Example:
        >>> Gaussian(sigma=2, sensitivity=L2(1)).guarantee().mu
        Fraction(1, 2)
        >>> total = Gaussian(sigma=2, sensitivity=L2(1), query=sum)
        >>> isinstance(total.release([0.5, 1.0]), float)
        True
    """

    sigma: Fraction = field(converter=parameters.scale)
    sensitivity: L2[R] | L2Contribution[R] = field(validator=parameters.norms(L2, L2Contribution))
    granularity: Fraction = field(converter=parameters.granularity)

    @granularity.default
    def _fine(self) -> Fraction:
        return default_granularity(self.sigma)

    @property
    def moved(self) -> Fraction:
        """Return how far the value moves at most in Euclidean norm, in data units."""
        return self.sensitivity.as_l2().value

    @property
    def noise_multiplier(self) -> Fraction:
        """Return the ratio sigma / sensitivity, dimensionless."""
        return self.sigma / self.moved

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP with mu = sensitivity / sigma, exactly."""
        mu = self.moved / self.sigma
        derivation = applied(
            MECHANISM_GAUSSIAN,
            f"Gaussian noise of standard deviation {show(self.sigma)} on a query of L2 "
            f"sensitivity {show(self.moved)} is {show(mu)}-GDP ({self.relation})",
            assumptions=self._assumptions(),
            sigma=self.sigma,
            sensitivity=self.moved,
        )
        return GDP(mu=mu, relation=self.relation, derivation=derivation)

    def on_poisson_sample(self, scheme: Poisson) -> DominatingPair[R]:
        """Return the guarantee of the noise on a Poisson sample of the records.

        Under replace-one that of a Gaussian sum, if the query is stated to be one.

        Raises:
            NotImplied: under replace-one, if the sensitivity is not an L2Contribution.
        """
        if isinstance(self.sensitivity, L2) or not self.relation.symmetric:
            return subsample_poisson(self.guarantee(), scheme)
        if scheme.sampling_rate == 1:
            return self.guarantee().to_pair()
        return subsample_gaussian_sum(
            sigma=self.sigma, contribution=self.sensitivity, scheme=scheme
        )

    def _assumptions(self) -> tuple[str, ...]:
        """Return what a sum of contributions says, too, if the query is one."""
        plain = parameters.assumptions(self.sensitivity.as_l2())
        if isinstance(self.sensitivity, L2):
            return plain
        return (SUM_OF_CONTRIBUTIONS(bound=show(self.sensitivity.bound)), *plain)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise, rounded to the grid: float64, shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return on_grid(
            gaussian_rounded(values, self.sigma, self.granularity, rng), self.granularity
        )
