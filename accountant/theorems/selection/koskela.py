"""The bound of Koskela, Redberg & Wang, to compare with."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.answers import deltas
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial

# Points of the profile that the bound is minimised over. Heuristic: the bound is only compared
# with.
_POINTS = 400


def koskela_redberg_wang(guarantee: PairGuarantee[R], runs: RunLaw, *, delta: Number) -> float:
    """Epsilon of a selection by an earlier bound, which ``select`` never exceeds.

    Statement: for truncated negative binomial runs of mean m, every e >= 0, and the base's
        profile d, the larger of both directions, the selection has profile at most
        m d(epsilon - (eta + 1) log(e^e + (1 - gamma)/gamma d(e))); so its epsilon at delta is at
        most the base's at delta/m plus the least of these shifts.
    Assumes: what the theorem that applies assumes.
    Source: Koskela, Redberg & Wang, arXiv:2402.06701; a consequence of Theorem 2 in
        proofs/theory/selection.md, Section 3.
    Rounds: up.
    Laws: at or above the upper end of ``select``, up to that end's own rounding.

    Args:
        guarantee: of one run, with a dominating pair.
        runs: truncated negative binomial.
        delta: in (0, 1).
    Raises:
        NotImplied: another law of the number of runs.
    Example:
        >>> from dpproof.accountant.guarantees.gdp import GDP
        >>> law = TruncatedNegativeBinomial(eta=1, gamma=0.1)
        >>> round(koskela_redberg_wang(GDP(mu=0.25), law, delta=1e-6), 3)
        1.983
    """
    if not isinstance(runs, TruncatedNegativeBinomial):
        raise NotImplied(
            f"this bound is for truncated negative binomial runs, not {runs!r}; use select, which "
            "takes every law"
        )
    wanted = arguments.open_probability(delta=delta)
    alone = guarantee.epsilon(delta=wanted / Fraction(runs.mean * (1 + 1e-10))).upper
    if math.isinf(alone):
        return math.inf
    pair = guarantee.to_pair()
    points = np.linspace(0.0, max(alone, 1e-9), _POINTS)
    heights = np.maximum(deltas(pair.forward, points)[1], deltas(pair.backward, points)[1])
    odds = float((1 - runs.gamma) / runs.gamma)
    logs = points + np.log1p(odds * heights * np.exp(-points))  # digits next to 0, too
    shift = float(runs.eta + 1) * float(logs.min())
    return (alone + shift) * (1 + 1e-12)
