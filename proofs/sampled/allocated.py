"""One of several rounds of Gaussian noise, drawn at random: proofs/theory/allocation.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt
from typing import Final

from flint import acb, acb_mat, arb, ctx

from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.pairs.gaussian_above_floor import LargestOfGaussiansPair
from dpproof.proofs.pairs.pair import no_profile
from dpproof.proofs.sampled.table import EnclosedProfile, TabulatedPair
from dpproof.proofs.sums.contour import Line, on_circle

_MORE_BITS: Final = 64  # for powers of phi; enclosures are sound with any number
_TURNS: Final = 13  # 1, 1/2, 1/4, ...: any of them bounds what a line cuts


@frozen
class AllocatedGaussianPair(TabulatedPair):
    """P is the mean over i of N(mu e_i, I) in so many dimensions and Q is N(0, I), or the swap."""

    mu_squared: Fraction
    rounds: int
    removal: bool

    @property
    def coordinate(self) -> LargestOfGaussiansPair:
        """Return the laws of the largest coordinate, a function of the outcome."""
        return LargestOfGaussiansPair(
            self.mu_squared, self.rounds, replaced=True, removal=self.removal
        )

    def swapped(self) -> AllocatedGaussianPair:
        """Return the pair of the other direction."""
        return AllocatedGaussianPair(self.mu_squared, self.rounds, not self.removal)

    def profile(self, epsilon: arb) -> arb:  # noqa: ARG002  # at none
        """Refuse: it has no formula here."""
        raise no_profile(self.describe())

    def bounds(self, lines: Sequence[Line]) -> Callable[[arb, int], arb]:
        """Return upper bounds of the profile by each of the lines.

        Removal: 1 - c + E(c - M)_+ at c = e^epsilon; addition: E(c - M)_+ / c at c = e^-epsilon.
        """
        sums = self._sums(lines)
        return lambda epsilon, which: self._profile(epsilon, sums[which].above)

    def enclosed_profile(self, lines: Sequence[Line]) -> EnclosedProfile:
        """Return an enclosure by each of the lines, and the limit of the profile."""
        sums = self._sums(lines)

        def around(epsilon: arb, which: int) -> arb:
            low, high = (
                self._profile(epsilon, one) for one in (sums[which].below, sums[which].above)
            )
            return low.union(high)

        return EnclosedProfile(around, arb(0))

    def _sums(self, lines: Sequence[Line]) -> list[_Shortfall]:
        if not lines:
            raise no_profile(self.describe())
        return [_Shortfall.along(self.mu_squared, self.rounds, line) for line in lines]

    def _profile(self, epsilon: arb, shortfall: Callable[[arb], arb]) -> arb:
        with ctx.workprec(ctx.prec + _MORE_BITS):
            if self.removal:
                return shortfall(epsilon.exp()) - epsilon.expm1()
            return shortfall((-epsilon).exp()) * epsilon.exp()

    def describe(self) -> str:
        """Name the two laws."""
        p, q = ("P", "Q") if self.removal else ("Q", "P")
        return (
            f"{self.rounds} unit normal variables, all of mean 0 under {q}, and one of them, drawn "
            f"uniformly, of mean mu under {p}, with mu^2 = {exact(self.mu_squared)}"
        )


@frozen
class _Transform:
    """phi(w) = E e^{-wY}, Y = e^{ag - a^2/2}, by the trapezoid rule on the line Im g = -shift.

    As 2 a shift is below pi/2, no term grows for w in the first quadrant, nor between the lines
    Im g = 0 and Im g = -2 shift.
    """

    places: list[acb]  # Y at every node
    weights: list[acb]  # step times the normal density
    missed: arb  # bounds what the rule errs by

    @staticmethod
    def of(mu_squared: Fraction) -> _Transform:
        """Return the rule for the precision."""
        a = ball(mu_squared).sqrt()
        shift = (arb(3) / (4 * a)).min(arb(2)).mid()
        least = ctx.prec * arb(2).log()
        step = (2 * arb.pi() * shift / (least + 2 * shift * shift)).mid()
        reach = int(float(((2 * least).sqrt() / step).upper())) + 2
        scale = step / (2 * arb.pi()).sqrt()
        nodes = [acb(step * j, -shift) for j in range(-reach, reach + 1)]
        between = (1 + (2 * shift * shift).exp()) / (2 * arb.pi() * shift / step).expm1()
        beyond = 2 * (shift * shift / 2).exp() * normal_tail(reach * step)
        return _Transform(
            [(a * z - a * a / 2).exp() for z in nodes],
            [scale * (-z * z / 2).exp() for z in nodes],
            (between + beyond).upper(),
        )

    def along(self, start: arb, step: arb, count: int) -> list[acb]:
        """Return phi(start + i k step), k = 0, ..., count - 1; start above 0."""
        n, turn = isqrt(count - 1) + 1, acb(0, step)
        both = list(zip(self.weights, self.places, strict=True))
        small = acb_mat([[(-turn * b * y).exp() for b in range(n)] for y in self.places])
        large = acb_mat(
            [[w * (-(start + turn * k) * y).exp() for w, y in both] for k in range(0, count, n)]
        )
        sums, error = large * small, acb(arb(0, self.missed), arb(0, self.missed))
        return [sums[k // n, k % n] + error for k in range(count)]


@frozen
class _Shortfall:
    """E(c - M)_+ by a trapezoid sum of e^{uc} phi(u/t)^t / u^2 on Re u = tilt.

    The whole sum is E(c - M)_+ plus aliases, which are not negative. With N normal, E(c + tau N -
    M)_+ is no smaller, and has the factor e^{tau^2 u^2 / 2}.
    """

    tilt: arb  # Re u
    step: arb  # of Im u
    body: Callable[[arb], arb]  # the sum over e^{tilt c}, by step c
    cut: arb  # bounds what is left out, over the same
    smooth: bool  # whether tau is above 0

    @staticmethod
    def along(mu_squared: Fraction, rounds: int, line: Line) -> _Shortfall:
        """Return the sum along a line."""
        with ctx.workprec(ctx.prec + _MORE_BITS):
            p, step, half = ball(line.c), ball(line.step), ball(line.tau * line.tau / 2)
            phi, terms = _Transform.of(mu_squared), []
            values = phi.along(p / rounds, step / rounds, line.nodes + 1)
            for k, value in enumerate(values):
                u = acb(p, step * k)
                share = step / (2 * arb.pi()) * (2 if k else 1)
                terms.append(share * (half * u * u).exp() * value**rounds / (u * u))
            end, size = step * line.nodes, arb(1)
            for turn in (arb(2) ** -k for k in range(_TURNS)):
                reach = (p * turn.cos() + end * turn.sin()) / rounds
                (value,) = phi.along(reach, arb(0), 1)
                grown = (turn * turn / (2 * ball(mu_squared))).exp() * value.real.upper()
                size = size.min(grown**rounds)
            cut = size * (half * (p * p - end * end)).exp() / (arb.pi() * end)
            return _Shortfall(p, step, on_circle(terms), cut, bool(line.tau))

    def above(self, c: arb) -> arb:
        """Return at least E(c - M)_+."""
        return (self.tilt * c).exp() * (self.body(self.step * c) + self.cut)

    def below(self, c: arb) -> arb:
        """Return at most E(c - M)_+: aliases at c + m L, L = 2 pi/step, are at most those of c.

        They are none for m < 0 as c <= L.
        """
        length = 2 * arb.pi() / self.step
        if self.smooth or not c <= length:
            raise RefusedError("a line bounds from below without a Gaussian, up to c = 2 pi/step")
        ratio = (-self.tilt * length).exp()
        aliases = ratio / (1 - ratio) * (c + length / (1 - ratio))
        return (self.tilt * c).exp() * (self.body(self.step * c) - self.cut) - aliases
