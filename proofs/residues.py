"""The profile of a few bounded pairs as a finite sum; proof in proofs/contour.md, section 6.

With z = s + 1/2, M of each pair is a sum of P(z) e^{za} over z^d, d = 0 or 1, deg P <= d; and so is
M of their product, d the sum. Where u = a - eps > 0 a term of the inversion integral closes to the
left, at the residues of z^{-d} P(z) e^{zu}/(z^2 - 1/4) at 1/2, -1/2 and 0, times e^{eps/2};
elsewhere to the right, where there are none. What it adds goes to 0 with u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import Final, TypeAlias, final

from flint import arb, arb_poly, ctx

from proofs.arithmetic import ball, each_precision
from proofs.pairs.discrete_laplace import DiscreteLaplacePair
from proofs.pairs.finite import FinitePair
from proofs.pairs.laplace import LaplacePair
from proofs.pairs.logistic import LogisticPair
from proofs.pairs.pair import Pair, Product
from proofs.pairs.randomized_response import RandomizedResponsePair

MAX_TERMS: Final = 2_000
MAX_COUNT: Final = 100
_BITS: Final = 64  # beyond the asked precision, and some for every pair, as terms cancel
_BITS_EACH: Final = 10

Term: TypeAlias = tuple[arb, arb_poly]
"""The exponent a and the polynomial P."""


def work(product: Product) -> int:
    """About how many operations one value takes; 0 where no finite sum is short enough."""
    lengths = [(_length(pair), count) for pair, count in product]
    short = all(0 < length <= MAX_TERMS for length, _ in lengths)
    if not short or sum(count for _, count in product) > MAX_COUNT:
        return 0
    terms = prod(comb(count + length - 1, count) for length, count in lengths)
    return terms * (_degree(product) + 8) if terms <= MAX_TERMS else 0


def finite_profile(product: Product) -> Callable[[arb], arb]:
    """H_eps at eps >= 0 of a product whose sum is short."""
    made = each_precision(lambda: FiniteSum.of(product))
    return lambda epsilon: made().at(epsilon)


@final
@dataclass(frozen=True, slots=True)
class FiniteSum:
    """What does not depend on epsilon.

    Attributes:
        bits: precision beyond that of the answer.
        outside: P(L = inf).
        terms: of each term a, and the residues: at 1/2 over e^{u/2}, at -1/2 over e^{-u/2}, and at
            0 as a polynomial in u.
    """

    bits: int
    outside: arb
    terms: tuple[tuple[arb, arb, arb, arb_poly], ...]

    @staticmethod
    def of(product: Product) -> FiniteSum:
        """Multiply the pairs' sums, and take the residues of every term."""
        bits = _BITS + _BITS_EACH * sum(count for _, count in product)
        with ctx.workprec(ctx.prec + bits):
            rest, degree = arb(1), _degree(product)
            for pair, count in product:
                rest *= ball(1 - pair.infinite) ** count
            found = (_residues(degree, *term) for term in _terms(product))
            return FiniteSum(bits, 1 - rest, tuple(found))

    def at(self, epsilon: arb) -> arb:
        """The sum; where the sign of u is not certain, a term or nothing."""
        with ctx.workprec(ctx.prec + self.bits):
            total = arb(0)
            for exponent, right, left, middle in self.terms:
                u = exponent - epsilon
                if not u <= 0:
                    grown = (u / 2).exp()
                    added = right * grown + left / grown + middle(u)
                    total += added if u > 0 else added.union(arb(0))
            return self.outside + (epsilon / 2).exp() * total


def how_many(product: Product) -> int:
    """How many finite losses a product has at most; 0 where they are not known to be few."""
    return 0 if _degree(product) else work(product) // 8


def losses(product: Product) -> list[tuple[arb, arb]]:
    """The finite losses of a product that has few, and their masses under P."""
    return [(loss, factor[0] * (loss / 2).exp()) for loss, factor in _terms(product)]


