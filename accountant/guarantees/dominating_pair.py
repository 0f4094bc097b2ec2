"""Notions that amount to a dominating pair: any pair, Gaussian differential privacy, points."""

from __future__ import annotations

import contextlib
from abc import ABC
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final, overload

import numpy as np

from dpproof.accountant import answers, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine import renyi as divergence
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees import derivation as derivations, guarantee as guarantees
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Proof, Theorem
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee, applied, state
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, floats_around, show, sqrt_up
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, R, Relation

_BITS = 160  # Significant bits of a shortened curve. Heuristic: coordinates are rounded down.
_ALLOWED = "a sequence of one pair of numbers or more"  # The domain that an error states.
Points = tuple[tuple[Fraction, Fraction], ...]
GivenPoints = Sequence[tuple[Number, Number]]


def checked_points(
    points: GivenPoints, first: Callable[[Number], Fraction], second: Callable[[Number], Fraction]
) -> Points:
    """Return the points sorted by first coordinate; refuse none, a repeat, or non-pairs."""
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


def falling_hull(points: Sequence[tuple[Fraction, Fraction]]) -> Points:
    """Return the vertices of the lower convex hull of some points, up to where it is least."""
    hull = lower_hull(points)
    while len(hull) > 1 and hull[-1][1] >= hull[-2][1]:
        hull = hull[:-1]
    return hull


def pair_of_profile(vertices: Points) -> FinitePair:
    """Return the pair whose profile, as a function of t = e^epsilon, is linear between vertices.

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
    """Return epsilons from 0 to the largest loss, where delta falls by equal factors."""
    most = guarantee.delta(epsilon=0).upper
    asked = [most * (_LEAST / most) ** (k / _PLACES) for k in range(1, _PLACES)] if most else []
    epsilons = {guarantee.epsilon(delta=delta).upper for delta in (*asked, 0)}
    return sorted({0.0, *(one for one in epsilons if one <= MAX_EXPONENT)})


class PairGuarantee(Guarantee[R], ABC):
    """A guarantee whose privacy profile is that of the dominating pair of each direction."""

    __slots__ = ()

    def stated_points(self) -> Points:
        """Return exact points (epsilon, delta) at which the statement is (epsilon, delta)-DP.

        The engine encloses delta by floats; where the statement names a point, the answer at
        that point is the statement's. Most name none.
        """
        return ()

    @final
    def _epsilon_at(self, delta: Bound) -> Bound:
        pair = self.to_pair()
        answer = answers.larger_epsilon(pair.forward, pair.backward, delta)
        stated = [
            min((x for x, y in self.stated_points() if y <= Fraction(end)), default=None)
            for end in (delta.upper, delta.lower)
        ]
        return Bound(_at_most(answer, stated[0]).lower, _at_most(answer, stated[1]).upper)

    @final
    def _delta_at(self, epsilon: float) -> Bound:
        pair = self.to_pair()
        if epsilon == 0.0 and pair.backward == pair.forward.swapped():  # total variation distance
            answer = answers.delta(pair.forward, epsilon)
        elif epsilon < 0.0:
            ways = pair.forward, pair.backward
            answer = answers.of_orders(*ways, lambda product: answers.delta(product, epsilon))
        else:
            answer = answers.larger_delta(pair.forward, pair.backward, epsilon)
        exact = [y for x, y in self.stated_points() if floats_around(x)[1] <= epsilon]
        return _at_most(answer, min(exact, default=None))

    @final
    def _epsilons_at(self, delta: Reals) -> tuple[Reals, Reals]:
        return self._many(lambda pair: answers.larger_epsilons(*pair, delta), delta)

    @final
    def _deltas_at(self, epsilon: Reals) -> tuple[Reals, Reals]:
        low, high = self._many(
            lambda pair: answers.larger_deltas(*pair, np.maximum(epsilon, 0.0)), epsilon
        )
        return np.where(epsilon >= 0.0, low, np.nan), np.where(epsilon >= 0.0, high, np.nan)

    def _many(
        self, question: Callable[[tuple[Product, Product]], tuple[Reals, Reals]], asked: Reals
    ) -> tuple[Reals, Reals]:
        """Return the engine's answers at many points, nan where a statement names points."""
        if asked.size > 1 and not self.stated_points():
            pair = self.to_pair()
            failures = contextlib.suppress(NotCertified, FloatingPointError, OverflowError)
            with failures, np.errstate(over="raise", divide="raise", invalid="raise"):
                return question((pair.forward, pair.backward))
        return np.full(asked.shape, np.nan), np.full(asked.shape, np.nan)

    @final
    def _gdp_at(self, smallest_delta: float) -> Bound:
        pair = self.to_pair()
        return answers.larger_mu(pair.forward, pair.backward, smallest_delta)

    @final
    def _true_positive_rate_at(self, false_positive_rate: float) -> Bound:
        pair = self.to_pair()
        return answers.larger_power(pair.forward, pair.backward, false_positive_rate)

    @final
    def _worse(self, question: Callable[[Product], Bound]) -> Bound:
        """Return the larger answer of the two directions, computed once if they are equal."""
        pair = self.to_pair()
        forward = question(pair.forward)
        if pair.backward == pair.forward:
            return forward
        return forward.maximum(question(pair.backward))


