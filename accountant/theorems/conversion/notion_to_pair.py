"""From any notion but a Renyi curve to its dominating pair."""

from __future__ import annotations

from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.relation import R


def notion_to_pair(guarantee: PairGuarantee[R]) -> DominatingPair[R]:
    """Write the guarantee as its dominating pair.

    Statement: epsilon-DP is dominated by randomised response, (epsilon, delta)-DP by randomised
        response with a delta of full disclosure, mu-GDP by two Gaussians, epsilon-bounded-range
        by two logistic distributions, metric DP along paths by two Laplace
        distributions, a profile or a trade-off curve by a finite pair.
    Assumes: nothing.
    Source: the notion's ``to_pair``, where each is proved.
    Rounds: nothing, but e^epsilon of a profile's points, up.

    Args:
        guarantee: a notion with a dominating pair.

    Returns:
        DominatingPair for both directions.
    Laws: every answer is unchanged; lossless but for bounded range.

    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> len(notion_to_pair(GDP(mu=1)).forward.factors)
        1
    """
    return guarantee.to_pair()
