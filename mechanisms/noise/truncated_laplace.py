"""The truncated discrete Laplace mechanism on a whole number, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import smallest_pair_above
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import add_whole, repeated_values
from dpproof.mechanisms.noise.finite_mechanism import MECHANISM_FINITE, attained_by
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import one_integer
from dpproof.mechanisms.samplers.law import from_law
from dpproof.mechanisms.samplers.rng import Rng

_MOST_UNITS: Final = 16
_MOST_REACH: Final = 400
_BITS: Final = 16


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class TruncatedLaplace(NoiseMechanism[R]):
    """Add bounded noise to ONE whole number: it never misses by more than ``reach``.

    The noise has P(z) proportional to r^|z| on the whole numbers from -reach to reach. Here r is
    e^(-epsilon/k) rounded up to a multiple of 2^-16, and reach is the smallest at which the k
    outermost numbers have mass at most delta; k is the whole part of the sensitivity. So it is
    (epsilon, delta)-DP, and its pair says more: for k > 1 it has losses between -epsilon and
    epsilon.

    Statement: each order of neighbours is dominated by the finite pair whose profile is the
        largest of those of the noise shifted by 1, ..., k, exactly in rationals.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/finite.md: ``FiniteMechanism`` at values 0, ..., k; a shift of both values
        changes nothing.

    Args:
        epsilon: above every finite loss, positive; refused where reach would exceed 400.
        delta: the mass of the infinite loss, in (0, 1/2].
        sensitivity: L1, from 1 to 16, in units of the query.
        query: data -> an integer; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not one
            integer of size at most 2^62, which is visible and depends on the data.
    Example:
        >>> noise = TruncatedLaplace(epsilon=1, delta=1e-6, sensitivity=L1(1))
        >>> noise.reach, abs(noise.release(41) - 41) <= noise.reach
        (14, True)
    """

    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(converter=parameters.half)
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])

    def __attrs_post_init__(self) -> None:
        units = parameters.whole_part(self.sensitivity.value)
        if units > _MOST_UNITS:
            raise ParameterError("sensitivity", units, f"at most {_MOST_UNITS} whole units")
        _masses(self.epsilon, self.delta, units)

    @property
    def reach(self) -> int:
        """Return the largest size of the noise."""
        return len(self.masses()) // 2

    def masses(self) -> tuple[Fraction, ...]:
        """Return the probabilities of the noise -reach, ..., reach.

        Example:
            >>> sum(TruncatedLaplace(epsilon=2, delta=0.01, sensitivity=L1(1)).masses())
            Fraction(1, 1)
        """
        return _masses(self.epsilon, self.delta, parameters.whole_part(self.sensitivity.value))

    def guarantee(self) -> DominatingPair[R]:
        """Return the smallest pair above all shifts up to the sensitivity, both ways."""
        masses = self.masses()
        units = parameters.whole_part(self.sensitivity.value)
        none = Fraction(0)
        table = tuple(
            (none,) * shift + masses + (none,) * (units - shift) for shift in range(units + 1)
        )
        neighbours = tuple(
            order for shift in range(1, units + 1) for order in ((0, shift), (shift, 0))
        )
        laws = [(table[x], table[y]) for x, y in neighbours]
        pair = smallest_pair_above(laws)
        derivation = applied(
            MECHANISM_FINITE,
            f"discrete Laplace noise of size at most {len(masses) // 2} on one integer that moves "
            f"by at most {units} for epsilon {show(self.epsilon)}, delta {show(self.delta)} "
            f"({self.relation}), by its table at 0, ..., {units}",
            assumptions=parameters.assumptions(self.sensitivity),
            table=table,
            neighbours=neighbours,
            attained=attained_by(laws, pair),
        )
        both = Product.of(pair)
        return DominatingPair(
            forward=both, backward=both, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count)."""
        values = repeated_values(one_integer(self.query, datasets), count)
        return add_whole(values, from_law(self.masses(), values.size, rng) - self.reach)


def _masses(epsilon: Fraction, delta: Fraction, units: int) -> tuple[Fraction, ...]:
    """Return the law of the noise; that its statement is true does not rest on how it is chosen."""
    numerator = math.ceil(math.exp(-min(float(epsilon / units), 700.0)) * 2**_BITS)
    ratio = Fraction(numerator, 2**_BITS)
    powers = [Fraction(1)]
    total = Fraction(1)
    while ratio < 1 and len(powers) <= _MOST_REACH:
        powers.append(powers[-1] * ratio)
        total += 2 * powers[-1]
        if 2 * len(powers) - 1 > units and _outermost(powers, units) <= delta * total:
            return tuple(one / total for one in (*reversed(powers), *powers[1:]))
    raise ParameterError(
        "epsilon",
        float(epsilon),
        f"at least what noise of size at most {_MOST_REACH} attains at this delta",
        "DiscreteLaplace has no such limit",
    )


def _outermost(powers: Sequence[Fraction], units: int) -> Fraction:
    """Return the sum of the first ``units`` weights from one end."""
    weights = (*reversed(powers), *powers[1:])
    return sum(weights[:units], Fraction(0))
