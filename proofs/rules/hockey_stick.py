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
from proofs.pairs.finite import FinitePair
from proofs.pairs.gaussian import GaussianPair
from proofs.pairs.pair import Moments
from proofs.pairs.read import Product
from proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.rules.rule import Application
from proofs.statement import HockeyStick


def contour(step: Application) -> tuple[str, ...]:
    """Profile of a product of pairs: a trapezoid sum of F and an explicit tail.

    H_eps - p_inf <= (h/2 pi) (F(c) + 2 sum_{k <= N} Re F(c + i k h)) + F(c) c (c+1) D / (pi N h),
    if |M(c + iy)| <= M(c) D for y >= N h: the whole trapezoid sum is H_eps - p_inf plus aliases,
    which are non-negative. An extra tau-GDP factor e^{tau^2 s(s+1)/2} can only increase H_eps.
    """
    claim = _fact(step)
    c, h = step.witness.positive("c"), step.witness.positive("step")
    count, tau = step.witness.whole("nodes"), step.witness.rational("tau", least=0)
    product = ((GaussianPair(tau * tau), 1), *claim.product) if tau else claim.product
    listed = step.witness.items("factors")
    witnesses: list[object] = [None, *listed] if tau else listed
    spend(step, count, product, witnesses)

    def bound() -> arb:
        moments = _moments(product, witnesses)
        nodes = _total([m.along(c, ball(h), count + 1) for m in moments], product)
        real, reach = ball(c), ball(h * count)
        terms = [
            moment * (-s * ball(claim.epsilon)).exp() / (s * (s + 1))
            for moment, s in ((m, acb(real, ball(h * k))) for k, m in enumerate(nodes))
        ]
        body = ball(h) / (2 * arb.pi()) * (terms[0] + 2 * sum(terms[1:], acb(0))).real
        peaks = zip((m.ceiling(c, reach) for m in moments), product, strict=True)
        tail = (-real * ball(claim.epsilon)).exp() / (arb.pi() * reach)
        for peak, (_, times) in peaks:
            tail *= peak**times
        return infinite(product) + body + tail

    return _at_most_delta(bound, claim)


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
    offset = _offset(claim.product, span)
    above = offset + span * (floor((claim.epsilon - offset) / span) + 1)

    def bound() -> arb:
        turn = 2 * arb.pi() / (count * ball(span))
        moments = _moments(claim.product, witnesses)
        nodes = _total([m.along(c, turn, half + 1) for m in moments], claim.product)
        terms = []
        for k, moment in enumerate(nodes):
            s = acb(ball(c), turn * k)
            first = 1 / (1 - (-s * ball(span)).exp())
            second = ball(claim.epsilon - above).exp() / (1 - (-(s + 1) * ball(span)).exp())
            terms.append(moment * (-s * ball(above)).exp() * (first - second))
        return infinite(claim.product) + (terms[0] + 2 * sum(terms[1:], acb(0))).real / count

    return _at_most_delta(bound, claim)


def closed(step: Application) -> tuple[str, ...]:
    """One pair with a profile in closed form, or Gaussians, whose product is one Gaussian."""
    claim = _fact(step)
    if not claim.product:
        return ()
    squares = [n * pair.mu_squared for pair, n in claim.product if isinstance(pair, GaussianPair)]
    single, count = claim.product[0]
    if len(squares) == len(claim.product):
        single = GaussianPair(sum(squares, Fraction(0)))
    elif len(claim.product) > 1 or count > 1:
        raise RefusedError("the rule takes one pair, once, or Gaussian pairs")
    return _at_most_delta(lambda: single.profile(claim.epsilon), claim)


def chernoff(step: Application) -> tuple[str, ...]:
    """H_eps - p_inf <= M(c) e^{-c eps} c^c/(1+c)^{1+c}, as (1 - e^{-x})_+ <= that e^{cx}."""
    claim, c = _fact(step), step.witness.positive("c")
    witnesses = step.witness.items("factors")
    spend(step, 1, claim.product, witnesses)

    def bound() -> arb:
        real = ball(c)
        exponent = real * real.log() - (1 + real) * (1 + real).log() - real * ball(claim.epsilon)
        moment = product_moment(claim.product, witnesses, c)
        return infinite(claim.product) + moment * exponent.exp()

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


def product_moment(product: Product, witnesses: Sequence[object], c: Fraction) -> arb:
    """M(c) of a product that is not empty, at a real c > 0."""
    (moment,) = _total([m.along(c, arb(0), 1) for m in _moments(product, witnesses)], product)
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


def _moments(product: Product, witnesses: Sequence[object]) -> list[Moments]:
    return [pair.moments(hint) for (pair, _), hint in zip(product, witnesses, strict=True)]


def _total(lines: list[list[acb]], product: Product) -> list[acb]:
    """M of the product at every node."""
    total = [acb(1)] * len(lines[0]) if lines else []
    for line, (_, count) in zip(lines, product, strict=True):
        total = [whole * one**count for whole, one in zip(total, line, strict=True)]
    return total


def _offset(product: Product, span: Fraction) -> Fraction:
    """Where the lattice of the total loss begins, if every pair's is on multiples of the span."""
    total = Fraction(0)
    for pair, count in product:
        if pair.lattice is None:
            raise RefusedError(f"{pair.describe()} is on no lattice")
        offset, own = pair.lattice
        if (own / span).denominator != 1:
            raise RefusedError(
                f"the losses of {pair.describe()} are no multiples of the span apart"
            )
        total += count * offset
    return total


def _work(pair: object, hint: object) -> tuple[int, int]:
    """About how many operations one value of M takes, and all of them together need once."""
    if isinstance(pair, SubsampledGaussianPair):
        fields = Fields(hint, "the quadrature of a subsampled Gaussian")
        lengths = []
        for name in ("nodes", "tail"):
            line = Fields(fields.take(name), name)
            lengths.append(line.whole("left") + line.whole("right") + 1)
        return lengths[0], 8 * sum(lengths)
    return (4 * len(pair.p) + 4 if isinstance(pair, FinitePair) else 8), 0
