"""The Gaussian mechanism on real values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Required, Unpack, final, overload

from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import AddRemove, R, Relation, require_relation
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L2, L2Contribution
from dpproof.accountant.side_conditions import SUM_OF_CONTRIBUTIONS
from dpproof.accountant.theorems.subsampling import subsample_gaussian_sum, subsample_poisson
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryArguments, QueryMechanism
from dpproof.mechanisms.noise.broadcast import on_grid, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.queries import Query, real_values
from dpproof.mechanisms.samplers import default_granularity, gaussian_rounded
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import (
    granularity as power_of_two,
    scale as noise_scale,
)

MECHANISM_GAUSSIAN: Final = Theorem(
    rule="mechanism/gaussian",
    source="Dong, Roth & Su 2019, arXiv:1905.02383, Theorem 2.7",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity
)


class _Arguments(QueryArguments, total=False):
    sigma: Required[Number]
    sensitivity: Required[L2 | L2Contribution]
    granularity: Number | None


@final
@dataclass(frozen=True, slots=True, init=False)
class Gaussian(QueryMechanism[R]):
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
        sensitivity: L2, in data units, of the exact real value of the query under ``relation``;
            or L2Contribution, where the query is a sum over the records: it moves by one record's
            contribution, under replace-one by twice that, and Poisson samples of it have a
            guarantee under replace-one, too.
        relation: the neighbouring relation that ``sensitivity`` speaks of.
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

    sigma: Fraction
    sensitivity: L2
    contribution: L2Contribution | None
    relation: R
    query: Query | None
    granularity: Fraction

    @overload
    def __init__(self: Gaussian[AddRemove], **given: Unpack[_Arguments]) -> None: ...
    @overload
    def __init__(self, *, relation: R, **given: Unpack[_Arguments]) -> None: ...

    def __init__(
        self,
        *,
        sigma: Number,
        sensitivity: L2 | L2Contribution,
        relation: Relation = parameters.DEFAULT_RELATION,
        query: Query | None = None,
        granularity: Number | None = None,
    ) -> None:
        scale = noise_scale(sigma=sigma)
        grid = default_granularity(scale) if granularity is None else granularity
        object.__setattr__(self, "sigma", scale)
        moved, neighbours = sensitivity, require_relation(relation)
        contribution = sensitivity if isinstance(sensitivity, L2Contribution) else None
        if contribution is not None:
            moved = contribution.under(neighbours)
        self._state(
            relation,
            query,
            sensitivity=parameters.require_sensitivity(moved, L2),
            contribution=contribution,
            granularity=power_of_two(granularity=grid)[0],
        )

    @property
    def noise_multiplier(self) -> Fraction:
        """Return the ratio sigma / sensitivity, dimensionless."""
        return self.sigma / self.sensitivity.value

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP with mu = sensitivity / sigma, exactly."""
        mu = self.sensitivity.value / self.sigma
        derivation = applied(
            MECHANISM_GAUSSIAN,
            f"Gaussian noise of standard deviation {show(self.sigma)} on a query of L2 "
            f"sensitivity {show(self.sensitivity.value)} is {show(mu)}-GDP ({self.relation})",
            assumptions=self._assumptions(),
            sigma=self.sigma,
            sensitivity=self.sensitivity.value,
        )
        return GDP(mu=mu, relation=self.relation, derivation=derivation)

    def on_poisson_sample(self, scheme: Poisson) -> DominatingPair[R]:
        """Return the guarantee of the noise on a Poisson sample of the records.

        Under replace-one that of a Gaussian sum, if the query is stated to be one.

        Raises:
            NotImplied: under replace-one, if the sensitivity is not an L2Contribution.
        """
        replaced = self.relation.symmetric
        if self.contribution is None or not replaced:
            return subsample_poisson(self.guarantee(), scheme)
        if scheme.sampling_rate == 1:
            return self.guarantee().to_pair()
        return subsample_gaussian_sum(
            sigma=self.sigma,
            contribution=self.contribution,
            scheme=scheme,
            relation=self.relation,
        )

    def _assumptions(self) -> tuple[str, ...]:
        """Return what a sum of contributions says, too, if the query is one."""
        plain = parameters.assumptions(self.sensitivity, self.relation)
        if self.contribution is None:
            return plain
        return (SUM_OF_CONTRIBUTIONS(bound=show(self.contribution.value)), *plain)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise, rounded to the grid: float64, shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return on_grid(
            gaussian_rounded(values, self.sigma, self.granularity, rng), self.granularity
        )
