"""Group privacy: datasets that differ in several records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dpproof.accountant.errors import CONVERT, NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
from dpproof.accountant.guarantees.profile_places import profile_places
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.trade_off import TradeOff
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.conversion.notion_to_profile import notion_to_profile
from dpproof.accountant.theorems.conversion.profile_to_trade_off import profile_to_trade_off
from dpproof.accountant.theorems.group.approx import group_approx
from dpproof.accountant.theorems.group.bounded_range import group_bounded_range
from dpproof.accountant.theorems.group.gdp import group_gdp
from dpproof.accountant.theorems.group.metric import group_metric
from dpproof.accountant.theorems.group.pair import group_pair
from dpproof.accountant.theorems.group.pure import group_pure
from dpproof.accountant.theorems.group.rdp import group_rdp
from dpproof.accountant.theorems.group.trade_off import group_trade_off
from dpproof.accountant.theorems.group.zcdp import group_zcdp


def group(guarantee: Guarantee[R], *, size: int) -> Guarantee[R]:
    """Bound what changes when ``size`` records change, not one.

    The result keeps the relation's name but speaks of size steps of it: under AddRemove size
    records added or removed, under ReplaceOne size replaced, under ZeroOut size blanked or
    restored. Composing it with a statement about one record is refused: group every part alike.
    Replacing one record is one removal and one addition, so size=2 under AddRemove covers one
    step of ReplaceOne.

    Statement: what the theorem of the notion says about a chain of size neighbours.
    Assumes: what the theorem that applies assumes.
    Source: ``group_pure``, ``group_bounded_range``, ``group_metric``, ``group_gdp``,
        ``group_zcdp``, ``group_approx``, ``group_rdp``, ``group_trade_off``, ``group_pair``.
    Rounds: to the safe side, where the theorem rounds at all.

    Args:
        guarantee: any notion.
        size: number of records, from 1 to 10**12.

    Returns:
        The same notion; TradeOff from a PrivacyProfile, and from pairs that are no shift of noise,
        whose profile is taken at some forty epsilons: epsilon is then within about 1 % of what the
        whole profile says.

    Raises:
        NotImplied: no theorem scales this curve, or not by so much; says what to do.
        ParameterError: size out of range.
    Laws: size 1 changes nothing; monotone in size.

    Example:
        >>> group(ZCDP(rho=1), size=3).describe()
        '9-zCDP'
    """
    required_guarantee(guarantee)
    for notion, theorem in _THEOREMS:
        if isinstance(guarantee, notion):
            scaled: Guarantee[R] = theorem(guarantee, size=size)
            return scaled
    raise NotImplied(f"no group-privacy theorem for {guarantee!r}; {CONVERT}")


def _group_profile(guarantee: PrivacyProfile[R], *, size: int) -> TradeOff[R]:
    """Apply the theorem on trade-off curves to a profile."""
    return group_trade_off(profile_to_trade_off(guarantee), size=size)


def _group_pair(guarantee: DominatingPair[R], *, size: int) -> Guarantee[R]:
    """Multiply a shift of noise, or apply the theorem on trade-off curves to another pair."""
    try:
        return group_pair(guarantee, size=size)
    except NotImplied:  # it is no shift
        profile = notion_to_profile(guarantee, epsilons=profile_places(guarantee))
        return _group_profile(profile, size=size)


_THEOREMS: Final[Sequence[tuple[type[Guarantee[Any]], Callable[..., Guarantee[Any]]]]] = (
    (PureDP, group_pure),
    (BoundedRange, group_bounded_range),
    (MetricDP, group_metric),
    (GDP, group_gdp),
    (ZCDP, group_zcdp),
    (ApproxDP, group_approx),
    (RDP, group_rdp),
    (TradeOff, group_trade_off),
    (PrivacyProfile, _group_profile),
    (DominatingPair, _group_pair),
)
