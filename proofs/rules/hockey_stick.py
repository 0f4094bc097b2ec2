"""Upper bounds of the hockey-stick divergence of a product of pairs.

Proofs: proofs/theory/contour.md.

With M(s) = E_P[e^{sL}; L < inf] of the product, F(s) = M(s) e^{-s eps}/(s(s+1)) and p_inf =
P(L = inf), H_eps = p_inf + (1/2 pi i) integral of F over Re s = c, for every c > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import floor, prod
from typing import TypeAlias

from flint import acb, arb

from dpproof.proofs import limits
from dpproof.proofs.core.arithmetic import Number, ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Product
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.rules import at_most, exactly, fact
from dpproof.proofs.fields import alike
from dpproof.proofs.pairs.pair import Moments, largest_of, lattice_of, moments as pair_moments
from dpproof.proofs.rules.prices import allocated_line, profile_making, profile_work, spend
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.sampled import SampledPair
from dpproof.proofs.sampled.table import TabulatedPair, read_table
from dpproof.proofs.sums import contour as contours
from dpproof.proofs.sums.contour import moments, on_circle, outside, read_line, total

Bound: TypeAlias = Callable[[Fraction], arb]
"""At or above H_eps, as a function of eps."""


@frozen
class Period:
    """Nodes c + 2 pi i k / ((2 half + 1) span) for k = -half, ..., half."""

    c: Fraction
    span: Fraction
    half: int


def read_period(witness: Fields) -> Period:
    """Return the nodes of a folded sum."""
    return Period(
        witness.positive("c"),
        witness.positive("span"),
        witness.whole("nodes", most=limits.MAX_NODES),
    )


def contour(step: Application) -> tuple[str, ...]:
    """Check a product's profile by a trapezoid sum of F (sums/contour.py) and an explicit tail."""
    claim, line = fact(step), read_line(step.witness)
    witnesses = alike(step.witness)
    spend(step, line.nodes, claim.product, witnesses)
    step.budget.spend(limits.formula_work("gaussian", 1, line.nodes))
    step.budget.spend(limits.line_work(line.nodes, len(claim.points)))
    bound = line.bound(claim.product, witnesses)
    return at_most(lambda: lambda epsilon: bound(ball(epsilon)), claim)


def lattice(step: Application) -> tuple[str, ...]:
    """Check the profile of a product whose losses are all a + k h: F folded into one period.

    Nothing is truncated. With l the first lattice point above eps and N nodes, H_eps - p_inf <=
    (1/N) sum_k M(s_k) e^{-s_k l} (1/(1 - e^{-s_k h}) - e^{eps - l}/(1 - e^{-(s_k+1) h})), s_k = c +
    2 pi i k/(N h).
    """
    claim, period = fact(step), read_period(step.witness)
    product, witnesses = claim.product, alike(step.witness)
    spend(step, period.half, product, witnesses)
    step.budget.spend(2 * limits.line_work(period.half, len(claim.points)))

    def bounds() -> Bound:
        return folded(moments(product, witnesses), product, witnesses, period)

    return at_most(bounds, claim)


def closed(step: Application) -> tuple[str, ...]:
    """Check a closed profile: of one pair, of Gaussians, which are one, or a few bounded pairs."""
    claim = fact(step)
    profile = contours.closed_profile(claim.product)
    if profile is None:
        raise RefusedError("the rule takes one pair, once, Gaussian pairs, or a few bounded ones")
    step.budget.spend(len(claim.points) * profile_work(claim.product))
    step.budget.spend(profile_making(claim.product))
    return at_most(lambda: exactly(claim.product, profile), claim)


def sampled(step: Application) -> tuple[str, ...]:
    """Check one sampled or allocated pair, once: its formula, from a bound by a line."""
    claim, line = fact(step), read_line(step.witness)
    kinds = SampledPair | AllocatedGaussianPair
    pairs = [pair for pair, count in claim.product if isinstance(pair, kinds) and count == 1]
    if len(pairs) != len(claim.product) or len(pairs) != 1:
        raise RefusedError("the rule takes one sampled or allocated pair, once")
    (pair,) = pairs
    if isinstance(pair, SampledPair):
        spend(step, line.nodes, pair.base, [None] * len(pair.base))
    else:
        step.budget.spend(allocated_line(pair, line.nodes))
    step.budget.spend(limits.line_work(line.nodes, len(claim.points)))

    def bounds() -> Bound:
        profile = pair.bounds([line])
        return lambda epsilon: profile(ball(epsilon), 0)

    return at_most(bounds, claim)


