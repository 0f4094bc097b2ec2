"""Interactive mechanisms that one analyst asks at the same time."""

from __future__ import annotations

from typing import Any, Final

from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.bounded_range import BoundedRange
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.provenance import applied, rederived, required
from dpproof.accountant.ranges.pair import ranges_apart
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import CONCURRENT, FIXED, OWN_RANDOMNESS
from dpproof.accountant.theorems.composition import compose

COMPOSE_CONCURRENT: Final = Theorem(
    rule="compose/concurrent",
    source="Vadhan & Zhang, STOC 2023, arXiv:2207.08335; of Renyi divergences Lyu, "
    "arXiv:2207.09397",
    attained=Attained.WHOLE,  # one mechanism after the other is a way to ask them
    again=lambda premises, _: compose_concurrent(*premises),
)


def compose_concurrent(*parts: Guarantee[R]) -> Guarantee[R]:
    """Compose interactive mechanisms that one analyst asks at the same time, in any order.

    A stream of rounds, a threshold that is asked about one query after another: each answers
    many questions, and a question to one may depend on answers of the others. ``compose`` speaks of
    mechanisms that run one after the other.

    Statement: let each part be what an interactive mechanism satisfies towards every analyst who
        asks it alone, and let its messages be finitely many, from finite sets. What ``compose``
        states of the parts then holds of everything that one analyst sees who asks all of them on
        the same data, however questions to them alternate and depend on earlier answers.
    Assumes: fixed in advance; own randomness; asked at once.
    Source: Vadhan & Zhang, "Concurrent Composition Theorems for Differential Privacy", STOC 2023,
        arXiv:2207.08335, for trade-off functions, and so for dominating pairs of one order of two
        neighbours; of Renyi divergences Lyu, arXiv:2207.09397. Mechanisms of parameters that
        are chosen after looking are Haney et al., arXiv:2309.05901: filters.
    Rounds: as ``compose``.

    Args:
        parts: at least two guarantees, all under the same relation, in notions that need no
            recursion over what runs after what.

    Returns:
        The notion and the numbers of ``compose``.

    Raises:
        RelationMismatch: two parts differ in relation; names both and their positions.
        ParameterError: fewer than two parts.
        NotImplied: a bounded range is among them, whose composition is no product of pairs.
    Laws: the numbers are those of ``compose``.

    Example:
        >>> from dpproof.accountant import GDP
        >>> compose_concurrent(GDP(mu=3), GDP(mu=4)).describe()
        '5-GDP'
    """
    required(parts, "compose")
    if len(parts) < 2:
        raise ParameterError("parts", len(parts), "two guarantees or more")
    if any(_is_a_range(part) for part in parts):
        raise NotImplied(
            "bounded ranges compose by what runs after what, and no theorem here covers questions "
            "that alternate; convert(guarantee, to=PureDP) first"
        )
    total = compose(*parts)
    proof = total.derivation
    premises: list[Any] = [one.conclusion for one in proof.premises]
    derivation = applied(
        COMPOSE_CONCURRENT,
        f"{proof.statement}, asked at the same time",
        *premises,
        assumptions=(FIXED(), OWN_RANDOMNESS(), CONCURRENT()),
        attained=proof.attained,
    )
    return rederived(total, derivation)


def _is_a_range(part: Guarantee[R]) -> bool:
    """Return whether a bounded range is all that is known, or is in the part's pair."""
    if isinstance(part, BoundedRange) or not isinstance(part, PairGuarantee):
        return isinstance(part, BoundedRange)
    pair = part.to_pair()
    return any(ranges_apart(product)[0] for product in (pair.forward, pair.backward))
