"""The guarantee that all of several mechanisms satisfy, where one of them counts."""

from __future__ import annotations

from collections.abc import Sequence

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R


def common_worst(parts: Sequence[Guarantee[R]]) -> tuple[list[Guarantee[R]], Guarantee[R]]:
    """Return the parts in a notion that they share, and the one that all of them satisfy.

    Raises:
        NotImplied: parts of different notions, or with different pairs.
    Example:
        >>> common_worst([GDP(mu=1), GDP(mu=2)])[1].mu
        Fraction(2, 1)
    """
    listed = list(parts)
    if all(isinstance(part, GDP) for part in parts):
        return listed, max(parts, key=lambda part: part.mu_squared)  # type: ignore[attr-defined]
    if all(isinstance(part, PureDP) for part in parts):
        return listed, max(parts, key=lambda part: part.stated_epsilon)  # type: ignore[attr-defined]
    if all(isinstance(part, ZCDP) for part in parts):
        return listed, max(parts, key=lambda part: part.rho)  # type: ignore[attr-defined]
    pairs = [part.to_pair() for part in parts if isinstance(part, PairGuarantee)]
    if len(pairs) == len(parts) and all(pair == pairs[0] for pair in pairs):
        return list(pairs), pairs[0]
    names = ", ".join(sorted({type(part).__name__ for part in parts}))
    raise NotImplied(
        f"mechanisms known as {names} have no common worst one; a common worst one needs equal "
        "guarantees, or all of them mu-GDP, pure or zCDP: give each the noise at which they cost "
        "the same"
    )


def has_common_worst(parts: Sequence[Guarantee[R]]) -> bool:
    """Return whether ``common_worst`` has an answer.

    Example:
        >>> has_common_worst([GDP(mu=1), PureDP(epsilon=1)])
        False
    """
    try:
        common_worst(parts)
    except NotImplied:
        return False
    return True
