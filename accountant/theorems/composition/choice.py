"""A mechanism drawn by a public law, and released with what it was."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.common_worst import common_worst
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import required
from dpproof.accountant.guarantees.provenance import applied, rederived
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS, PUBLIC_DRAW

CHOICE: Final = Theorem(
    rule="choice",
    source="proofs/theory/choice.md",
    attained=Attained.WHOLE,  # the worst mechanism whatever is drawn
    pointwise=True,
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
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> choice(GDP(mu=1), GDP(mu=2), GDP(mu=1)).mu
        Fraction(2, 1)
    """
    required(parts, "choose")
    if len(parts) == 1:
        return parts[0]
    compared, worst = common_worst(parts)
    derivation = applied(
        CHOICE,
        f"{worst.describe()}, the worst of {len(parts)} of which one is drawn",
        *compared,
        assumptions=(FIXED(), OWN_RANDOMNESS(), PUBLIC_DRAW()),
        attained=None if all(part == worst for part in compared) else Attained.NO,
    )
    return rederived(worst, derivation)
