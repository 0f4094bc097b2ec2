"""The discrete Laplace (two-sided geometric) mechanism on whole numbers."""

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
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import add_whole, repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import whole_values
from dpproof.mechanisms.samplers import discrete_laplace
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_DISCRETE_LAPLACE: Final = Theorem(
    rule="mechanism/discrete-laplace",
    source="docs/shift-lemma.md, Corollary 1",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity in one coordinate
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class DiscreteLaplace(NoiseMechanism[R]):
    """Add independent discrete Laplace noise to every coordinate of an integer query.

    The noise has P(z) proportional to e^(-|z| / scale) on the whole numbers.

    Statement: if the query moves by at most k in L1 norm between neighbours, k whole, the output
        is dominated, in any dimension, by one discrete Laplace variable shifted by k.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, for log-concave noise.

    Args:
        scale: in units of the query, in [2^-300, 2^300].
        sensitivity: L1, at least 1; an integer query moves by whole numbers, so only the whole
            part counts (a value within 2^-40 below a whole number counts as that number).
        query: data -> an integer or integer array; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not an
            integer of size at most 2^62, which is visible and depends on the data.
    Example:
        >>> isinstance(DiscreteLaplace(scale=3, sensitivity=L1(1)).release(41), int)
        True
    """

    scale: Fraction = field(converter=parameters.scale)
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])

    def guarantee(self) -> DominatingPair[R]:
        """Return the discrete Laplace pair at the whole sensitivity, in both directions."""
        shift = parameters.whole_part(self.sensitivity.value)
        derivation = applied(
            MECHANISM_DISCRETE_LAPLACE,
            f"discrete Laplace noise of scale {show(self.scale)} on an integer query of "
            f"L1 sensitivity {shift} is dominated by its shift by {shift} ({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity),
            scale=self.scale,
            shift=shift,
        )
        pair = Product.of(DiscreteLaplacePair(scale=self.scale, shift=shift))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count, ...)."""
        values = repeated_values(whole_values(self.query, datasets), count)
        return add_whole(values, discrete_laplace(self.scale, values.size, rng))
