"""Selection: a mechanism run a random number of times, only the best output released."""

from __future__ import annotations

from dpproof.accountant.errors import CONVERT, NotImplied
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.fixed import FixedRuns
from dpproof.accountant.run_counts.law import RunLaw, required_runs
from dpproof.accountant.theorems.selection.pair import select_pair
from dpproof.accountant.theorems.selection.rdp import select_rdp


def select(guarantee: Guarantee[R], runs: RunLaw) -> Guarantee[R]:
    """Bound what the best of a random number of runs reveals.

    The number of runs must not depend on the data, nor on outputs: stopping when an output is
    good enough is another theorem. Nothing but the best output is released.

    Statement: what ``select_pair`` says of a base with a dominating pair, ``select_rdp`` of one
        known only by its Renyi curve.
    Assumes: what the theorem that applies assumes.
    Source: proofs/theory/selection.md; Papernot & Steinke (arXiv:2110.03620).
    Rounds: up.
    Laws: one run changes nothing.

    Args:
        guarantee: of one run.
        runs: the law of the number of runs.
    Returns:
        DominatingPair, or RDP; it composes, is subsampled and selected like any other.
    Raises:
        ParameterError: not a law; a bare number does not say how it is drawn.
    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> select(GDP(mu=1), FixedRuns(count=1))
        GDP(mu_squared=1, relation=AddRemove())
    """
    required_guarantee(guarantee)
    required_runs(runs)
    if isinstance(runs, FixedRuns) and runs.count == 1:
        return guarantee
    if isinstance(guarantee, PairGuarantee):
        return select_pair(guarantee, runs)
    if isinstance(guarantee, RenyiGuarantee):
        return select_rdp(guarantee, runs)
    raise NotImplied(f"no selection theorem for {guarantee!r}; {CONVERT}")
