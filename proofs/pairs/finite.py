"""Pairs of laws on finitely many outcomes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

from flint import arb

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import exact_sum
from dpproof.proofs.core.arithmetic import ball, exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Pair, Worded
from dpproof.proofs.core.verdict import openable


@frozen
class RandomizedResponsePair(Pair):
    """Two categories of k-ary randomised response, beside an outcome that tells.

    Losses e = epsilon, -e, 0 with masses (e^e, 1, k - 2) / (e^e + k - 1) under P, all times
    1 - infinite.
    """

    epsilon: Fraction
    categories: int
    infinite_mass: Fraction
    words: ClassVar[str] = "randomised response at {epsilon} on {categories} categories"

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
        said = Worded.describe(self)
        return f"{said}, told with {exact(self.infinite)}" if self.infinite else said


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
    def ratio(self) -> Fraction:
        """Return the largest ratio, 1 if P and Q have no outcome in common."""
        return max((a / b for a, b in self.shared), default=Fraction(1))

    @property
    def reach(self) -> Fraction:
        """Return a number above the log of the largest ratio."""
        return above_log(self.ratio)

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


def told_with(delta: Fraction) -> FinitePair:
    """Return the pair of an outcome that P and Q share, beside one of mass delta that tells."""
    rest, none = 1 - delta, Fraction(0)
    return FinitePair((delta, rest, none), (none, rest, delta))
