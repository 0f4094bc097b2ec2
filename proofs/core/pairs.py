"""Pairs of laws (P, Q) by their exact parameters; L = log dP/dQ is the loss.

Everything is an enclosure at the current precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

from flint import arb

from . import limits
from .arithmetic import Number, ball, exact, exact_sum, normal_tail
from .errors import BeyondError, RefusedError
from .frozen import frozen
from .verdict import openable

Product: TypeAlias = "tuple[tuple[Pair, int], ...]"
"""Different pairs, each with how often it occurs."""


class Pair(ABC):
    """A pair of laws."""

    __slots__ = ()

    @property
    def infinite(self) -> Fraction:
        """Return at least P(L = inf): 0 where P and Q have the same support."""
        return Fraction(0)

    @property
    def profile_making(self) -> int:
        """Return the work that all values of the profile share."""
        return 16 * limits.VALUE

    @property
    def reach(self) -> Fraction | None:
        """Return a rational at or above every finite loss, if one is at hand."""
        return None

    def largest(self) -> Number:
        """Return a number at or above every finite loss; refuse if there is no bound."""
        if self.reach is None:
            raise RefusedError(f"the losses of {self.describe()} have no bound")
        return self.reach

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

    @abstractmethod
    def describe(self) -> str:
        """Name the pair in words and numbers."""


@frozen
class OtherPair(Pair):
    """A pair of a kind that the core does not know, by its JSON: it only compares and names it."""

    text: str

    @property
    def reach(self) -> Fraction | None:
        """Leave it to an extension, and with it all losses."""
        raise BeyondError("a pair of a kind that is not known here")

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

    def profile(self, epsilon: arb) -> arb:
        """Return Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

        Source: Balle & Wang (arXiv:1805.06530), Theorem 8.
        """
        mu = ball(self.mu_squared).sqrt()
        shift = epsilon / mu
        return normal_tail(shift - mu / 2) - epsilon.exp() * normal_tail(shift + mu / 2)

    def describe(self) -> str:
        """Name mu squared."""
        return f"Gaussians with mu^2 = {exact(self.mu_squared)}"


@frozen
class SubsampledGaussianPair(Pair):
    """W = (1-q) N(0,1) + q N(mu,1) against N(0,1): (W, N) for removal, else (N, W)."""

    mu_squared: Fraction
    sampling_rate: Fraction
    removal: bool

    @property
    def reach(self) -> Fraction | None:
        """Return a number above -log(1 - q) for addition; a removal has no bound."""
        return None if self.removal else above_log(1 / (1 - self.sampling_rate))

    def largest(self) -> Number:
        """Return -log(1 - q) for addition; refuse a removal, whose losses have no bound."""
        return Pair.largest(self) if self.removal else -ball(1 - self.sampling_rate).log()

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
        way = "removal" if self.removal else "addition"
        shown = f"Gaussians with mu^2 = {exact(self.mu_squared)}"
        return f"{shown} sampled at rate {exact(self.sampling_rate)} ({way})"


@frozen
class LaplacePair(Pair):
    """Laplace laws of scale 1 at epsilon and at 0.

    Under P the loss is a = epsilon with mass 1/2, -a with mass e^{-a}/2, and has density
    e^{(l-a)/2}/4 between.
    """

    epsilon: Fraction

    @property
    def reach(self) -> Fraction:
        """Return epsilon."""
        return self.epsilon

    def profile(self, epsilon: arb) -> arb:
        """Return 1 - e^{(eps - a)/2} up to a, then 0: the best event is {x > (a + eps)/2}."""
        return (-((epsilon - ball(self.epsilon)) / 2).expm1()).nonnegative_part()

    def describe(self) -> str:
        """Name the distance."""
        return f"Laplace variables {exact(self.epsilon)} scales apart"


@frozen
class RandomizedResponsePair(Pair):
    """Two categories of k-ary randomised response, beside an outcome that tells.

    Losses e = epsilon, -e, 0 with masses (e^e, 1, k - 2) / (e^e + k - 1) under P, all times
    1 - infinite.
    """

    epsilon: Fraction
    categories: int
    infinite_mass: Fraction

    @property
    def infinite(self) -> Fraction:
        """Return the mass of the outcome that Q lacks."""
        return self.infinite_mass

    def share(self) -> arb:
        """Return the mass under P of the loss -epsilon."""
        return ball(1 - self.infinite_mass) / (ball(self.epsilon).exp() + (self.categories - 1))

    @property
    def reach(self) -> Fraction:
        """Return epsilon."""
        return self.epsilon

    def profile(self, epsilon: arb) -> arb:
        """Return the profile; for 0 <= eps < epsilon only the outcome of loss epsilon counts."""
        below = (-(epsilon - ball(self.epsilon)).expm1()).nonnegative_part()
        return ball(self.infinite_mass) + self.share() * ball(self.epsilon).exp() * below

    def describe(self) -> str:
        """Name epsilon and the number of categories."""
        shown = f"randomised response at {exact(self.epsilon)} on {self.categories} categories"
        return f"{shown}, told with {exact(self.infinite)}" if self.infinite else shown


@frozen
class FinitePair(Pair):
    """Masses p and q of the same outcomes, each summing to exactly 1."""

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Refuse anything that is not a pair of distributions."""
        if not 1 <= len(self.p) == len(self.q) <= limits.MAX_OUTCOMES:
            raise RefusedError(f"p and q must have one length from 1 to {limits.MAX_OUTCOMES}")
        for masses in (self.p, self.q):
            if min(masses) < 0 or exact_sum(masses, limits.MAX_COMMON_BITS) != 1:
                raise RefusedError("masses must be at or above 0 and sum to exactly 1")

    @property
    def infinite(self) -> Fraction:
        """Return the mass under P of the outcomes that Q lacks."""
        return sum((a for a, b in zip(self.p, self.q, strict=True) if not b), Fraction(0))

    @property
    def shared(self) -> list[tuple[Fraction, Fraction]]:
        """Return the masses of the outcomes that both P and Q have."""
        return [(a, b) for a, b in zip(self.p, self.q, strict=True) if a and b]

    @property
    def profile_making(self) -> int:
        """Return the work of sorting and adding up the outcomes."""
        return 16 * limits.VALUE + limits.finite_work(len(self.p))

    @property
    def ratio(self) -> Fraction:
        """Return the largest ratio, 1 if P and Q have no outcome in common."""
        return max((a / b for a, b in self.shared), default=Fraction(1))

    @property
    def reach(self) -> Fraction:
        """Return a number above the log of the largest ratio."""
        return above_log(self.ratio)

    def largest(self) -> Number:
        """Return the log of the largest ratio."""
        return ball(self.ratio).log()

    def rational_at(self) -> Callable[[Fraction], Fraction | None]:
        """Return the profile also at epsilon = 0: half the distance of the masses."""
        beyond, both = Pair.rational_at(self), tuple(zip(self.p, self.q, strict=True))
        return lambda epsilon: (
            beyond(epsilon) if epsilon else sum((a - b for a, b in both if a > b), Fraction(0))
        )

    def profile(self, epsilon: arb) -> arb:
        """Return the sum of (p - e^eps q)_+."""
        return self.profile_at()(epsilon)

    def profile_at(self) -> Callable[[arb], arb]:
        """Return the profile as a function: outcomes are sorted once, and added up beyond each.

        At t = e^eps outcomes of ratio p/q certainly at most t add 0, those certainly at least t add
        p - t q. The others add between 0 and q times what the largest of their ratios exceeds t by.
        """
        both = zip(self.p, self.q, strict=True)
        rows = sorted(
            ((ball(a) / ball(b), ball(a), ball(b)) for a, b in both if b),
            key=lambda one: one[0].mid(),
        )
        most = list(accumulate((ratio.upper() for ratio, _, _ in rows), max))
        least = list(accumulate((ratio.lower() for ratio, _, _ in reversed(rows)), min))[::-1]
        p = list(accumulate((a for _, a, _ in reversed(rows)), initial=ball(self.infinite)))[::-1]
        q = list(accumulate((b for _, _, b in reversed(rows)), initial=arb(0)))[::-1]

        def value(epsilon: arb) -> arb:
            t = epsilon.exp()
            first = bisect_right(most, t.lower())
            last = max(bisect_left(least, t.upper()), first)
            sure = p[last] - t * q[last]
            if first == last:
                return sure
            unsure = (q[first] - q[last]) * (most[last - 1] - t).nonnegative_part()
            return sure + arb(0).union(unsure)

        return value

    def describe(self) -> str:
        """List every mass."""
        masses = (openable(", ".join(map(str, one))) for one in (self.p, self.q))
        return "a pair of {} outcomes with P = ({}) and Q = ({})".format(len(self.p), *masses)


def above_log(ratio: Fraction) -> Fraction:
    """Return a whole number above the log of a ratio: its binary digits."""
    return Fraction(ratio.__ceil__().bit_length())


def product_words(product: Product) -> str:
    """List every pair with its count."""
    shown = (f"{count} x {pair.describe()}" for pair, count in product)
    return openable("; ".join(shown)) if product else "two equal laws"
