"""Functions of an output, and of each record."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.provenance import applied, rederived, required_guarantee
from dpproof.accountant.side_conditions import MAPPED_ALONE, OUTPUTS_ALONE

N = TypeVar("N", bound=Guarantee[Any])


POST_PROCESS: Final = Theorem(
    rule="post-process",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.8",
    attained=Attained.NO,  # the map may forget
    again=lambda premises, given: post_process(premises[0], description=given["description"]),
)


def post_process(guarantee: N, *, description: str) -> N:
    """Record that only a function of the outputs is released.

    Statement: if M satisfies a guarantee and g is a (randomised) map that does not look at the
        data, then g(M) satisfies the same guarantee.
    Assumes: outputs alone.
    Source: Dong, Roth & Su, arXiv:1905.02383, Proposition 2.8 (for trade-offs, hence for every
        notion here but bounded range; for that, a ratio of averages lies between the extremes
        of the ratios).
    Rounds: nothing.

    Args:
        guarantee: any notion; it comes back as the same notion.
        description: what is computed from the outputs, for the derivation.

    Returns:
        An equal guarantee with one more node in its derivation.

    Raises:
        ParameterError: the description is empty, or the guarantee is not one.
    Laws: identity on the statement; every answer is unchanged.

    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> post_process(GDP(mu=1), description="rounding") == GDP(mu=1)
        True
    """
    text = _described(guarantee, description, "a few words on what is computed")
    derivation = applied(
        POST_PROCESS,
        f"{guarantee.describe()} after {text}",
        guarantee,
        assumptions=(OUTPUTS_ALONE(description=text),),
        description=text,
    )
    return rederived(guarantee, derivation)


MAP_RECORDS: Final = Theorem(
    rule="map-records",
    source="proofs/theory/map_records.md",
    attained=Attained.NO,  # the map may bring records closer together
    again=lambda premises, given: map_records(premises[0], description=given["description"]),
)


def map_records(guarantee: N, *, description: str) -> N:
    """State the guarantee of a mechanism that sees every record through a map.

    Statement: let M satisfy a guarantee under a relation, and let f map every record to one record
        that depends on it alone, blank ones to blank ones and features without looking at labels.
        Then M applied to the mapped records satisfies the same guarantee. So do f and its output
        together, if f is public.
    Assumes: each record mapped alone.
    Source: proofs/theory/map_records.md.
    Rounds: nothing.

    Args:
        guarantee: any notion; it comes back as the same notion.
        description: the map, with everything that decides it, for the derivation.

    Returns:
        An equal guarantee with one more node in its derivation.

    Raises:
        ParameterError: the description is empty, or the guarantee is not one.
    Laws: identity on the statement; every answer is unchanged.

    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> map_records(GDP(mu=1), description="clipping to norm 1") == GDP(mu=1)
        True
    """
    text = _described(guarantee, description, "a few words on what the map is")
    derivation = applied(
        MAP_RECORDS,
        f"{guarantee.describe()} on records mapped by {text}",
        guarantee,
        assumptions=(MAPPED_ALONE(description=text),),
        description=text,
    )
    return rederived(guarantee, derivation)


def _described(guarantee: Guarantee[Any], description: object, allowed: str) -> str:
    """Return a description without blanks at its ends.

    Raises:
        ParameterError: it is empty or no text, or the guarantee is none.
    """
    required_guarantee(guarantee)
    if not isinstance(description, str) or not description.strip():
        raise ParameterError("description", description, allowed)
    return description.strip()
