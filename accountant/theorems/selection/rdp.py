"""Selection from a base known only by its Renyi curve."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import log_exact, raised_up
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rdp import RDP, listed_curve
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts.law import FARTHEST, LOG_ERROR, RunLaw
from dpproof.accountant.run_counts.poisson import PoissonRuns
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.accountant.side_conditions import selection_of_the_best

# Relative room for a certificate's choice of orders. Soundness does not depend on it.
_ROOM = 1e-10
_NAMES = {
    "shape": "Papernot & Steinke, arXiv:2110.03620, Theorem 2",
    "rate": "Papernot & Steinke, arXiv:2110.03620, Theorem 6",
    "all": "all runs released",
    "ratio": "bounded ratio",
}


SELECT_RDP: Final = Theorem(
    rule="select/rdp",
    source="Papernot & Steinke, arXiv:2110.03620, Theorems 2 and 6; proofs/theory/selection.md",
    attained=Attained.NO,  # loses information
    again=lambda premises, given: select_rdp(premises[0], given["runs"]),
    lossless=False,
)


def select_rdp(guarantee: RenyiGuarantee[R], runs: RunLaw) -> RDP[R]:
    """Renyi divergences of the best of a random number of runs.

    Statement: with R(a) the divergence of one run at order a, that of the selection is at most
        each of the following, m the mean of the number of runs, p_0 the probability of none:
        (1) for truncated negative binomial runs and any order b >= 1,
            R(a) + (1 + eta)((1 - 1/b) R(b) + log(1/gamma)/b) + log(m)/(a - 1);
        (2) for Poisson runs, log(p_0 + m e^((a-1)(R(a) + m d)))/(a - 1), d the base's delta at
            epsilon = log(a/(a-1));
        (3) log E[e^((a-1) K R(a))]/(a - 1), what releasing all the runs costs;
        (4) R(a) + log(phi'(1)/phi'(0)) + log(m + p_0)/(a - 1), where m + p_0 >= 1.
    Assumes: independent number of runs; own randomness; score of the output; best output alone.
    Source: (1) Papernot & Steinke (arXiv:2110.03620), Theorem 2; (2) ibid., Theorem 6, with
        the output of no run kept apart; (3) given K, composition, and the selected output is
        post-processing; (4) phi' lies between phi'(0) and phi'(1). All: proofs/theory/selection.md,
        Section 5.
    Rounds: up, by 1e-10 relative, at the smallest divergences as well.
    Laws: one run changes nothing; never below one run's divergence.

    Args:
        guarantee: zCDP, or RDP at some orders.
        runs: the law of the number of runs.
    Returns:
        RDP at the guarantee's orders, or at a fixed list of them; its derivation says which of
        the four is the smallest how often.
    Raises:
        NotImplied: none of the bounds is finite at any order.
    Example:
        >>> from dpproof.accountant.guarantees.zcdp import ZCDP
        >>> law = TruncatedNegativeBinomial(eta=1, gamma=0.1)
        >>> round(select_rdp(ZCDP(rho=0.01), law).epsilon(delta=1e-6).upper, 2)
        1.28
    """
    curve = listed_curve(guarantee)
    shape = runs.least_shape(curve)[0] if isinstance(runs, TruncatedNegativeBinomial) else None
    points, winners = [], []
    for order in curve:
        bounds = _bounds(guarantee, runs, (order, curve[order]), shape)
        name = min(bounds, key=lambda key: bounds[key])
        if bounds[name] < math.inf:
            points.append((order, Fraction(bounds[name] * (1 + _ROOM))))
            winners.append(name)
    if not points:
        raise NotImplied(
            f"no theorem bounds the best of {runs.describe()} at the orders of "
            f"{guarantee.describe()}; state the base by a pair, or at lower orders"
        )
    said = ", ".join(
        f"{_NAMES[one]} at {winners.count(one)} orders" for one in dict.fromkeys(winners)
    )
    return RDP(
        points=points,
        relation=guarantee.relation,
        derivation=applied(
            SELECT_RDP,
            f"best of {runs.describe()}; smallest bound: {said}",
            guarantee,
            assumptions=selection_of_the_best(),
            runs=runs,
            bounds=" ".join(winners),
        ),
    )


def _bounds(
    guarantee: Guarantee[R],
    runs: RunLaw,
    point: tuple[Fraction, Fraction],
    shape: Fraction | None,
) -> dict[str, float]:
    """Return every bound at one order, rounded up, +inf if it is vacuous.

    Each log is rounded up relative to itself, also next to 0; the sums are exact.
    """
    excess, base = point[0] - 1, point[1]
    size = runs.log_mean_up
    found = {
        "all": _sum_up(Fraction(0), (runs.log_moment_up(_float_up(excess * base)), excess)),
        "ratio": _sum_up(base, (runs.log_ratio_up(math.inf), Fraction(1)), (size, excess)),
    }
    if isinstance(runs, TruncatedNegativeBinomial) and shape is not None:
        found["shape"] = _sum_up(base + (1 + runs.eta) * shape, (size, excess))
    if isinstance(runs, PoissonRuns):
        delta = Fraction(guarantee.delta(epsilon=_log_down(1 / excess)).upper)
        grown = _float_up(excess * (base + runs.rate * delta))
        found["rate"] = _sum_up(Fraction(0), (_log_rate_up(runs, grown), excess))
    return found


def _log_rate_up(runs: PoissonRuns, exponent: float) -> float:
    """Return log(e^-m + m e^exponent), m the rate, rounded up.

    It is computed as log(1 + (m - 1 + e^-m) + m (e^exponent - 1)).
    """
    if exponent <= FARTHEST:
        more = math.expm1(runs.log_mean_up) + runs.mean * math.expm1(exponent)
        return raised_up(math.log1p(more), 4 * LOG_ERROR)
    if math.isinf(exponent):
        return math.inf
    log_rate = log_exact(runs.rate)
    return float(np.logaddexp(0.0, log_rate + exponent)) + LOG_ERROR * (abs(log_rate) + exponent)


def _log_down(ratio: Fraction) -> float:
    """Return log(1 + ratio), rounded down."""
    return math.log1p(floats_around(ratio)[0]) * (1 - LOG_ERROR)


def _float_up(value: Fraction) -> float:
    """Return the least float at or above an exact value."""
    return floats_around(value)[1]


def _sum_up(base: Fraction, *terms: tuple[float, Fraction]) -> float:
    """Return the base plus every first number over its second, added exactly and rounded up."""
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    return _float_up(base + sum(Fraction(value) / divisor for value, divisor in terms))
