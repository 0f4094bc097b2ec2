"""M of Gaussian mixtures and of sampled Gaussian pairs by trapezoid rules on shifted lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, isqrt
from typing import ClassVar

from flint import acb, acb_mat, arb, ctx

from dpproof.proofs.core.arithmetic import ball, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import SubsampledGaussianPair
from dpproof.proofs.limits import MAX_EXPANDED, MAX_QUADRATURE


@frozen
class Line:
    """The nodes step * j + i shift, j = -left, ..., right, of a trapezoid rule."""

    shift: Fraction
    step: Fraction
    left: int
    right: int

    def nodes(self) -> list[tuple[acb, acb]]:
        """Return every node z, with its weight step * phi(z)."""
        return _nodes(self, ctx.prec)


@lru_cache(maxsize=2)  # pairs that are alike share their lines
def _nodes(line: Line, _: int) -> list[tuple[acb, acb]]:
    step, shift = ball(line.step), ball(line.shift)
    scale = acb(step / (2 * arb.pi()).sqrt())
    places = (acb(step * j, shift) for j in range(-line.left, line.right + 1))
    return [(z, scale * (-z * z / 2).exp()) for z in places]


def sampled_ratio(mu_squared: Fraction, rate: Fraction) -> Callable[[acb], acb]:
    """Return z -> 1 - q + q e^{mu z - mu^2/2}, q the rate."""
    mu, drift = acb(ball(mu_squared).sqrt()), acb(ball(mu_squared / 2))
    q, rest = acb(ball(rate)), acb(ball(1 - rate))
    return lambda z: rest + q * (mu * z - drift).exp()  # arb * acb takes six times as long


class Integrand(ABC):
    """The terms at the nodes whose sum is M(s): weights times e^{growth * power}.

    The imaginary part of the growth is at or above 0, so that no term grows with y = Im s >= 0.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def mirrored(self) -> bool:
        """Return whether Im power = -Im s, so that the sums are conjugates of M."""

    @abstractmethod
    def power(self, c: Fraction) -> arb:
        """Return the exponent of M(c), its real part on the line through c."""

    @abstractmethod
    def terms(self, line: Line) -> Iterator[tuple[acb, acb]]:
        """Yield weight and growth at every node."""

    @abstractmethod
    def missed(self, c: Fraction, line: Line) -> arb:
        """Bound what the rule misses, for every y >= 0: between the nodes, and beyond them."""


@frozen
class Quadrature:
    """M by the trapezoid rule: on one line for its values, on another for its decay."""

    integrand: Integrand
    nodes: Line
    tail: Line
    infinite: ClassVar[arb] = arb(0)  # mixtures of Gaussians have full support
    top: ClassVar[Fraction | None] = None  # the bound falls for ever

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return every sum at once: with k = n a + b, e^{i k x} is e^{i n a x} e^{i b x}."""
        power, radius = self.integrand.power(c), self.integrand.missed(c, self.nodes).upper()
        error, n = acb(arb(0, radius), arb(0, radius)), isqrt(count - 1) + 1
        samples, turn, lift = list(self.integrand.terms(self.nodes)), acb(0, step), acb(power)
        small = acb_mat([_powers(growth * turn, n) for _, growth in samples])
        turns = [_powers(growth * turn * n, -(-count // n)) for _, growth in samples]
        first = [weight * (growth * lift).exp() for weight, growth in samples]
        large = acb_mat(
            [[w * t for w, t in zip(first, row, strict=True)] for row in zip(*turns, strict=True)]
        )
        moments = [one + error for one in (large * small).entries()[:count]]
        return [moment.conjugate() for moment in moments] if self.integrand.mirrored else moments

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # any
        """Return the sum of the terms' absolute values, which fall as y grows."""
        a = self.integrand.power(c)
        sizes = (
            weight.abs_upper() * (a * growth.real - y * growth.imag).exp()
            for weight, growth in self.integrand.terms(self.tail)
        )
        return sum(sizes, self.integrand.missed(c, self.tail))


