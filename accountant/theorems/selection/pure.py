"""Selection from a purely private base."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import floats_around, show
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.side_conditions import selection_of_the_best

SELECT_PURE: Final = Theorem(
    rule="select/pure",
    source="proofs/theory/selection.md, Corollary 3",
    attained=Attained.NO,  # the largest loss alone is attained
    again=lambda premises, given: select_pure(premises[0], given["runs"]),
    lossless=False,
)


def select_pure(guarantee: PureDP[R], runs: RunLaw) -> PureDP[R]:
    """Pure differential privacy of the best of a random number of epsilon-DP runs.

    Statement: the selected output is (epsilon + excess)-DP, where with z = e^eps/(1 + e^eps)
        excess is log phi'(z)/phi'(1 - z): (1 + eta) log((gamma + e^eps)/(1 + gamma e^eps)) for
        truncated negative binomial runs, rate tanh(eps/2) for Poisson runs,
        (n - 1) log((1 - p + e^eps)/(1 + (1 - p) e^eps)) for binomial runs, (n - 1) eps for n
        runs. For a law with finitely many values the maximum is not always there and is
        bounded over cells. Randomised response, with a score that ranks the less likely answer
        first and a coin after it, attains the formula.
    Assumes: independent number of runs; own randomness; score of the output; best output alone.
    Source: proofs/theory/selection.md, Corollary 3; Papernot & Steinke (arXiv:2110.03620), Theorem
        2 with all orders infinite, is the weaker (2 + eta) eps.
    Rounds: up, by at most 1e-10.
    Laws: one run changes nothing; below (2 + eta) eps.

    Args:
        guarantee: of one run.
        runs: the law of the number of runs.
    Returns:
        PureDP.
    Example:
        >>> from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
        >>> law = TruncatedNegativeBinomial(eta=1, gamma=0.1)
        >>> round(float(select_pure(PureDP(epsilon=1), law).stated_epsilon), 6)
        2.591344
    """
    epsilon = guarantee.stated_epsilon + _excess_up(runs, guarantee.stated_epsilon)
    return PureDP(
        epsilon=epsilon,
        relation=guarantee.relation,
        derivation=applied(
            SELECT_PURE,
            f"best of {runs.describe()} is {show(epsilon)}-DP",
            guarantee,
            assumptions=selection_of_the_best(),
            runs=runs,
        ),
    )


def _excess_up(runs: RunLaw, epsilon: Fraction) -> Fraction:
    """Return an upper bound of what the runs add to epsilon.

    It is (n - 1) epsilon, exactly, if that is less or the other bound is no float.
    """
    found = runs.log_ratio_up(floats_around(epsilon)[1])
    bounds = [Fraction(found)] if math.isfinite(found) else []
    if runs.largest is not None:
        bounds.append((runs.largest - 1) * epsilon)
    return min(bounds)
