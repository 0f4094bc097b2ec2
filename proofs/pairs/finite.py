"""Pairs with finitely many outcomes, from their exact masses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

from flint import arb

from dpproof.proofs.balls.arithmetic import ball, exact_sum
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.limits import MAX_COMMON_BITS, MAX_OUTCOMES
from dpproof.proofs.pairs.loss_atoms import Terms
from dpproof.proofs.pairs.pair import Moments, Pair, no_witness
from dpproof.proofs.verdict import openable


@final
@dataclass(frozen=True, slots=True)
class FinitePair(Pair):
    """Masses p and q of the same outcomes, each summing to 1."""

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Refuse anything that is not a pair of distributions."""
        if not 1 <= len(self.p) == len(self.q) <= MAX_OUTCOMES:
            raise RefusedError(f"p and q must have one length from 1 to {MAX_OUTCOMES}")
        for masses in (self.p, self.q):
            if min(masses) < 0 or exact_sum(masses, MAX_COMMON_BITS) != 1:
                raise RefusedError("masses must be at or above 0 and sum to exactly 1")

    @property
    def infinite(self) -> Fraction:
        """Return the mass under P of the outcomes that Q lacks."""
        return sum((a for a, b in zip(self.p, self.q, strict=True) if not b), Fraction(0))

    @property
    def outcomes(self) -> int:
        """Return the number of outcomes that both P and Q have."""
        return sum(1 for a, b in zip(self.p, self.q, strict=True) if a and b)

    def terms(self) -> Terms:
        """Return the log ratios with the masses under P."""
        both = ((a, b) for a, b in zip(self.p, self.q, strict=True) if a and b)
        return Terms([(ball(a / b).log(), ball(a)) for a, b in both], ball(self.infinite))

    def largest(self) -> arb:
        """Return the log of the largest ratio, 0 if P and Q have no outcome in common."""
        ratios = [a / b for a, b in zip(self.p, self.q, strict=True) if a and b]
        return ball(max(ratios)).log() if ratios else arb(0)

    def moments(self, witness: object) -> Moments:
        """Return M, the sum of p (p/q)^s."""
        no_witness(witness)
        return self.terms()

    def profile(self, epsilon: arb) -> arb:
        """Return the sum of (p - e^eps q)_+."""
        return self.profile_at()(epsilon)

    def profile_at(self) -> Callable[[arb], arb]:
        """Return the profile as a function: outcomes are sorted once, and added up beyond each.

        At t = e^eps outcomes of ratio p/q certainly at most t add 0, those certainly at least t add
        p - t q. The others add between 0 and q times what the largest of their ratios exceeds t by.
        """
        both = zip(self.p, self.q, strict=True)
        found = sorted(
            ((ball(a) / ball(b), ball(a), ball(b)) for a, b in both if b),
            key=lambda one: one[0].mid(),
        )
        most = list(accumulate((ratio.upper() for ratio, _, _ in found), max))
        least = list(accumulate((ratio.lower() for ratio, _, _ in reversed(found)), min))[::-1]
        p = list(accumulate((a for _, a, _ in reversed(found)), initial=ball(self.infinite)))[::-1]
        q = list(accumulate((b for _, _, b in reversed(found)), initial=arb(0)))[::-1]

        def value(epsilon: arb) -> arb:
            t = epsilon.exp()
            first = bisect_right(most, t.lower())
            last = max(bisect_left(least, t.upper()), first)
            known = p[last] - t * q[last]
            if first == last:
                return known
            unsure = (q[first] - q[last]) * (most[last - 1] - t).nonnegative_part()
            return known + arb(0).union(unsure)

        return value

    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """Return the ratios t = p/q, increasing, each with the profile there; it bends there alone.

        In t the profile is 1 at 0, linear between the corners, and constant after the last.
        """
        ratios = sorted({a / b for a, b in zip(self.p, self.q, strict=True) if a and b})
        jumps = dict.fromkeys(ratios, Fraction(0))
        for a, b in zip(self.p, self.q, strict=True):
            if a and b:
                jumps[a / b] += b
        height, steep, found = self.infinite, Fraction(0), []
        for place, t in reversed(list(enumerate(ratios))):
            height += steep * (ratios[place + 1] - t) if steep else 0
            steep += jumps[t]
            found.append((t, height))
        return found[::-1]

    def swapped(self) -> Pair:
        """Return the pair with its masses exchanged."""
        return FinitePair(self.q, self.p)

    def describe(self) -> str:
        """List every mass."""
        masses = (openable(", ".join(map(str, one))) for one in (self.p, self.q))
        return "a pair of {} outcomes with P = ({}) and Q = ({})".format(len(self.p), *masses)
