"""The profile of a product as a finite sum: of losses on one lattice, or of residues.

Of losses on one lattice the law of the total loss is added up. H_t is the largest of S_j - t T_j
over j, S_j the mass under P of the losses from the j-th on, T_j that of e^{-L}; the best j is the
first loss above log t. Outcomes that are left out add their mass at most.

Of a few other bounded pairs: proof in proofs/theory/contour.md, section 6.
With z = s + 1/2, M of each pair is a sum of P(z) e^{za} over z^d, d = 0 or 1, deg P <= d; and so is
M of their product, d the sum. If u = a - eps > 0, a term of the inversion integral closes to the
left, at the residues of z^{-d} P(z) e^{zu}/(z^2 - 1/4) at 1/2, -1/2 and 0, times e^{eps/2};
elsewhere to the right, where there are none. What it adds goes to 0 with u.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from math import gcd, lcm
from typing import Final, TypeAlias

from flint import acb, arb, arb_poly, ctx

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import each_precision
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import LaplacePair, Pair, Product
from dpproof.proofs.limits import MAX_CELLS, PRECISIONS, lattice_work
from dpproof.proofs.pairs import pair as kinds
from dpproof.proofs.pairs.finite import RandomizedResponsePair

# Bits beyond the precision of the answer, so that products keep their smallest masses. Soundness
# does not depend on it: fewer make wider enclosures.
_LATTICE_BITS: Final = 256

Lattice = kinds.DiscreteGaussianPair | kinds.DiscreteLaplacePair | RandomizedResponsePair


def cells(product: Product) -> int:
    """Return the approximate number of losses; 0 if they share no lattice or are too many."""
    span = _span(product)
    if span is None:
        return 0
    total = sum(n * _last(pair, PRECISIONS[0]) * int(_step(pair) / span) for pair, n in product)
    return total + 1 if total < MAX_CELLS else 0


def lattice_making_work(product: Product) -> int:
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
        with ctx.workprec(precision + _LATTICE_BITS):
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
        with ctx.workprec(ctx.prec + _LATTICE_BITS):
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
    lattice = kinds.lattice_of(pair)
    return lattice[1] if lattice else Fraction(0)


def _last(pair: Pair, precision: int) -> int:
    """Return the place of the largest loss of one pair, counted from the smallest."""
    match pair:
        case kinds.DiscreteGaussianPair():
            return 2 * kinds.reach(pair, precision)
        case kinds.DiscreteLaplacePair(shift=shift):
            return shift
        case RandomizedResponsePair(categories=categories):
            return 1 if categories == 2 else 2
    raise AssertionError("a pair without a lattice")


def _masses(pair: Pair, precision: int) -> tuple[Fraction, list[arb], arb]:
    """Return the smallest loss, masses under P by increasing loss, and at least what is left out.

    P(|j| > J) <= 2 e^{-J^2/(2v)} (Canonne, Kamath & Steinke, arXiv:2004.00010, Corollary 17).
    """
    match pair:
        case kinds.DiscreteGaussianPair(variance, shift):
            last = kinds.reach(pair, precision)
            tau = acb(0, 1 / (2 * arb.pi() * ball(variance)))
            whole = acb.modular_theta(acb(0), tau)[2].real
            places = range(-last, last + 1)
            masses = [ball(-j * j / (2 * variance)).exp() / whole for j in places]
            far = 2 * ball(-last * last / (2 * variance)).exp()
            return shift * (shift - 2 * last) / (2 * variance), masses, far
        case kinds.DiscreteLaplacePair(scale, shift):
            r = ball(-1 / scale).exp()
            inner = [(1 - r) / (1 + r) * r ** (shift - k) for k in range(1, shift)]
            return -shift / scale, [r**shift / (1 + r), *inner, 1 / (1 + r)], arb(0)
        case RandomizedResponsePair(epsilon, categories, infinite):
            e = ball(epsilon)
            share = ball(1 - infinite) / (e.exp() + (categories - 1))
            middle = [share * (categories - 2)] if categories > 2 else []
            return -epsilon, [share, *middle, share * e.exp()], arb(0)
    raise AssertionError("a pair without a lattice")


SMOOTH: Final = LaplacePair | kinds.LogisticPair
# Bits beyond the precision of the answer, and more for every pair, as terms cancel. Soundness does
# not depend on them: fewer make wider enclosures.
_BITS: Final = 64
_BITS_EACH: Final = 10

Term: TypeAlias = tuple[arb, arb_poly]
"""The exponent a and the polynomial P."""


def value_work(product: Product) -> int:
    """Return the work of one value; 0 if no finite sum is short enough."""
    terms = _terms(product)
    return limits.residues_value(terms, _degree(product)) if terms else 0


def making_work(product: Product) -> int:
    """Return the work that all values share."""
    return limits.residues_work(_terms(product), _degree(product))


def _terms(product: Product) -> int:
    parts = (
        (2 if isinstance(pair, SMOOTH) else kinds.outcomes_of(pair), count)
        for pair, count in product
    )
    return limits.atoms(parts)


def finite_profile(product: Product) -> Callable[[arb], arb]:
    """Return H_eps as a function of eps >= 0, for a product whose sum is short."""
    finite_sum = each_precision(lambda: FiniteSum.of(product))
    return lambda epsilon: finite_sum().at(epsilon)


@frozen
class FiniteSum:
    """The residues of every term, which do not depend on epsilon."""

    bits: int  # precision beyond that of the answer
    outside: arb  # P(L = inf)
    # of each term a, and the residues: at 1/2 over e^{u/2}, at -1/2 over e^{-u/2}, and at 0 as a
    # polynomial in u
    terms: tuple[tuple[arb, arb, arb, arb_poly], ...]

    @staticmethod
    def of(product: Product) -> FiniteSum:
        """Multiply the pairs' sums, and take the residues of every term."""
        bits = _BITS + _BITS_EACH * sum(count for _, count in product)
        with ctx.workprec(ctx.prec + bits):
            rest, degree = arb(1), _degree(product)
            listed: list[Term] = [(arb(0), arb_poly([1]))]
            for pair, count in product:
                if not isinstance(pair, SMOOTH):
                    rest *= (1 - kinds.terms_of(pair).infinite) ** count
                powers = kinds.power(_exponentials(pair), count)
                listed = [(a + b, p * q) for a, p in listed for b, q in powers]
            return FiniteSum(bits, 1 - rest, tuple(_residues(degree, *term) for term in listed))

    def at(self, epsilon: arb) -> arb:
        """Return H_eps; if the sign of u is not certain, a term counts as between 0 and itself."""
        with ctx.workprec(ctx.prec + self.bits):
            total = arb(0)
            for exponent, right, left, middle in self.terms:
                u = exponent - epsilon
                if not u <= 0:
                    grown = (u / 2).exp()
                    added = right * grown + left / grown + middle(u)
                    total += added if u > 0 else added.union(arb(0))
            return self.outside + (epsilon / 2).exp() * total