def _powers(exponent: acb, count: int) -> list[acb]:
    """Return e^{k exponent}, k = 0, ..., count - 1, each as a product of two halves.

    A product widens an enclosure by up to sqrt 2, and halves keep products in a row few.
    """
    powers = [acb(1), exponent.exp()][:count]
    for k in range(2, count):
        powers.append(powers[k // 2] * powers[k - k // 2])
    return powers


def read_quadrature(witness: object, integrand: Integrand, mu_squared: Fraction) -> Quadrature:
    """Read rules ``nodes`` for M and ``tail`` for its decay; 2 mu shift of a line is below pi."""
    fields = Fields(witness, "the quadrature of a subsampled Gaussian")
    lines = [_line(fields, name, mu_squared) for name in ("nodes", "tail")]
    fields.close()
    return Quadrature(integrand, *lines)


def _line(fields: Fields, name: str, mu_squared: Fraction) -> Line:
    rule = Fields(fields.take(name), name)
    line = Line(
        rule.positive("shift"),
        rule.positive("step"),
        rule.whole("left", most=MAX_QUADRATURE),
        rule.whole("right", most=MAX_QUADRATURE),
    )
    rule.close()
    if 4 * mu_squared * line.shift**2 > 9:
        raise RefusedError(f"{name}: 2 mu shift must be at most 3, which is below pi")
    return line


@frozen
class Powers(Integrand):
    """(1 + u)^alpha, on lines where (1 + u)^{i y} does not grow with y >= 0."""

    pair: SubsampledGaussianPair

    @property
    def mirrored(self) -> bool:
        """Return whether the sampled pair is an addition."""
        return not self.pair.removal

    def power(self, c: Fraction) -> arb:
        """Return c + 1, or -c for addition."""
        return ball(c + 1 if self.pair.removal else -c)

    def terms(self, line: Line) -> Iterator[tuple[acb, acb]]:
        """Yield the weight step phi(z) and log(1 + u(z)) at every node z."""
        ratio = sampled_ratio(self.pair.mu_squared, self.pair.sampling_rate)
        for z, weight in line.nodes():
            yield weight, ratio(z).log()

    def missed(self, c: Fraction, line: Line) -> arb:
        """Bound what the rule misses, for every y >= 0: between the nodes, and beyond them."""
        mu, q, b = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate), line.shift
        left, right = line.step * line.left, line.step * line.right
        low, high = normal_tail(ball(left)), normal_tail(ball(right))
        if self.pair.removal:
            if right**2 < (c + 1) ** 2 * self.pair.mu_squared:
                raise RefusedError("the nodes must reach mu (c + 1)")
            raised = q * ball((c + 1) * c * self.pair.mu_squared / 2).exp()
            size, centre = 1 - q + raised, mu * ball(c + 1)
            outside = (1 - q) * (low + high) + raised * (
                normal_tail(ball(left) + centre) + normal_tail(ball(right) - centre)
            )
            order = ceil(c + 1)
            if order <= MAX_EXPANDED and right**2 >= order**2 * self.pair.mu_squared:
                terms = _moment_terms(self.pair, order, ctx.prec)
                size = size.min(sum(terms, arb(0)) ** (ball(c + 1) / order))
                beyond = (x * normal_tail(ball(right) - k * mu) for k, x in enumerate(terms))
                outside = outside.min(low + sum(beyond, arb(0)))
        else:
            size = ((1 - q) * (mu * ball(b)).cos()) ** ball(-c)
            outside = (low + high) * size
        decay = (2 * arb.pi() * ball(b / line.step)).expm1()
        return 2 * ball(2 * b * b).exp() * size / decay + ball(b * b / 2).exp() * outside


@lru_cache(maxsize=1)  # both lines of a pair ask
def _moment_terms(pair: SubsampledGaussianPair, order: int, _: int) -> list[arb]:
    """Return the terms of E[(1 + u)^order] by the binomial theorem."""
    q, rest = ball(pair.sampling_rate), ball(1 - pair.sampling_rate)
    return [
        comb(order, k) * rest ** (order - k) * q**k * ball(k * (k - 1) * pair.mu_squared / 2).exp()
        for k in range(order + 1)
    ]
