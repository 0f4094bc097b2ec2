"""Upper bounds of the hockey-stick divergence of a product of pairs; proofs in proofs/contour.md.

With M(s) = E_P[e^{sL}; L < inf] of the product, F(s) = M(s) e^{-s eps}/(s(s+1)) and p_inf =
P(L = inf), H_eps = p_inf + (1/2 pi i) integral of F over Re s = c, for every c > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor

from flint import acb, arb

from proofs.arithmetic import ball, require_at_most
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.line import closed_profile, moments, outside, read_line, total
from proofs.pairs.discrete_gaussian import MAX_REACH, DiscreteGaussianPair
from proofs.pairs.discrete_laplace import MAX_LOSSES, DiscreteLaplacePair
from proofs.pairs.finite import FinitePair
from proofs.pairs.pair import Product
from proofs.pairs.sampled import SampledPair
from proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.pairs.table import read_table
from proofs.rules.rule import Application
from proofs.statement import HockeyStick


def contour(step: Application) -> tuple[str, ...]:
    """Profile of a product of pairs: a trapezoid sum of F and an explicit tail (proofs/line.py)."""
    claim, line = _fact(step), read_line(step.witness)
    witnesses = step.witness.items("factors")
    spend(step, line.nodes * (2 if line.tau else 1), claim.product, witnesses)
    return _at_most_delta(lambda: line.bound(claim.product, witnesses)(ball(claim.epsilon)), claim)


def lattice(step: Application) -> tuple[str, ...]:
    """The same where every loss is a + k h: F folded into one period, and nothing cut.

    With l the first lattice point above eps and N nodes, H_eps - p_inf <= (1/N) sum_k M(s_k)
    e^{-s_k l} (1/(1 - e^{-s_k h}) - e^{eps - l}/(1 - e^{-(s_k+1) h})), s_k = c + 2 pi i k/(N h).
    """
    claim, c = _fact(step), step.witness.positive("c")
    span, half = step.witness.positive("span"), step.witness.whole("nodes")
    count = 2 * half + 1
    witnesses = step.witness.items("factors")
    spend(step, half, claim.product, witnesses)
    offset = _offset(claim.product, witnesses, span)
    above = offset + span * (floor((claim.epsilon - offset) / span) + 1)

    def bound() -> arb:
        turn = 2 * arb.pi() / (count * ball(span))
        found = moments(claim.product, witnesses)
        nodes = total(found, claim.product, c, turn, half + 1)
        real, width, start = ball(c), ball(span), ball(above)
        low, once = ball(claim.epsilon - above).exp(), (-width).exp()
        terms = []
        for k, moment in enumerate(nodes):
            s = acb(real, turn * k)
            round_trip = (-s * width).exp()
            kernel = 1 / (1 - round_trip) - low / (1 - round_trip * once)
            terms.append(moment * (-s * start).exp() * kernel)
        body = (terms[0] + 2 * sum(terms[1:], acb(0))).real / count
        return outside(found, claim.product) + body

    return _at_most_delta(bound, claim)


def closed(step: Application) -> tuple[str, ...]:
    """One pair with a profile in closed form, or Gaussians, whose product is one Gaussian."""
    claim = _fact(step)
    profile = closed_profile(claim.product)
    if profile is None:
        raise RefusedError("the rule takes one pair, once, or Gaussian pairs")
    step.budget.spend(profile_work(claim.product))
    return _at_most_delta(lambda: profile(ball(claim.epsilon)), claim)


def sampled(step: Application) -> tuple[str, ...]:
    """One sampled pair, once: its formula, from a line's bound of the base's profile."""
    claim, line = _fact(step), read_line(step.witness)
    pairs = [pair for pair, count in claim.product if isinstance(pair, SampledPair) and count == 1]
    if len(pairs) != len(claim.product) or len(pairs) != 1:
        raise RefusedError("the rule takes one sampled pair, once")
    (pair,) = pairs
    spend(step, line.nodes, pair.base, [None] * len(pair.base))
    return _at_most_delta(lambda: pair.sampled(pair.bases([line]))(ball(claim.epsilon), 0), claim)


def chernoff(step: Application) -> tuple[str, ...]:
    """H_eps - p_inf <= M(c) e^{-c eps} c^c/(1+c)^{1+c}, as (1 - e^{-x})_+ <= that e^{cx}."""
    claim, c = _fact(step), step.witness.positive("c")
    witnesses = step.witness.items("factors")
    spend(step, 1, claim.product, witnesses)

    def bound() -> arb:
        real = ball(c)
        exponent = real * real.log() - (1 + real) * (1 + real).log() - real * ball(claim.epsilon)
        found = moments(claim.product, witnesses)
        (moment,) = total(found, claim.product, c, arb(0), 1)
        return outside(found, claim.product) + moment.real * exponent.exp()

    return _at_most_delta(bound, claim)


def bounded(step: Application) -> tuple[str, ...]:
    """Past the largest loss only the infinite one counts: H_eps = p_inf."""
    claim = _fact(step)
    require_at_most(
        lambda: largest_loss(claim.product), lambda: ball(claim.epsilon), "the largest loss"
    )
    return _at_most_delta(lambda: infinite(claim.product), claim)


def largest_loss(product: Product) -> arb:
    """At or above every finite loss of a product."""
    return sum((pair.largest() * count for pair, count in product), arb(0))


def finite_moment(product: Product, witnesses: Sequence[object], c: Fraction) -> arb:
    """M(c) of a product that is not empty and has no infinite loss, at a real c > 0."""
    found = moments(product, witnesses)
    if not all(one.infinite.is_zero() for one in found):
        raise RefusedError("the divergence is infinite where the loss can be")
    (moment,) = total(found, product, c, arb(0), 1)
    return moment.real


def spend(step: Application, nodes: int, product: Product, witnesses: Sequence[object]) -> None:
    """Account for M at some nodes; one witness for each pair of a product that is not empty."""
    if not product or len(witnesses) != len(product):
        raise RefusedError(
            "the rule takes one witness for each pair of a product that is not empty"
        )
    for (pair, _), hint in zip(product, witnesses, strict=True):
        each, once = _work(pair, hint)
        step.budget.spend((nodes + 1) * each + once)


def infinite(product: Product) -> arb:
    """P(L = inf) of a product, 1 - prod (1 - p_i)^{n_i}."""
    rest = arb(1)
    for pair, count in product:
        if pair.infinite:
            rest *= ball(1 - pair.infinite) ** count
    return 1 - rest


def _fact(step: Application) -> HockeyStick:
    if step.premises:
        raise RefusedError("the rule takes no premise")
    return step.concludes(HockeyStick)


def _at_most_delta(bound: Callable[[], arb], claim: HockeyStick) -> tuple[str, ...]:
    require_at_most(bound, lambda: ball(claim.delta), "the hockey-stick divergence")
    return ()


def _offset(product: Product, witnesses: Sequence[object], span: Fraction) -> Fraction:
    """Where the lattice of the total loss begins, if every pair's is on multiples of the span."""
    start = Fraction(0)
    for (pair, count), hint in zip(product, witnesses, strict=True):
        table = isinstance(pair, SampledPair)
        found = (Fraction(0), read_table(hint).span) if table else pair.lattice
        if found is None:
            raise RefusedError(f"{pair.describe()} is on no lattice")
        offset, own = found
        if (own / span).denominator != 1:
            raise RefusedError(
                f"the losses of {pair.describe()} are no multiples of the span apart"
            )
        start += count * offset
    return start


def _work(pair: object, hint: object) -> tuple[int, int]:
    """About how many operations one value of M takes, and all of them together need once."""
    if isinstance(pair, SampledPair):
        found = read_table(hint)
        return found.turning, found.work(profile_work(pair.base))
    if isinstance(pair, SubsampledGaussianPair):
        fields = Fields(hint, "the quadrature of a subsampled Gaussian")
        lengths = []
        for name in ("nodes", "tail"):
            line = Fields(fields.take(name), name)
            lengths.append(line.whole("left") + line.whole("right") + 1)
        return lengths[0], 8 * sum(lengths)
    return (4 * len(pair.p) + 4 if isinstance(pair, FinitePair) else 8), 0


def profile_work(product: Product) -> int:
    """About how many operations one value of a closed profile takes."""
    known = 20
    for one, _ in product:
        if isinstance(one, FinitePair):
            known += len(one.p)
        elif isinstance(one, DiscreteLaplacePair):
            known += min(one.shift, MAX_LOSSES)
        elif isinstance(one, DiscreteGaussianPair):
            known += MAX_REACH
        elif isinstance(one, SampledPair):
            known += profile_work(one.base)
    return known
