"""One notion implies another by the numbers of its dominating pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final, overload

from dpproof.accountant import answers, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_down
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees import guarantee as guarantees
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.derivation import Attained, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee, concluded, renyi_order
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.relation import R
from dpproof.accountant.theorems import implications


@theorem(
    rule="convert/notion-rdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.10 (Blackwell)",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="to_rdp",
)
def notion_to_rdp(guarantee: Guarantee[R], *, orders: Sequence[Number]) -> RDP[R]:
    """Evaluate the Renyi curve at the given orders.

    Statement: Renyi divergences obey data processing, so those of a dominating pair bound those
        of the mechanism at every order; for mu-GDP the value is mu^2 a/2, for rho-zCDP rho a,
        for epsilon-DP log cosh((a - 1/2) epsilon) - log cosh(epsilon/2), over a - 1.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.10 (Blackwell: the mechanism's outputs
        are a post-processing of the dominating pair); Mironov, arXiv:1702.07476, Proposition 7
        (Gaussian).
    Rounds: up, but exact for zCDP and at listed points. Infinite values are left out.
    Laws: monotone in the order; loses everything that finitely many orders do not say.
    Example:
        >>> from dpproof.accountant.guarantees.rdp import ZCDP
        >>> notion_to_rdp(ZCDP(rho=1), orders=[2, 3]).points[1]
        (Fraction(3, 1), Fraction(3, 1))
    """
    if not orders:
        raise ParameterError("orders", orders, "one order or more, each > 1")
    exact = sorted({renyi_order(order=order) for order in orders})
    values = [(order, _value(guarantee, order)) for order in exact]
    points = [(order, value) for order, value in values if value is not None]
    if not points:
        raise NotImplied(
            f"{guarantee.describe()} has no finite Renyi divergence at the given orders "
            f"(from {floats_around(exact[0])[0]:g} to {floats_around(exact[-1])[0]:g}); "
            "try smaller orders, or convert with to=PrivacyProfile (at epsilons)"
        )
    result = RDP(points=points, relation=guarantee.relation)
    words = f"Renyi divergence at {len(points)} orders"
    return concluded(result, notion_to_rdp, words, guarantee)


def _value(guarantee: Guarantee[R], order: Fraction) -> Fraction | None:
    """Return an upper bound of the divergence, None if it is infinite or unknown."""
    if isinstance(guarantee, RenyiGuarantee):
        return guarantee.divergence_up(order)
    value = guarantee.rdp(order=order).upper
    return Fraction(value) if math.isfinite(value) else None


def gdp_to_rdp(guarantee: GDP[R], *, orders: Sequence[Number]) -> RDP[R]:
    """Evaluate the Renyi curve of a Gaussian guarantee, exactly.

    Statement: mu-GDP implies (a, mu^2 a/2)-RDP at every order a, and no smaller value.
    Assumes: nothing.
    Source: Mironov, arXiv:1702.07476, Proposition 7, through ``gdp_to_zcdp``.
    Rounds: nothing.
    Laws: loses everything that finitely many orders do not say; commutes with composition.
    Example:
        >>> gdp_to_rdp(GDP(mu=2), orders=[3]).points
        ((Fraction(3, 1), Fraction(6, 1)),)
    """
    return notion_to_rdp(implications.gdp_to_zcdp(guarantee), orders=orders)


def notion_to_pair(guarantee: PairGuarantee[R]) -> DominatingPair[R]:
    """Write the guarantee as its dominating pair.

    Statement: epsilon-DP is dominated by randomised response, (epsilon, delta)-DP by randomised
        response with a delta of full disclosure, mu-GDP by two Gaussians. Bounded range is
        dominated by two logistic distributions, metric DP along paths by two Laplace distributions,
        a profile or a trade-off curve by a finite pair.
    Assumes: nothing.
    Source: the notion's ``to_pair``, where each is proved.
    Rounds: nothing, but e^epsilon of a profile's points, up.
    Laws: every answer is unchanged; lossless but for bounded range.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> len(notion_to_pair(GDP(mu=1)).forward.factors)
        1
    """
    return guarantee.to_pair()


@theorem(
    rule="convert/notion-approx",
    source="Zhu, Dong & Wang, Definition 7; Canonne, Kamath & Steinke, Proposition 12",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="",
    again=None,
)
def notion_to_approx(guarantee: Guarantee[R], *, delta: Number) -> ApproxDP[R]:
    """Find the epsilon that goes with a given delta.

    Statement: a mechanism with dominating pair (P, Q) is (epsilon, delta)-DP when
        H_epsilon(P || Q) <= delta in both directions. One with Renyi divergence R at some order
        a, in both directions, is (epsilon, delta)-DP for
        epsilon = R + log((a-1)/a) - (log delta + log a)/(a-1); the best order is taken.
    Assumes: nothing.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Definition 7 (pairs); Canonne, Kamath &
        Steinke, arXiv:2004.00010, Proposition 12 (Renyi curves), proved in
        ``renyi_bounds.log_delta_terms``.
    Rounds: up.
    Laws: monotone: a larger delta never gives a larger epsilon; loses all other points.
    Example:
        >>> from dpproof.accountant.guarantees.rdp import ZCDP
        >>> round(float(notion_to_approx(ZCDP(rho=0.5), delta=1e-6).stated_epsilon), 4)
        5.2215
    """
    exact = arguments.probability(delta=delta)
    epsilon = guarantee.epsilon(delta=exact).upper
    if math.isinf(epsilon):
        raise NotImplied(
            f"{guarantee.describe()} gives no finite epsilon at delta = {float(exact):g}; "
            "try a larger delta"
        )
    result = ApproxDP(epsilon=Fraction(epsilon), delta=exact, relation=guarantee.relation)
    words = f"({epsilon:.6g}, {float(exact):g})-DP from {guarantee.describe()}"
    return concluded(result, notion_to_approx, words, guarantee)


@theorem(
    rule="convert/notion-profile",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Definition 7",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="",
    again=None,
)
def notion_to_profile(guarantee: Guarantee[R], *, epsilons: Sequence[Number]) -> PrivacyProfile[R]:
    """Evaluate the privacy profile at the given points.

    Statement: a mechanism is (epsilon, delta(epsilon))-DP at every epsilon, delta the larger
        hockey-stick divergence of its two dominating pairs, or for a Renyi curve the best
        conversion over orders.
    Assumes: nothing.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Definition 7 (pairs); Canonne, Kamath &
        Steinke, arXiv:2004.00010, Proposition 12 (Renyi curves).
    Rounds: up.
    Laws: the profile of the result is at or above the original everywhere, equal to its upper
        end at the points.
    Example:
        >>> from dpproof.accountant.guarantees.approx_dp import ApproxDP
        >>> ((epsilon, delta),) = notion_to_profile(
        ...     ApproxDP(epsilon=1, delta=0.25), epsilons=[1]
        ... ).points
        >>> epsilon, 0.25 <= delta < 0.2500001
        (Fraction(1, 1), True)
    """
    if not epsilons:
        raise ParameterError("epsilons", epsilons, "one epsilon or more, each >= 0")
    places = [float_down(arguments.non_negative(epsilon=one)) for one in epsilons]
    deltas = guarantee.deltas(epsilons=places).upper
    points = list(zip(epsilons, map(Fraction, deltas.tolist()), strict=True))
    result = PrivacyProfile(points=points, relation=guarantee.relation)
    words = f"privacy profile at {len(points)} points"
    return concluded(result, notion_to_profile, words, guarantee)


@theorem(
    rule="convert/profile-trade-off",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12",
    attained=Attained.WHOLE,  # the same pair
    pointwise=True,
)
def profile_to_trade_off(guarantee: PrivacyProfile[R]) -> TradeOff[R]:
    """Turn a profile known at points into its piecewise linear trade-off curve.

    Statement: f(a) = max over t >= 0 of 1 - delta(t) - t a, delta as a function of t = e^eps.
        When delta is linear between vertices t_k and its slope changes by q_k at t_k, f falls
        by t_k q_k over a step of length q_k, the largest t_k first, from f(0) = 1 - delta(inf).
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12.
    Rounds: nothing beyond ``PrivacyProfile.vertices``; the points are exact rationals.
    Laws: lossless: both are the same finite pair.
    Example:
        >>> profile_to_trade_off(PrivacyProfile(points=((0, 0.5),))).points
        ((Fraction(0, 1), Fraction(1, 2)), (Fraction(1, 2), Fraction(0, 1)))
    """
    vertices = guarantee.vertices()
    slopes = [(high - low) / (right - left) for (left, low), (right, high) in pairwise(vertices)]
    slopes.append(Fraction(0))
    type_i, type_ii = Fraction(0), 1 - vertices[-1][1]
    points = [(type_i, type_ii)]
    for k in range(len(vertices) - 1, 0, -1):
        mass = slopes[k] - slopes[k - 1]
        type_i += mass
        type_ii -= vertices[k][0] * mass
        points.append((type_i, type_ii))
    result = TradeOff(points=points, relation=guarantee.relation)
    words = f"f-DP with f linear between {len(points)} points"
    return concluded(result, profile_to_trade_off, words, guarantee)


def notion_to_trade_off(guarantee: Guarantee[R], *, epsilons: Sequence[Number]) -> TradeOff[R]:
    """Support the trade-off curve from below by lines of slope -e^epsilon.

    Statement: f(a) >= 1 - delta(epsilon) - e^epsilon a for every epsilon; the curve returned is
        the largest of these lines and their mirror images. (Values of f at points would not
        do: a convex curve may lie below its chords.)
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12.
    Rounds: down for type II errors, which is the safe side.
    Laws: the trade-off of the result is at or below the original everywhere.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> len(notion_to_trade_off(GDP(mu=1), epsilons=[0, 1, 2]).points)
        6
    """
    return profile_to_trade_off(notion_to_profile(guarantee, epsilons=epsilons))


@theorem(
    rule="convert/pair-gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Corollary 2.13",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="restated",
)
def pair_to_gdp(guarantee: PairGuarantee[R]) -> GDP[R]:
    """Find the Gaussian whose profile is nowhere below that of the dominating pair.

    Statement: a mechanism is mu-GDP iff its profile is at or below that of N(mu, 1) over
        N(0, 1) at every epsilon, in both directions.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Corollary 2.13.
    Rounds: up.
    Laws: loses everything but mu.
    Example:
        >>> from dpproof.accountant.guarantees.approx_dp import TradeOff
        >>> mu = pair_to_gdp(TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))).mu
        >>> round(float(mu), 6)
        1.34898
    """
    mu = guarantee.gdp().upper
    if math.isinf(mu):
        raise NotImplied(
            f"{guarantee.describe()} implies mu-GDP for no mu: its profile is above every "
            "Gaussian one in the tail; .gdp(smallest_delta=...) compares above a delta, and "
            "to=PrivacyProfile (at epsilons) keeps what is known"
        )
    result = GDP(mu=Fraction(mu), relation=guarantee.relation)
    return concluded(result, pair_to_gdp, f"{mu:.6g}-GDP", guarantee)


@theorem(
    rule="convert/pair-pure",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Definition 7",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="to_pure",
)
def pair_to_pure(guarantee: PairGuarantee[R]) -> PureDP[R]:
    """Take the largest loss of the dominating pair.

    Statement: H_epsilon(P || Q) = 0 iff the loss is at most epsilon almost surely under P; if
        that holds for the dominating pair of both directions the mechanism is epsilon-DP.
    Assumes: nothing.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Definition 7, at delta = 0.
    Rounds: up.
    Laws: loses everything but the largest loss.
    Example:
        >>> from dpproof.accountant.guarantees.approx_dp import PrivacyProfile
        >>> pair_to_pure(PrivacyProfile(points=((1, 0),))).stated_epsilon >= 1
        True
    """
    pair = guarantee.to_pair()
    ends = () if guarantee.stated_points() else {pair.forward, pair.backward}
    unbounded = any(answers.is_unbounded(end) for end in ends)
    epsilon = math.inf if unbounded else guarantee.epsilon(delta=0).upper
    if math.isinf(epsilon):
        raise NotImplied(
            f"{guarantee.describe()} implies epsilon-DP for no epsilon: the loss is unbounded; "
            "convert with to=ApproxDP at a delta above 0"
        )
    result = PureDP(epsilon=Fraction(epsilon), relation=guarantee.relation)
    return concluded(result, pair_to_pure, f"largest loss {epsilon:.6g}", guarantee)


_ROOM: Final = 2e-5  # What a stated rho leaves to certificates, relative. Heuristic.


@theorem(
    rule="convert/pair-zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Definition 1.1",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="restated",
)
def pair_to_zcdp(guarantee: PairGuarantee[R]) -> ZCDP[R]:
    """Bound the Renyi curve of the dominating pair by a line.

    Statement: rho = sup over orders a > 1 of R_a/a, the larger of the two directions; the
        mechanism's Renyi divergences are at or below those of its dominating pair.
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Definition 1.1; Dong, Roth & Su,
        arXiv:1905.02383, Theorem 2.10 (Blackwell).
    Rounds: up, by a relative 2e-5 where tables decide, so that a certificate has room.
    Laws: loses everything but the slope; for a product at most the sum of the parts' rho.
    Example:
        >>> from dpproof.accountant.guarantees.approx_dp import TradeOff
        >>> pair_to_zcdp(TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))).rho < 1
        True
    """
    rho = guarantee.zcdp().upper
    pair = guarantee.to_pair()
    ways = (pair.forward, pair.backward)
    if any(one.above() != one for one in ways):
        rho = max(rho, min(rho * (1 + _ROOM), max(map(answers.rho_of_pairs, ways))))
    if math.isinf(rho):
        raise NotImplied(
            f"{guarantee.describe()} implies rho-zCDP for no rho: some Renyi divergence is "
            "infinite or grows faster than its order; convert with to=RDP (at orders), "
            "to=PrivacyProfile (at epsilons) or to=ApproxDP (at a delta)"
        )
    result = ZCDP(rho=Fraction(rho), relation=guarantee.relation)
    return concluded(result, pair_to_zcdp, f"{rho:.6g}-zCDP", guarantee)


Notion = type[Guarantee[Any]]


@final
@dataclass(frozen=True, slots=True)
class Edge:
    """One conversion."""

    source: type[object]  # the notion it starts from; an abstract one stands for all below it
    target: Notion  # the notion it ends in
    theorem: Callable[..., Guarantee[Any]]  # the function that carries it
    # The keyword it takes and what that keyword is, None when it takes none.
    option: Option | None = None


@final
@dataclass(frozen=True, slots=True)
class Option:
    """A keyword of a conversion, with what to write there."""

    name: str
    meaning: str


ORDERS = Option("orders", "Renyi orders, each > 1")
EPSILONS = Option("epsilons", "points of the profile, each in [0, 700]")
DELTA = Option("delta", "a number in [0, 1]")

# Tried from the top: an exact theorem about one notion comes before the general one.
EDGES: tuple[Edge, ...] = (
    Edge(PureDP, ApproxDP, implications.pure_to_approx),
    Edge(PureDP, BoundedRange, implications.pure_to_bounded_range),
    Edge(PureDP, ZCDP, implications.pure_to_zcdp),
    Edge(PureDP, GDP, implications.pure_to_gdp),
    Edge(ApproxDP, PureDP, implications.approx_to_pure),
    Edge(BoundedRange, PureDP, implications.bounded_range_to_pure),
    Edge(BoundedRange, ZCDP, implications.bounded_range_to_zcdp),
    Edge(MetricDP, PureDP, implications.metric_to_pure),
    Edge(GDP, ZCDP, implications.gdp_to_zcdp),
    Edge(GDP, RDP, gdp_to_rdp, ORDERS),
    Edge(PrivacyProfile, TradeOff, profile_to_trade_off),
    Edge(PairGuarantee, DominatingPair, notion_to_pair),
    Edge(PairGuarantee, PureDP, pair_to_pure),
    Edge(PairGuarantee, ZCDP, pair_to_zcdp),
    Edge(PairGuarantee, GDP, pair_to_gdp),
    Edge(Guarantee, RDP, notion_to_rdp, ORDERS),
    Edge(Guarantee, ApproxDP, notion_to_approx, DELTA),
    Edge(Guarantee, PrivacyProfile, notion_to_profile, EPSILONS),
    Edge(Guarantee, TradeOff, notion_to_trade_off, EPSILONS),
)


@overload
def convert(guarantee: Guarantee[R], *, to: type[PureDP[Any]]) -> PureDP[R]: ...
@overload
def convert(guarantee: Guarantee[R], *, to: type[BoundedRange[Any]]) -> BoundedRange[R]: ...
@overload
def convert(guarantee: Guarantee[R], *, to: type[ZCDP[Any]]) -> ZCDP[R]: ...
@overload
def convert(guarantee: Guarantee[R], *, to: type[GDP[Any]]) -> GDP[R]: ...
@overload
def convert(guarantee: Guarantee[R], *, to: type[DominatingPair[Any]]) -> DominatingPair[R]: ...
@overload
def convert(
    guarantee: Guarantee[R], *, to: type[ApproxDP[Any]], delta: Number | None = None
) -> ApproxDP[R]: ...
@overload
def convert(
    guarantee: Guarantee[R], *, to: type[RDP[Any]], orders: Sequence[Number] | None = None
) -> RDP[R]: ...
@overload
def convert(
    guarantee: Guarantee[R],
    *,
    to: type[PrivacyProfile[Any]],
    epsilons: Sequence[Number] | None = None,
) -> PrivacyProfile[R]: ...
@overload
def convert(
    guarantee: Guarantee[R], *, to: type[TradeOff[Any]], epsilons: Sequence[Number] | None = None
) -> TradeOff[R]: ...
def convert(
    guarantee: Guarantee[R],
    *,
    to: Notion,
    orders: Sequence[Number] | None = None,
    epsilons: Sequence[Number] | None = None,
    delta: Number | None = None,
) -> Guarantee[R]:
    """Convert a guarantee to another notion by one theorem.

    Statement: that of the theorem in ``EDGES`` that leads from the notion of the guarantee to
        the notion asked for; the notion itself without an option is the identity.
    Assumes: what the theorem that applies assumes.
    Source: the theorem's own.
    Rounds: so that the result is implied: parameters up, type II errors down.

    Args:
        guarantee: any notion.
        to: the notion wanted, as a class.
        orders: for RDP, the Renyi orders.
        epsilons: for PrivacyProfile and TradeOff, the points of the profile.
        delta: for ApproxDP, the delta; not needed from PureDP, where it is 0.
    Returns:
        The notion asked for, implied by the guarantee; its derivation names the theorem and
        whether it loses information.
    Raises:
        NotImplied: no theorem leads there; lists the notions that can be reached.
        ParameterError: an option is missing or does not belong to the notion asked for.
    Laws: never strengthens: every answer's upper end stays at or above the original's lower end.
    Example:
        >>> convert(BoundedRange(epsilon=2), to=ZCDP).rho
        Fraction(1, 2)
    """
    guarantees.required_guarantee(guarantee)
    given = {
        option.name: value
        for option, value in ((ORDERS, orders), (EPSILONS, epsilons), (DELTA, delta))
        if value is not None
    }
    if not given and type(guarantee) is to:
        return guarantee
    leading = [edge for edge in EDGES if isinstance(guarantee, edge.source) and edge.target is to]
    if not leading:
        raise NotImplied(_no_theorem(guarantee, to))
    for edge in leading:
        if set(given) == ({edge.option.name} if edge.option else set()):
            return edge.theorem(guarantee, **given)
    option = next((edge.option for edge in leading if edge.option), None)
    for name, value in given.items():
        if option is None or name != option.name:
            raise ParameterError(name, value, f"left out when converting to {to.__name__}")
    missing = option or ORDERS  # every edge without an option was taken above
    raise ParameterError(missing.name, None, f"given: {missing.meaning}, for {to.__name__}")


def reachable(guarantee: Guarantee[Any]) -> tuple[Notion, ...]:
    """List the notions that one theorem reaches from this guarantee.

    Statement: the targets of the edges in ``EDGES`` that start at its notion.
    Assumes: what the theorem that applies assumes.
    Source: the theorems' own.
    Rounds: nothing.
    Laws: depends on the notion alone, so a theorem may still refuse (an infinite epsilon).
    """
    targets = [edge.target for edge in EDGES if isinstance(guarantee, edge.source)]
    return tuple(dict.fromkeys(target for target in targets if target is not type(guarantee)))


def _no_theorem(guarantee: Guarantee[Any], to: object) -> str:
    """Return the message that no theorem leads to a notion, with the notions that one reaches."""
    wanted = to.__name__ if isinstance(to, type) else repr(to)
    names = ", ".join(sorted(notion.__name__ for notion in reachable(guarantee)))
    return (
        f"no theorem leads from {type(guarantee).__name__} to {wanted}; "
        f"from {guarantee.describe()} one leads to {names}"
    )
