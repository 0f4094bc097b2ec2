"""Losses that are few enough to be listed: M as a sum, products and powers of such sums."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, isqrt
from typing import TypeVar

from flint import acb, acb_mat, arb, arb_poly

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.frozen import frozen

T = TypeVar("T", arb, arb_poly)


@frozen
class Terms:
    """All the losses of a pair.

    Attributes:
        losses: the finite ones with their masses under P.
        infinite: P(L = inf).
    """

    losses: list[tuple[arb, arb]]
    infinite: arb

    @property
    def top(self) -> Fraction | None:
        """Return None: M(c) bounds everything."""
        return None

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return every sum at once: with k = n a + b, e^{i k x} is e^{i n a x} e^{i b x}."""
        if not self.losses:
            return [acb(0)] * count
        tilt, n = ball(c), isqrt(count - 1) + 1
        weights = [mass * (tilt * loss).exp() for loss, mass in self.losses]
        turns = [step * loss for loss, _ in self.losses]
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
        products = large * small
        return [products[k // n, k % n] for k in range(count)]

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # flat
        """Return M(c)."""
        (flat,) = self.along(c, arb(0), 1)
        return flat.real

    def times(self, other: Terms, count: int) -> Terms:
        """Return the losses of a product with independent copies of another pair."""
        more = power(other.losses, count)
        losses = [(a + b, p * q) for a, p in self.losses for b, q in more]
        return Terms(losses, 1 - (1 - self.infinite) * (1 - other.infinite) ** count)


def power(terms: Sequence[tuple[arb, T]], count: int) -> list[tuple[arb, T]]:
    """Return the terms of a power of a sum of factor e^{z exponent}, by the multinomial theorem."""
    if len(terms) == 1:
        return [_alone(terms[0], count)]
    middle = len(terms) // 2
    return _together(_powers(terms[:middle], count), _powers(terms[middle:], count), count)


def _powers(terms: Sequence[tuple[arb, T]], count: int) -> list[list[tuple[arb, T]]]:
    """Return all powers from 0 to a count: those of both halves, multiplied."""
    if len(terms) == 1:
        return [[_alone(terms[0], n)] for n in range(count + 1)]
    middle = len(terms) // 2
    left, right = _powers(terms[:middle], count), _powers(terms[middle:], count)
    return [_together(left, right, n) for n in range(count + 1)]


def _alone(term: tuple[arb, T], count: int) -> tuple[arb, T]:
    """Return the power of one term."""
    exponent, factor = term
    return exponent * count, factor**count


def _together(
    left: list[list[tuple[arb, T]]], right: list[list[tuple[arb, T]]], count: int
) -> list[tuple[arb, T]]:
    """Return the power of a sum of two sums, from all powers of both."""
    return [
        (a + b, p * q * comb(count, k))
        for k in range(count + 1)
        for a, p in left[k]
        for b, q in right[count - k]
    ]
