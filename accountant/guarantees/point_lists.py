"""Lists of exact points, their lower convex hulls, and the finite pairs with such curves."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT
from dpproof.accountant.pairs.finite import FinitePair

_BITS = 160  # Significant bits of a shortened curve. Heuristic: coordinates are rounded down.
_ALLOWED = "a sequence of one pair of numbers or more"  # The domain that an error states.
Points = tuple[tuple[Fraction, Fraction], ...]
GivenPoints = Sequence[tuple[Number, Number]]


def checked_points(
    points: GivenPoints, first: Callable[[Number], Fraction], second: Callable[[Number], Fraction]
) -> Points:
    """Return the points sorted by first coordinate; refuse an empty list, a repeat, or non-pairs.

    Args:
        points: pairs of numbers in any order.
        first: checks a first coordinate and returns its exact value.
        second: the same for a second coordinate.
    """
    _require_sequence(points, points)
    for point in points:
        _require_sequence(points, point)
    if not points or any(len(point) != 2 for point in points):
        raise ParameterError("points", points, _ALLOWED)
    exact = sorted((first(x), second(y)) for x, y in points)
    for (left, _), (right, _) in pairwise(exact):
        if left == right:
            raise ParameterError("points", points, "without a repeated first coordinate")
    return tuple(exact)


def _require_sequence(points: object, value: object) -> None:
    """Refuse anything but a sequence."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ParameterError("points", points, _ALLOWED)


def _first(point: tuple[Fraction, Fraction]) -> Fraction:
    """Return the place of a vertex."""
    return point[0]


def value_at(curve: Points, place: Fraction) -> Fraction:
    """Return a falling curve's value between its vertices, its last value after them."""
    after = bisect_left(curve, place, key=_first)
    if after in (0, len(curve)):
        return curve[0 if after == 0 else -1][1]
    (left, high), (right, low) = curve[after - 1], curve[after]
    return high + (low - high) * (place - left) / (right - left)


def chained(inner: Points, outer: Points) -> Points:
    """Return the vertices of a -> outer(1 - inner(a)) for two trade-off curves, rounded down.

    The lower convex hull of lowered points is below a falling convex curve.
    """
    # Where the inner power passes a vertex of the outer curve a new vertex appears.
    places = {type_i for type_i, _ in inner}
    for (left, high), (right, low) in pairwise(inner):
        first = bisect_right(outer, 1 - high, key=_first)
        for vertex, _ in outer[first : bisect_left(outer, 1 - low, key=_first)]:
            places.add(left + (high - (1 - vertex)) * (right - left) / (high - low))
    points = [(place, value_at(outer, 1 - value_at(inner, place))) for place in places]
    return shortened([*points, (Fraction(1), Fraction(0))])


def shortened(points: Sequence[tuple[Fraction, Fraction]]) -> Points:
    """Return a trade-off curve at or below one, of 160 significant bits, up to the first 0."""
    hull = lower_hull([(_down(x), _down(y)) for x, y in points])
    return hull[: next(i for i, (_, y) in enumerate(hull) if y == 0) + 1]


def _down(value: Fraction) -> Fraction:
    """Round down to 160 significant bits, relative error at most 2**-159; exact if they suffice."""
    excess = value.denominator.bit_length() - value.numerator.bit_length()
    shift = max(0, excess + _BITS)
    lowered = (value.numerator << shift) // value.denominator
    candidate = Fraction(lowered, 1 << shift)
    return value if value.denominator.bit_length() <= _BITS else candidate


def symmetric(curve: Points) -> Points:
    """Return the vertices of the larger of a trade-off curve and its inverse, up to the first 0."""
    inverse = tuple((y, x) for x, y in reversed(curve))
    places = sorted({x for x, _ in (*curve, *inverse)})
    crossings = []
    for left, right in pairwise(places):
        before = value_at(curve, left) - value_at(inverse, left)
        after = value_at(curve, right) - value_at(inverse, right)
        if before * after < 0:
            crossings.append(left + (right - left) * before / (before - after))
    points = [(x, max(value_at(curve, x), value_at(inverse, x))) for x in (*places, *crossings)]
    hull = lower_hull(points)
    return hull[: next(i for i, (_, y) in enumerate(hull) if y == 0) + 1]


def pair_of_profile(vertices: Points) -> FinitePair:
    """Return the pair whose profile, as a function of t = e^epsilon, is linear between vertices.

    Args:
        vertices: (t, delta) with t increasing from 0, delta falling from 1, convex, and at or
            above 1 - t; constant after the last vertex.

    Proof: for a pair with mass q_k at likelihood ratio t_k under Q, mass p_k = t_k q_k under P,
        and P(L = inf) = p_inf, delta(t) = p_inf + sum_k (p_k - t q_k)_+ has slope -sum q_k over
        t_k > t. So q_k is the change of slope at t_k, p_inf the last value, and what Q has left,
        1 plus the first slope, sits at t = 0.
    """
    slopes = [(high - low) / (right - left) for (left, low), (right, high) in pairwise(vertices)]
    slopes.append(Fraction(0))
    p, q = [], []
    if 1 + slopes[0] > 0:
        p.append(Fraction(0))
        q.append(1 + slopes[0])
    for (ratio, _), before, after in zip(vertices[1:], slopes, slopes[1:], strict=False):
        if after > before:
            p.append(ratio * (after - before))
            q.append(after - before)
    if vertices[-1][1] > 0:
        p.append(vertices[-1][1])
        q.append(Fraction(0))
    return FinitePair(p=tuple(p), q=tuple(q))


def pair_of_trade_off(vertices: Points) -> FinitePair:
    """Return the pair whose trade-off curve is linear between the vertices.

    Args:
        vertices: (type_i, type_ii) from type_i = 0 to type_ii = 0, convex and falling; the
            curve is 0 after the last one.

    Proof: each segment is one outcome, its horizontal extent the mass under Q (rejecting there
        is a false alarm) and its fall the mass under P; rejecting outcomes in the order of the
        segments, by convexity that of falling likelihood ratio, walks along the vertices. The
        drop 1 - f(0) is detected for free, and past the last vertex Q has mass and P none.
    """
    p, q = [], []
    if vertices[0][1] < 1:
        p.append(1 - vertices[0][1])
        q.append(Fraction(0))
    for (left, high), (right, low) in pairwise(vertices):
        p.append(high - low)
        q.append(right - left)
    if vertices[-1][0] < 1:
        p.append(Fraction(0))
        q.append(1 - vertices[-1][0])
    return FinitePair(p=tuple(p), q=tuple(q))


_PLACES: Final = 40  # Heuristic: epsilons of what is made of these points are off by about 1 %.
_LEAST: Final = 1e-24  # The smallest delta but 0. Heuristic.


def profile_places(guarantee: Guarantee[Any]) -> list[float]:
    """Return epsilons from 0 to the largest loss, where delta falls by equal factors.

    Args:
        guarantee: any notion.
    Example:
        >>> from dpproof.accountant.guarantees.pure_dp import PureDP
        >>> 0.999 < profile_places(PureDP(epsilon=1))[-1] < 1.001
        True
    """
    most = guarantee.delta(epsilon=0).upper
    asked = [most * (_LEAST / most) ** (k / _PLACES) for k in range(1, _PLACES)] if most else []
    epsilons = {guarantee.epsilon(delta=delta).upper for delta in (*asked, 0)}
    return sorted({0.0, *(one for one in epsilons if one <= MAX_EXPONENT)})
