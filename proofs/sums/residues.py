"""The profile of a few bounded pairs as a finite sum; proof in proofs/theory/contour.md, section 6.

With z = s + 1/2, M of each pair is a sum of P(z) e^{za} over z^d, d = 0 or 1, deg P <= d; and so is
M of their product, d the sum. If u = a - eps > 0, a term of the inversion integral closes to the
left, at the residues of z^{-d} P(z) e^{zu}/(z^2 - 1/4) at 1/2, -1/2 and 0, times e^{eps/2};
elsewhere to the right, where there are none. What it adds goes to 0 with u.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

from flint import arb, arb_poly, ctx

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import each_precision
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import LaplacePair, Pair, Product
from dpproof.proofs.pairs.pair import LogisticPair, outcomes_of, power, terms_of

SMOOTH: Final = LaplacePair | LogisticPair
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
        (2 if isinstance(pair, SMOOTH) else outcomes_of(pair), count) for pair, count in product
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
                    rest *= (1 - terms_of(pair).infinite) ** count
                powers = power(_exponentials(pair), count)
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
        case LogisticPair(epsilon):
            a, share = ball(epsilon), 1 / (4 * ball(epsilon / 2).sinh())
            return [(a, arb_poly([share])), (-a, arb_poly([-share]))]
    return [(loss, arb_poly([mass * (-loss / 2).exp()])) for loss, mass in terms_of(pair).losses]
