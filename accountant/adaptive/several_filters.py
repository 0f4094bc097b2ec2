"""Several filters at once: a budget of (epsilon, delta)-DP that is spent in any of three ways."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Final

from accountant import arguments
from accountant.adaptive.largest_parameter import implies, largest_parameter
from accountant.arguments import Number
from accountant.errors import ParameterError
from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.derivation import Derivation
from accountant.guarantees.gdp import GDP
from accountant.guarantees.rounding import show
from accountant.guarantees.theorem import Theorem
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import AddRemove, R
from accountant.side_conditions import SPENT_BEFORE

SEVERAL_FILTERS: Final = Theorem(rule="filter/several", source="proofs/theory/filters.md")
SHARES: Final[Mapping[str, int]] = {"basic": 2, "zcdp": 1, "gdp": 1}


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

    Args:
        epsilon: above 0, nats.
        delta: at or above 0, below 1.
        relation: which datasets are neighbours.
        budgets: of the filters by way, as ``limits`` divides them, for a certificate that they
            are (epsilon, delta_j)-DP; None if they are not divided yet.
    Example:
        >>> from accountant import AddRemove
        >>> several_filters(epsilon=3, delta=1e-6, relation=AddRemove()).describe()
        '(3, 1e-06)-DP'
    """
    derivation = Derivation(
        theorem=SEVERAL_FILTERS,
        statement=f"({show(arguments.positive(epsilon=epsilon))}, "
        f"{show(arguments.probability(delta=delta))})-DP, whatever is spent",
        assumptions=(SPENT_BEFORE(),),
        parameters=tuple((budgets or {}).items()),
    )
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation, derivation=derivation)


def limits(
    *, epsilon: Fraction, delta: Fraction, ways: Collection[str]
) -> dict[str, tuple[Fraction, ...]]:
    """Return the budgets of the filters that share a delta: whatever they admit is together DP.

    Args:
        epsilon: of all of them, above 0.
        delta: divided among them in proportion to ``SHARES``; below 1.
        ways: "basic" for sums of epsilon and of delta, "zcdp" for rho, "gdp" for mu squared.
    Raises:
        ParameterError: an unknown way.
    Example:
        >>> {way: len(limit) for way, limit in limits(
        ...     epsilon=Fraction(3), delta=Fraction(1, 10**6), ways=["basic", "gdp"]).items()}
        {'basic': 2, 'gdp': 1}
    """
    for way in ways:
        if way not in SHARES:
            raise ParameterError("ways", way, f"one of {', '.join(SHARES)}")
    return {way: _LIMITS[way](epsilon, share) for way, share in shares(delta, ways).items()}


def shares(delta: Fraction, ways: Collection[str]) -> dict[str, Fraction]:
    """Return the part of delta that each filter has, in proportion to ``SHARES``.

    Example:
        >>> shares(Fraction(1, 4), ["gdp", "zcdp"])
        {'zcdp': Fraction(1, 8), 'gdp': Fraction(1, 8)}
    """
    whole = sum(SHARES[way] for way in ways)
    return {way: delta * share / whole for way, share in SHARES.items() if way in ways}


def within(limit: Mapping[str, tuple[Fraction, ...]], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the budgets of filters are proved to be (epsilon, delta)-DP together.

    It asks each filter about its share of delta, so that a budget which was divided by other
    roundings, or below the largest, is accepted as well.

    Args:
        limit: budgets by way, as ``limits`` divides them.
        epsilon: of all of them, above 0.
        delta: of all of them.
    Example:
        >>> goal = {"epsilon": Fraction(3), "delta": Fraction(1, 10**6)}
        >>> within(limits(**goal, ways=["basic", "gdp"]), **goal)
        True
        >>> within({"gdp": (Fraction(1),)}, **goal)
        False
    """
    if not limit or not set(limit) <= set(SHARES):
        return False
    parts = shares(delta, limit)
    return all(_is_within(way, budget, epsilon, parts[way]) for way, budget in limit.items())


def _is_within(way: str, budget: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the budget of one filter is proved to be (epsilon, delta)-DP."""
    if way == "basic":
        size, failures = budget
        return 0 <= size <= epsilon and 0 <= failures <= delta
    (parameter,) = budget
    if parameter <= 0 or delta == 0:
        return parameter == 0
    return implies(_NOTIONS[way](parameter), epsilon, delta)


def _basic(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    return epsilon, delta


def _zcdp(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    # A divergence of order 1 is at most epsilon + the rest: rho above epsilon + 1 never fits.
    return (_largest("zcdp", epsilon, delta, epsilon + 1),)


def _gdp(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    # mu-GDP has delta(epsilon) >= 1/4 from mu^2 = 2 epsilon + 8 on; larger deltas are no budget.
    return (_largest("gdp", epsilon, delta, 2 * epsilon + 8),)


def _largest(way: str, epsilon: Fraction, delta: Fraction, start: Fraction) -> Fraction:
    return largest_parameter(_NOTIONS[way], epsilon, delta, start) if delta else Fraction(0)


_NOTIONS: Final[Mapping[str, Callable[[Fraction], GDP[AddRemove] | ZCDP[AddRemove]]]] = {
    "zcdp": lambda rho: ZCDP(rho=rho),
    "gdp": lambda squared: GDP(mu_squared=squared),
}
_LIMITS: Final[Mapping[str, Callable[[Fraction, Fraction], tuple[Fraction, ...]]]] = {
    "basic": _basic,
    "zcdp": _zcdp,
    "gdp": _gdp,
}
