"""Gaussian pairs: floored and folded, the largest of several, and opposite mixtures.

It is what two datasets show of an epoch of shuffled batches: proofs/theory/shuffled.md, section 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar, final

from flint import acb, arb

from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import GaussianPair, Pair
from dpproof.proofs.pairs import pair as kinds
from dpproof.proofs.pairs.quadrature import Integrand, Line, read_quadrature, sampled_ratio


class GaussianAboveFloor(kinds.LossPair, ABC):
    """Under P the loss is G ~ N(mu^2/2, mu^2) above f, of w times its density, and else f.

    Q has the density e^{-loss} there and its other mass off P, so no loss is infinite under P.
    M(s) = atom e^{sf} + w e^{s(s+1) mu^2/2} Phi(s mu + mu/2 - f/mu). The density's part is the
    transform of g(l) = w e^{cl} n(l) on (f, inf), which rises, if at all, to at most its maximum
    and falls to 0: integrated by parts, its modulus at c + iy is at most 2 max g / y, with
    max g = w e^{c(c+1) mu^2/2} / (mu sqrt(2 pi)).
    Proof in proofs/theory/logistic.md, Theorem 2, and separators.md, Theorem 3.
    """

    __slots__ = ()

    mu_squared: Fraction

    weight: ClassVar[int]  # w, 1 with an atom at the floor or 2 without one

    @property
    @abstractmethod
    def lowest(self) -> Fraction:
        """Return the floor f, at or above 0."""

    @final
    def moments(self, witness: object) -> kinds.Moments:
        """Return M by its formula."""
        kinds.no_witness(witness)
        square, floor, weight = ball(self.mu_squared), ball(self.lowest), self.weight
        mu = square.sqrt()
        atom = self._atom()

        def decay(c: arb, y: arb) -> arb:
            top = weight * (c * (c + 1) * square / 2).exp() / (mu * (2 * arb.pi()).sqrt())
            return (c * floor).exp() * atom + 2 * top / y

        return kinds.Formula(self.moment, decay)

    @final
    def moment(self, s: acb) -> acb:
        """Return M at any s."""
        square, floor = ball(self.mu_squared), ball(self.lowest)
        mu = square.sqrt()
        z = s * mu + mu / 2 - floor / mu
        share = (-z / arb(2).sqrt()).erfc() / 2
        exponential = (s * (s + 1) * square / 2).exp()
        return (s * floor).exp() * self._atom() + self.weight * exponential * share

    @final
    def profile(self, epsilon: arb) -> arb:
        """Return w delta_mu from the floor on, 1 - e^{eps - f}(1 - w delta_mu(f)) below."""
        floor = ball(self.lowest)
        if epsilon >= floor:
            return self.weight * self._gaussian(epsilon)
        if epsilon < floor:
            return 1 - (epsilon - floor).exp() * (1 - self.weight * self._gaussian(floor))
        return self.profile(epsilon.lower()).union(self.weight * self._gaussian(epsilon))

    def _gaussian(self, epsilon: arb) -> arb:
        """Return the profile of mu-GDP."""
        return GaussianPair(self.mu_squared).profile(epsilon)

    def _atom(self) -> arb:
        """Return the mass at the floor."""
        if self.weight == 2:
            return arb(0)
        mu = ball(self.mu_squared).sqrt()
        return normal_tail(mu / 2 - ball(self.lowest) / mu)

    @final
    def swapped(self) -> SwappedAboveFloor:
        """Return (Q, P), which no certificate names: tables of samples need its profile."""
        return SwappedAboveFloor(self)


@frozen
class SwappedAboveFloor(kinds.LossPair):
    """(Q, P) of a pair above a floor f >= 0, whose finite losses are all at or below -f.

    So H_eps is Q's mass off P at every eps >= 0. With P's loss L, M(s) = E_Q[(Q/P)^s; P > 0] is
    E_P[e^{-(s+1)L}], and Q's mass off P is 1 - E_P[e^{-L}]: both are M of (P, Q), whose formula is
    entire in s.
    """

    pair: GaussianAboveFloor

    @property
    def infinite(self) -> Fraction:
        """Return 1, as the mass is no rational."""
        return Fraction(1)

    def exact_infinite_mass(self) -> arb:
        """Return Q's mass off P."""
        return 1 - self.pair.moment(acb(-1)).real

    def moments(self, witness: object) -> kinds.Moments:
        """Return M by the formula of (P, Q), at -(s+1)."""
        kinds.no_witness(witness)
        return kinds.Formula(lambda s: self.pair.moment(-1 - s), None, self.exact_infinite_mass())

    def profile(self, epsilon: arb) -> arb:  # noqa: ARG002  # the same for all
        """Return Q's mass off P, as no loss is above 0."""
        return self.exact_infinite_mass()

    def swapped(self) -> Pair:
        """Return (P, Q)."""
        return self.pair

    def describe(self) -> str:
        """Name (P, Q)."""
        return f"the swap of {self.pair.describe()}"


@frozen
class FlooredGaussianPair(GaussianAboveFloor):
    """The loss max(G, floor)."""

    mu_squared: Fraction
    floor: Fraction
    weight: ClassVar[int] = 1
    words: ClassVar[str] = "the floored Gaussian pair of mu^2 = {mu_squared} and floor {floor}"

    @property
    def lowest(self) -> Fraction:
        """Return the floor."""
        return self.floor


