"""One of several mechanisms, chosen at random."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, cast

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.common_worst import common_worst
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.provenance import applied, rederived, required
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS, PUBLIC_DRAW
from dpproof.accountant.subsampling.mixture import MixturePair

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


MIXTURE: Final = Theorem(
    rule="mixture",
    source="proofs/theory/choice.md, Theorem 2",
    attained=Attained.WHOLE,  # every mechanism on the same neighbours
    again=lambda premises, given: mixture(premises, weights=given["weights"]),
    written="mixed",
)
_LEAST = Fraction(1, 10**100)  # Smaller weights would lose their digits as floats.


def mixture(parts: Sequence[Guarantee[R]], *, weights: Sequence[Number]) -> DominatingPair[R]:
    """Run one of several mechanisms, drawn by public probabilities, and say which.

    Statement: let i be drawn with the same probabilities for all datasets, and M_i run. If every
        M_i is dominated by (P_i, Q_i), the output (i, M_i) is dominated by the pair of (i, x), x
        drawn from P_i or from Q_i; its profile is the mean of the profiles and its M is the
        mean of the M. Where all M_i attain their pairs on the same neighbours, so does the output.
        ``choice`` states less: the worst of the parts, where one is the worst at every epsilon.
    Assumes: fixed in advance; own randomness; public draw.
    Source: proofs/theory/choice.md, Theorem 2.
    Rounds: nothing.

    Args:
        parts: at least one guarantee that has a dominating pair, all under the same relation.
        weights: the probabilities, at least 1e-100 each, of sum exactly 1.
    Returns:
        One pair per direction; that of the parts if they share it.
    Raises:
        RelationMismatch: two parts differ in relation.
        NotImplied: a part is known only by a Renyi curve.
        ParameterError: not one weight for each part, or they are no probabilities.
    Laws: order does not matter; equal parts give what each of them gives; between the best and the
        worst part.
    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> drawn = mixture([GDP(mu=1), GDP(mu=2)], weights=[0.5, 0.5])
        >>> each = [GDP(mu=mu).delta(epsilon=1).upper for mu in (1, 2)]
        >>> abs(drawn.delta(epsilon=1).upper - sum(each) / 2) < 1e-12
        True
    """
    required(parts, "draw one of")
    exact = _probabilities(weights, len(parts))
    bounded = [part for part in parts if isinstance(part, PairGuarantee)]
    if len(bounded) < len(parts):
        names = sorted({type(one).__name__ for one in parts if not isinstance(one, PairGuarantee)})
        raise NotImplied(
            f"a mixture needs dominating pairs, and {', '.join(names)} has none; choice(...) takes "
            "parts that are all zCDP"
        )
    pairs = [part.to_pair() for part in bounded]
    ways = [(pair.forward, pair.backward) for pair in pairs]
    shares = dict.fromkeys(ways, Fraction(0))
    for way, weight in zip(ways, exact, strict=True):
        shares[way] += weight
    if len(shares) == 1:
        return cast("DominatingPair[R]", choice(*pairs))
    masses = tuple(shares.values())
    forward, backward = zip(*shares, strict=True)
    return DominatingPair(
        forward=Product.of(MixturePair(weights=masses, parts=forward)),
        backward=Product.of(MixturePair(weights=masses, parts=backward)),
        relation=pairs[0].relation,
        derivation=applied(
            MIXTURE,
            f"the mixture of {len(pairs)} pairs of which one is drawn",
            *pairs,
            assumptions=(FIXED(), OWN_RANDOMNESS(), PUBLIC_DRAW()),
            weights=exact,
        ),
    )


def _probabilities(weights: Sequence[Number], count: int) -> tuple[Fraction, ...]:
    """Return exact weights.

    Raises:
        ParameterError: not so many, or they are no probabilities.
    """
    exact = tuple(Fraction(check.positive(weights=one)) for one in weights)
    if len(exact) != count or sum(exact) != 1 or min(exact) < _LEAST:
        allowed = f"{count} probabilities of at least 1e-100 that sum to exactly 1"
        raise ParameterError("weights", weights, allowed, "fractions.Fraction(1, 3) is exact")
    return exact
