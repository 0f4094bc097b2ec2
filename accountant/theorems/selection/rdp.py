"""Selection from a base known only by its Renyi curve."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from accountant.errors import NotImplied
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.guarantee import Guarantee
from accountant.guarantees.rdp import DEFAULT_ORDERS, RDP
from accountant.guarantees.renyi_guarantee import RenyiGuarantee
from accountant.guarantees.rounding import floats_around
from accountant.relation import R
from accountant.run_counts.law import RunLaw
from accountant.run_counts.poisson import PoissonRuns
from accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from accountant.theorems.selection.pair import SCORE

_MARGIN = 1e-10
_LARGEST_EXPONENT = 600.0
_NAMES = {
    "shape": "Papernot & Steinke, arXiv:2110.03620, Theorem 2",
    "rate": "Papernot & Steinke, arXiv:2110.03620, Theorem 6",
    "all": "all runs released",
    "ratio": "bounded ratio",
}


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
    Source: (1) Papernot & Steinke (arXiv:2110.03620), Theorem 2; (2) ibid., Theorem 6, with
        the output of no run kept apart; (3) given K, composition, and the selected output is
        post-processing; (4) phi' lies between phi'(0) and phi'(1). All: proofs/theory/selection.md,
        Section 5.
    Rounds: up, by 1e-10 relative.
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
        >>> from accountant.guarantees.zcdp import ZCDP
        >>> law = TruncatedNegativeBinomial(eta=1, gamma=0.1)
        >>> round(select_rdp(ZCDP(rho=0.01), law).epsilon(delta=1e-6).upper, 2)
        1.28
    """
    orders = _orders(guarantee)
    known = {order: _divergence(guarantee, order) for order in orders}
    points, winners = [], []
    for order in orders:
        bounds = _bounds(guarantee, runs, order, known)
        name = min(bounds, key=lambda key: bounds[key])
        if bounds[name] < math.inf:
            points.append((order, Fraction(max(bounds[name] * (1 + _MARGIN), 0.0))))
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
        derivation=Derivation(
            rule="select/rdp",
            statement=f"best of {runs.describe()}; smallest bound: {said}",
            source="Papernot & Steinke, arXiv:2110.03620, Theorems 2 and 6; "
            "proofs/theory/selection.md",
            premises=(guarantee.derivation,),
            assumptions=(SCORE,),
            lossless=False,
            parameters=(("runs", runs), ("bounds", " ".join(winners))),
        ),
    )


def _orders(guarantee: RenyiGuarantee[R]) -> list[Fraction]:
    if isinstance(guarantee, RDP):
        return [order for order, _ in guarantee.points]
    return list(DEFAULT_ORDERS)


def _divergence(guarantee: RenyiGuarantee[R], order: Fraction) -> float:
    exact = guarantee.divergence_up(order)
    return math.inf if exact is None else floats_around(exact)[1]


def _bounds(
    guarantee: Guarantee[R], runs: RunLaw, order: Fraction, known: dict[Fraction, float]
) -> dict[str, float]:
    """Every bound that applies at one order, +inf where it says nothing."""
    excess, base = float(order - 1), known[order]
    found = {"all": _all_released(runs, excess, base)}
    mass = math.log(max(runs.mean + runs.probability_of_none, 1.0))
    ends = runs.derivative(np.array([0.0, 1.0]))
    if ends[0] > 0.0:
        found["ratio"] = base + math.log(ends[1] / ends[0]) + mass / excess
    if isinstance(runs, TruncatedNegativeBinomial):
        slope = float(1 + runs.eta)
        least = min(
            (1 - 1 / float(other)) * value - math.log(runs.gamma) / float(other)
            for other, value in known.items()
        )
        found["shape"] = base + slope * least + math.log(runs.mean) / excess
    if isinstance(runs, PoissonRuns):
        epsilon = math.log(float(order / (order - 1))) * (1 - 1e-14)
        delta = guarantee.delta(epsilon=epsilon).upper
        exponent = math.log(runs.mean) + excess * (base + runs.mean * delta)
        found["rate"] = float(np.logaddexp(-runs.mean, exponent)) / excess
    return found


def _all_released(runs: RunLaw, excess: float, base: float) -> float:
    """Log of the generating function at e^(excess base), which may be infinite."""
    largest = runs.largest
    if largest is not None and largest * excess * base < _LARGEST_EXPONENT:
        masses = runs.masses(largest)
        terms = np.log(np.maximum(masses, 1e-320)) + excess * base * np.arange(largest + 1.0)
        return float(np.logaddexp.reduce(terms)) * (1 + _MARGIN) / excess
    if largest is not None:
        return largest * base
    if isinstance(runs, PoissonRuns) and excess * base < _LARGEST_EXPONENT:
        return runs.mean * math.expm1(excess * base) / excess
    return math.inf
