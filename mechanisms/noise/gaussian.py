"""The Gaussian mechanism on real values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final, overload

from accountant.arguments import Number
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.gdp import GDP
from accountant.guarantees.rounding import show
from accountant.relation import AddRemove, R, Relation
from accountant.sensitivity import L2
from mechanisms import parameters
from mechanisms.mechanism import Mechanism
from mechanisms.noise.broadcast import on_grid, repeated_values
from mechanisms.outputs import Outputs
from mechanisms.queries.query import Query, real_values, require_query
from mechanisms.samplers import default_granularity, gaussian_rounded
from mechanisms.samplers.rng import Rng
from mechanisms.samplers.sampler_arguments import granularity as power_of_two
from mechanisms.samplers.sampler_arguments import scale as noise_scale


@final
@dataclass(frozen=True, slots=True, init=False)
class Gaussian(Mechanism[R]):
    """Add independent N(0, sigma^2) noise to every coordinate of a real-valued query.

    What is released is the ideal real-valued output, correctly rounded to the nearest multiple of
    ``granularity``. The grid does not depend on the data, so rounding is post-processing and the
    textbook statement holds exactly; no noise is ever computed in floating point and released.

    Statement: if the query moves by at most Delta in Euclidean norm between neighbours, the
        output is mu-GDP with mu = Delta / sigma.
    Source: Dong, Roth & Su, "Gaussian Differential Privacy", arXiv:1905.02383, Theorem 2.7.

    Args:
        sigma: standard deviation, in data units, in [2^-300, 2^300].
        sensitivity: L2, in data units, of the exact real value of the query under ``relation``.
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
    relation: R
    query: Query | None
    granularity: Fraction

    @overload
    def __init__(
        self: Gaussian[AddRemove],
        *,
        sigma: Number,
        sensitivity: L2,
        query: Query | None = None,
        granularity: Number | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        sigma: Number,
        sensitivity: L2,
        relation: R,
        query: Query | None = None,
        granularity: Number | None = None,
    ) -> None: ...

    def __init__(
        self,
        *,
        sigma: Number,
        sensitivity: L2,
        relation: Relation = parameters.DEFAULT_RELATION,
        query: Query | None = None,
        granularity: Number | None = None,
    ) -> None:
        scale = noise_scale(sigma=sigma)
        grid = default_granularity(scale) if granularity is None else granularity
        object.__setattr__(self, "sigma", scale)
        object.__setattr__(self, "sensitivity", parameters.require_sensitivity(sensitivity, L2))
        object.__setattr__(self, "relation", parameters.require_relation(relation))
        object.__setattr__(self, "query", require_query(query))
        object.__setattr__(self, "granularity", power_of_two(granularity=grid)[0])

    @property
    def noise_multiplier(self) -> Fraction:
        """The ratio sigma / sensitivity, dimensionless."""
        return self.sigma / self.sensitivity.value

    @property
    def acts_on_records(self) -> bool:
        """Whether the mechanism carries its query."""
        return self.query is not None

    def guarantee(self) -> GDP[R]:
        """mu-GDP with mu = sensitivity / sigma, exactly."""
        mu = self.sensitivity.value / self.sigma
        derivation = Derivation(
            rule="mechanism/gaussian",
            statement=f"Gaussian noise of standard deviation {show(self.sigma)} on a query of L2 "
            f"sensitivity {show(self.sensitivity.value)} is {show(mu)}-GDP ({self.relation})",
            source="Dong, Roth & Su 2019, arXiv:1905.02383, Theorem 2.7",
            assumptions=parameters.assumptions(self.sensitivity, self.relation),
            parameters=(("sigma", self.sigma), ("sensitivity", self.sensitivity.value)),
        )
        return GDP(mu=mu, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Value plus noise, rounded to the grid: float64 of shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return on_grid(
            gaussian_rounded(values, self.sigma, self.granularity, rng), self.granularity
        )
