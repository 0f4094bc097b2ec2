"""A mechanism drawn by a public law, and released with what it was."""

from __future__ import annotations

from typing import Final

from accountant.errors import NotImplied
from accountant.guarantees.gdp import GDP
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.pair_guarantee import PairGuarantee
from accountant.guarantees.preconditions import required
from accountant.guarantees.provenance import applied, rederived
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.theorem import Theorem
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import R
from accountant.side_conditions import FIXED, OWN_RANDOMNESS, PUBLIC_DRAW

CHOICE: Final = Theorem(
    rule="choice",
    source="proofs/theory/choice.md",
    again=lambda premises, _: choice(*premises),
)


def choice(*parts: Guarantee[R]) -> Guarantee[R]:
    """Run one of several mechanisms, drawn by a law that looks at no data, and say which.

    A configuration drawn at random, with which a model is trained, is such a draw.

    Statement: let i be drawn by a law that is the same for all datasets, and M_i run. If every M_i
        is dominated by one pair, the output (i, M_i) is, too. If every M_i is mu_i-GDP it is
        max mu_i-GDP, and the same holds for epsilon of pure DP and for rho of zCDP. Equal bounded
        ranges give their pair, not a bounded range: the interval of losses may differ between the
        M_i, so that all losses together span twice as much.
    Assumes: fixed in advance; own randomness; public draw.
    Source: proofs/theory/choice.md.
    Rounds: nothing.

    Args:
        parts: at least one guarantee, all under the same relation.
    Returns:
        The common notion, with the largest parameter; for other notions the pair they share.
    Raises:
        RelationMismatch: two parts differ in relation.
        NotImplied: parts of different notions, or with different pairs.
    Laws: order does not matter; equal parts give what each of them gives; never better than any.
    Example:
        >>> choice(GDP(mu=1), GDP(mu=2), GDP(mu=1)).mu
        Fraction(2, 1)
    """
    required(parts, "choose")
    if len(parts) == 1:
        return parts[0]
    compared, worst = _worst(parts)
    derivation = applied(
        CHOICE,
        f"{worst.describe()}, the worst of {len(parts)} of which one is drawn",
        *compared,
        assumptions=(FIXED(), OWN_RANDOMNESS(), PUBLIC_DRAW()),
    )
    return rederived(worst, derivation)


def _worst(parts: tuple[Guarantee[R], ...]) -> tuple[list[Guarantee[R]], Guarantee[R]]:
    """Return the parts in a notion that they share, and the one that all of them satisfy."""
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
        f"mechanisms known as {names} have no common worst one; a draw among them needs equal "
        "guarantees, or all of them mu-GDP, pure or zCDP: give each the noise at which they cost "
        "the same"
    )
