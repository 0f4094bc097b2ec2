"""A privacy profile known at finitely many points."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.hull import lower_hull
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem, dominate_again
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, dominated
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION
from dpproof.accountant.guarantees.pair_guarantee import FaithfulPairGuarantee
from dpproof.accountant.guarantees.point_lists import (
    GivenPoints,
    Points,
    checked_points,
    pair_of_profile,
)
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, exp_up, show
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_PRIVACY_PROFILE: Final = Theorem(
    rule="dominate/privacy-profile",
    source="Doroshenko et al., arXiv:2207.04380, Section 3; PrivacyProfile.vertices",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class PrivacyProfile(FaithfulPairGuarantee[R]):
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
        self: PrivacyProfile[AddRemove],
        *,
        points: GivenPoints,
        derivation: Derivation | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self, *, points: GivenPoints, relation: R, derivation: Derivation | None = None
    ) -> None: ...
    def __init__(
        self,
        *,
        points: GivenPoints,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee; without a derivation it is an assumption."""
        exact = checked_points(points, _epsilon, lambda delta: arguments.probability(delta=delta))
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
        return dominated(self, DOMINATE_PRIVACY_PROFILE, statement, _pair(self.points))


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
    hull = list(lower_hull(candidates))
    while len(hull) > 1 and hull[-1][1] >= hull[-2][1]:
        hull.pop()
    return tuple(hull)


@lru_cache(maxsize=256)
def _pair(points: Points) -> FinitePair:
    """Return the finite pair whose profile has these vertices."""
    return pair_of_profile(_vertices(points))
