"""Mechanisms on disjoint parts of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.common_worst import common_worst
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.metric_dp import MetricDP
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
from dpproof.accountant.guarantees.provenance import applied, rederived, require_single, required
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP, shared_orders
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import AddRemove, R, ZeroOut
from dpproof.accountant.side_conditions import (
    APART,
    FIXED,
    OWN_RANDOMNESS,
    SPLIT,
    SPLIT_BY_POSITION,
    SPLIT_KEPT,
)
from dpproof.accountant.theorems.conversion import notion_to_profile, notion_to_rdp

_SOURCE = "McSherry, SIGMOD 2009, Theorem 4; proofs/theory/parallel.md for every notion"


PARALLEL: Final = Theorem(
    rule="parallel",
    source=_SOURCE,
    attained=Attained.WHOLE,  # the worst part sees the record
    pointwise=True,
    again=lambda premises, _: parallel_compose(*premises),
)


def parallel_compose(
    *parts: Guarantee[R], epsilons: Sequence[Number] | None = None
) -> Guarantee[R]:
    """Compose mechanisms that run on disjoint parts of the records: the worst part counts.

    Statement: let the records be split, each going to a part by that record alone, and let
        M_i see part i only (and earlier outputs), with randomness of its own. If each M_i
        satisfies a guarantee under AddRemove, the joint outputs satisfy, under the same
        relation, every guarantee that all of them satisfy: the largest epsilon, mu, rho, Renyi
        value, or delta at every epsilon. The same holds under ZeroOut if the rule looks at
        nothing of a record that blanking changes, so that a blank stays in its part. A bounded
        range is claimed of parts that see no earlier outputs: its interval may move with them.
    Assumes: split by record (not under ZeroOut); split kept by blanking (under ZeroOut); own
        randomness; fixed in advance; parts apart (for BoundedRange).
    Source: McSherry, "Privacy integrated queries", SIGMOD 2009, Theorem 4, for pure DP;
        proofs/theory/parallel.md for every notion. Under ReplaceOne the new record may fall in
        another part, and then two parts change, each by an addition or a removal, about which
        guarantees under ReplaceOne say nothing: refused.
    Rounds: as the notion; delta and Renyi values up.

    Args:
        parts: at least one guarantee, all under AddRemove or all under ZeroOut.
        epsilons: where to compare profiles, for parts of different notions or with pairs that
            are not equal.

    Returns:
        The common notion, or a PrivacyProfile at ``epsilons``.

    Raises:
        NotImplied: under ReplaceOne, about groups (their records may fall in several parts), or
            different notions and no ``epsilons``.
        RelationMismatch: two parts differ in relation.
    Laws: order does not matter; equal parts give that guarantee; never better than any part.

    Example:
        >>> parallel_compose(GDP(mu=1), GDP(mu=2)).mu
        Fraction(2, 1)
    """
    relation = required(parts, "compose in parallel")
    if relation.symmetric:
        raise NotImplied(
            f"parallel composition does not hold under {relation}: a replaced record may move "
            "from one part to another and change two; state the parts under add-remove and use "
            "group with size=2, as replacing is removing and adding"
        )
    for part in parts:
        require_single(part, "parallel composition")
    compared: Sequence[Guarantee[R]] = parts
    worst = _worst(parts)
    if worst is None and all(isinstance(part, RenyiGuarantee) for part in parts):
        orders = shared_orders(parts)
        compared = curves = [notion_to_rdp(part, orders=orders) for part in parts]
        worst = RDP(points=_largest([curve.points for curve in curves]), relation=relation)
    elif worst is None and epsilons is not None:
        compared = profiles = [notion_to_profile(part, epsilons=epsilons) for part in parts]
        points = _largest([profile.points for profile in profiles])
        worst = PrivacyProfile(points=points, relation=relation)
    if worst is None:
        names = ", ".join(sorted({type(part).__name__ for part in parts}))
        raise NotImplied(
            f"parts known as {names} have no common worst one; give epsilons=[...] to compare "
            "their profiles, or convert the parts to one notion first"
        )
    derivation = applied(
        PARALLEL,
        f"{worst.describe()}, the worst of {len(parts)} disjoint parts",
        *compared,
        assumptions=(
            SPLIT_KEPT() if isinstance(relation, ZeroOut) else SPLIT(),
            OWN_RANDOMNESS(),
            FIXED(),
            *((APART(),) if isinstance(worst, BoundedRange) else ()),
        ),
    )
    return rederived(worst, derivation)


N = TypeVar("N", bound=Guarantee[Any])


def _all(parts: Sequence[Guarantee[Any]], notion: type[N]) -> list[N]:
    """Return the parts if they are all of one notion, else an empty list."""
    instances = [part for part in parts if isinstance(part, notion)]
    return instances if len(instances) == len(parts) else []


def _worst(parts: Sequence[Guarantee[R]]) -> Guarantee[R] | None:
    """Return the guarantee in the parts' common notion that every part satisfies, or None."""
    first = parts[0]
    relation = first.relation
    if all(part == first for part in parts):
        return first
    if pure := _all(parts, PureDP):
        return max(pure, key=lambda part: part.stated_epsilon)
    if gaussian := _all(parts, GDP):
        return max(gaussian, key=lambda part: part.mu_squared)
    if ranges := _all(parts, BoundedRange):
        return max(ranges, key=lambda part: part.stated_epsilon)
    if metric := _all(parts, MetricDP):
        return max(metric, key=lambda part: part.stated_epsilon)
    if concentrated := _all(parts, ZCDP):
        return max(concentrated, key=lambda part: part.rho)
    if approximate := _all(parts, ApproxDP):
        return ApproxDP(
            epsilon=max(part.stated_epsilon for part in approximate),
            delta=max(part.stated_delta for part in approximate),
            relation=relation,
        )
    listed = _all(parts, PrivacyProfile)
    if listed and len({tuple(x for x, _ in part.points) for part in listed}) == 1:
        return PrivacyProfile(points=_largest([part.points for part in listed]), relation=relation)
    return None


