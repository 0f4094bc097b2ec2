"""The smallest finite pair above several finite pairs, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from dpproof.accountant.pairs.finite import FinitePair

Law: TypeAlias = Sequence[Fraction]


def smallest_pair_above(pairs: Iterable[tuple[Law, Law]]) -> FinitePair:
    """Return the finite pair whose profile is the largest of the profiles of some pairs.

    Statement: H_t(P||Q) is the largest P(S) - tQ(S), and of each pair the events {P/Q > r} suffice.
        So the largest of several profiles is that of the concave hull of the points (Q(S), P(S))
        of all of them: a pair with an outcome for each edge. As profiles decide domination, it is
        dominated by every pair that dominates them all.
    Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.2, for curves as pairs.
    Rounds: nothing.

    Args:
        pairs: laws (P, Q) on the same outcomes, each of total mass 1.
    """
    points = {(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))}
    for p, q in pairs:
        order = sorted(range(len(p)), key=lambda k: (q[k] != 0, -p[k] / q[k] if q[k] else 0))
        x, y = Fraction(0), Fraction(0)
        for k in order:
            x, y = x + q[k], y + p[k]
            points.add((x, y))
    return pair_above_points(points)


def pair_above_points(points: Iterable[tuple[Fraction, Fraction]]) -> FinitePair:
    """Return the finite pair whose events reach the concave hull of some points (Q(S), P(S)).

    Statement: a pair one of whose best events has these masses, or less under P, or more under Q,
        at every corner of its trade-off, is dominated by it.
    Source: as above; the hull does not fall, so a point moved to smaller masses under Q raises it.
    Rounds: nothing.

    Args:
        points: masses from 0 to 1, among them (1, 1) and (0, y) for some y.
    """
    hull: list[tuple[Fraction, Fraction]] = []
    for point in sorted(points):
        while hull and hull[-1][0] == point[0]:
            hull.pop()
        while len(hull) > 1 and _below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    start = hull[0][1]
    edges = [((Fraction(0), start))] if start else []
    edges += [(right - left, high - low) for (left, low), (right, high) in pairwise(hull)]
    return FinitePair(p=tuple(rise for _, rise in edges), q=tuple(run for run, _ in edges))


def _below(
    first: tuple[Fraction, Fraction],
    middle: tuple[Fraction, Fraction],
    last: tuple[Fraction, Fraction],
) -> bool:
    """Return whether the middle point lies on or below the chord of the others."""
    run, rise = last[0] - first[0], last[1] - first[1]
    return (middle[1] - first[1]) * run <= rise * (middle[0] - first[0])