@frozen
class FoldedGaussianPair(GaussianAboveFloor):
    """The loss mu |N| + mu^2/2, which is G above mu^2/2 with twice the density."""

    mu_squared: Fraction
    weight: ClassVar[int] = 2
    words: ClassVar[str] = "the folded Gaussian pair of mu^2 = {mu_squared}"

    @property
    def lowest(self) -> Fraction:
        """Return mu^2/2."""
        return self.mu_squared / 2


@frozen
class LargestOfGaussiansPair(Pair):
    """The laws of the maximum of N(m, 1) and batches - 1 times N(0, 1).

    m is 2 mu with the record and mu without it, or mu and 0 if it is replaced. P is the law with
    the record if removal, else the law without it.
    """

    mu_squared: Fraction
    batches: int
    replaced: bool
    removal: bool

    def events(self, x: arb) -> tuple[arb, arb]:
        """Return the masses under P and Q of more than x if removal, else of at most x."""
        with_it, without = (self._log_below(x, shift) for shift in self._shifts())
        if self.removal:
            return -with_it.expm1(), -without.expm1()
        return without.exp(), with_it.exp()

    def _shifts(self) -> tuple[arb, arb]:
        """Return the mean with the record, and without it."""
        mu = ball(self.mu_squared).sqrt()
        return (mu, arb(0)) if self.replaced else (2 * mu, mu)

    def _log_below(self, x: arb, shift: arb) -> arb:
        """Return the log of the probability of at most x."""
        return (self.batches - 1) * log_normal(x) + log_normal(x - shift)

    def profile(self, epsilon: arb) -> arb:  # noqa: ARG002  # at none
        """Refuse: it has no formula here."""
        raise kinds.no_profile(self.describe())

    def describe(self) -> str:
        """Name the number of variables and the two means."""
        means = ("mu", "0") if self.replaced else ("2 mu", "mu")
        p, q = means if self.removal else means[::-1]
        return (
            f"the largest of {self.batches} unit normal variables, one of mean {p} under P and "
            f"{q} under Q and the others of mean 0, with mu^2 = {exact(self.mu_squared)}"
        )


def log_normal(x: arb) -> arb:
    """Return the log of the probability that a standard normal variable is at most x."""
    return normal_tail(-x).log() if x < 0 else (-normal_tail(x)).log1p()


@frozen
class OppositeGaussiansPair(kinds.Reflected):
    """(1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1).

    With A(z) = 1-q + q e^{mu z - mu^2/2}, B(z) = A(-z) and Z standard normal,
    M(s) = E[A(Z)^{1+s} B(Z)^{-s}].
    """

    mu_squared: Fraction
    sampling_rate: Fraction
    words: ClassVar[str] = (
        "opposite Gaussians with mu^2 = {mu_squared} sampled at rate {sampling_rate}"
    )

    def moments(self, witness: object) -> kinds.Moments:
        """Return M by trapezoid rules on two lines, one for M and one for its decay."""
        return read_quadrature(witness, _Losses(self), self.mu_squared)

    def profile(self, epsilon: arb) -> arb:
        """Return q Phi(mu-x) - (1-q)(t-1) Phi(-x) - t q Phi(-x-mu), A = t B at x, t = e^eps."""
        mu, q = ball(self.mu_squared).sqrt(), ball(self.sampling_rate)
        raised = (1 - q) / q * ball(self.mu_squared / 2).exp() * (epsilon / 2).sinh()
        x = (epsilon / 2 + raised.asinh()) / mu
        unsampled = (1 - q) * epsilon.expm1() * normal_tail(x)
        return q * (normal_tail(x - mu) - epsilon.exp() * normal_tail(x + mu)) - unsampled


@frozen
class _Losses(Integrand):
    """A e^{s loss}, on lines where the loss log A/B has an imaginary part at or above 0."""

    pair: OppositeGaussiansPair

    @property
    def mirrored(self) -> bool:
        """Return False."""
        return False

    def power(self, c: Fraction) -> arb:
        """Return c."""
        return ball(c)

    def terms(self, line: Line) -> Iterator[tuple[acb, acb]]:
        """Yield the weight step phi(z) A(z) and log A(z)/B(z) at every node z."""
        ratio = sampled_ratio(self.pair.mu_squared, self.pair.sampling_rate)
        for z, weight in line.nodes():
            above, below = ratio(z), ratio(-z)
            yield weight * above, above.log() - below.log()

    def missed(self, c: Fraction, line: Line) -> arb:
        """Bound what the rule misses, for every y >= 0: between the nodes, and beyond them."""
        mu, q, b = ball(self.pair.mu_squared).sqrt(), ball(self.pair.sampling_rate), line.shift
        left, right = line.step * line.left, line.step * line.right
        if right**2 < (c + 1) ** 2 * self.pair.mu_squared:
            raise RefusedError("the nodes must reach mu (c + 1)")
        most = ((1 - q) * (mu * ball(b)).cos()) ** ball(-c)
        raised = q * ball((c + 1) * c * self.pair.mu_squared / 2).exp()
        centre = mu * ball(c + 1)
        outside = (1 - q) * (normal_tail(ball(left)) + normal_tail(ball(right))) + raised * (
            normal_tail(ball(left) + centre) + normal_tail(ball(right) - centre)
        )
        decay = (2 * arb.pi() * ball(b / line.step)).expm1()
        between = 2 * ball(2 * b * b).exp() * (1 - q + raised) / decay
        return most * (between + ball(b * b / 2).exp() * outside)
