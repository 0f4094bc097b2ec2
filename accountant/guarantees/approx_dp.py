"""Points and curves: approximate differential privacy, privacy profiles, trade-off functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees import derivation as derivations, dominating_pair
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Proof, Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, GivenPoints, Points
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, state
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, exp_up, show
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_APPROX_DP: Final = Theorem(
    rule="dominate/approx-dp",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.5",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=derivations.dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class ApproxDP(dominating_pair.FaithfulPairGuarantee[R]):
    """(epsilon, delta)-DP: P(S) <= e^epsilon Q(S) + delta for all neighbours and every event S.

    Source: Dwork, Kenthapadi, McSherry, Mironov & Naor (EUROCRYPT 2006), Definition 1.

    Attributes:
        stated_epsilon: exact, at or above 0, nats.
        stated_delta: exact, in [0, 1].

    Example:
        >>> ApproxDP(epsilon=1, delta=0).stated_delta
        Fraction(0, 1)
    """

    stated_epsilon: Fraction
    stated_delta: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: ApproxDP[AddRemove], *, epsilon: Number, delta: Number, derivation: Proof = None
    ) -> None: ...
    @overload
    def __init__(
        self, *, epsilon: Number, delta: Number, relation: R, derivation: Proof = None
    ) -> None: ...
    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        relation: Relation = DEFAULT_RELATION,
        derivation: Proof = None,
    ) -> None:
        exact = arguments.non_negative(epsilon=epsilon), arguments.probability(delta=delta)
        state(
            self, "approx-dp", relation, derivation, stated_epsilon=exact[0], stated_delta=exact[1]
        )

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"({show(self.stated_epsilon)}, {show(self.stated_delta)})-DP"

    def stated_points(self) -> Points:
        """Return the one stated point."""
        return ((self.stated_epsilon, self.stated_delta),)

    def to_pair(self) -> DominatingPair[R]:
        """Return the pair that tells all with probability delta, else is randomised response.

        Statement: for every event P(S) <= e^eps Q(S) + delta and, from the other order on the
            complement, P(S) <= 1 - e^{-eps} (1 - delta - Q(S)); the smaller of the two is the
            power of the best test between P and Q of this pair.
        Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.5 (due to Wasserman & Zhou);
            Kairouz, Oh & Viswanath (arXiv:1311.0776), Section 6.
        """
        pair = self._pair() if self.stated_epsilon > 0 or self.stated_delta > 0 else None
        statement = f"dominated by the pair of {self.describe()}"
        return dominating_pair.dominated(self, DOMINATE_APPROX_DP, statement, pair)

    def _pair(self) -> Pair:
        """Return randomised response with infinite mass delta.

        If epsilon is 0 or delta is 1 it is a pair of three outcomes.
        """
        delta = self.stated_delta
        if self.stated_epsilon > 0 and delta < 1:
            return RandomizedResponsePair(epsilon=self.stated_epsilon, infinite=delta)
        zero = Fraction(0)
        return FinitePair(p=(delta, 1 - delta, zero), q=(zero, 1 - delta, delta))


DOMINATE_PRIVACY_PROFILE: Final = Theorem(
    rule="dominate/privacy-profile",
    source="Doroshenko et al., arXiv:2207.04380, Section 3; PrivacyProfile.vertices",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=derivations.dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class PrivacyProfile(dominating_pair.FaithfulPairGuarantee[R]):
    """(epsilon, delta)-DP for every listed point at once, in both directions.

    Attributes:
        points: exact (epsilon, delta) pairs, epsilon increasing, in [0, 700] nats.

    Example:
        >>> PrivacyProfile(points=((0, 0.5), (1, 0))).points[1]
        (Fraction(1, 1), Fraction(0, 1))
    """

    points: Points
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: PrivacyProfile[AddRemove], *, points: GivenPoints, derivation: Proof = None
    ) -> None: ...
    @overload
    def __init__(self, *, points: GivenPoints, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self,
        *,
        points: GivenPoints,
        relation: Relation = DEFAULT_RELATION,
        derivation: Proof = None,
    ) -> None:
        exact = dominating_pair.checked_points(
            points, _epsilon, lambda delta: arguments.probability(delta=delta)
        )
        state(self, "privacy-profile", relation, derivation, points=exact)

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        shown = [f"({show(epsilon)}, {show(delta)})" for epsilon, delta in self.points]
        if len(shown) > 3:
            shown = [shown[0], shown[1], "...", shown[-1]]
        return f"{', '.join(shown)}-DP"

    def vertices(self) -> Points:
        """Return the largest profile that the points allow, as vertices (t, delta), t = e^epsilon.

        Statement: as a function of t the profile of any pair is convex, falling, and 1 at
            t = 0; so it is at or below the lower convex hull of (0, 1), the stated points and,
            from the other direction by delta(1/t) = 1 - (1 - delta'(t))/t, the points
            (1/t_j, 1 - (1 - delta_j)/t_j); and constant after the last.
        Source: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi (arXiv:2207.04380), Section 3
            ("connect the dots"), for the interpolation in e^epsilon.
        Rounds: up. t_j is at or above e^{epsilon_j}, by at most 2**-100 relative, and the
            profile falls.
        """
        return _vertices(self.points)

    def stated_points(self) -> Points:
        """Return every listed point."""
        return self.points

    def to_pair(self) -> DominatingPair[R]:
        """Return the finite pair with the profile of ``vertices``, for both directions."""
        statement = f"dominated by a pair of {len(self.vertices())} outcomes or fewer"
        return dominating_pair.dominated(
            self, DOMINATE_PRIVACY_PROFILE, statement, _pair(self.points)
        )


def _epsilon(epsilon: Number) -> Fraction:
    """Return an epsilon exactly; refuse one outside [0, 700]."""
    exact = arguments.non_negative(epsilon=epsilon)
    if exact > MAX_EXPONENT:
        raise ParameterError(
            "epsilon", epsilon, f"in [0, {MAX_EXPONENT}]", "leave the point out, or use PureDP"
        )
    return exact


@lru_cache(maxsize=256)
def _vertices(points: Points) -> Points:
    """Return the vertices of the lower convex hull, t rounded up."""
    candidates = [(Fraction(0), Fraction(1))]
    for epsilon, delta in points:
        ratio = exp_up(epsilon)
        candidates += [(ratio, delta), (1 / ratio, 1 - (1 - delta) / ratio)]
    return dominating_pair.falling_hull(candidates)


@lru_cache(maxsize=256)
def _pair(points: Points) -> FinitePair:
    """Return the finite pair whose profile has these vertices."""
    return dominating_pair.pair_of_profile(_vertices(points))


DOMINATE_TRADE_OFF: Final = Theorem(
    rule="dominate/trade-off",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.2",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=derivations.dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class TradeOff(dominating_pair.FaithfulPairGuarantee[R]):
    """f-DP in both directions, f linear between the listed (type_i, type_ii) points.

    The statement is about the whole curve, not only about the points, so the points must
    reach from type_i = 0 to type_ii = 0 and be convex; f is 0 after the last one. As it holds
    for both orders of two neighbours, the larger of f and its inverse is what is kept.

    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.3 and Proposition 2.4.

    Attributes:
        points: exact (type_i, type_ii) vertices, type_i increasing, each in [0, 1].

    Example:
        >>> 0.5 in TradeOff(points=((0, 1), (0.25, 0.25), (1, 0))).advantage()
        True
    """

    points: Points
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: TradeOff[AddRemove], *, points: GivenPoints, derivation: Proof = None
    ) -> None: ...
    @overload
    def __init__(self, *, points: GivenPoints, relation: R, derivation: Proof = None) -> None: ...
    def __init__(
        self,
        *,
        points: GivenPoints,
        relation: Relation = DEFAULT_RELATION,
        derivation: Proof = None,
    ) -> None:
        exact = dominating_pair.checked_points(
            points,
            lambda type_i: arguments.probability(type_i_error=type_i),
            lambda type_ii: arguments.probability(type_ii_error=type_ii),
        )
        state(self, "trade-off", relation, derivation, points=_curve(exact))

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"f-DP with f linear between {len(self.points)} points"

    def to_pair(self) -> DominatingPair[R]:
        """Return the finite pair with this trade-off curve, for both directions.

        Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.2 (every trade-off function is
            that of some pair); the pair is built in ``point_lists.pair_of_trade_off``.
        """
        statement = f"dominated by a pair of {len(self.points) + 1} outcomes or fewer"
        return dominating_pair.dominated(
            self, DOMINATE_TRADE_OFF, statement, _pair_of_curve(self.points)
        )


def _curve(points: Points) -> Points:
    """Return the vertices up to the first 0; refuse points that make no trade-off curve."""
    if points[0][0] != 0 or points[-1][1] != 0:
        raise ParameterError(
            "points", points, "from type_i_error = 0 to type_ii_error = 0", "add the end points"
        )
    if any(type_i + type_ii > 1 for type_i, type_ii in points):
        raise ParameterError("points", points, "at or below type_i + type_ii = 1 everywhere")
    hull = lower_hull([*points, (Fraction(1), Fraction(0))])
    if not all(_on(hull, point) for point in points):
        raise ParameterError("points", points, "convex", "keep the lower convex hull")
    first_zero = next(i for i, (_, type_ii) in enumerate(hull) if type_ii == 0)
    return dominating_pair.symmetric(hull[: first_zero + 1])


def _on(hull: Points, point: tuple[Fraction, Fraction]) -> bool:
    """Return whether a point with type_i in [0, 1] lies on the hull."""
    x, y = point
    for (left, high), (right, low) in pairwise(hull):
        if left <= x <= right:
            return (y - high) * (right - left) == (low - high) * (x - left)
    return len(hull) == 1 and hull[0] == point


_pair_of_curve = lru_cache(maxsize=256)(dominating_pair.pair_of_trade_off)