def _residues(degree: int, exponent: arb, factor: arb_poly) -> tuple[arb, arb, arb, arb_poly]:
    """Return the residues of z^{-d} P(z) e^{zu}/(z^2 - 1/4).

    Here 1/(z^2 - 1/4) = -4 (1 + 4 z^2 + 16 z^4 + ...).
    """
    half = ball(Fraction(1, 2))
    series = factor * arb_poly([0 if k % 2 else -(4 ** (1 + k // 2)) for k in range(degree)])
    middle, falling = [], arb(1)
    for k in range(degree):
        middle.append(series[degree - 1 - k] * falling)
        falling /= k + 1
    right, left = factor(half) * 2**degree, factor(-half) * (-2) ** degree
    return exponent, right, -left, arb_poly(middle)


def _degree(product: Product) -> int:
    """Return d, the power of z in the denominator: 1 for every pair with a density."""
    return sum(count for pair, count in product if isinstance(pair, SMOOTH))


def _exponentials(pair: Pair) -> list[Term]:
    """Return the terms of one pair; of one with atoms, P = p e^{-l/2} at every loss l."""
    half = Fraction(1, 2)
    match pair:
        case LaplacePair(epsilon):
            a, share = ball(epsilon), ball(-epsilon / 2).exp() / 2
            z, shift = arb_poly([0, share]), share * ball(half)
            return [(a, z + shift), (-a, z - shift)]
        case kinds.LogisticPair(epsilon):
            a, share = ball(epsilon), 1 / (4 * ball(epsilon / 2).sinh())
            return [(a, arb_poly([share])), (-a, arb_poly([-share]))]
    return [
        (loss, arb_poly([mass * (-loss / 2).exp()])) for loss, mass in kinds.terms_of(pair).losses
    ]
