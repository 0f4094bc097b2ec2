"""Mapping records, one at a time, before a mechanism sees them."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.provenance import applied, rederived
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.side_conditions import MAPPED_ALONE

N = TypeVar("N", bound=Guarantee[Any])


MAP_RECORDS: Final = Theorem(
    rule="map-records",
    source="proofs/theory/map_records.md",
    attained=Attained.NO,  # the map may bring records closer together
    again=lambda premises, given: map_records(premises[0], description=given["description"]),
)


def map_records(guarantee: N, *, description: str) -> N:
    """State the guarantee of a mechanism that sees every record through a map.

    Statement: if M satisfies a guarantee under a relation, and f maps every record to one record
        that depends on it alone, blank ones to blank ones and features without looking at labels,
        then M applied to the mapped records satisfies the same guarantee. So do f and its output
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
    required_guarantee(guarantee)
    given: object = description
    if not isinstance(given, str) or not given.strip():
        raise ParameterError("description", description, "a few words on what the map is")
    text = description.strip()
    derivation = applied(
        MAP_RECORDS,
        f"{guarantee.describe()} on records mapped by {text}",
        guarantee,
        assumptions=(MAPPED_ALONE(description=text),),
        description=text,
    )
    return rederived(guarantee, derivation)
