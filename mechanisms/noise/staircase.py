"""Staircase noise on one whole number, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

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
from dpproof.mechanisms.noise.finite_mechanism import MECHANISM_FINITE
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import one_integer
from dpproof.mechanisms.samplers.coins import bernoulli, geometric_ratio
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import uniform_below

_MOST_UNITS: Final = 2**40
_LEAST: Final = Fraction(1, 2**10)
_LARGEST: Final = 256
_BITS: Final = 20  # Of 1 - b, and of b: how close it is to that of epsilon. Heuristic.


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class Staircase(NoiseMechanism[R]):
    """Add staircase noise to ONE whole number: the least noise of an epsilon-DP sum far from 1.

    With k the whole part of the sensitivity and w the width, the numbers of size below w have one
    probability, those of size from w + (j - 1)k to w + jk - 1 b^j times it, j = 1, 2, ...; b is
    e^-epsilon rounded up to a rational.

    Statement: each order of neighbours is dominated by the three outcomes (m, 1 - m - mb, mb)
        against their mirror image, (1 - b)m being the total variation distance of a move by k,
        which attains the pair. So it is epsilon-DP, and several uses compose better than
        epsilon-DP does where w is not about k/2.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/staircase.md; the noise is that of Geng & Viswanath, arXiv:1212.1186.

    Args:
        epsilon: at or above the largest loss, from 2^-10 to 256.
        sensitivity: L1, from 1 to 2^40, in units of the query.
        width: a whole number from 1 to k; None: about k/(1 + e^(epsilon/2)), which makes the
            expected size of the noise the least there is at epsilon for large k.
        query: data -> an integer; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not one
            integer of size at most 2^62, which is visible and depends on the data.
    Example:
        >>> noise = Staircase(epsilon=2, sensitivity=L1(1000))
        >>> noise.width, round(noise.repeat(10).guarantee().epsilon(delta=1e-6).upper, 3)
        (269, 20.0)
    """

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(
            _LEAST,
            _LARGEST,
            f"at least 2^-10 and at most {_LARGEST}",
            "DiscreteLaplace has no such limit",
        ),
    )
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])
    width: int = field(converter=parameters.count)

    @sensitivity.validator
    def _few_units(self, _parameter: object, sensitivity: L1[R]) -> None:
        if parameters.whole_part(sensitivity.value) > _MOST_UNITS:
            raise ParameterError("sensitivity", float(sensitivity.value), "at most 2^40")

    @width.default
    def _best(self) -> int:
        sensitivity: object = self.sensitivity
        if not isinstance(sensitivity, L1):
            return 1  # the sensitivity is refused next
        units = parameters.whole_part(sensitivity.value)
        return max(1, round(units / (1 + math.exp(float(self.epsilon) / 2))))

    @width.validator
    def _within(self, _parameter: object, width: int) -> None:
        if width > self.step:
            raise ParameterError("width", width, f"at most the sensitivity, {self.step}")

    @property
    def step(self) -> int:
        """Return the number of equally probable integers on either side: the whole sensitivity."""
        return parameters.whole_part(self.sensitivity.value)

    @property
    def ratio(self) -> Fraction:
        """Return the factor by which the probability falls a step: e^-epsilon, rounded up."""
        fine = max(float(self.epsilon) / math.log(2), -math.log2(float(self.epsilon)))
        bits = _BITS + math.ceil(fine)
        return Fraction(exp_minus(self.epsilon)(bits)[1], 2**bits)

    @property
    def highest(self) -> Fraction:
        """Return the probability of 0."""
        return 1 / (2 * self.width - 1 + 2 * self.step * self.ratio / (1 - self.ratio))

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of three outcomes, in both directions."""
        inside = self._central()
        apart = self.highest * (inside + (self.step - inside) * self.ratio)
        most = apart / (1 - self.ratio)
        law = (most, 1 - most - most * self.ratio, most * self.ratio)
        table = (law, law[::-1])
        derivation = applied(
            MECHANISM_FINITE,
            f"staircase noise of width {self.width} for epsilon {show(self.epsilon)} on one "
            f"integer that moves by at most {self.step} ({self.relation}), by the table of its "
            "losses",
            assumptions=parameters.assumptions(self.sensitivity),
            table=table,
            neighbours=((0, 1), (1, 0)),
        )
        pair = Product.of(smallest_pair_above([table, table[::-1]]))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count)."""
        values = repeated_values(one_integer(self.query, datasets), count)
        return add_whole(values, self._noise(values.size, rng))

    def _noise(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw noise: whether it is on the highest step, and if not, which one and where there."""
        centre = 2 * self.width - 1
        outside = bernoulli(1 - centre * self.highest, size, rng)
        noise = uniform_below(centre, size, rng) - (self.width - 1)
        beyond = int(outside.sum())
        steps = geometric_ratio(self.ratio, beyond, rng)
        place = self.width + self.step * steps + uniform_below(self.step, beyond, rng)
        noise[outside] = np.where(bernoulli(Fraction(1, 2), beyond, rng), place, -place)
        return noise

    def _central(self) -> int:
        """Return how many of the numbers z with -k <= 2z < k are on the highest step."""
        low, high = -(self.step // 2), -(-self.step // 2) - 1
        return min(high, self.width - 1) - max(low, 1 - self.width) + 1