class FaithfulPairGuarantee(PairGuarantee[R], ABC):
    """A guarantee equivalent to its pair, so that Renyi divergences are the pair's too."""

    __slots__ = ()

    @final
    def _zcdp(self) -> Bound:
        """Return the smallest rho such that the mechanism is rho-zCDP, +inf when there is none."""
        pair = self.to_pair()
        return answers.larger_rho(pair.forward, pair.backward)

    @final
    def _sampled_tail(self) -> float:
        pair = self.to_pair()
        return max(map(divergence.sampled_gaussian_tails, (pair.forward, pair.backward)))

    @final
    def _rdp_at(self, order: float) -> Bound:
        return self._worse(lambda product: answers.renyi(product, order))


def _at_most(answer: Bound, stated: Fraction | None) -> Bound:
    """Return the answer with its ends lowered to a stated value."""
    if stated is None:
        return answer
    below, above = floats_around(stated)
    upper = min(answer.upper, above)
    return Bound(min(answer.lower, max(below, 0.0), upper), upper)


@final
@dataclass(frozen=True, slots=True, init=False)
class DominatingPair(FaithfulPairGuarantee[R]):
    """Products of pairs (P, Q) that dominate the mechanism M, one per direction.

    (P, Q) dominates when H_eps(P || Q) >= H_eps(M(D) || M(D')) for every real epsilon and all
    the neighbours it stands for: ``forward`` those where D holds the extra record (the record
    that is not blank), ``backward`` those where D' does. As H_eps(P || Q) = 1 - e^eps + e^eps
    H_{-eps}(Q || P), the swap of a product for one direction is one for the other. Under
    ReplaceOne, and between groups, both orders of two datasets count and none has the extra
    record: one product has to cover both. Two would not compose, as mechanisms could be dominated
    one by the first, another by the second, in one order (proofs/theory/relations.md).

    Source: Zhu, Dong & Wang (arXiv:2106.08567), Definition 7.

    Attributes:
        forward: dominates (M(D), M(D')) where D has the extra record; empty when M ignores it.
        backward: dominates the other order; equal to ``forward`` under ReplaceOne and of groups.
    """

    forward: Product
    backward: Product
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: DominatingPair[AddRemove],
        *,
        forward: Product,
        backward: Product | None = None,
        derivation: Proof = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        forward: Product,
        backward: Product | None = None,
        relation: R,
        derivation: Proof = None,
    ) -> None: ...
    def __init__(
        self,
        *,
        forward: Product,
        backward: Product | None = None,
        relation: Relation = DEFAULT_RELATION,
        derivation: Proof = None,
    ) -> None:
        """State the guarantee.

        ``backward`` defaults to the swap of forward, or to forward if the relation is symmetric.
        """
        alike = relation.symmetric or (derivation is not None and derivation.apart > 1)
        if backward is None:
            backward = forward if alike else forward.swapped()
        if alike and set(forward.factors) != set(backward.factors):
            raise ParameterError(
                "backward",
                backward,
                f"equal to forward under {relation}" if relation.symmetric else "equal to forward",
                "leave it out, and give a forward pair that dominates both orders of datasets",
            )
        state(
            self,
            "dominating-pair",
            relation,
            derivation,
            attained=Attained.WHOLE if backward == forward.swapped() else Attained.NO,
            forward=forward,
            backward=forward if alike else backward,
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        factors = self.forward.factors
        total = sum(factor.count for factor in factors)
        if total == 1 and isinstance(factors[0].pair, FinitePair):
            return f"dominated by a pair of {len(factors[0].pair.p)} outcomes"
        if total == 1:
            return f"dominated by {guarantees.pair_in_words(factors[0].pair)}"
        if len(factors) == 1:
            return f"dominated by {guarantees.pair_in_words(factors[0].pair)}, {total} times"
        return f"dominated by {total} pairs of {len(factors)} kinds"

    def to_pair(self) -> DominatingPair[R]:
        """Return the guarantee itself."""
        return self


def dominated(
    guarantee: Guarantee[R], theorem: Theorem, statement: str, pair: Pair | None
) -> DominatingPair[R]:
    """Return the pair of a notion, for both directions; None stands for nothing revealed."""
    product = Product(()) if pair is None else Product.of(pair)
    return DominatingPair(
        forward=product,
        backward=product,
        relation=guarantee.relation,
        derivation=applied(theorem, statement, guarantee),
    )


DOMINATE_GDP: Final = Theorem(
    rule="dominate/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Definition 2.6",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=derivations.dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class GDP(FaithfulPairGuarantee[R]):
    """mu-GDP: no attack does better than one that tells N(0, 1) from N(mu, 1).

    The square of mu is what is kept, exactly, because squares add under composition.

    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6.

    Attributes:
        mu_squared: exact, at or above 0, dimensionless.

    Example:
        >>> GDP(mu=3).mu_squared
        Fraction(9, 1)
        >>> GDP(mu_squared=25).mu
        Fraction(5, 1)
    """

    mu_squared: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: GDP[AddRemove],
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        derivation: Proof = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        relation: R,
        derivation: Proof = None,
    ) -> None: ...
    def __init__(
        self,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        relation: Relation = DEFAULT_RELATION,
        derivation: Proof = None,
    ) -> None:
        """State the guarantee by mu or by its square; without a derivation it is an assumption."""
        state(self, "gdp", relation, derivation, mu_squared=_square(mu, mu_squared))

    @property
    def mu(self) -> Fraction:
        """Return the root of ``mu_squared``: exact if rational, else above by 2**-80 of it."""
        return sqrt_up(self.mu_squared)

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.mu)}-GDP"

    def to_pair(self) -> DominatingPair[R]:
        """Return the definition itself: N(mu, 1) over N(0, 1).

        Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6.
        """
        pair = GaussianPair(mu_squared=self.mu_squared) if self.mu_squared > 0 else None
        statement = f"dominated by Gaussians {show(self.mu)} standard deviations apart"
        return dominated(self, DOMINATE_GDP, statement, pair)


def _square(mu: Number | None, mu_squared: Number | None) -> Fraction:
    """Return the square of mu, of which exactly one form must be given."""
    if mu is not None and mu_squared is None:
        return arguments.non_negative(mu=mu) ** 2
    if mu_squared is not None and mu is None:
        return arguments.non_negative(mu_squared=mu_squared)
    raise ParameterError("mu", mu, "given, or else mu_squared, and not both")
