"""Pairs of laws (P, Q) by exact parameters, in enclosures; L = log dP/dQ is the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, TypeAlias

from flint import arb

from .arithmetic import ball, exact, normal_tail
from .errors import BeyondError
from .frozen import frozen
from .verdict import openable

Product: TypeAlias = "tuple[tuple[Pair, int], ...]"
"""Different pairs, each with how often it occurs."""


class Worded(ABC):  # noqa: B024  # its words are what it leaves open
    """What is said of a value: its words, with its fields where they name them."""

    __slots__ = ()
    words: ClassVar[str] = ""

    def describe(self) -> str:
        """Return the value in words and numbers."""
        shown: Mapping[str, Callable[..., str]] = {"product": product_words, "points": listed}
        names: Sequence[str] = type(self).__slots__
        return self.words.format(**{x: shown.get(x, exact)(getattr(self, x)) for x in names})


class Pair(Worded, ABC):
    """A pair of laws."""

    __slots__ = ()

    @property
    def infinite(self) -> Fraction:
        """Return at least P(L = inf): 0 where P and Q have the same support."""
        return Fraction(0)

    @property
    def reach(self) -> Fraction | None:
        """Return a rational at or above every finite loss, if one is at hand."""
        return None

    def rational_at(self) -> Callable[[Fraction], Fraction | None]:
        """Return the profile where it is rational: beyond the finite losses, the infinite one."""
        reach = self.reach
        infinite = None if reach is None else self.infinite
        return lambda epsilon: None if reach is None or epsilon < reach else infinite

    @abstractmethod
    def profile(self, epsilon: arb) -> arb:
        """Return the hockey-stick divergence at epsilon >= 0, in closed form."""

    def profile_at(self) -> Callable[[arb], arb]:
        """Return the profile as a function, for many epsilons."""
        return self.profile


@frozen
class OtherPair(Pair):
    """A pair of a kind that the core does not know, by its JSON: it only compares and names it."""

    text: str

    def profile(self, epsilon: arb) -> arb:  # noqa: ARG002  # none is known
        """Leave it to an extension."""
        raise BeyondError("a pair of a kind that is not known here")

    def describe(self) -> str:
        """Name it by its JSON."""
        return f"the pair {openable(self.text)}"


@frozen
class GaussianPair(Pair):
    """N(mu, 1) over N(0, 1)."""

    mu_squared: Fraction
    words: ClassVar[str] = "Gaussians with mu^2 = {mu_squared}"

    def profile(self, epsilon: arb) -> arb:
        """Return Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

        Source: Balle & Wang (arXiv:1805.06530), Theorem 8.
        """
        mu = ball(self.mu_squared).sqrt()
        shift = epsilon / mu
        return normal_tail(shift - mu / 2) - epsilon.exp() * normal_tail(shift + mu / 2)


@frozen
class SubsampledGaussianPair(Pair):
    """W = (1-q) N(0,1) + q N(mu,1) against N(0,1): (W, N) for removal, else (N, W)."""

    mu_squared: Fraction
    sampling_rate: Fraction
    removal: bool
    words: ClassVar[str] = "Gaussians with mu^2 = {mu_squared} sampled at rate {sampling_rate}"

    @property
    def reach(self) -> Fraction | None:
        """Return a number above -log(1 - q) for addition; a removal has no bound."""
        past = (1 / (1 - self.sampling_rate)).__ceil__().bit_length()
        return None if self.removal else Fraction(past)

    def profile(self, epsilon: arb) -> arb:
        """Return the profile from the Gaussian's (arXiv:2106.08567, Theorem 11), t = e^eps.

        Removal: q H_a(P|Q), a = 1 + (t-1)/q = t (1 + (1-q)(1-1/t)/q), which holds at every eps.
        Addition: r H_{qt/r}(P|Q), r = 1 - t(1-q), if r > 0, else 0.
        """
        q, t, base = ball(self.sampling_rate), epsilon.exp(), GaussianPair(self.mu_squared)
        if self.removal:
            more = (1 - q) / q * -(-epsilon).expm1()
            return q * base.profile(epsilon + more.log1p())
        r = 1 - t * (1 - q)
        return arb(0) if r <= 0 else r * base.profile((q * t / r).log())

    def describe(self) -> str:
        """Name mu squared, the rate and the direction."""
        said, way = Worded.describe(self), "removal" if self.removal else "addition"
        return f"{said} ({way})"


@frozen
class LaplacePair(Pair):
    """Laplace laws of scale 1 at epsilon and at 0.

    Under P the loss is a = epsilon with mass 1/2, -a with mass e^{-a}/2, and has density
    e^{(l-a)/2}/4 between.
    """

    epsilon: Fraction
    words: ClassVar[str] = "Laplace variables {epsilon} scales apart"

    @property
    def reach(self) -> Fraction:
        """Return epsilon."""
        return self.epsilon

    def profile(self, epsilon: arb) -> arb:
        """Return 1 - e^{(eps - a)/2} up to a, then 0: the best event is {x > (a + eps)/2}."""
        return (-((epsilon - ball(self.epsilon)) / 2).expm1()).nonnegative_part()


def listed(points: Sequence[tuple[Fraction, Fraction]]) -> str:
    """List every point in words."""
    return openable(", ".join(f"({exact(x)}, {exact(y)})" for x, y in points))


def product_words(product: Product) -> str:
    """List every pair with its count."""
    shown = (f"{count} x {pair.describe()}" for pair, count in product)
    return openable("; ".join(shown)) if product else "two equal laws"