def _largest(tables: Sequence[Points]) -> Points:
    """Return the largest value at each of the arguments that all tables list."""
    columns = zip(*tables, strict=True)
    return tuple((column[0][0], max(value for _, value in column)) for column in columns)


PARALLEL_POSITIONS: Final = Theorem(
    rule="parallel/position",
    source="proofs/theory/margins.md, section 6",
    attained=Attained.WHOLE,  # the worst part sees the record
    pointwise=True,
    again=lambda premises, _: parallel_positions(*premises),
)


def parallel_positions(*parts: Guarantee[R]) -> Guarantee[R]:
    """Compose mechanisms on disjoint sets of positions of the data: the worst of them counts.

    Statement: let the positions 1, ..., n be split by a law that looks at no data, and let M_i see
        the records at the positions of part i (and earlier outputs), with randomness of its own.
        Under replace-one, replace-label and zero-out one position changes, so one M_i does: if
        every M_i is mu_i-GDP the outputs of all are max mu_i-GDP, and the same holds for epsilon
        of pure DP, for rho of zCDP, and for a dominating pair that all share. The positions may
        be released. Unlike ``parallel_compose`` no rule looks at a record.
    Assumes: split by position; own randomness; fixed in advance.
    Source: proofs/theory/margins.md, section 6. Under add-remove a record has no position: the
        others move up, and every part may change.
    Rounds: nothing.
    Checked by: rule ``parallel/position``.

    Args:
        parts: at least one guarantee, all under one relation that keeps positions.
    Returns:
        The common notion, with the largest parameter; for other notions the pair they share.
    Raises:
        NotImplied: under add-remove, about groups, or parts without a common worst one.
        RelationMismatch: two parts differ in relation.
    Laws: order does not matter; equal parts give what each of them gives; never better than any.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> parts = [GDP(mu=mu, relation=ReplaceOne()) for mu in (1, 2)]
        >>> parallel_positions(*parts).mu
        Fraction(2, 1)
    """
    relation = required(parts, "compose in parallel")
    if isinstance(relation, AddRemove):
        raise NotImplied(
            "a split by position says nothing under add-remove: without a record the others move "
            "up; state the parts under ReplaceOne(), or use parallel_compose for a split by record"
        )
    for part in parts:
        require_single(part, "parallel composition")
    compared, worst = common_worst(parts)
    derivation = applied(
        PARALLEL_POSITIONS,
        f"{worst.describe()}, the worst of {len(parts)} parts by position",
        *compared,
        assumptions=(SPLIT_BY_POSITION(), OWN_RANDOMNESS(), FIXED()),
    )
    return rederived(worst, derivation)
