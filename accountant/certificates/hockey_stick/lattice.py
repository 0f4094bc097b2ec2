"""Prove a bound by a folded trapezoid sum if all losses lie on one rational lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Complexes, Reals, rounded_short
from dpproof.accountant.certificates.hockey_stick.contour import quadratures
from dpproof.accountant.certificates.hockey_stick.proof import fact_step
from dpproof.accountant.certificates.hockey_stick.table import Subject
from dpproof.accountant.engine.contour import alias_step, real_bounds
from dpproof.accountant.engine.profile import infinite_mass
from dpproof.accountant.engine.saddle_point import Saddle, total_cgf
from dpproof.accountant.guarantees.dominating_pair import Points
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Step, show_rational

_SHARE = limits.MAX_WORK // 4  # Share of the checker's work. Heuristic.

# Relative margin for the roundings of the sum here. Heuristic: the checker decides.
_MARGIN = 1e-10


@final
@dataclass(frozen=True, slots=True)
class FoldedSum:
    """A proof by the sum over one period.

    Attributes:
        subject: all pairs on the lattice.
        c: abscissa.
        offset: one loss of the product, exactly.
        span: exactly.
        s: shape (half + 1,), the nodes with imaginary part at or above 0.
        cgf: shape (half + 1,), upper ends of K in modulus.
    """

    subject: Subject
    c: float
    offset: Fraction
    span: Fraction
    s: Complexes
    cgf: Complexes

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the sum, with a margin for its own roundings."""
        h, offset = float(self.span), float(self.offset)
        above = offset + h * (np.floor((epsilon - offset) / h) + 1.0)
        shift = self.cgf[0].real - self.c * above
        first = -1.0 / np.expm1(-self.s * h)
        second = -1.0 / np.expm1(-(self.s + 1.0) * h)
        kernel = first - np.exp(epsilon - above)[:, None] * second
        phase = self.cgf - np.multiply.outer(above, self.s)
        terms = (kernel * np.exp(phase - shift[:, None])).real
        total = (2.0 * terms.sum(axis=1) - terms[:, 0]) / (2 * self.s.size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            finite = np.log(np.maximum(total, 0.0) + _MARGIN * np.abs(terms).mean(axis=1)) + shift
            outside = np.log(infinite_mass(self.subject.used).upper)
            return np.asarray(np.logaddexp(finite, outside) + _MARGIN)

    def work(self, points: int) -> int:
        """Return the checker's work for M at the nodes and two sums over them for each point."""
        half = self.s.size - 1
        return self.subject.work(half) + 2 * limits.line_work(half, points)

    def fact(self, points: Points) -> Step:
        """Return the step with the abscissa, the span and half the number of nodes."""
        return fact_step(
            "lattice",
            self.subject.named,
            points,
            {
                "c": show_rational(Fraction(self.c)),
                "span": show_rational(self.span),
                "nodes": self.s.size - 1,
                "factors": quadratures(self.subject, self.c),
            },
        )


def folded_sum(subject: Subject, saddle: Saddle, among: int = 1) -> FoldedSum | None:
    """Return the sum that suits a saddle, or None if there is no lattice or it is too fine.

    It may take 1/among of the work that it may take alone.
    """
    product = subject.used
    common = _common(product)
    if common is None:
        return None
    offset, span = common
    c = rounded_short(saddle.c)
    on_axis = real_bounds(product, saddle)
    period = 2 * math.pi / alias_step(saddle, on_axis)
    half = max(math.ceil(period / float(span)) // 2, 1)
    if half > limits.MAX_NODES or subject.work(half) > _SHARE // among:
        return None
    turn = 2 * math.pi / ((2 * half + 1) * float(span))
    s = c + 1j * turn * np.arange(half + 1)
    return FoldedSum(subject, c, offset, span, s, total_cgf(product, s).value)


def _common(product: Product) -> tuple[Fraction, Fraction] | None:
    """Return offset and span of the product, or None."""
    offset, span = Fraction(0), Fraction(0)
    for factor in product.factors:
        lattice = _lattice(factor.pair)
        if lattice is None:
            return None
        offset += factor.count * lattice[0]
        span = Fraction(
            math.gcd(
                span.numerator * lattice[1].denominator, lattice[1].numerator * span.denominator
            ),
            span.denominator * lattice[1].denominator,
        )
    return offset, span


def _lattice(pair: Pair) -> tuple[Fraction, Fraction] | None:
    """Return offset and span of one pair, or None unless they are rational."""
    match pair:
        case RandomizedResponsePair():
            return -pair.epsilon, pair.epsilon * (2 if pair.categories == 2 else 1)
        case LatticePair() if pair.index.size <= limits.DIRECT:
            return Fraction(0), Fraction(pair.span)
        case DiscreteLaplacePair():
            return -pair.shift / pair.scale, 2 / pair.scale
        case DiscreteGaussianPair():
            span = pair.shift / pair.sigma_squared
            return pair.shift * span / 2, span
        case _:
            return None
