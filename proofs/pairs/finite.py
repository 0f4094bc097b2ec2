"""Pairs with finitely many outcomes, from their exact masses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import final

from flint import acb, acb_mat, arb

from proofs.arithmetic import ball, exact_sum
from proofs.errors import RefusedError
from proofs.pairs.pair import Moments, Pair, no_witness

MAX_OUTCOMES = 2_000
MAX_BITS = 1 << 14  # of a common denominator


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
            if min(masses) < 0 or exact_sum(masses, MAX_BITS) != 1:
                raise RefusedError("masses must be at or above 0 and sum to exactly 1")

    @property
    def infinite(self) -> Fraction:
        """P's mass where Q has none."""
        return sum((a for a, b in zip(self.p, self.q, strict=True) if not b), Fraction(0))

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """None: losses are logs of rationals."""
        return None

    def largest(self) -> arb:
        """The log of the largest ratio, 0 where there is none."""
        ratios = [a / b for a, b in zip(self.p, self.q, strict=True) if a and b]
        return ball(max(ratios)).log() if ratios else arb(0)

    def moments(self, witness: object) -> Moments:
        """Sum of p (p/q)^s."""
        no_witness(witness)
        both = [(a, a / b) for a, b in zip(self.p, self.q, strict=True) if a and b]
        terms = [(ball(mass), ball(ratio).log()) for mass, ratio in both]
        return Terms(terms, ball(self.infinite))

    def profile(self, epsilon: arb) -> arb:
        """Sum of (p - e^eps q)_+."""
        t = epsilon.exp()
        gaps = (ball(a) - t * ball(b) for a, b in zip(self.p, self.q, strict=True))
        return sum((gap.nonnegative_part() for gap in gaps), arb(0))

    def corners(self) -> list[tuple[Fraction, Fraction]]:
        """Ratios t = p/q, increasing, where the profile bends, each with the profile there.

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
        """The masses exchanged."""
        return FinitePair(self.q, self.p)

    def describe(self) -> str:
        """The number of outcomes."""
        return f"a pair of {len(self.p)} outcomes"


@final
@dataclass(frozen=True, slots=True)
class Terms:
    """M as a finite sum.

    Attributes:
        terms: finite losses with their masses under P, masses first.
        infinite: P(L = inf).
    """

    terms: list[tuple[arb, arb]]
    infinite: arb

    @property
    def top(self) -> Fraction | None:
        """None: M(c) bounds everything."""
        return None

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Every sum at once: with k = n a + b, e^{i k x} is e^{i n a x} e^{i b x}."""
        if not self.terms:
            return [acb(0)] * count
        tilt, n = ball(c), isqrt(count - 1) + 1
        weights = [mass * (tilt * loss).exp() for mass, loss in self.terms]
        turns = [step * loss for _, loss in self.terms]
        small = acb_mat([[acb(0, turn * b).exp() for b in range(n)] for turn in turns])
        large = acb_mat(
            [
                [
                    weight * acb(0, turn * a).exp()
                    for weight, turn in zip(weights, turns, strict=True)
                ]
                for a in range(0, count, n)
            ]
        )
        found = large * small
        return [found[k // n, k % n] for k in range(count)]

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # flat
        """M(c)."""
        (flat,) = self.along(c, arb(0), 1)
        return flat.real
