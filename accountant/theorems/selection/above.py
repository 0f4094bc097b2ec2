"""Selection with a threshold: run until an output is good enough, release that output."""

from __future__ import annotations

from typing import Final

from dpproof.accountant.errors import CONVERT, NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.preconditions import required_guarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.law import RunLaw, required_runs
from dpproof.accountant.selection.thresholded_pair import ThresholdedPair
from dpproof.accountant.side_conditions import (
    FIRST_ALONE,
    OWN_RANDOMNESS,
    RUNS_AT_NOTHING,
    SCORE_AND_THRESHOLD,
)

SELECT_ABOVE: Final = Theorem(
    rule="select/above",
    source="proofs/theory/threshold.md, Theorem 1, or Theorem 2 where it rounds to less",
    attained=Attained.NO,  # the bound treats the events of runs apart
    again=lambda premises, given: select_above(premises[0], given["runs"]),
    lossless=False,
)


def select_above(guarantee: Guarantee[R], runs: RunLaw) -> DominatingPair[R]:
    """Run a mechanism until its output reaches a threshold, at most K times; release that output.

    The geometric law is Liu & Talwar's random stopping, a coin before every further run;
    ``FiniteRuns`` of a geometric law's masses, the rest at the last, is the same with a cap.

    Statement: let (P, Q) dominate (M(D), M(D')), let K have generating function phi and look at
        nothing, and let g(a) = (1 - phi(1 - a))/a. Release the first of K runs whose score is
        at or above the threshold, or that there is none. For every t > 0 the hockey-stick
        divergence is at most the supremum over a in [0, 1] of
        min(g(a) H_{t g(b)/g(a)}(P|Q), 1 - phi(1 - a)) + (phi(1 - a) - t phi(1 - b))_+, where b
        is the largest mass under Q of a set of mass a under P.
    Assumes: independent number of runs; own randomness; score and fixed threshold; first output
        alone.
    Source: proofs/theory/threshold.md, Theorem 1 and Theorem 2 as lines (Lemma 3); the mechanism
        is Liu & Talwar's (arXiv:1811.07971).
    Rounds: not at all; the pair answers by brackets.
    Laws: an epsilon-DP base and geometric runs give 2 epsilon at most.

    Args:
        guarantee: of one run.
        runs: the law of the largest number of runs.
    Returns:
        One pair per direction, known by its profile.
    Raises:
        ParameterError: not a law.
        NotImplied: the guarantee has no dominating pair.
    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
        >>> found = select_above(GDP(mu=0.25), TruncatedNegativeBinomial(eta=1, gamma=0.1))
        >>> found.epsilon(delta=1e-6).upper < 2
        True
    """
    required_guarantee(guarantee)
    required_runs(runs)
    if not isinstance(guarantee, PairGuarantee):
        raise NotImplied(f"no theorem on stopping at a threshold for {guarantee!r}; {CONVERT}")
    pair = guarantee.to_pair()
    return DominatingPair(
        forward=_thresholded(pair.forward, runs),
        backward=_thresholded(pair.backward, runs),
        relation=guarantee.relation,
        derivation=applied(
            SELECT_ABOVE,
            f"first of {runs.describe()} above a threshold, for the worst score",
            pair,
            assumptions=(
                RUNS_AT_NOTHING(),
                OWN_RANDOMNESS(),
                SCORE_AND_THRESHOLD(),
                FIRST_ALONE(),
            ),
            runs=runs,
        ),
    )


def _thresholded(base: Product, runs: RunLaw) -> Product:
    """Return the pair with a threshold; a base that reveals nothing is returned as it is."""
    return Product.of(ThresholdedPair(base=base, runs=runs)) if base.factors else base
