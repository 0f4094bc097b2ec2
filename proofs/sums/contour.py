"""A trapezoid sum along a vertical line, as a bound for every epsilon.

Proof: proofs/theory/contour.md.

With M(s) = E_P[e^{sL}; L < inf] of a product, F(s) = M(s) e^{-s eps}/(s(s+1)) and p_inf =
P(L = inf), H_eps = p_inf + (1/2 pi i) integral of F over Re s = c, for every c > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt
from typing import Final

from flint import acb, acb_mat, arb, ctx

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import GaussianPair, Product
from dpproof.proofs.limits import MAX_NODES
from dpproof.proofs.pairs.pair import Moments, moments as pair_moments, some_infinite
from dpproof.proofs.sums.finite_sums import cells, finite_profile, lattice_profile, value_work

_MORE_BITS: Final = 64  # for the angles of many terms; enclosures are sound with any number


@frozen
class Line:
    """Nodes c + i k step for k = -nodes, ..., nodes."""

    c: Fraction
    step: Fraction
    nodes: int
    tau: Fraction  # if it is above 0, a tau-GDP mechanism is composed first

    def bound(self, product: Product, witnesses: Sequence[object]) -> Callable[[arb], arb]:
        """Return a function at or above H_eps at any real epsilon.

        H_eps - p_inf <= (h/2 pi) (F(c) + 2 sum_{k <= N} Re F(c + i k h)) + tail: the whole
        trapezoid sum is H_eps - p_inf plus aliases, which are non-negative. The extra factor
        e^{tau^2 s(s+1)/2} can only increase H_eps.
        """
        if self.tau:
            product = ((GaussianPair(self.tau * self.tau), 1), *product)
            witnesses = [None, *witnesses]
        body, rest, infinite = self.parts(moments(product, witnesses), product)
        return lambda epsilon: infinite + (-ball(self.c) * epsilon).exp() * (body(epsilon) + rest)

    def around(self, product: Product, witnesses: Sequence[object]) -> Callable[[arb], arb]:
        """Return an enclosure of H_eps at eps >= 0; tau has to be 0.

        The sum is H_eps - p_inf plus aliases, R = 2 pi/step: those of m < 0 are at most e^{cmR} as
        H <= 1, those of m > 0 by Chernoff M(2c) e^{-2c eps} (2c)^{2c}/(1+2c)^{1+2c} e^{-cmR}.
        """
        if self.tau:
            raise RefusedError("a line beside a Gaussian does not bound from below")
        factors, c = moments(product, witnesses), ball(self.c)
        body, rest, infinite = self.parts(factors, product)
        (moment,) = total(factors, product, 2 * self.c, arb(0), 1)
        power = moment.real * (2 * c * (2 * c).log() - (1 + 2 * c) * (1 + 2 * c).log()).exp()
        ratio = (-2 * arb.pi() * c / ball(self.step)).exp()

        def enclosure(epsilon: arb) -> arb:
            value, tilt = body(epsilon), (-c * epsilon).exp()
            aliases = (1 + power * tilt * tilt) * ratio / (1 - ratio)
            low, high = tilt * (value - rest) - aliases, tilt * (value + rest)
            return infinite + low.union(high)

        return enclosure

    def parts(
        self, pair_moments: Sequence[Moments], product: Product
    ) -> tuple[Callable[[arb], arb], arb, arb]:
        """Return, over e^{-c eps}, the sum and a bound of what it cuts; and p_inf. Ignores tau."""
        h, terms = ball(self.step), []
        for k, moment in enumerate(total(pair_moments, product, self.c, h, self.nodes + 1)):
            s = acb(ball(self.c), h * k)
            terms.append(h / (2 * arb.pi()) * (2 if k else 1) * moment / (s * (s + 1)))
        body = on_circle(terms)
        cut, infinite = self._tail(pair_moments, product), outside(pair_moments, product)
        return lambda epsilon: body(-ball(self.step) * epsilon), cut, infinite

    def _tail(self, pair_moments: Sequence[Moments], product: Product) -> arb:
        """Return a bound of the terms beyond the nodes, over e^{-c eps}.

        With |M(c + iv)| <= D from v = y on they are at most D/(pi y), y = N h. If ceilings
        serve up to a top T > y only, those above T start one step below it at the earliest.
        """
        reach = self.step * self.nodes
        tops = [one.top for one in pair_moments if one.top is not None]
        if not tops or min(tops) <= reach:
            return self._beyond(pair_moments, product, reach, None) / ball(reach)
        top = min(tops)
        near = self._beyond(pair_moments, product, reach, top) / ball(reach)
        return near + self._beyond(pair_moments, product, top, None) / ball(top - self.step)

    def _beyond(
        self,
        pair_moments: Sequence[Moments],
        product: Product,
        start: Fraction,
        top: Fraction | None,
    ) -> arb:
        peak = 1 / arb.pi()
        for one, (_, times) in zip(pair_moments, product, strict=True):
            peak *= one.ceiling(self.c, ball(start), top) ** times
        return peak


def on_circle(terms: list[acb]) -> Callable[[arb], arb]:
    """Return, as a function of an angle a, the real part of sum_k terms_k e^{i k a}.

    With k = n l + j, e^{i k a} is e^{i n l a} e^{i j a}: no product is turned again, which would
    widen it by up to sqrt 2. The terms' own errors are added at the end.
    """
    n = isqrt(len(terms) - 1) + 1
    exact = [acb(one.real.mid(), one.imag.mid()) for one in terms]
    square = acb_mat(n, n, exact + [acb(0)] * (n * n - len(exact)))
    blur = sum((one.real.rad() + one.imag.rad() for one in terms), arb(0))
    slope = sum((k * one.abs_upper() for k, one in enumerate(terms)), arb(0))

    def real_part(angle: arb) -> arb:
        with ctx.workprec(ctx.prec + _MORE_BITS):
            middle = angle.mid()
            near = acb_mat([[acb(0, middle * j).exp()] for j in range(n)])
            far = acb_mat([[acb(0, middle * (n * j)).exp() for j in range(n)]])
            value = (far * (square * near))[0, 0].real
        return value + arb(0, (blur + slope * angle.rad()).upper())

    return real_part


def read_line(fields: Fields) -> Line:
    """Return a line from the witness that has its fields."""
    c, step = fields.positive("c"), fields.positive("step")
    return Line(c, step, fields.whole("nodes", most=MAX_NODES), fields.rational("tau", least=0))


def moments(product: Product, witnesses: Sequence[object]) -> list[Moments]:
    """Return M of every pair of a product."""
    return [pair_moments(pair, hint) for (pair, _), hint in zip(product, witnesses, strict=True)]


def total(
    pair_moments: Sequence[Moments], product: Product, c: Fraction, step: arb, count: int
) -> list[acb]:
    """Return M of the product at c + i k step, k = 0, ..., count - 1."""
    values = [acb(1)] * count
    for one, (_, times) in zip(pair_moments, product, strict=True):
        line = one.along(c, step, count)
        values = [whole * value**times for whole, value in zip(values, line, strict=True)]
    return values


def outside(pair_moments: Sequence[Moments], product: Product) -> arb:
    """Return P(L = inf) of a product, 1 - prod (1 - p_i)^{n_i}."""
    both = zip(pair_moments, product, strict=True)
    return some_infinite((1 - one.infinite, times) for one, (_, times) in both)


def closed_profile(product: Product) -> Callable[[arb], arb] | None:
    """Return the closed profile of a product, None if it has none.

    Gaussian pairs are one pair; one pair may have a formula; several have a finite sum if they
    share a lattice, or have few residues.
    """
    if not product:
        return lambda _: arb(0)
    squares = [n * pair.mu_squared for pair, n in product if isinstance(pair, GaussianPair)]
    single, count = product[0]
    if len(squares) == len(product):
        return GaussianPair(sum(squares, Fraction(0))).profile
    if len(product) == count == 1:
        return single.profile_at()
    if cells(product):
        return lattice_profile(product)
    return finite_profile(product) if value_work(product) else None
