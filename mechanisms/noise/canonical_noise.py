"""Canonical noise for (epsilon, delta): whole numbers, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, final

from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import smallest_pair_above
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import add_whole, repeated_values
from dpproof.mechanisms.noise.finite_mechanism import MECHANISM_FINITE
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import one_integer
from dpproof.mechanisms.samplers.categorical import from_law
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import uniform_below

_MOST_UNITS: Final = 2**40
_MOST_STEPS: Final = 400
_BITS: Final = 16


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class CanonicalNoise(NoiseMechanism[R]):
    """Add noise to ONE whole number that spends epsilon and delta whole: the integer Tulap.

    The noise is k K + U: k the whole part of the sensitivity, U uniform on the k whole numbers from
    -floor(k/2), and K symmetric with P[K < 0] = c = (1 - delta)/(1 + E) and
    P[K < -j - 1] = max(0, P[K < -j] - delta)/E; E is e^epsilon rounded down to a multiple of 2^-16.

    Statement: each order of neighbours is dominated by the laws of K and K + 1, which a value that
        moves by k attains. Their profile equals that of (ln E, delta)-DP from loss -ln E to ln E;
        beyond it is at most that, as the outermost number of K may have less mass than delta.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/canonical.md; the recursion is that of Awan and Vadhan, arXiv:2108.04303.

    Args:
        epsilon: positive; refused where K would exceed 400.
        delta: in (0, 1/2].
        sensitivity: L1, from 1 to 2^40, in units of the query.
        query: data -> an integer; None when the data is already that value.
    Example:
        >>> noise = CanonicalNoise(epsilon=1, delta=0.01, sensitivity=L1(1))
        >>> round(noise.guarantee().delta(epsilon=1).upper, 4)
        0.01
    """

    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(converter=parameters.half)
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])

    def __attrs_post_init__(self) -> None:
        if parameters.whole_part(self.sensitivity.value) > _MOST_UNITS:
            raise ParameterError("sensitivity", float(self.sensitivity.value), "at most 2^40")
        self.masses()

    def masses(self) -> tuple[Fraction, ...]:
        """Return the probabilities of K, symmetric about the middle one.

        Example:
            >>> sum(CanonicalNoise(epsilon=2, delta=0.01, sensitivity=L1(1)).masses())
            Fraction(1, 1)
        """
        ratio = Fraction(math.floor(math.exp(min(float(self.epsilon), 700.0)) * 2**_BITS), 2**_BITS)
        below = [(1 - self.delta) / (1 + ratio)]
        while below[-1] > 0 and len(below) <= _MOST_STEPS:
            below.append(max(Fraction(0), below[-1] - self.delta) / ratio)
        if below[-1] > 0 or ratio <= 1:
            raise ParameterError(
                "epsilon",
                float(self.epsilon),
                f"at least what {_MOST_STEPS} steps attain at this delta",
                "DiscreteLaplace has no such limit",
            )
        half = [more - less for more, less in pairwise(below)]
        return (*reversed(half), 1 - 2 * below[0], *half)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of K and K + 1, in both directions."""
        none, masses = (Fraction(0),), self.masses()
        table = (masses + none, none + masses)
        return self._dominated(
            MECHANISM_FINITE,
            f"canonical noise for epsilon {show(self.epsilon)}, delta {show(self.delta)} on one "
            f"integer that moves by at most {parameters.whole_part(self.sensitivity.value)} "
            f"({self.relation}), by the table of its steps moved by 0 and 1",
            Product.of(smallest_pair_above([table, table[::-1]])),
            assumptions=parameters.assumptions(self.sensitivity),
            table=table,
            neighbours=((0, 1), (1, 0)),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count)."""
        values, masses = repeated_values(one_integer(self.query, datasets), count), self.masses()
        units = parameters.whole_part(self.sensitivity.value)
        steps = from_law(masses, values.size, rng) - len(masses) // 2
        inside = uniform_below(units, values.size, rng) - units // 2
        return add_whole(values, units * steps + inside)
