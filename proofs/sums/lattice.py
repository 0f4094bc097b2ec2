"""The profile of a product whose losses lie on one lattice: the law of the total loss, added up.

H_t is the largest of S_j - t T_j over j, S_j the mass under P of the losses from the j-th on, T_j
that of e^{-L}; the best j is the first loss above log t. Outcomes that are left out add their mass
at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from math import gcd, lcm
from typing import Final

from flint import acb, arb, arb_poly, ctx

from dpproof.proofs.balls.arithmetic import each_precision
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Pair, Product
from dpproof.proofs.limits import MAX_CELLS, PRECISIONS, lattice_work
from dpproof.proofs.pairs.finite import RandomizedResponsePair
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, DiscreteLaplacePair, lattice_of, reach

# Bits beyond the precision of the answer, so that products keep their smallest masses. Soundness
# does not depend on it: fewer make wider enclosures.
_BITS: Final = 256

Lattice = DiscreteGaussianPair | DiscreteLaplacePair | RandomizedResponsePair


def cells(product: Product) -> int:
    """Return the approximate number of losses; 0 if they share no lattice or are too many."""
    span = _span(product)
    if span is None:
        return 0
    total = sum(n * _last(pair, PRECISIONS[0]) * int(_step(pair) / span) for pair, n in product)
    return total + 1 if total < MAX_CELLS else 0


def making_work(product: Product) -> int:
    """Return the work of adding up these losses, once; 0 if there are none."""
    return lattice_work(cells(product), len(product))


def lattice_profile(product: Product) -> Callable[[arb], arb]:
    """Return H_eps as a function of eps >= 0, for a product with few losses on one lattice."""
    grid = each_precision(lambda: Grid.of(product))
    return lambda epsilon: grid().at(epsilon)


@frozen
class Grid:
    """Sums over the losses from each one on."""

    first: Fraction  # the smallest loss
    span: Fraction  # between neighbours
    outside: arb  # P(L = inf), and at most what was left out
    above: tuple[arb, ...]  # S_j, and 0 at the end
    tilted: tuple[arb, ...]  # T_j, and 0 at the end

    @staticmethod
    def of(product: Product) -> Grid:
        """Multiply the laws of the pairs' losses."""
        span, precision = _span(product) or Fraction(1), ctx.prec
        with ctx.workprec(precision + _BITS):
            law, first, kept, far = arb_poly([1]), Fraction(0), arb(1), arb(0)
            for pair, count in product:
                start, masses, left = _masses(pair, precision)
                law *= arb_poly(_spread(masses, int(_step(pair) / span))) ** count
                first += count * start
                kept *= ball(1 - pair.infinite) ** count
                far += count * left
            weights = [law[k] for k in range(law.degree() + 1)]
            ratio, low = (-ball(span)).exp(), (-ball(first)).exp()
            tilted = [mass * low * ratio**k for k, mass in enumerate(weights)]
            outside = 1 - kept + far * arb(0.5, 0.5)
            return Grid(first, span, outside, _after(weights), _after(tilted))

    def at(self, epsilon: arb) -> arb:
        """Return H_eps: the largest over the places that the first loss above epsilon may have."""
        with ctx.workprec(ctx.prec + _BITS):
            place = (epsilon - ball(self.first)) / ball(self.span)
            ends = [end.floor().unique_fmpz() for end in (place.lower(), place.upper())]
            if ends[0] is None or ends[1] is None or ends[1] - ends[0] > 1:
                raise RefusedError("epsilon is not known to one step of the lattice")
            t, last = epsilon.exp(), len(self.above) - 1
            places = (min(max(int(end) + 1, 0), last) for end in ends if end is not None)
            values = (self.above[j] - t * self.tilted[j] for j in places)
            return self.outside + reduce(arb.max, values, arb(0))


def _after(values: Sequence[arb]) -> tuple[arb, ...]:
    """Return the sums from each place on, 0 last."""
    return tuple(accumulate(reversed(values), initial=arb(0)))[::-1]


def _spread(masses: list[arb], stride: int) -> list[arb]:
    """Return the masses, stride - 1 zeros between neighbours."""
    spread = [arb(0)] * ((len(masses) - 1) * stride + 1)
    spread[::stride] = masses
    return spread


def _span(product: Product) -> Fraction | None:
    """Return the largest span of which every step is a multiple; None if a pair has no lattice."""
    if not all(isinstance(pair, Lattice) for pair, _ in product):
        return None
    steps = [_step(pair) for pair, _ in product]
    return Fraction(
        gcd(*(step.numerator for step in steps)), lcm(*(step.denominator for step in steps))
    )


def _step(pair: Pair) -> Fraction:
    lattice = lattice_of(pair)
    return lattice[1] if lattice else Fraction(0)


def _last(pair: Pair, precision: int) -> int:
    """Return the place of the largest loss of one pair, counted from the smallest."""
    match pair:
        case DiscreteGaussianPair():
            return 2 * reach(pair, precision)
        case DiscreteLaplacePair(shift=shift):
            return shift
        case RandomizedResponsePair(categories=categories):
            return 1 if categories == 2 else 2
    raise AssertionError("a pair without a lattice")


def _masses(pair: Pair, precision: int) -> tuple[Fraction, list[arb], arb]:
    """Return the smallest loss, masses under P by increasing loss, and at least what is left out.

    P(|j| > J) <= 2 e^{-J^2/(2v)} (Canonne, Kamath & Steinke, arXiv:2004.00010, Corollary 17).
    """
    match pair:
        case DiscreteGaussianPair(variance, shift):
            last = reach(pair, precision)
            tau = acb(0, 1 / (2 * arb.pi() * ball(variance)))
            whole = acb.modular_theta(acb(0), tau)[2].real
            places = range(-last, last + 1)
            masses = [ball(-j * j / (2 * variance)).exp() / whole for j in places]
            far = 2 * ball(-last * last / (2 * variance)).exp()
            return shift * (shift - 2 * last) / (2 * variance), masses, far
        case DiscreteLaplacePair(scale, shift):
            r = ball(-1 / scale).exp()
            inner = [(1 - r) / (1 + r) * r ** (shift - k) for k in range(1, shift)]
            return -shift / scale, [r**shift / (1 + r), *inner, 1 / (1 + r)], arb(0)
        case RandomizedResponsePair(epsilon, categories, infinite):
            e = ball(epsilon)
            share = ball(1 - infinite) / (e.exp() + (categories - 1))
            middle = [share * (categories - 2)] if categories > 2 else []
            return -epsilon, [share, *middle, share * e.exp()], arb(0)
    raise AssertionError("a pair without a lattice")
