"""Upper bounds of the hockey-stick divergence of a product of pairs; proofs in proofs/contour.md.

With M(s) = E_P[e^{sL}; L < inf] of the product, F(s) = M(s) e^{-s eps}/(s(s+1)) and p_inf =
P(L = inf), H_eps = p_inf + (1/2 pi i) integral of F over Re s = c, for every c > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import floor
from typing import Final, TypeAlias

from flint import acb, acb_poly, arb, ctx

from proofs.arithmetic import ball, require_at_most
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.pairs.finite import FinitePair
from proofs.pairs.gaussian import GaussianPair
from proofs.pairs.pair import Moments, Pair
from proofs.pairs.read import Product
from proofs.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.rules.rule import Application
from proofs.statement import HockeyStick

_SHORT: Final = 16

Bound: TypeAlias = Callable[[Fraction], arb]
"""At or above H_eps, as a function of eps."""


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
    step.budget.spend(2 * count * len(claim.points))

    def bounds() -> Bound:
        body, rest = along(product, witnesses, c, h, count)
        return lambda epsilon: infinite(product) + body(epsilon) + rest(epsilon)

    return _at_most(bounds, claim)


def lattice(step: Application) -> tuple[str, ...]:
    """The same where every loss is a + k h: F folded into one period, and nothing cut.

    With l the first lattice point above eps and N nodes, H_eps - p_inf <= (1/N) sum_k M(s_k)
    e^{-s_k l} (1/(1 - e^{-s_k h}) - e^{eps - l}/(1 - e^{-(s_k+1) h})), s_k = c + 2 pi i k/(N h).
    """
    claim, c = _fact(step), step.witness.positive("c")
    product = claim.product
    span, half = step.witness.positive("span"), step.witness.whole("nodes")
    witnesses = step.witness.items("factors")
    spend(step, half, product, witnesses)
    step.budget.spend(4 * half * len(claim.points))

    def bounds() -> Bound:
        body = folded(product, witnesses, c, span, half)
        return lambda epsilon: infinite(product) + body(epsilon)

    return _at_most(bounds, claim)


def closed(step: Application) -> tuple[str, ...]:
    """One pair with a profile in closed form, or Gaussians, whose product is one Gaussian."""
    claim = _fact(step)
    if not claim.product:
        return ()
    single = single_pair(claim.product)
    step.budget.spend(len(claim.points) * _work(single, None)[0])
    return _at_most(lambda: single.profile, claim)


def chernoff(step: Application) -> tuple[str, ...]:
    """H_eps - p_inf <= M(c) e^{-c eps} c^c/(1+c)^{1+c}, as (1 - e^{-x})_+ <= that e^{cx}."""
    claim, c = _fact(step), step.witness.positive("c")
    witnesses = step.witness.items("factors")
    spend(step, 1, claim.product, witnesses)

    def bounds() -> Bound:
        real, outside = ball(c), infinite(claim.product)
        moment = product_moment(claim.product, witnesses, c)
        size = moment * (real * real.log() - (1 + real) * (1 + real).log()).exp()
        return lambda epsilon: outside + size * ball(-c * epsilon).exp()

    return _at_most(bounds, claim)


def bounded(step: Application) -> tuple[str, ...]:
    """Past the largest loss only the infinite one counts: H_eps = p_inf."""
    claim = _fact(step)
    first = claim.points[0][0]
    require_at_most(lambda: largest_loss(claim.product), lambda: ball(first), "the largest loss")
    return _at_most(lambda: lambda _: infinite(claim.product), claim)


def single_pair(product: Product) -> Pair:
    """The one pair that a product is, if it is; a product of Gaussians is one."""
    squares = [n * pair.mu_squared for pair, n in product if isinstance(pair, GaussianPair)]
    if product and len(squares) == len(product):
        return GaussianPair(sum(squares, Fraction(0)))
    if len(product) != 1 or product[0][1] > 1:
        raise RefusedError("the rule takes one pair, once, or Gaussian pairs")
    return product[0][0]


def along(
    product: Product, witnesses: Sequence[object], c: Fraction, h: Fraction, count: int
) -> tuple[Bound, Bound]:
    """(h/2 pi)(F(c) + 2 sum_{k <= N} Re F(c + i k h)), and what all later nodes add at most."""
    moments = _moments(product, witnesses)
    nodes = _total([m.along(c, ball(h), count + 1) for m in moments], product)
    reach, terms = ball(h * count), []
    for k, moment in enumerate(nodes):
        s = acb(ball(c), ball(h * k))
        terms.append(ball(h) / (2 * arb.pi()) * (2 if k else 1) * moment / (s * (s + 1)))
    body, rest = _waves(terms), 1 / (arb.pi() * reach)
    for one, (_, times) in zip(moments, product, strict=True):
        rest *= one.ceiling(c, reach) ** times
    return (
        lambda epsilon: ball(-c * epsilon).exp() * body(ball(-h * epsilon)),
        lambda epsilon: ball(-c * epsilon).exp() * rest,
    )


def folded(
    product: Product, witnesses: Sequence[object], c: Fraction, span: Fraction, half: int
) -> Bound:
    """The sum over one period, for a product whose losses are all on one lattice."""
    offset, count = _offset(product, span), 2 * half + 1
    turn = 2 * arb.pi() / (count * ball(span))
    moments = _moments(product, witnesses)
    first, second = [], []
    for k, moment in enumerate(_total([m.along(c, turn, half + 1) for m in moments], product)):
        s, share = acb(ball(c), turn * k) * ball(span), moment * (2 if k else 1) / count
        first.append(share / (1 - (-s).exp()))
        second.append(share / (1 - (-s - ball(span)).exp()))
    near, far = _waves(first), _waves(second)

    def body(epsilon: Fraction) -> arb:
        above = offset + span * (floor((epsilon - offset) / span) + 1)
        angle, below = -turn * ball(above), ball(epsilon - above).exp()
        return ball(-c * above).exp() * (near(angle) - below * far(angle))

    return body


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


def _at_most(bounds: Callable[[], Bound], claim: HockeyStick) -> tuple[str, ...]:
    """Accept if the bound, made once for every precision, shows every point."""
    made: dict[int, Bound] = {}

    def bound(epsilon: Fraction) -> arb:
        if ctx.prec not in made:
            made[ctx.prec] = bounds()
        return made[ctx.prec](epsilon)

    for epsilon, delta in claim.points:
        require_at_most(
            partial(bound, epsilon), partial(ball, delta), "the hockey-stick divergence"
        )
    return ()


def _waves(terms: list[acb]) -> Callable[[arb], arb]:
    """The real part of the sum of terms[k] e^{i k angle}.

    A turned box has to be covered by a larger one. So midpoints are turned, in short polynomials,
    and the radii are added up: no turn changes them.
    """
    middles = [acb(term.real.mid(), term.imag.mid()) for term in terms]
    parts = [(k, acb_poly(middles[k : k + _SHORT])) for k in range(0, len(terms), _SHORT)]
    slack = sum((term.real.rad() + term.imag.rad() for term in terms), arb(0)).upper()

    def value(angle: arb) -> arb:
        z = acb(0, angle).exp()
        turned = sum((acb(0, k * angle).exp() * part(z) for k, part in parts), acb(0))
        return turned.real + arb(0, slack)

    return value


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
    if isinstance(pair, SubsampledGaussianPair) and hint is not None:
        fields = Fields(hint, "the quadrature of a subsampled Gaussian")
        lengths = []
        for name in ("nodes", "tail"):
            line = Fields(fields.take(name), name)
            lengths.append(line.whole("left") + line.whole("right") + 1)
        return lengths[0], 8 * sum(lengths)
    return (4 * len(pair.p) + 4 if isinstance(pair, FinitePair) else 8), 0
