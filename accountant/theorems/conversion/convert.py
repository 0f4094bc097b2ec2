"""Every sound conversion between notions, as an explicit table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final, overload

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.trade_off import TradeOff
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.conversion.approx_to_pure import approx_to_pure
from dpproof.accountant.theorems.conversion.bounded_range_to_pure import bounded_range_to_pure
from dpproof.accountant.theorems.conversion.bounded_range_to_zcdp import bounded_range_to_zcdp
from dpproof.accountant.theorems.conversion.gdp_to_rdp import gdp_to_rdp
from dpproof.accountant.theorems.conversion.gdp_to_zcdp import gdp_to_zcdp
from dpproof.accountant.theorems.conversion.metric_to_pure import metric_to_pure
from dpproof.accountant.theorems.conversion.notion_to_approx import notion_to_approx
from dpproof.accountant.theorems.conversion.notion_to_pair import notion_to_pair
from dpproof.accountant.theorems.conversion.notion_to_profile import notion_to_profile
from dpproof.accountant.theorems.conversion.notion_to_rdp import notion_to_rdp
from dpproof.accountant.theorems.conversion.notion_to_trade_off import notion_to_trade_off
from dpproof.accountant.theorems.conversion.pair_to_gdp import pair_to_gdp
from dpproof.accountant.theorems.conversion.pair_to_pure import pair_to_pure
from dpproof.accountant.theorems.conversion.pair_to_zcdp import pair_to_zcdp
from dpproof.accountant.theorems.conversion.profile_to_trade_off import profile_to_trade_off
from dpproof.accountant.theorems.conversion.pure_to_approx import pure_to_approx
from dpproof.accountant.theorems.conversion.pure_to_bounded_range import pure_to_bounded_range
from dpproof.accountant.theorems.conversion.pure_to_gdp import pure_to_gdp
from dpproof.accountant.theorems.conversion.pure_to_zcdp import pure_to_zcdp

Notion = type[Guarantee[Any]]


@final
@dataclass(frozen=True, slots=True)
class Edge:
    """One conversion.

    Attributes:
        source: the notion it starts from; an abstract one stands for all below it.
        target: the notion it ends in.
        theorem: the function that carries it.
        option: the keyword it takes and what that keyword is, None when it takes none.
    """

    source: type[object]
    target: Notion
    theorem: Callable[..., Guarantee[Any]]
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
    Edge(PureDP, ApproxDP, pure_to_approx),
    Edge(PureDP, BoundedRange, pure_to_bounded_range),
    Edge(PureDP, ZCDP, pure_to_zcdp),
    Edge(PureDP, GDP, pure_to_gdp),
    Edge(ApproxDP, PureDP, approx_to_pure),
    Edge(BoundedRange, PureDP, bounded_range_to_pure),
    Edge(BoundedRange, ZCDP, bounded_range_to_zcdp),
    Edge(MetricDP, PureDP, metric_to_pure),
    Edge(GDP, ZCDP, gdp_to_zcdp),
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
    required_guarantee(guarantee)
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
    found = [edge.target for edge in EDGES if isinstance(guarantee, edge.source)]
    return tuple(dict.fromkeys(target for target in found if target is not type(guarantee)))


def _no_theorem(guarantee: Guarantee[Any], to: object) -> str:
    """Return the message that no theorem leads to a notion, with the notions that one reaches."""
    wanted = to.__name__ if isinstance(to, type) else repr(to)
    names = ", ".join(sorted(notion.__name__ for notion in reachable(guarantee)))
    return (
        f"no theorem leads from {type(guarantee).__name__} to {wanted}; "
        f"from {guarantee.describe()} one leads to {names}"
    )
