"""Several filters at once: a budget of (epsilon, delta)-DP that is spent in any of many ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.privacy_filter import MARGIN, largest_parameter
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_down, float_up, up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Theorem
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.rdp import ZCDP, epsilon_terms, log_delta_terms
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import AddRemove, R
from dpproof.accountant.side_conditions import SPENT_BEFORE

SEVERAL_FILTERS: Final = Theorem(
    rule="filter/several",
    source="proofs/theory/filters.md",
    attained=Attained.NO,  # a run may spend less than the budget
    written="filtered",
)
RENYI: Final = "renyi-"  # and an order: a way to spend
# Of delta, in proportion. Heuristic: docs/LEDGER.md says what they admit.
SHARES: Final[Mapping[str, int]] = {"basic": 12, "zcdp": 16, "gdp": 16}
_SHARE_OF_AN_ORDER: Final = 5
# Orders, as parts of the one at which a budget admits most Gaussians: sampled ones want less.
_LADDER: Final = (0.62, 0.85, 1.2, 2.0)
_LARGEST_ORDER: Final = 2000


def several_filters(
    *,
    epsilon: Number,
    delta: Number,
    relation: R,
    budgets: Mapping[str, tuple[Fraction, ...]] | None = None,
) -> ApproxDP[R]:
    """Return what everything satisfies that is admitted by one of several filters.

    Statement: let filters 1, ..., k be (epsilon, delta_j)-DP each, with sum_j delta_j <= delta,
        and let a mechanism run only if at least one filter has admitted it and everything before
        it. Then all outputs together are (epsilon, delta)-DP. The delta_j are fixed before any
        output is seen.
    Source: proofs/theory/filters.md, 7.
    Rounds: nothing.
    Assumes: spent before.
    Laws: k = 1 is the filter itself.
    """
    derivation = Derivation(
        theorem=SEVERAL_FILTERS,
        statement=f"({show(arguments.positive(epsilon=epsilon))}, "
        f"{show(arguments.probability(delta=delta))})-DP, whatever is spent",
        assumptions=(SPENT_BEFORE(),),
        parameters=tuple((budgets or {}).items()),
    )
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation, derivation=derivation)


def ways(*, epsilon: Fraction, delta: Fraction) -> tuple[str, ...]:
    """Return the ways in which a budget may be spent.

    They are "basic" for sums of epsilon and of delta, "zcdp" for rho, "gdp" for mu squared, and
    "renyi-" with an order for divergences there. With L = log(1/share), R at order a implies
    epsilon = R + L/(a - 1) and little else, so that a budget admits most at the a with
    epsilon (a - 1)^2 = L (2a - 1) if divergences grow like a.
    """
    if not delta:
        return tuple(SHARES)
    share = delta * _SHARE_OF_AN_ORDER / (sum(SHARES.values()) + len(_LADDER) * _SHARE_OF_AN_ORDER)
    ratio = Fraction(math.log(share.denominator) - math.log(share.numerator)) / epsilon
    if ratio > _LARGEST_ORDER:
        return tuple(SHARES)
    best = 1 + float(ratio) + math.sqrt(float(ratio) * (1 + float(ratio)))
    orders = sorted({max(2, round(part * best)) for part in _LADDER})
    return (*SHARES, *(f"{RENYI}{order}" for order in orders if order <= _LARGEST_ORDER))


def order_of(way: str) -> int | None:
    """Return the order of a way that spends divergences; None for the others."""
    if way in SHARES:
        return None
    order = way.removeprefix(RENYI)
    if (
        way == order or not (order.isascii() and order.isdigit()) or not 2 <= int(order) < 2**53
    ):  # floats are exact
        raise ParameterError("ways", way, f"one of {', '.join(SHARES)}, or {RENYI} and an order")
    return int(order)


def limits(
    *, epsilon: Fraction, delta: Fraction, ways: Collection[str]
) -> dict[str, tuple[Fraction, ...]]:
    """Return the budgets of the filters that share a delta: whatever they admit is together DP."""
    parts = {way: _SHARE_OF_AN_ORDER if order_of(way) is not None else SHARES[way] for way in ways}
    whole = sum(parts.values())
    return {way: _limit(way, epsilon, delta * part / whole) for way, part in parts.items()}


def needed(way: str, limit: tuple[Fraction, ...], epsilon: Fraction) -> Fraction:
    """Return a delta for which everything that one filter admits is (epsilon, delta)-DP."""
    if min(limit) < 0:
        return Fraction(1)
    if way == "basic":
        size, failures = limit
        return failures if size <= epsilon else Fraction(1)
    (parameter,) = limit
    order = order_of(way)
    if parameter == 0:
        return Fraction(0)
    if order is None:
        return Fraction(_NOTIONS[way](parameter).delta(epsilon=epsilon).upper)
    value = np.array([float_up(parameter)])
    log_delta = float(log_delta_terms(np.array([float(order)]), value, float_down(epsilon))[0])
    return Fraction(min(1.0, up(math.exp(min(log_delta, 0.0)) * (1 + 1e-14))))


def within(limit: Mapping[str, tuple[Fraction, ...]], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the budgets of filters are proved to be (epsilon, delta)-DP together.

    It asks each filter what delta it needs, so that a budget which was divided by other roundings
    or into other shares, or below the largest, is accepted as well.
    """
    try:
        needs = [needed(way, one, epsilon) for way, one in limit.items()]
    except ParameterError:  # an unknown way
        return False
    return bool(needs) and sum(needs) <= delta


@lru_cache(maxsize=256)
def _limit(way: str, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    """Return the budget of one filter."""
    if way == "basic":
        return epsilon, delta
    if not delta:
        return (Fraction(0),)
    order = order_of(way)
    if order is not None:
        return (_divergence(order, epsilon, delta),)
    # A divergence of order 1 is at most epsilon + the rest: rho above epsilon + 1 never fits.
    # mu-GDP has delta(epsilon) >= 1/4 from mu^2 = 2 epsilon + 8 on; larger deltas are no budget.
    start = epsilon + 1 if way == "zcdp" else 2 * epsilon + 8
    return (largest_parameter(_NOTIONS[way], epsilon, delta, start),)


def _divergence(order: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return nearly the largest divergence at an order that implies (epsilon, delta)-DP, or 0."""
    share = float_down(delta)
    if not share:
        return Fraction(0)
    beside = epsilon_terms(np.array([float(order)]), np.array([0.0]), share)[0]
    return max(Fraction(0), epsilon * (1 - Fraction(MARGIN)) - Fraction(float(beside)))


_NOTIONS: Final[Mapping[str, Callable[[Fraction], GDP[AddRemove] | ZCDP[AddRemove]]]] = {
    "zcdp": lambda rho: ZCDP(rho=rho),
    "gdp": lambda squared: GDP(mu_squared=squared),
}
