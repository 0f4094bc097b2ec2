"""The Poisson-subsampled Gaussian pair; proofs in proofs/theory/subsampled_gaussian.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final, final

from flint import acb, acb_mat, arb

from proofs.balls.arithmetic import ball, normal_tail, show
from proofs.errors import RefusedError
from proofs.fields import Fields
from proofs.pairs.gaussian import gaussian_profile
from proofs.pairs.pair import Moments, Pair, unbounded

MAX_NODES: Final = 1 << 14


@final
@dataclass(frozen=True, slots=True)
class SubsampledGaussianPair(Pair):
    """W = (1-q) N(0,1) + q N(mu,1) against N(0,1): (W, N) for removal, else (N, W).

    With u(z) = q (e^{mu z - mu^2/2} - 1) and Z standard normal, M(s) = E[(1 + u(Z))^alpha],
    alpha = s + 1 for removal and -s for addition.
    """

    mu_squared: Fraction
    sampling_rate: Fraction
    removal: bool

    @property
    def infinite(self) -> Fraction:
        """None."""
        return Fraction(0)

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """None: the loss has a density."""
        return None

    def largest(self) -> arb:
        """-log(1 - q) for addition."""
        if self.removal:
            raise unbounded(self.describe())
        return -ball(1 - self.sampling_rate).log()

    def moments(self, witness: object) -> Moments:
        """By trapezoid rules on two lines, one for M and one for its decay."""
        fields = Fields(witness, "the quadrature of a subsampled Gaussian")
        found = Quadrature(self, _line(fields, "nodes", self), _line(fields, "tail", self))
        fields.close()
        return found

    def profile(self, epsilon: arb) -> arb:
        """From the Gaussian's (Zhu, Dong & Wang, arXiv:2106.08567, Theorem 11), t = e^eps.

        Removal: q H_a(P|Q), a = 1 + (t-1)/q. Addition: r H_{qt/r}(P|Q), r = 1 - t(1-q), if r > 0,
        else 0.
        """
        q, t = ball(self.sampling_rate), epsilon.exp()
        if self.removal:
            argument = (epsilon.expm1() / q).log1p()
            return q * gaussian_profile(self.mu_squared, argument)
        r = 1 - t * (1 - q)
        if r <= 0:
            return arb(0)
        return r * gaussian_profile(self.mu_squared, (q * t / r).log())

    def swapped(self) -> Pair:
        """The other direction."""
        return SubsampledGaussianPair(self.mu_squared, self.sampling_rate, not self.removal)

    def describe(self) -> str:
        """Mu squared, rate, direction."""
        way = "removal" if self.removal else "addition"
        shown = f"Gaussians with mu^2 = {show(self.mu_squared)}"
        return f"{shown} sampled at rate {show(self.sampling_rate)} ({way})"


@final
@dataclass(frozen=True, slots=True)
class Line:
    """The nodes step * j + i shift, j = -left, ..., right, of a trapezoid rule."""

    shift: Fraction
    step: Fraction
    left: int
    right: int


def _line(fields: Fields, name: str, pair: SubsampledGaussianPair) -> Line:
    given = Fields(fields.take(name), name)
    line = Line(
        given.positive("shift"),
        given.positive("step"),
        given.whole("left", most=MAX_NODES),
        given.whole("right", most=MAX_NODES),
    )
    given.close()
    if 4 * pair.mu_squared * line.shift**2 > 9:
        raise RefusedError(f"{name}: 2 mu shift must be at most 3, which is below pi")
    return line


@final
@dataclass(frozen=True, slots=True)
class Quadrature:
    """M by the trapezoid rule, on lines where (1 + u)^{i y} does not grow with y >= 0."""

    pair: SubsampledGaussianPair
    nodes: Line
    tail: Line

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Every sum at once: with k = n a + b, e^{i k x} is e^{i n a x} e^{i b x}."""
        power, radius = self._power(c), self._error(c, self.nodes).upper()
        error, n = acb(arb(0, radius), arb(0, radius)), isqrt(count - 1) + 1
        samples, turn = list(self._samples(self.nodes)), acb(0, step)
        small = acb_mat([[(growth * turn * b).exp() for b in range(n)] for _, growth in samples])
        large = acb_mat(
            [
                [weight * (growth * (power + turn * a)).exp() for weight, growth in samples]
                for a in range(0, count, n)
            ]
        )
        sums = large * small
        found = [sums[k // n, k % n] + error for k in range(count)]
        return found if self.pair.removal else [moment.conjugate() for moment in found]

    @property
    def infinite(self) -> arb:
        """None."""
        return arb(0)

    @property
    def top(self) -> Fraction | None:
        """None: the bound falls for ever."""
        return None

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # any
        """The sum of the terms' absolute values, which fall as y grows."""
        a = self._power(c)
        sizes = (
            weight.abs_upper() * (a * growth.real - y * growth.imag).exp()
            for weight, growth in self._samples(self.tail)
        )
        return sum(sizes, self._error(c, self.tail))

    def _power(self, c: Fraction) -> arb:
        return ball(c + 1 if self.pair.removal else -c)

    def _samples(self, line: Line) -> Iterator[tuple[acb, acb]]:
        """The weight step phi(z) and log(1 + u(z)) at every node z."""
        mu, q = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate)
        drift, scale = ball(self.pair.mu_squared / 2), ball(line.step) / (2 * arb.pi()).sqrt()
        for j in range(-line.left, line.right + 1):
            z = acb(ball(line.step * j), ball(line.shift))
            growth = (1 - q + q * (mu * z - drift).exp()).log()
            yield scale * (-z * z / 2).exp(), growth

    def _error(self, c: Fraction, line: Line) -> arb:
        """What the rule misses, for every y >= 0: between the nodes, and beyond them."""
        mu, q, b = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate), line.shift
        left, right = line.step * line.left, line.step * line.right
        outside = normal_tail(ball(left)) + normal_tail(ball(right))
        if self.pair.removal:
            if right**2 < (c + 1) ** 2 * self.pair.mu_squared:
                raise RefusedError("the nodes must reach mu (c + 1)")
            raised = q * ball((c + 1) * c * self.pair.mu_squared / 2).exp()
            size, centre = 1 - q + raised, mu * ball(c + 1)
            outside = (1 - q) * outside + raised * (
                normal_tail(ball(left) + centre) + normal_tail(ball(right) - centre)
            )
        else:
            size = ((1 - q) * (mu * ball(b)).cos()) ** ball(-c)
            outside = outside * size
        decay = (2 * arb.pi() * ball(b / line.step)).expm1()
        return 2 * ball(2 * b * b).exp() * size / decay + ball(b * b / 2).exp() * outside
