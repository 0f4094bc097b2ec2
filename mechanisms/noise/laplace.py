"""The Laplace mechanism on real values."""

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
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, JointSensitivity
from dpproof.accountant.side_conditions import SENSITIVITY
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import on_grid, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import real_values
from dpproof.mechanisms.samplers import default_granularity, laplace_rounded
from dpproof.mechanisms.samplers.rng import Rng

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


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class Laplace(NoiseMechanism[R]):
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
        sensitivity: L1, in data units, of the exact real value of the query; or
            JointSensitivity, if it is known as well by how much one coordinate moves at most: then
            as many shifts by that as the sum allows dominate, and one by the rest.
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

    scale: Fraction = field(converter=parameters.scale)
    sensitivity: L1[R] | JointSensitivity[R] = field(
        validator=parameters.norms(L1, JointSensitivity)
    )
    granularity: Fraction = field(converter=parameters.granularity)

    @granularity.default
    def _fine(self) -> Fraction:
        return default_granularity(self.scale)

    def guarantee(self) -> DominatingPair[R]:
        """Return the Laplace pair at sensitivity / scale, or those of the largest changes."""
        if isinstance(self.sensitivity, JointSensitivity):
            return self._jointly(self.sensitivity)
        epsilon = self.sensitivity.value / self.scale
        derivation = applied(
            MECHANISM_LAPLACE,
            f"Laplace noise of scale {show(self.scale)} on a query of L1 sensitivity "
            f"{show(self.sensitivity.value)} is dominated by Laplace variables {show(epsilon)} "
            f"scales apart ({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity),
            scale=self.scale,
            sensitivity=self.sensitivity.value,
        )
        pair = Product.of(LaplacePair(epsilon=epsilon))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def _jointly(self, joint: JointSensitivity[R]) -> DominatingPair[R]:
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
                *parameters.assumptions_of_noise(),
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
