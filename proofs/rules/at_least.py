"""Lower bounds of the hockey-stick divergence of a product of pairs; proofs in proofs/contour.md.

They say how much two outputs with exactly these laws differ. No rule takes them as a premise:
nothing about privacy follows from them but that it cannot be better. A trapezoid sum is H_eps -
p_inf plus aliases, so that subtracting bounds of the aliases and of what was cut leaves less.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from flint import arb

from proofs.arithmetic import ball, require_at_most
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.grid import cells
from proofs.line import Line, closed_profile, moments, total
from proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from proofs.pairs.discrete_laplace import DiscreteLaplacePair
from proofs.pairs.finite import FinitePair
from proofs.pairs.gaussian import GaussianPair
from proofs.pairs.laplace import LaplacePair
from proofs.pairs.logistic import LogisticPair
from proofs.pairs.pair import Pair, Product
from proofs.pairs.randomized_response import RandomizedResponsePair
from proofs.pairs.sampled import Direction, SampledPair
from proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.rules.hockey_stick import folded, profile_work, spend
from proofs.rules.rule import Application
from proofs.statement import AtLeast

EXACT: Final = (
    GaussianPair,
    LaplacePair,
    LogisticPair,
    RandomizedResponsePair,
    FinitePair,
    DiscreteLaplacePair,
    DiscreteGaussianPair,
    SubsampledGaussianPair,
)
"""Pairs whose M, infinite mass and profile are enclosed, not bounded from above."""


Side: TypeAlias = tuple[Fraction, list[object]]
"""An abscissa, and what M of every pair needs there."""


def closed(step: Application) -> tuple[str, ...]:
    """One pair with a profile in closed form, Gaussians, which are one, or a few bounded pairs."""
    claim = _fact(step, sampled=True)
    profile = closed_profile(claim.product)
    if profile is None:
        raise RefusedError("the rule takes one pair, once, Gaussian pairs, or a few bounded ones")
    step.budget.spend(profile_work(claim.product) + cells(claim.product))
    return _at_least(lambda: profile(ball(claim.epsilon)), claim)


def contour(step: Application) -> tuple[str, ...]:
    """The sum of hockey-stick/contour less what it cuts and less the aliases."""
    claim = _fact(step)
    c, h = step.witness.positive("c"), step.witness.positive("step")
    count, witnesses = step.witness.whole("nodes"), step.witness.items("factors")
    spend(step, count, claim.product, witnesses)
    sides = _sides(step, claim.product, c)

    def bound() -> arb:
        epsilon = ball(claim.epsilon)
        body, cut, infinite = Line(c, h, count, Fraction(0)).parts(claim.product, witnesses)
        aliases = _aliases(claim, c, 2 * arb.pi() / ball(h), sides)
        return infinite + (-ball(c) * epsilon).exp() * (body(epsilon) - cut) - aliases

    return _at_least(bound, claim)


def lattice(step: Application) -> tuple[str, ...]:
    """The sum of hockey-stick/lattice, which cuts nothing, less the aliases."""
    claim, c = _fact(step), step.witness.positive("c")
    span, half = step.witness.positive("span"), step.witness.whole("nodes")
    witnesses = step.witness.items("factors")
    spend(step, half, claim.product, witnesses)
    sides = _sides(step, claim.product, c)

    def bound() -> arb:
        aliases = _aliases(claim, c, ball(span * (2 * half + 1)), sides)
        return folded(claim.product, witnesses, c, span, half)(claim.epsilon) - aliases

    return _at_least(bound, claim)


def _fact(step: Application, *, sampled: bool = False) -> AtLeast:
    claim = step.concludes(AtLeast)
    if step.premises:
        raise RefusedError("the rule takes no premise")
    if not all(_is_exact(pair, sampled=sampled) for pair, _ in claim.product):
        raise RefusedError("the rule takes pairs that are known exactly")
    return claim


def _is_exact(pair: Pair, *, sampled: bool) -> bool:
    """Whether the checker encloses a pair; the profile only of one that is Poisson sampled."""
    if not isinstance(pair, SampledPair):
        return isinstance(pair, EXACT)
    poisson = pair.direction is not Direction.REPLACEMENT
    return sampled and poisson and all(_is_exact(one, sampled=True) for one, _ in pair.base)


def _at_least(bound: Callable[[], arb], claim: AtLeast) -> tuple[str, ...]:
    require_at_most(partial(ball, claim.delta), bound, "the claimed divergence")
    return ()


def _sides(step: Application, product: Product, c: Fraction) -> list[Side]:
    """An abscissa before c and one after it, at which aliases are bounded."""
    found = []
    for name in ("before", "after"):
        fields = Fields(step.witness.take(name), name)
        other, witnesses = fields.positive("c"), fields.items("factors")
        fields.close()
        if other == c or (other < c) is not (name == "before"):
            raise RefusedError(f"{name}: c must be on that side of the sum's")
        spend(step, 1, product, witnesses)
        found.append((other, witnesses))
    return found


def _aliases(claim: AtLeast, c: Fraction, period: arb, sides: list[Side]) -> arb:
    """At or above the sum over m != 0 of e^{cmR} (H_{eps + mR} - p_inf), R the period.

    By Chernoff, H_x - p_inf <= M(b) e^{-bx} b^b/(1+b)^{1+b} for b > 0 and every real x: b after c
    serves m > 0, b before c serves m < 0, each a geometric series of ratio e^{-|b - c| R}.
    """
    found = arb(0)
    for other, witnesses in sides:
        b, ratio = ball(other), (-ball(abs(other - c)) * period).exp()
        size = (b * b.log() - (1 + b) * (1 + b).log() - b * ball(claim.epsilon)).exp()
        (moment,) = total(moments(claim.product, witnesses), claim.product, other, arb(0), 1)
        found += moment.real * size * ratio / (1 - ratio)
    return found
