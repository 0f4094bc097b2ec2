"""Lower bounds of the hockey-stick divergence of a product, by cells of each pair's outcomes.

Proof: proofs/theory/shuffled.md, section 4. Cells are post-processing. Masses under P are rounded
down and those under Q up, to whole units, and the loss of a cell down to a lattice. Sums of
products of such masses over any set of losses are at most the divergence.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Final

from flint import arb, fmpz_poly

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import lower_units
from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import GaussianPair, Pair
from dpproof.proofs.core.rule import Application
from dpproof.proofs.fields import wholes
from dpproof.proofs.logic.statement import AtLeast
from dpproof.proofs.pairs.largest_of_gaussians import LargestOfGaussiansPair
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair

_BITS: Final = 256  # A unit of mass is 2^-256.


@frozen
class Masses:
    """At most the masses under P of losses offset + (first + k) span, in units.

    The mass under Q of the same outcomes is at most that, times e^-loss.
    """

    offset: Fraction
    first: int
    units: fmpz_poly

    def times(self, other: Masses) -> Masses:
        """Return the masses of both together, rounded down."""
        product = [int(one) >> _BITS for one in (self.units * other.units).coeffs()]
        return Masses(self.offset + other.offset, self.first + other.first, fmpz_poly(product))

    def power(self, count: int) -> Masses:
        """Return the masses of so many together."""
        if count == 1:
            return self
        half = self.power(count // 2)
        square = half.times(half)
        return square.times(self) if count % 2 else square


def cells(step: Application) -> tuple[str, ...]:
    """Check a divergence of a product of largest normal variables and Gaussians from below."""
    claim, span = step.concludes(AtLeast), step.witness.positive("span")
    hints = step.witness.items("factors")
    if step.premises:
        raise RefusedError("the rule takes no premise")
    if not claim.product or len(hints) != len(claim.product):
        raise RefusedError("the rule takes one hint for each pair of a product that is not empty")

    def bound() -> arb:
        parts = []
        for (pair, count), hint in zip(claim.product, hints, strict=True):
            masses = _masses(step, _largest(pair), hint, span)
            size = masses.units.length() * count
            if size > limits.MAX_CELL_SUMS:
                raise RefusedError(f"a sum has more than {limits.MAX_CELL_SUMS} losses")
            step.budget.spend(limits.cell_sums_work(size))
            parts.append(masses.power(count))
        return divergence(reduce(Masses.times, parts), span, ball(claim.epsilon))

    require_at_most(lambda: ball(claim.delta), bound, "the claimed divergence")
    return ()


def divergence(masses: Masses, span: Fraction, epsilon: arb) -> arb:
    """Return at most the sum of (p - e^eps q)_+, by the losses above epsilon."""
    start = masses.offset + masses.first * span
    skipped = max(lower_units((epsilon - ball(start)) / ball(span), 0) + 1, 0)
    units = [int(one) for one in masses.units.coeffs()[skipped:]]
    ratio, without = (-ball(span)).exp(), arb(0)
    for one in reversed(units):
        without = without * ratio + one
    within = (epsilon - ball(start + skipped * span)).exp() * without
    return (arb(sum(units)) - within) / (1 << _BITS)


def _largest(pair: Pair) -> LargestOfGaussiansPair:
    """Return the pair as largest normal variables, which it dominates.

    A Gaussian pair is one variable, of mean mu or 0.
    """
    if isinstance(pair, AllocatedGaussianPair):
        return pair.coordinate
    if isinstance(pair, GaussianPair):
        return LargestOfGaussiansPair(pair.mu_squared, 1, replaced=True, removal=True)
    if not isinstance(pair, LargestOfGaussiansPair):
        raise RefusedError("the rule takes largest normal variables, allocated and Gaussian pairs")
    return pair


def _masses(
    step: Application, pair: LargestOfGaussiansPair, hint: object, span: Fraction
) -> Masses:
    """Return the masses of the cells of one pair, their losses rounded down."""
    fields = Fields(hint, "the cells of a pair")
    unit, offset, ends = fields.positive("unit"), fields.rational("offset"), wholes(fields, "ends")
    fields.close()
    if not 1 <= len(ends) <= limits.MAX_ENDS or list(ends) != sorted(set(ends)):
        raise RefusedError(f"ends of cells must be 1 to {limits.MAX_ENDS}, increasing")
    step.budget.spend(limits.CELL * (len(ends) + 1))
    nested = [pair.events(ball(unit * one)) for one in (ends if pair.removal else ends[::-1])]
    units: dict[int, int] = {}
    for larger, smaller in pairwise([(arb(1), arb(1)), *nested, (arb(0), arb(0))]):
        least = lower_units(larger[0] - smaller[0], _BITS)
        most = -lower_units(smaller[1] - larger[1], _BITS)
        if least > 0:
            loss = ball(Fraction(least, max(most, 1))).log()
            place = lower_units((loss - ball(offset)) / ball(span), 0)
            units[place] = units.get(place, 0) + least
    first, last = min(units, default=0), max(units, default=0)
    if last - first >= limits.MAX_CELL_SUMS:
        raise RefusedError(f"a sum has more than {limits.MAX_CELL_SUMS} losses")
    listed = [units.get(place, 0) for place in range(first, last + 1)]
    return Masses(offset, first, fmpz_poly(listed))
