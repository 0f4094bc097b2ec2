"""Laws of outputs on finitely many outcomes, in rationals: exact enumeration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise
from math import comb
from typing import final

Law = tuple[Fraction, ...]
Pair = tuple[Law, Law]
Generating = Callable[[Fraction], Fraction]
"""The probability generating function of a number of runs, on rationals."""


@final
@dataclass(frozen=True)
class Neighbours:
    """All pairs of output laws of neighbours, or one pair that dominates them.

    Attributes:
        forward: the first law belongs to the dataset with the extra record.
        backward: the second law does.
    """

    forward: tuple[Pair, ...]
    backward: tuple[Pair, ...]

    @staticmethod
    def symmetric(pair: Pair) -> Neighbours:
        """One pair and its swap."""
        return Neighbours((pair,), ((pair[1], pair[0]),))

    @staticmethod
    def of_rows(rows: Sequence[Law], step: int = 1) -> Neighbours:
        """A mechanism whose output depends on a count alone, which changes by a step."""
        pairs = tuple((rows[j + step], rows[j]) for j in range(len(rows) - step))
        return Neighbours(pairs, tuple((q, p) for p, q in pairs))

    def each(self, change: Callable[[Pair], Pair]) -> Neighbours:
        """Every pair changed."""
        return Neighbours(tuple(map(change, self.forward)), tuple(map(change, self.backward)))

    def times(self, other: Neighbours) -> Neighbours:
        """Both run on the same data: every pair with every pair of its direction."""
        return Neighbours(
            tuple(product(a, b) for a in self.forward for b in other.forward),
            tuple(product(a, b) for a in self.backward for b in other.backward),
        )


def product(one: Pair, other: Pair) -> Pair:
    """The laws of both outputs; outcomes with equal likelihood ratios are merged."""
    masses: dict[Fraction | None, list[Fraction]] = {}
    for p, q in zip(*one, strict=True):
        for r, s in zip(*other, strict=True):
            found = masses.setdefault(p * r / (q * s) if q * s else None, [Fraction(0)] * 2)
            found[0] += p * r
            found[1] += q * s
    merged = [(a, b) for a, b in masses.values() if a or b]
    return tuple(a for a, _ in merged), tuple(b for _, b in merged)


def power(pair: Pair, count: int) -> Pair:
    """The laws of several independent outputs."""
    return reduce(product, [pair] * count)


def mixture(rate: Fraction, law: Law, other: Law) -> Law:
    """Rate times the first plus 1 - rate times the other."""
    return tuple(rate * p + (1 - rate) * q for p, q in zip(law, other, strict=True))


def sampled_rows(rows: Sequence[Law], rate: Fraction) -> list[Law]:
    """The law on a Poisson sample, for counts up to that of the last row."""
    return [
        _average(
            [comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(total + 1)], rows
        )
        for total in range(len(rows))
    ]


def drawn_rows(rows: Sequence[Law], population: int) -> list[Law]:
    """The law on a uniform sample of as many records as the rows count, of a population."""
    size = len(rows) - 1
    every = comb(population, size)
    return [
        _average(
            [
                Fraction(comb(ones, k) * comb(population - ones, size - k), every)
                for k in range(size + 1)
            ],
            rows,
        )
        for ones in range(population + 1)
    ]


def _average(weights: Sequence[Fraction | int], rows: Sequence[Law]) -> Law:
    return tuple(
        sum((w * row[o] for w, row in zip(weights, rows, strict=False)), Fraction(0))
        for o in range(len(rows[0]))
    )


def best_of_runs(law: Law, runs: Generating, score: Sequence[int]) -> Law:
    """The output of largest score among K runs, ties broken at random; first that of no run."""
    chosen = [runs(Fraction(0)), *(Fraction(0) for _ in law)]
    for level in set(score):
        tied = [o for o in range(len(law)) if score[o] == level]
        inside = sum((law[o] for o in tied), Fraction(0))
        below = sum((law[o] for o in range(len(law)) if score[o] < level), Fraction(0))
        if inside:
            chance = (runs(below + inside) - runs(below)) / inside
            for o in tied:
                chosen[o + 1] = law[o] * chance
    return tuple(chosen)


def first_above(law: Law, runs: Generating, score: Sequence[int]) -> Law:
    """The first output of score above 0 among K runs; first the chance that there is none."""
    good = sum((p for p, s in zip(law, score, strict=True) if s > 0), Fraction(0))
    none = runs(1 - good)
    share = (1 - none) / good if good else Fraction(0)
    return (none, *(p * share if s > 0 else Fraction(0) for p, s in zip(law, score, strict=True)))


def dominating(pairs: Sequence[Pair]) -> Pair:
    """The pair whose profile is the largest of several: convex and linear between corners."""
    corners = sorted({p / q for pair in pairs for p, q in zip(*pair, strict=True) if q})
    crossings = {
        place
        for left, right in pairwise([Fraction(0), *corners])
        for one, other in combinations(pairs, 2)
        if (place := _crossing(one, other, left, right)) is not None
    }
    places = sorted({Fraction(0), *corners, *crossings})
    heights = [max(hockey_stick(pair, t) for pair in pairs) for t in places]
    slopes = [
        (b - a) / (t - s)
        for (s, t), (a, b) in zip(pairwise(places), pairwise(heights), strict=True)
    ]
    turns = [b - a for a, b in pairwise([Fraction(-1), *slopes, Fraction(0)])]
    p = [t * turn for t, turn in zip(places, turns, strict=True)]
    kept = [k for k, turn in enumerate(turns) if turn]
    far = heights[-1]
    return (
        (*(p[k] for k in kept), *([far] if far else [])),
        (*(turns[k] for k in kept), *([Fraction(0)] if far else [])),
    )


def hockey_stick(pair: Pair, t: Fraction) -> Fraction:
    """The sum of what P has above t Q."""
    return sum((max(p - t * q, Fraction(0)) for p, q in zip(*pair, strict=True)), Fraction(0))


def _crossing(one: Pair, other: Pair, left: Fraction, right: Fraction) -> Fraction | None:
    """Where two profiles, linear between two places, cross."""
    start = hockey_stick(one, left) - hockey_stick(other, left)
    end = hockey_stick(one, right) - hockey_stick(other, right)
    return left + (right - left) * start / (start - end) if start * end < 0 else None