def _terms(product: Product) -> list[Term]:
    """The sum that M of a product is."""
    listed: list[Term] = [(arb(0), arb_poly([1]))]
    for pair, count in product:
        powers = list(_power(_exponentials(pair), count))
        listed = [(a + b, p * q) for a, p in listed for b, q in powers]
    return listed


def _residues(degree: int, exponent: arb, factor: arb_poly) -> tuple[arb, arb, arb, arb_poly]:
    """Of z^{-d} P(z) e^{zu}/(z^2 - 1/4), where 1/(z^2 - 1/4) = -4 (1 + 4 z^2 + 16 z^4 + ...)."""
    half = ball(Fraction(1, 2))
    series = factor * arb_poly([0 if k % 2 else -(4 ** (1 + k // 2)) for k in range(degree)])
    middle, falling = [], arb(1)
    for k in range(degree):
        middle.append(series[degree - 1 - k] * falling)
        falling /= k + 1
    right, left = factor(half) * 2**degree, factor(-half) * (-2) ** degree
    return exponent, right, -left, arb_poly(middle)


def _power(terms: list[Term], count: int) -> Iterator[Term]:
    """The terms of a power of a sum, by the multinomial theorem."""
    (exponent, factor), *others = terms
    if not others:
        yield exponent * count, factor**count
        return
    for k in range(count + 1):
        for a, p in _power(others, count - k):
            yield exponent * k + a, factor**k * p * comb(count, k)


def _degree(product: Product) -> int:
    """The power of z below the sum: one of every loss with a density."""
    return sum(count for pair, count in product if isinstance(pair, LaplacePair | LogisticPair))


def _length(pair: Pair) -> int:
    """How many terms one pair has, 0 if it has no such sum."""
    match pair:
        case LaplacePair() | LogisticPair():
            return 2
        case RandomizedResponsePair(categories=categories):
            return min(categories, 3)
        case FinitePair():
            return sum(1 for a, b in zip(pair.p, pair.q, strict=True) if a and b)
        case DiscreteLaplacePair(shift=shift):
            return shift + 1
    return 0


def _exponentials(pair: Pair) -> list[Term]:
    """The terms of one pair: with masses, P = p e^{-l/2} at the losses l."""
    half = Fraction(1, 2)
    match pair:
        case LaplacePair(epsilon):
            a, share = ball(epsilon), ball(-epsilon / 2).exp() / 2
            z, shift = arb_poly([0, share]), share * ball(half)
            return [(a, z + shift), (-a, z - shift)]
        case LogisticPair(epsilon):
            a, share = ball(epsilon), 1 / (4 * ball(epsilon / 2).sinh())
            return [(a, arb_poly([share])), (-a, arb_poly([-share]))]
    return [(loss, arb_poly([mass * (-loss / 2).exp()])) for loss, mass in _masses(pair)]


def _masses(pair: Pair) -> list[tuple[arb, arb]]:
    """Finite losses and their masses under P."""
    match pair:
        case RandomizedResponsePair(epsilon, categories, infinite):
            e = ball(epsilon)
            share = ball(1 - infinite) / (e.exp() + (categories - 1))
            middle = [(arb(0), share * (categories - 2))] if categories > 2 else []
            return [(e, share * e.exp()), (-e, share), *middle]
        case DiscreteLaplacePair(scale, shift):
            r, reach = ball(-1 / scale).exp(), ball(shift / scale)
            inner = ((shift - 2 * j, (1 - r) / (1 + r) * r**j) for j in range(1, shift))
            ends = [(reach, 1 / (1 + r)), (-reach, r**shift / (1 + r))]
            return [*ends, *((ball(step / scale), mass) for step, mass in inner)]
        case FinitePair(p, q):
            both = ((a, b) for a, b in zip(p, q, strict=True) if a and b)
            return [(ball(a / b).log(), ball(a)) for a, b in both]
    raise AssertionError("a pair without a finite sum")
