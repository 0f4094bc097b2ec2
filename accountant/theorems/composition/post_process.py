"""Post-processing."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.provenance import applied, rederived
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.side_conditions import OUTPUTS_ALONE

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
    required_guarantee(guarantee)
    given: object = description
    if not isinstance(given, str) or not given.strip():
        raise ParameterError("description", description, "a few words on what is computed")
    derivation = applied(
        POST_PROCESS,
        f"{guarantee.describe()} after {description.strip()}",
        guarantee,
        assumptions=(OUTPUTS_ALONE(description=description.strip()),),
        description=description.strip(),
    )
    return rederived(guarantee, derivation)
