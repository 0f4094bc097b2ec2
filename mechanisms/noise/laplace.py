"""The Laplace mechanism on real values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Required, Unpack, final, overload

from accountant.arguments import Number
from accountant.guarantees.dominating_pair import DominatingPair
from accountant.guarantees.provenance import applied
from accountant.guarantees.rounding import show
from accountant.guarantees.theorem import Theorem
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.product import Product
from accountant.relation import AddRemove, R, Relation
from accountant.sensitivity import L1
from mechanisms import parameters
from mechanisms.mechanism import QueryArguments, QueryMechanism
from mechanisms.noise.broadcast import on_grid, repeated_values
from mechanisms.outputs import Outputs
from mechanisms.queries.query import Query, real_values
from mechanisms.samplers import default_granularity, laplace_rounded
from mechanisms.samplers.rng import Rng
from mechanisms.samplers.sampler_arguments import granularity as power_of_two, scale as noise_scale

MECHANISM_LAPLACE: Final = Theorem(
    rule="mechanism/laplace",
    source="docs/shift-lemma.md, Corollary 1",
)


class _Arguments(QueryArguments, total=False):
    """What the constructor takes besides the relation."""

    scale: Required[Number]
    sensitivity: Required[L1]
    granularity: Number | None


@final
@dataclass(frozen=True, slots=True, init=False)
class Laplace(QueryMechanism[R]):
    """Add independent Laplace noise to every coordinate of a real-valued query.

    What is released is the ideal real-valued output, correctly rounded to the nearest multiple of
    ``granularity``. The grid does not depend on the data, so rounding is post-processing and the
    textbook statement holds exactly.

    Statement: if the query moves by at most Delta in L1 norm between neighbours, the output is
        dominated, in any dimension, by one Laplace variable shifted by Delta / scale; in
        particular it is (Delta / scale)-DP, and strictly better than that at every delta > 0.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, for log-concave noise.

    Args:
        scale: mean absolute deviation, in data units, in [2^-300, 2^300].
        sensitivity: L1, in data units, of the exact real value of the query under ``relation``.
        relation: the neighbouring relation that ``sensitivity`` speaks of.
        query: data -> a number or array; None when the data is already the query's value.
        granularity: a power of two in data units; by default 2^-20 of the scale.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not finite.
            Such a refusal is visible and depends on the data: make the query total.
    Example:
        >>> tables = Laplace(scale=20, sensitivity=L1(1))
        >>> tables.release([100.0, 200.0]).shape
        (2,)
    """

    scale: Fraction
    sensitivity: L1
    relation: R
    query: Query | None
    granularity: Fraction

    @overload
    def __init__(self: Laplace[AddRemove], **given: Unpack[_Arguments]) -> None: ...
    @overload
    def __init__(self, *, relation: R, **given: Unpack[_Arguments]) -> None: ...

    def __init__(
        self,
        *,
        scale: Number,
        sensitivity: L1,
        relation: Relation = parameters.DEFAULT_RELATION,
        query: Query | None = None,
        granularity: Number | None = None,
    ) -> None:
        exact = noise_scale(scale=scale)
        grid = default_granularity(exact) if granularity is None else granularity
        self._state(
            relation,
            query,
            scale=exact,
            sensitivity=parameters.require_sensitivity(sensitivity, L1),
            granularity=power_of_two(granularity=grid)[0],
        )

    def guarantee(self) -> DominatingPair[R]:
        """The Laplace pair at sensitivity / scale, the same in both directions."""
        epsilon = self.sensitivity.value / self.scale
        derivation = applied(
            MECHANISM_LAPLACE,
            f"Laplace noise of scale {show(self.scale)} on a query of L1 sensitivity "
            f"{show(self.sensitivity.value)} is dominated by Laplace variables {show(epsilon)} "
            f"scales apart ({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity, self.relation),
            scale=self.scale,
            sensitivity=self.sensitivity.value,
        )
        pair = Product.of(LaplacePair(epsilon=epsilon))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Value plus noise, rounded to the grid: float64 of shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return on_grid(laplace_rounded(values, self.scale, self.granularity, rng), self.granularity)
