"""The pair of AboveThreshold: noisy queries compared with one noisy threshold."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.isoperimetric import Line, finite_pair_above, isoperimetric

_DEPTH: Final = (
    64  # Lines of mu on either side: further ones lower kappa below masses of 2^-64 only.
)


@lru_cache(maxsize=256)
def above_threshold_pair(
    *, threshold: Fraction, query: Fraction, cutoff: int = 1, monotone: bool = False
) -> FinitePair:
    """Return a finite pair that dominates AboveThreshold, in both orders of two neighbours.

    Queries get Laplace noise and are compared, one after the other, with a threshold that got
    Laplace noise once; the comparisons are released until ``cutoff`` of them said "above". The same
    holds if the gaps between the sums above and the noisy threshold are released as well.

    Statement: with a = sensitivity/threshold scale, b = sensitivity/query scale, c the cut-off,
        every event's mass p moves along the path of the queries at a speed of at most
        kappa(p) = min((a + 2bc) min(p, 1 - p), b c mu(p)), mu(p) = mu(1 - p) the least of the lines
        kp + 2^(1-k)/3, k = 0, 1, ...; if queries move in one direction only, up, at most
        min(b c m(p), (a + bc)(1 - p)), m(p) the least of p and k(1 - p) + 2^(-k-1), k = 0, 1, ...
    Source: proofs/theory/above_threshold.md, Theorems 1 to 4.
    Rounds: up; the pair's epsilon is above that of the law of the statement by a few millionths.

    Args:
        threshold: a, sensitivity over the scale of the threshold's noise.
        query: b, sensitivity over the scale of the queries' noise.
        cutoff: c, at least 1.
        monotone: whether no two queries move in opposite directions between neighbours.
    """
    if monotone:
        up = _rising(threshold, query * cutoff)
        curves = [isoperimetric(up), isoperimetric([(right, left) for left, right in up])]
    else:
        curves = [isoperimetric(_both_ways(threshold, query * cutoff))]
    return finite_pair_above(curves)


@lru_cache(maxsize=256)
def rising_pairs(
    *, threshold: Fraction, query: Fraction, cutoff: int = 1
) -> tuple[FinitePair, FinitePair]:
    """Return finite pairs for each order of neighbours, if a further record moves no query down.

    Statement: as ``above_threshold_pair`` for queries that move up; the path goes from the dataset
        without the record to that with it, so the bound serves (with, without), and reversed, as
        kappa(1 - p), (without, with).
    Source: proofs/theory/above_threshold.md, Theorem 3.
    Rounds: up.

    Args:
        threshold: a, sensitivity over the scale of the threshold's noise.
        query: b, sensitivity over the scale of the queries' noise.
        cutoff: c, at least 1.
    """
    up = _rising(threshold, query * cutoff)
    down = [(right, left) for left, right in up]
    return finite_pair_above([isoperimetric(up)]), finite_pair_above([isoperimetric(down)])


def _both_ways(threshold: Fraction, query: Fraction) -> list[Line]:
    """Return the lines whose least is kappa, for queries that move in any direction."""
    zero, steepest = Fraction(0), threshold + 2 * query
    lines = [(zero, steepest), (steepest, zero)]
    for k in range(_DEPTH):
        start = Fraction(2, 3 * 2**k)
        lines += [(query * start, query * (start + k)), (query * (start + k), query * start)]
    return lines


def _rising(threshold: Fraction, query: Fraction) -> list[Line]:
    """Return the lines whose least is kappa, for queries that move up."""
    zero = Fraction(0)
    lines = [(zero, query), (threshold + query, zero)]
    for k in range(_DEPTH):
        end = Fraction(1, 2 ** (k + 1))
        lines.append((query * (end + k), query * end))
    return lines