def chernoff(step: Application) -> tuple[str, ...]:
    """Check H_eps - p_inf <= M(c) e^{-c eps} f, f = c^c/(1+c)^{1+c}: (1 - e^{-x})_+ <= f e^{cx}."""
    claim, c = fact(step), step.witness.positive("c")
    witnesses = alike(step.witness)
    spend(step, 1, claim.product, witnesses)
    step.budget.spend(limits.PER_COMPARISON * len(claim.points))

    def bounds() -> Bound:
        real, factors = ball(c), moments(claim.product, witnesses)
        (moment,) = total(factors, claim.product, c, arb(0), 1)
        size = moment.real * (real * real.log() - (1 + real) * (1 + real).log()).exp()
        return lambda epsilon: outside(factors, claim.product) + size * ball(-c * epsilon).exp()

    return at_most(bounds, claim)


def folded(
    factors: Sequence[Moments], product: Product, witnesses: Sequence[object], period: Period
) -> Bound:
    """Return the sum over one period, p_inf included, as a function of epsilon."""
    c, span, half = period.c, period.span, period.half
    count, offset = 2 * half + 1, _offset(product, witnesses, span)
    turn = 2 * arb.pi() / (count * ball(span))
    first, second = [], []
    for k, moment in enumerate(total(factors, product, c, turn, half + 1)):
        s, share = acb(ball(c), turn * k) * ball(span), moment * (2 if k else 1) / count
        first.append(share / (1 - (-s).exp()))
        second.append(share / (1 - (-s - ball(span)).exp()))
    near, far = on_circle(first), on_circle(second)

    def body(epsilon: Fraction) -> arb:
        above = offset + span * (floor((epsilon - offset) / span) + 1)
        angle, below = -turn * ball(above), ball(epsilon - above).exp()
        return outside(factors, product) + ball(-c * above).exp() * (
            near(angle) - below * far(angle)
        )

    return body


def finite_moment(product: Product, witnesses: Sequence[object], c: Fraction) -> arb:
    """Return at least M(c), at real c > 0, of a non-empty product without infinite losses."""
    value = arb(1)
    for (pair, times), hint in zip(product, witnesses, strict=True):
        if isinstance(pair, TabulatedPair):
            value *= pair.moment(hint, c) ** times
        else:
            (moment,) = pair_moments(pair, hint).along(c, arb(0), 1)
            value *= moment.real**times
    return value


def _offset(product: Product, witnesses: Sequence[object], span: Fraction) -> Fraction:
    """Return the offset of the total loss's lattice; refuse pairs that are off the span."""
    start = Fraction(0)
    for (pair, count), hint in zip(product, witnesses, strict=True):
        table = isinstance(pair, TabulatedPair)
        lattice = (Fraction(0), read_table(hint).span) if table else lattice_of(pair)
        if lattice is None:
            raise RefusedError(f"{pair.describe()} is on no lattice")
        offset, own = lattice
        if (own / span).denominator != 1:
            raise RefusedError(
                f"the losses of {pair.describe()} are no multiples of the span apart"
            )
        start += count * offset
    return start


def bounded(step: Application) -> tuple[str, ...]:
    """Check H_eps = p_inf: past the largest loss only the infinite one counts."""
    claim = fact(step)
    first = partial(Fraction, claim.points[0][0])
    require_at_most(lambda: largest_loss(claim.product), first, "the largest loss")
    finite = [(1 - pair.infinite, count) for pair, count in claim.product if pair.infinite]
    if sum(share.denominator.bit_length() * n for share, n in finite) <= limits.MAX_COMMON_BITS:
        rest = prod((share**count for share, count in finite), start=Fraction(1))
        return at_most(lambda: lambda _: 1 - rest, claim)
    balls = [ball(share) ** count for share, count in finite]
    return at_most(lambda: lambda _: 1 - prod(balls, start=arb(1)), claim)


def largest_loss(product: Product) -> Number:
    """Return a number at or above every finite loss of a product."""
    losses = [largest_of(pair) * count for pair, count in product]
    rational = [one for one in losses if isinstance(one, Fraction)]
    bits = sum(one.denominator.bit_length() for one in rational)
    if len(rational) < len(losses) or bits > limits.MAX_COMMON_BITS:
        return sum(map(ball, losses), arb(0))
    return sum(rational, Fraction(0))
