"""The Laplace mechanism on real values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Required, Unpack, final, overload

from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import AddRemove, R, Relation
from dpproof.accountant.sensitivity import L1, JointSensitivity
from dpproof.accountant.side_conditions import SENSITIVITY
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import QueryArguments, QueryMechanism
from dpproof.mechanisms.noise.broadcast import on_grid, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.queries import Query, real_values
from dpproof.mechanisms.samplers import default_granularity, laplace_rounded
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.sampler_arguments import (
    granularity as power_of_two,
    scale as noise_scale,
)

MECHANISM_LAPLACE: Final = Theorem(
    rule="mechanism/laplace",
    source="docs/shift-lemma.md, Corollary 1",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity in one coordinate
)
MECHANISM_LAPLACE_JOINT: Final = Theorem(
    rule="mechanism/laplace-joint",
    source="proofs/theory/joint_sensitivity.md",
    attained=Attained.WHOLE,  # a query that makes the largest change
)


class _Arguments(QueryArguments, total=False):
    scale: Required[Number]
    sensitivity: Required[L1 | JointSensitivity]
    granularity: Number | None


@final
@dataclass(frozen=True, slots=True, init=False)
class Laplace(QueryMechanism[R]):
    """Add independent Laplace noise to every coordinate of a real-valued query.

    The output is the ideal real-valued one, correctly rounded to the nearest multiple of
    ``granularity``. The grid does not depend on the data, so rounding is post-processing and the
    textbook statement holds exactly.

    Statement: if the query moves by at most Delta in L1 norm between neighbours, the output is
        dominated, in any dimension, by one Laplace variable shifted by Delta / scale; in
        particular it is (Delta / scale)-DP, and strictly better than that at every delta > 0.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, for log-concave noise; proofs/theory/joint_sensitivity.md.

    Args:
        scale: mean absolute deviation, in data units, in [2^-300, 2^300].
        sensitivity: L1, in data units, of the exact real value of the query under ``relation``; or
            JointSensitivity, if it is known as well by how much one coordinate moves at most: then
            as many shifts by that as the sum allows dominate, and one by the rest.
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
    joint: JointSensitivity | None
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
        sensitivity: L1 | JointSensitivity,
        relation: Relation = parameters.DEFAULT_RELATION,
        query: Query | None = None,
        granularity: Number | None = None,
    ) -> None:
        exact, moved = noise_scale(scale=scale), sensitivity
        joint = sensitivity if isinstance(sensitivity, JointSensitivity) else None
        if joint is not None:
            moved = joint.as_l1()
        grid = default_granularity(exact) if granularity is None else granularity
        self._state(
            relation,
            query,
            scale=exact,
            sensitivity=parameters.require_sensitivity(moved, L1),
            joint=joint,
            granularity=power_of_two(granularity=grid)[0],
        )

    def guarantee(self) -> DominatingPair[R]:
        """Return the Laplace pair at sensitivity / scale, or those of the largest changes."""
        if self.joint is not None:
            return self._jointly(self.joint)
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

    def _jointly(self, joint: JointSensitivity) -> DominatingPair[R]:
        """Return a pair for each coordinate of the worst change."""
        full, rest = joint.largest
        sizes = [joint.linf / self.scale, rest / self.scale]
        norm = f"L1, and {show(joint.linf)} in LInf"
        derivation = applied(
            MECHANISM_LAPLACE_JOINT,
            f"Laplace noise of scale {show(self.scale)} on a query that moves by at most "
            f"{show(joint.l1)} in {norm} norm is dominated by {full} Laplace shifts by "
            f"{show(sizes[0])} scales and one by {show(sizes[1])} ({self.relation})",
            assumptions=(
                SENSITIVITY(value=show(joint.l1), norm=norm, relation=self.relation),
                *parameters.assumptions(self.sensitivity, self.relation)[1:],
            ),
            scale=self.scale,
            sensitivity=joint.l1,
            largest=joint.linf,
        )
        shifts = zip(sizes, (full, 1), strict=True)
        pair = Product(tuple(Factor(LaplacePair(epsilon=e), n) for e, n in shifts if e))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise, rounded to the grid: float64, shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return on_grid(laplace_rounded(values, self.scale, self.granularity, rng), self.granularity)
